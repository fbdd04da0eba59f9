//! Implements `logged-replay`: the log of another policy's choices, with its propensities.
//!
//! The rewards of arms that were not shown are unknown, and so is the regret. A replay estimates the reward that a policy would
//! have earned.

use super::table::Order;
use super::table_features::FeaturePlan;
use super::{ContextInstance, Contextual, Logged, link, synthetic};
use crate::env::csv_table::{CellKind, Cells, Spread, digits, read_columns};
use crate::env::{BuildContext, DataDerived, DeclaredPublic, EnvironmentPlan};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_numerics::rng::{Purpose, Stream};
use privateer_privacy::Raw;
use privateer_privacy::interactions::{ContextFacts, Link};
use std::sync::Arc;

#[derive(Debug, Clone)]
struct LoggedReplayPlan {
    file: String,
    about: Option<String>,
    synthetic: bool,
    features: FeaturePlan,
    arm: String,
    arms: Vec<String>,
    reward: String,
    range: (f64, f64),
    propensity: Option<String>,
    radius: f64,
    link: Link,
    public: DeclaredPublic,
}

/// Reads the environment's keys.
pub fn parse(args: &Args<'_>) -> EnvironmentPlan<Contextual> {
    let file = args.required_text("file", "CSV (plain or .gz) with a header: a row for each time that an arm was shown");
    let about = args.text("about", "what the file is and where its publisher has it; shown when it is missing");
    let synthetic = args.flag("synthetic", synthetic::DOC, false);
    let features = FeaturePlan::parse(args);
    let arm = args.required_text("arm", "column with the arm that was shown");
    let arms = args
        .texts("arms", "the arms that policies choose among, as that column names them; rows with others count as not matched");
    let reward = args.required_text("reward", "column with what came of it");
    let range = args.numbers("reward_range", "public range of a reward; absent: [0, 1]");
    features.keep_apart(args, "arm", &[&arm]);
    features.keep_apart(args, "reward", &[&reward]);
    let propensity = args.text("propensity", "column with the probability with which the arm was shown to this user");
    if propensity.is_none() {
        args.missing("propensity", "without the log's propensities nothing can be said of another policy");
    }
    let arms = arms.unwrap_or_else(|| {
        args.missing("arms", "the names of at least two arms");
        Vec::new()
    });
    if args.has("arms") && arms.len() < 2 {
        args.reject("arms", "fewer than two arms leave nothing to choose", "at least two arms");
    }
    args.distinct("arms", &arms);
    let range = match range.as_deref() {
        None => (0.0, 1.0),
        Some([low, high]) if low < high => (*low, *high),
        Some(_) => {
            args.reject("reward_range", "`reward_range` is no pair of ascending numbers", "two numbers [lo, hi] with lo < hi");
            (0.0, 1.0)
        }
    };
    let radius =
        args.number("radius", "l1 norm that policies suppose of an arm's parameters, at most").above(0.0).at_most(1e6).or(1.0);
    let link = link::read(args);
    let public = DeclaredPublic::parse(args, &[DataDerived::Levels]);
    let files = vec![file.clone()];
    let plan = LoggedReplayPlan { file, about, synthetic, features, arm, arms, reward, range, propensity, radius, link, public };
    EnvironmentPlan { replays: true, ..EnvironmentPlan::new(move |context| plan.build(context)).reading(files) }
}

impl LoggedReplayPlan {
    /// Generates a synthetic log in which arms were shown at random.
    fn made_up(&self, context: &BuildContext<'_>) -> Vec<Cells> {
        let kinds: Vec<CellKind> = self.features.columns().into_iter().map(|(_, kind)| kind).collect();
        let (n_rows, n_arms, mut stream) = (context.rounds as usize, self.arms.len(), context.streams.shared(Purpose::Domain));
        let (mut cells, right) = synthetic::users(&kinds, &self.features.ranges(), n_rows, n_arms, &mut stream);
        // Every arm is shown at least once where there are enough rounds.
        let shown: Vec<usize> = (0..n_rows).map(|row| if row < n_arms { row } else { stream.index(n_arms) }).collect();
        let reward = |(right, shown): (&usize, &usize)| if right == shown { self.range.1 } else { self.range.0 };
        let rewards = right.iter().zip(&shown).map(reward).collect();
        cells.push(Cells::Texts(shown.iter().map(|&arm| self.arms[arm].clone()).collect()));
        cells.push(Cells::Numbers(rewards));
        cells.push(Cells::Numbers(vec![1.0 / n_arms as f64; n_rows]));
        cells
    }

