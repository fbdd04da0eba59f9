//! Implements `contexts-table`: the users of a CSV file, in random order.
//!
//! The file holds every arm's reward for every user: as one column per arm, or as the label that a user should have been given
//! (as in Bastani2020's warfarin experiment: three dose arms).

use super::user_file::{SupposedArms, UserFile, pair};
use super::{Contextual, User, Users};
use crate::env::csv_table::{CellKind, Cells};
use crate::env::synthetic::synthetic_fact;
use crate::env::{BuildContext, DataDerived, DeclaredPublic, EnvironmentPlan};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_numerics::rng::{Purpose, Stream};
use std::sync::Arc;

#[derive(Debug, Clone)]
enum Payoff {
    /// One column per arm.
    Columns(Vec<String>),
    /// The right arm is the number of cuts at or below a column's value.
    Cuts(String, Vec<f64>),
    /// The right arm is the one whose name a column holds.
    Classes(String, Vec<String>),
}

#[derive(Debug, Clone)]
struct ContextsTablePlan {
    file: UserFile,
    payoff: Option<Payoff>,
    right: (f64, f64),
    range: Option<(f64, f64)>,
    again: bool,
    arms: SupposedArms,
    public: DeclaredPublic,
}

pub fn parse(args: &Args<'_>) -> EnvironmentPlan<Contextual> {
    let file = UserFile::parse(args, "CSV (plain or .gz) with a header: a row a user");
    let label = args.text("label", "column that says which arm is right for a user");
    let cuts = args.numbers("cuts", "the right arm is the number of these that the label is at or above; ascending");
    let classes = args.texts("classes", "the right arm is the place of the label among these");
    let columns = args.texts("rewards", "columns with the reward of each arm, instead of a label");
    let right = pair(args, "payoff", "rewards of a wrong arm and of the right one; absent: [0, 1]").unwrap_or((0.0, 1.0));
    let doc = "public range of the `rewards`; beyond it is a mistake; absent: that of the file";
    let range = pair(args, "reward_range", doc);
    args.distinct("classes", classes.as_deref().unwrap_or_default());
    args.distinct("rewards", columns.as_deref().unwrap_or_default());
    let payoff = match (label, cuts, classes, columns) {
        (Some(label), Some(cuts), None, None) => Some(Payoff::Cuts(label, cuts)),
        (Some(label), None, Some(classes), None) => Some(Payoff::Classes(label, classes)),
        (None, None, None, Some(columns)) => Some(Payoff::Columns(columns)),
        _ => None,
    };
    let outcomes = payoff.as_ref().map_or_else(Vec::new, |payoff| payoff.columns(CellKind::Number));
    let outcomes: Vec<&str> = outcomes.iter().map(|(name, _)| name.as_str()).collect();
    file.features.keep_apart(args, if args.has("label") { "label" } else { "rewards" }, &outcomes);
    let n_arms = payoff.as_ref().map(Payoff::n_arms);
    let key = ["rewards", "label", "file"].into_iter().find(|key| args.has(key)).unwrap_or("file");
    match (&payoff, n_arms) {
        (None, _) => args.reject(
            key,
            "rewards are stated in no way, or in several",
            "`label` with either `cuts` or `classes`, or `rewards` alone",
        ),
        (_, Some(n_arms)) if n_arms < 2 => {
            let key = ["rewards", "cuts", "classes"].into_iter().find(|key| args.has(key)).unwrap_or(key);
            args.reject(key, "fewer than two arms leave nothing to choose", "at least two arms");
        }
        (Some(Payoff::Cuts(_, cuts)), _) if !cuts.is_sorted_by(|low, high| low < high) => {
            args.reject("cuts", "the cuts do not ascend", "numbers, each above the one before");
        }
        _ => {}
    }
    let again = args.word(
        "users",
        "each user comes once, in random order; or a user is drawn every round, so that users return",
        &["once", "again"],
        Some("once"),
    ) == "again";
    let arms = SupposedArms::parse(args);
    let public = DeclaredPublic::parse(args, &[DataDerived::Levels, DataDerived::Range]);
    let files = vec![file.name.clone()];
    let plan = ContextsTablePlan { file, payoff, right, range, again, arms, public };
    EnvironmentPlan::new(move |context| plan.build(context)).reading(files)
}

