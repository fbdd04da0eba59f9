//! Implements `logged-replay`: the log of another policy's choices, with its propensities.
//!
//! The rewards of arms that were not shown are unknown, and so is the regret. A replay estimates the reward that a policy would
//! have earned.

use super::table::Order;
use super::user_file::{SupposedArms, UserFile, pair};
use super::{Contextual, Logged, User, Users};
use crate::env::csv_table::{CellKind, Cells, Spread, digits};
use crate::env::synthetic::synthetic_fact;
use crate::env::{BuildContext, DataDerived, DeclaredPublic, EnvironmentPlan};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_numerics::rng::{Purpose, Stream};
use std::sync::Arc;

#[derive(Debug, Clone)]
struct LoggedReplayPlan {
    file: UserFile,
    arm: String,
    arms: Vec<String>,
    reward: String,
    range: (f64, f64),
    propensity: Option<String>,
    supposed: SupposedArms,
    public: DeclaredPublic,
}

pub fn parse(args: &Args<'_>) -> EnvironmentPlan<Contextual> {
    let file = UserFile::parse(args, "CSV (plain or .gz) with a header: a row for each time that an arm was shown");
    let arm = args.required_text("arm", "column with the arm that was shown");
    let arms = args
        .texts("arms", "the arms that policies choose among, as that column names them; rows with others count as not matched");
    let reward = args.required_text("reward", "column with what came of it");
    let range = pair(args, "reward_range", "public range of a reward; absent: [0, 1]").unwrap_or((0.0, 1.0));
    file.features.keep_apart(args, "arm", &[&arm]);
    file.features.keep_apart(args, "reward", &[&reward]);
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
    let supposed = SupposedArms::parse(args);
    let public = DeclaredPublic::parse(args, &[DataDerived::Levels]);
    let files = vec![file.name.clone()];
    let plan = LoggedReplayPlan { file, arm, arms, reward, range, propensity, supposed, public };
    EnvironmentPlan { replays: true, ..EnvironmentPlan::new(move |context| plan.build(context)).reading(files) }
}

impl LoggedReplayPlan {
    /// Generates arm, reward and propensity of a synthetic log in which arms were shown at random.
    fn made_up(&self, right: &[usize], stream: &mut Stream) -> Vec<Cells> {
        let (n_rows, n_arms) = (right.len(), self.arms.len());
        // Every arm is shown at least once where there are enough rounds.
        let shown: Vec<usize> = (0..n_rows).map(|row| if row < n_arms { row } else { stream.index(n_arms) }).collect();
        let reward = |(right, shown): (&usize, &usize)| if right == shown { self.range.1 } else { self.range.0 };
        let rewards = right.iter().zip(&shown).map(reward).collect();
        let names = shown.iter().map(|&arm| self.arms[arm].clone()).collect();
        vec![Cells::Texts(names), Cells::Numbers(rewards), Cells::Numbers(vec![1.0 / n_arms as f64; n_rows])]
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Contextual, Error> {
        let Some(propensity) = &self.propensity else {
            return Diagnostic::new("the environment names no propensities").refuse();
        };
        let UserFile { name, is_synthetic, features: feature_plan, .. } = &self.file;
        let (of_features, number) = (feature_plan.columns().len(), feature_plan.outcome());
        let outcomes = [&self.arm, &self.reward, propensity].into_iter().cloned().zip([CellKind::Text, number, number]);
        let cells = self.file.cells(context, self.arms.len(), outcomes, |right, stream| self.made_up(right, stream))?;
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
        let features = feature_plan.build(&cells[..of_features], n_rows, context)?;
        // A row is used with probability of about `floor` whatever the policy. The calibration allows for their expected number
        // plus four standard deviations; rows beyond that are not used.
        let expected = floor * context.rounds as f64;
        let taken = (expected + 4.0 * libm::sqrt(expected) + 1.0).ceil().min(context.rounds as f64);
        let facts = self.supposed.facts(self.arms.len(), &features, self.range, taken as u64);
        let logged_value = rewards.iter().sum::<f64>() / n_rows as f64;
        let variance =
            rewards.iter().map(|reward| (reward - logged_value) * (reward - logged_value)).sum::<f64>() / n_rows as f64;
        let mut told = Facts::from([
            ("value", "off-policy estimate from a log (self-normalised inverse propensities), not an experiment".into()),
            (
                "standard error",
                "of that estimate, by the log's chance; too small where hardly a row that matched has a reward; intervals over trials hold the log fixed"
                    .into(),
            ),
            ("rows of the log", n_rows.into()),
            ("mean reward in the log", logged_value.into()),
            ("standard error of that mean", libm::sqrt(variance / n_rows as f64).into()),
            ("rows with these arms", known().count().into()),
            ("least propensity, with which rows are taken", floor.into()),
            ("rows that a policy learns from, at most", facts.rounds.into()),
        ]);
        let deviation = libm::sqrt(variance * self.arms.len() as f64 / expected);
        if !is_synthetic {
            let card = format!(
                "{name}: {n_rows} rows, {} with the {} arms, whose least propensity is {}; a policy learns from about {expected:.0} of \
                 them; rewards {}",
                known().count(),
                self.arms.len(),
                digits(floor),
                Spread::of(rewards.iter().copied()).map_or(String::new(), Spread::words),
            );
            told.push("table", card);
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
        told.extend(is_synthetic.then(synthetic_fact));
        let logged = |((arm, &reward), &propensity)| Logged { arm, reward, propensity, floor };
        let rows: Vec<Logged> = arms.into_iter().zip(rewards).zip(propensities).map(logged).collect();
        let notes = vec!["of the policy where it is live: what a replay leaves out of the log is not priced".to_owned()];
        let derived = self.public.split(!is_synthetic, [(DataDerived::Levels, features.takes_levels)]);
        let (log, dimension) = (Arc::new((features.contexts, rows)), features.dimension);
        let streams = context.streams.clone();
        let draw = move |trial| {
            let (log, mut order) = (Arc::clone(&log), Order::new(n_rows, false, streams.of(trial, Purpose::Contexts)));
            Ok(Users::new(User::new(dimension, 0), None, move |user| {
                order.next();
                user.context.copy_from_slice(order.of(&log.0, dimension));
                let row = order.of(&log.1, 1)[0];
                (user.reward, user.logged) = (Some(row.reward), Some(row));
            }))
        };
        Ok(Contextual { thin_log: thin, derived_numbers: derived, notes, ..Contextual::new(facts, told, draw) })
    }
}