    /// As [`EnvironmentPlan::build`].
    fn build(&self, context: &BuildContext<'_>) -> Result<Contextual, Error> {
        let Some(propensity) = &self.propensity else {
            return Diagnostic::new("the environment names no propensities").refuse();
        };
        let mut columns = self.features.columns();
        let of_features = columns.len();
        let cells = if self.synthetic {
            self.made_up(context)
        } else {
            let kinds = [CellKind::Text, self.features.outcome(), self.features.outcome()];
            columns.extend([&self.arm, &self.reward, propensity].into_iter().cloned().zip(kinds));
            read_columns(&context.data.find(&self.file, self.about.as_deref(), true)?, &columns, context.file_bytes())?
        };
        let [Cells::Texts(shown), Cells::Numbers(rewards), Cells::Numbers(propensities)] = &cells[of_features..] else {
            return Diagnostic::new("the log's columns could not be read").refuse();
        };
        let mistake = |message: String, hint: String| Diagnostic::new(message).hint(hint).refuse();
        let wrong = propensities.iter().position(|p| !(0.0 < *p && *p <= 1.0));
        if let Some(at) = wrong {
            let message = format!("row {} has the propensity {}, which is no probability above 0", at + 1, propensities[at]);
            return mistake(message, format!("column `{propensity}` must hold the probability of the arm that was shown"));
        }
        let (low, high) = self.range;
        if let Some(at) = rewards.iter().position(|reward| *reward < low || high < *reward) {
            let message = format!("row {} has the reward {}, outside of [{low}, {high}]", at + 1, rewards[at]);
            return mistake(message, "widen `reward_range`".to_owned());
        }
        let n_rows = shown.len();
        if (n_rows as u64) < context.rounds {
            let message = format!("the log has {n_rows} rows, and the run {} rounds", context.rounds);
            return mistake(message, format!("set `rounds` to at most {n_rows}: a replay uses every row once"));
        }
        let arms: Vec<Option<usize>> = shown.iter().map(|shown| self.arms.iter().position(|arm| arm == shown)).collect();
        if let Some(never) = (0..self.arms.len()).find(|arm| !arms.contains(&Some(*arm))) {
            let message = format!("arm `{}` is nowhere in column `{}`", self.arms[never], self.arm);
            return mistake(message, "name arms as the log does".to_owned());
        }
        let known = || arms.iter().zip(propensities).filter(|(arm, _)| arm.is_some());
        let floor = known().map(|(_, p)| *p).fold(1.0, f64::min);
        let features = self.features.build(&cells[..of_features], n_rows, context)?;
        // A row is used with probability of about `floor` whatever the policy. The calibration allows for their expected number
        // plus four standard deviations; rows beyond that are not used.
        let expected = floor * context.rounds as f64;
        let taken = (expected + 4.0 * libm::sqrt(expected) + 1.0).ceil().min(context.rounds as f64);
        let facts = ContextFacts {
            n_arms: self.arms.len(),
            dimension: features.dimension,
            largest_entry: features.length.min(1.0),
            length: features.length,
            parameter_l1: self.radius,
            parameter_length: self.radius,
            mean_range: self.range,
            range: Some(self.range),
            noise_sd: None,
            link: self.link,
            margin: 0.0,
            rounds: taken as u64,
        };
        let logged_value = rewards.iter().sum::<f64>() / n_rows as f64;
        let variance =
            rewards.iter().map(|reward| (reward - logged_value) * (reward - logged_value)).sum::<f64>() / n_rows as f64;
        let mut told: Vec<(String, serde_json::Value)> = vec![
            ("value".into(), "off-policy estimate from a log (self-normalised inverse propensities), not an experiment".into()),
            (
                "standard error".into(),
                "of that estimate, by the log's chance; too small where hardly a row that matched has a reward; intervals over trials hold the log fixed"
                    .into(),
            ),
            ("rows of the log".into(), n_rows.into()),
            ("mean reward in the log".into(), logged_value.into()),
            ("standard error of that mean".into(), libm::sqrt(variance / n_rows as f64).into()),
            ("arms".into(), self.arms.len().into()),
            ("rows with these arms".into(), known().count().into()),
            ("least propensity, with which rows are taken".into(), floor.into()),
            ("rows that a policy learns from, at most".into(), facts.rounds.into()),
        ];
        let deviation = libm::sqrt(variance * self.arms.len() as f64 / expected);
        if !self.synthetic {
            let card = format!(
                "{}: {n_rows} rows, {} with the {} arms, whose least propensity is {}; a policy learns from about {expected:.0} of them; \
                 rewards {}",
                self.file,
                known().count(),
                self.arms.len(),
                digits(floor),
                Spread::of(rewards.iter().copied()).map_or(String::new(), Spread::words),
            );
            told.push(("table".into(), card.into()));
        }
        // Nothing that an arm may gain over the worst or lose to the best rises above the chance of its few rewards.
        let is_thin = (logged_value - low).min(high - logged_value) < deviation;
        let thin = is_thin.then(|| {
            format!(
                "a policy learns from about {expected:.0} rows of the log, whose mean reward, {}, has a standard error of {} for each arm: \
                 hardly any policy can tell its arms apart; use a longer log, one with larger propensities, or fewer arms",
                digits(logged_value),
                digits(deviation)
            )
        });
        told.extend(features.facts);
        told.extend(self.synthetic.then(synthetic::fact));
        let rows = arms
            .into_iter()
            .zip(rewards)
            .zip(propensities)
            .map(|((arm, &reward), &propensity)| Logged { arm, reward, propensity, floor })
            .collect();
        let notes = vec!["of the policy where it is live: what a replay leaves out of the log is not priced".to_owned()];
        let takes_levels = features.takes_levels && !self.synthetic;
        let derived = self.public.split(takes_levels.then_some(DataDerived::Levels));
        let log = Arc::new(Log { contexts: features.contexts, rows, dimension: features.dimension });
        let streams = context.streams.clone();
        let draw = move |trial| -> Result<Box<dyn ContextInstance>, Error> {
            let order = Order::new(log.rows.len(), false, streams.of(trial, Purpose::Contexts));
            Ok(Box::new(LoggedReplayInstance { log: Arc::clone(&log), order }))
        };
        Ok(Contextual { thin_log: thin, derived_numbers: derived, notes, ..Contextual::new(facts, told, draw) })
    }
}

struct Log {
    /// Contexts, rows x d.
    contexts: Vec<f64>,
    rows: Vec<Logged>,
    dimension: usize,
}

struct LoggedReplayInstance {
    log: Arc<Log>,
    order: Order,
}

impl LoggedReplayInstance {
    fn row(&self) -> Logged {
        self.order.of(&self.log.rows, 1)[0]
    }
}

impl ContextInstance for LoggedReplayInstance {
    fn next(&mut self) {
        self.order.next();
    }

    fn context(&self) -> &[f64] {
        self.order.of(&self.log.contexts, self.log.dimension)
    }

    fn means(&self) -> &[f64] {
        &[]
    }

    fn logged(&self) -> Option<Logged> {
        Some(self.row())
    }

    fn reward(&self, _arm: usize, _noise: &mut Stream) -> Raw<f64> {
        Raw::seal(self.row().reward)
    }
}
