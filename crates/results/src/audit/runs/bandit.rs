//! Audits points with rewards: one user's reward in round 1 is at either end of its range.
//!
//! Where rewards are released one by one, all other rewards are the mean rewards. Where sums are released, they are the centre
//! of the range, so that they add nothing to the sum of rewards. What is released of a batch is its mean.

use super::fit::played;
use super::planted::{Canary, planted};
use super::replay::{AttackerView, ReplayJob, RunAttack, attack, ends};
use super::transcript::Transcript;
use privateer_config::error::Error;
use privateer_engine::engine::Preparation;
use privateer_engine::env::EnvironmentPlan;
use privateer_engine::spec::{BanditPlan, CellPlan, Task};
use privateer_privacy::Ledger;
use std::sync::Arc;

/// Returns the white-box and the black-box attack on a cell that claims privacy for rewards.
pub(super) fn attacks(
    job: &ReplayJob<'_>,
    plan: &CellPlan,
    bandit: &BanditPlan,
    ledger: &Ledger,
) -> Result<Vec<RunAttack>, Error> {
    let (first, second) = ends(ledger);
    let single = job.sweep_of(vec![plan.clone()], 1);
    let preparation = Preparation::new(&single, job.data, job.backend);
    let trial = preparation.cell(plan)?.trial(0)?;
    let others = trial.mechanism.sums().map(|sums| sums.facts().centre);
    let n_points = preparation.environment(plan, bandit)?.gram.n_points();
    let mut replay = plan.clone();
    let canary = Canary { samples: job.samples(), rewards: (first, second), others };
    let inner = Arc::clone(&bandit.environment_plan);
    let environment_plan = Arc::new(EnvironmentPlan::new(move |context| planted(&inner, Some(canary), context)));
    replay.task = Task::Bandit(BanditPlan { environment_plan, ..bandit.clone() });
    let transcript = Transcript { sums: others.is_some(), rounds: plan.rounds as usize, ..Transcript::default() };
    let (transcripts, _, rows) = job.play(replay, transcript)?;
    let pair = format!("the reward of round 1 is {first} against {second}");
    let (white, score) = if others.is_some() {
        (transcripts.discriminant(), "a linear discriminant of all sums along the features of round 1")
    } else {
        ((transcripts.first, transcripts.second), "what was released in round 1")
    };
    let black = played(&rows, job.samples(), n_points).logistic();
    Ok(vec![
        attack(plan, ledger, AttackerView::Releases, &pair, score, white),
        attack(plan, ledger, AttackerView::Plays, &pair, "a logistic fit on the points played after round 1", black),
    ])
}
