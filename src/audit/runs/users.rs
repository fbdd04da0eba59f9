//! Audits users with contexts: the first user's reward is at either end of its range.
//!
//! For the white box, all other users have zero contexts, which add nothing. For the black box, they are the users of the
//! problem's first trial, with their mean rewards.

use super::fit::played;
use super::replay::{AttackerView, ReplayJob, RunAttack, attack, ends, side_of};
use super::transcript::Transcript;
use crate::engine::Preparation;
use crate::env::contextual::{ContextInstance, Contextual};
use crate::env::{BuildContext, EnvironmentPlan};
use crate::spec::{CellPlan, ContextualBandit, Task};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::interactions::ContextFacts;
use privateer_privacy::{Ledger, Raw};
use std::sync::Arc;

/// Returns both attacks on a cell that claims privacy.
pub(super) fn attacks(
    job: &ReplayJob<'_>,
    plan: &CellPlan,
    task: &ContextualBandit,
    ledger: &Ledger,
) -> Result<Vec<RunAttack>, Error> {
    let (first, second) = ends(ledger);
    let single = job.sweep_of(vec![plan.clone()], 1);
    let facts = Preparation::new(&single, job.data, job.backend).contextual(plan)?.environment.facts.clone();
    let (dimension, n_arms) = (facts.dimension, facts.n_arms);
    let replayed = |zeros: bool| {
        let mut replay = plan.clone();
        let (inner, samples) = (Arc::clone(&task.environment_plan), job.samples());
        let build = move |context: &BuildContext<'_>| Ok(planted(inner.build(context)?, samples, (first, second), zeros));
        let environment_plan = Arc::new(EnvironmentPlan::new(build));
        replay.task = Task::Contextual(ContextualBandit { environment_plan, ..task.clone() });
        job.play(replay, Transcript { rounds: plan.rounds as usize, dimension, ..Transcript::default() })
    };
    let white = replayed(true)?.0.discriminant();
    let black = played(&replayed(false)?.2, job.samples(), n_arms).logistic();
    let pair = format!("the first user's reward is {first} against {second}");
    let score = "a linear discriminant of all releases along the first user's context";
    Ok(vec![
        attack(plan, ledger, AttackerView::Releases, &pair, score, white),
        attack(plan, ledger, AttackerView::Plays, &pair, "a logistic fit on the arms shown after round 1", black),
    ])
}

/// Returns a context with equal entries, as large as both bounds allow.
fn canary(facts: &ContextFacts) -> Vec<f64> {
    let d = facts.dimension;
    vec![facts.largest_entry.min(facts.length / libm::sqrt(d as f64)); d]
}

/// Returns the problem with a planted first user.
///
/// * `zeros` — whether all later contexts are zeros
fn planted(inner: Contextual, samples: u64, rewards: (f64, f64), zeros: bool) -> Contextual {
    let (facts, draw) = (inner.facts.clone(), inner.draw);
    let draw = move |trial| -> Result<Box<dyn ContextInstance>, Error> {
        Ok(Box::new(AuditedUsers {
            inner: draw(0)?,
            zeros: zeros.then(|| (vec![0.0; facts.dimension], vec![0.0; facts.n_arms])),
            context: canary(&facts),
            reward: side_of(trial, samples).pick(rewards.0, rewards.1),
            round: 0,
        }))
    };
    Contextual { draw: Box::new(draw), ..inner }
}

struct AuditedUsers {
    inner: Box<dyn ContextInstance>,
    /// Context and mean rewards of all later users, if their contexts are zeros.
    zeros: Option<(Vec<f64>, Vec<f64>)>,
    context: Vec<f64>,
    reward: f64,
    round: u64,
}

impl ContextInstance for AuditedUsers {
    fn next(&mut self) {
        self.inner.next();
        self.round += 1;
    }

    fn context(&self) -> &[f64] {
        match &self.zeros {
            _ if self.round == 1 => &self.context,
            Some((context, _)) => context,
            None => self.inner.context(),
        }
    }

    fn means(&self) -> &[f64] {
        self.zeros.as_ref().map_or_else(|| self.inner.means(), |(_, means)| means)
    }

    fn reward(&self, arm: usize, _noise: &mut Stream) -> Raw<f64> {
        Raw::seal(if self.round == 1 { self.reward } else { self.means()[arm] })
    }
}