impl Payoff {
    fn n_arms(&self) -> usize {
        match self {
            Self::Columns(columns) => columns.len(),
            Self::Cuts(_, cuts) => cuts.len() + 1,
            Self::Classes(_, classes) => classes.len(),
        }
    }

    fn columns(&self, number: CellKind) -> Vec<(String, CellKind)> {
        match self {
            Self::Columns(columns) => columns.iter().map(|name| (name.clone(), number)).collect(),
            Self::Cuts(label, _) => vec![(label.clone(), number)],
            Self::Classes(label, _) => vec![(label.clone(), CellKind::Text)],
        }
    }

    /// Generates columns in which the arms `right` have the high reward.
    fn synthetic(&self, right: &[usize], (low, high): (f64, f64)) -> Vec<Cells> {
        let of_arm = |arm: usize| right.iter().map(|&right| if right == arm { high } else { low }).collect();
        match self {
            Self::Columns(columns) => (0..columns.len()).map(|arm| Cells::Numbers(of_arm(arm))).collect(),
            Self::Cuts(_, cuts) => {
                let value = |&arm: &usize| if arm == 0 { cuts[0] - 1.0 } else { cuts[arm - 1] };
                vec![Cells::Numbers(right.iter().map(value).collect())]
            }
            Self::Classes(_, classes) => vec![Cells::Texts(right.iter().map(|&arm| classes[arm].clone()).collect())],
        }
    }

    /// Returns the rewards, rows x arms.
    fn rewards(&self, cells: &[Cells], right: (f64, f64)) -> Result<Vec<f64>, Error> {
        let n_arms = self.n_arms();
        let of_labels = |labels: Vec<usize>| {
            let reward = |label, arm| if label == arm { right.1 } else { right.0 };
            labels.into_iter().flat_map(|label| (0..n_arms).map(move |arm| reward(label, arm))).collect()
        };
        match (self, cells) {
            (Self::Cuts(_, cuts), [Cells::Numbers(values)]) => {
                Ok(of_labels(values.iter().map(|value| cuts.partition_point(|cut| cut <= value)).collect()))
            }
            (Self::Classes(column, classes), [Cells::Texts(texts)]) => {
                let place = |(row, text): (usize, &String)| {
                    classes.iter().position(|class| class == text).ok_or_else(|| {
                        let message = format!("row {} has `{text}` in column `{column}`, which is not one of `classes`", row + 1);
                        Diagnostic::new(message).hint("add it to `classes`, or remove such rows").error()
                    })
                };
                Ok(of_labels(texts.iter().enumerate().map(place).collect::<Result<_, Error>>()?))
            }
            (_, columns) => {
                let columns: Vec<&[f64]> = columns
                    .iter()
                    .map(|cells| match cells {
                        Cells::Numbers(numbers) => numbers.as_slice(),
                        Cells::Texts(_) => &[],
                    })
                    .collect();
                let n_rows = columns.iter().map(|column| column.len()).min().unwrap_or(0);
                Ok((0..n_rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect())
            }
        }
    }
}

impl ContextsTablePlan {
    fn build(&self, context: &BuildContext<'_>) -> Result<Contextual, Error> {
        let Some(payoff) = &self.payoff else {
            return Diagnostic::new("the environment states no rewards").refuse();
        };
        let n_arms = payoff.n_arms();
        let UserFile { name, is_synthetic, features: feature_plan, .. } = &self.file;
        let of_features = feature_plan.columns().len();
        let made_up = |right: &[usize], _: &mut Stream| payoff.synthetic(right, self.range.unwrap_or(self.right));
        let cells = self.file.cells(context, n_arms, payoff.columns(feature_plan.outcome()), made_up)?;
        let rewards = payoff.rewards(&cells[of_features..], self.right)?;
        let n_users = rewards.len() / n_arms;
        if !self.again && (n_users as u64) < context.rounds {
            let message = format!("the file has {n_users} users, and the run {} rounds", context.rounds);
            let hint = format!("set `rounds` to at most {n_users}, or `users = \"again\"` to draw users more than once");
            return Diagnostic::new(message).hint(hint).refuse();
        }
        let features = feature_plan.build(&cells[..of_features], n_users, context)?;
        let fold = |start: f64, pick: fn(f64, f64) -> f64| rewards.iter().copied().fold(start, pick);
        let found = (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max));
        let range = match (payoff, self.range) {
            (Payoff::Columns(_), Some(range)) if found.0 < range.0 || range.1 < found.1 => {
                let message = format!("rewards in the file lie from {} to {}", found.0, found.1);
                return Diagnostic::new(message).hint("widen `reward_range`").refuse();
            }
            (Payoff::Columns(_), range) => range.unwrap_or(found),
            _ => self.right,
        };
        if range.1 <= range.0 {
            let message = format!("all rewards in the file are {}", range.0);
            return Diagnostic::new(message).hint("name other columns as `rewards`").refuse();
        }
        let facts = self.arms.facts(n_arms, &features, range, context.rounds);
        let mut told = Facts::from([
            ("users in the file", n_users.into()),
            ("share of users for whom each arm is best", shares(&rewards, n_arms).into()),
        ]);
        if !is_synthetic {
            let card = format!(
                "{name}: {n_users} users, {} numbers and {} categories as features; {n_arms} arms, best for {} of the users",
                feature_plan.numbers.len(),
                of_features - feature_plan.numbers.len(),
                shares(&rewards, n_arms).iter().map(|share| format!("{:.0} %", 100.0 * share)).collect::<Vec<_>>().join(", "),
            );
            told.push("table", card);
        }
        told.extend(features.facts);
        told.push("range of rewards", vec![range.0, range.1]);
        let takes_range = matches!(payoff, Payoff::Columns(_)) && self.range.is_none();
        if takes_range {
            told.push("the range of rewards", "is the file's own; state `reward_range`");
        }
        if self.again {
            told.push("users", "are drawn again every round, so that the same user may return: `privateer account --participations k` prices k rounds");
        }
        told.push("unit of regret", "that of the reward");
        told.extend(is_synthetic.then(synthetic_fact));
        let mut notes = Vec::new();
        if self.again {
            notes.push("users are drawn again every round: the claim is about one round of a user".to_owned());
        }
        let used = [(DataDerived::Levels, features.takes_levels), (DataDerived::Range, takes_range)];
        let derived = self.public.split(!is_synthetic, used);
        let (table, dimension) = (Arc::new((features.contexts, rewards)), features.dimension);
        let (again, streams) = (self.again, context.streams.clone());
        let draw = move |trial| {
            let (table, mut order) = (Arc::clone(&table), Order::new(n_users, again, streams.of(trial, Purpose::Contexts)));
            Ok(Users::new(User::new(dimension, n_arms), None, move |user| {
                order.next();
                user.context.copy_from_slice(order.of(&table.0, dimension));
                user.means.copy_from_slice(order.of(&table.1, n_arms));
            }))
        };
        Ok(Contextual { derived_numbers: derived, notes, ..Contextual::new(facts, told, draw) })
    }
}

