//! Audits users with contexts: the first user's reward is at either end of its range.
//!
//! For the white box, all other users have zero contexts, which add nothing. For the black box, they are the users of the
//! problem's first trial, with their mean rewards.

use super::fit::played;
use super::replay::{AttackerView, ReplayJob, RunAttack, attack, ends, side_of};
use super::transcript::Transcript;
use privateer_config::error::Error;
use privateer_engine::engine::Preparation;
use privateer_engine::env::contextual::{Contextual, User, Users};
use privateer_engine::env::{BuildContext, EnvironmentPlan};
use privateer_engine::spec::{CellPlan, ContextualBandit, Task};
use privateer_privacy::Ledger;
use privateer_privacy::interactions::ContextFacts;
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
    let draw = move |trial| {
        let (mut inner, canary) = (draw(0)?, canary(&facts));
        let mut planted = Some(side_of(trial, samples).pick(rewards.0, rewards.1));
        Ok(Users::new(User::new(facts.dimension, facts.n_arms), None, move |user| {
            inner.next();
            user.context.fill(0.0);
            if !zeros {
                user.context.copy_from_slice(inner.context());
                user.means.copy_from_slice(inner.means());
            }
            user.reward = planted.take();
            if user.reward.is_some() {
                user.context.copy_from_slice(&canary);
            }
        }))
    };
    Contextual { draw: Box::new(draw), ..inner }
}