/// Returns the share of rows in which each arm is the best (the lowest among equals).
fn shares(rewards: &[f64], n_arms: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n_arms];
    for row in rewards.chunks_exact(n_arms) {
        let best = (1..n_arms).fold(0, |best, arm| if row[best] < row[arm] { arm } else { best });
        counts[best] += 1.0;
    }
    let n_rows = (rewards.len() / n_arms) as f64;
    counts.into_iter().map(|count| libm::round(1e4 * count / n_rows) / 1e4).collect()
}

/// Orders the rows: by a random permutation, drawn step by step, or by independent draws.
pub(super) struct Order {
    rows: Vec<u32>,
    next: usize,
    again: bool,
    stream: Stream,
    row: usize,
}

impl Order {
    pub(super) fn new(n_rows: usize, again: bool, stream: Stream) -> Self {
        Self { rows: (0..n_rows as u32).collect(), next: 0, again, stream, row: 0 }
    }

    /// Advances to the next row; after the last row, a new permutation begins.
    pub(super) fn next(&mut self) {
        let n_rows = self.rows.len();
        let at = if self.again { 0 } else { self.next % n_rows };
        let other = at + self.stream.index(n_rows - at);
        self.row = self.rows[other] as usize;
        if !self.again {
            self.rows.swap(at, other);
            self.next = at + 1;
        }
    }

    /// Returns the current row of a table whose rows have `width` values.
    pub(super) fn of<'a, T>(&self, values: &'a [T], width: usize) -> &'a [T] {
        &values[self.row * width..(self.row + 1) * width]
    }
}
