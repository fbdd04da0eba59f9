//! Audits points with rewards: one user's rewards, in round 1 and wherever the claim lets the user return, are at either end of
//! their range.
//!
//! Where rewards are released one by one, all other rewards are the mean rewards. Where sums are released, they are the centre
//! of the range, so that they add nothing to the sum of rewards. What is released of a batch is its mean. A user who returns has
//! the same point in all rounds, so that what their rewards move adds up: every decision set of the white box is that point.

use super::fit::played;
use super::participation::{covered, rounds_of};
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
    let environment = preparation.environment(plan, bandit)?;
    let n_points = environment.gram.n_points();
    let participation = covered(ledger);
    let replayed = |one_point: bool| {
        let mut replay = plan.clone();
        let canary = Canary { samples: job.samples(), rewards: (first, second), participation, others, one_point };
        let inner = Arc::clone(&bandit.environment_plan);
        let environment_plan = Arc::new(EnvironmentPlan::new(move |context| planted(&inner, Some(canary), context)));
        replay.task = Task::Bandit(BanditPlan { environment_plan, ..bandit.clone() });
        let rounds = plan.rounds as usize;
        job.play(replay, Transcript { sums: others.is_some(), rounds, participation, ..Transcript::default() })
    };
    let (mut transcripts, _, rows) = replayed(false)?;
    if !participation.is_once() && others.is_some() && bandit.policy_plan.plays_sets && environment.product.is_none() {
        transcripts = replayed(true)?.0;
    }
    let pair = format!("one user's reward of {} is {first} against {second}", rounds_of(participation));
    let (white, score) = if others.is_some() {
        (transcripts.discriminant(), "a linear discriminant of all sums along the features of round 1")
    } else if 0.0 < ledger.delta {
        (transcripts.scores(|released| released.iter().sum()), "the sum of what was released of the user")
    } else {
        // The most telling event of pure noise is that all answers are large.
        let least = |released: &[f64]| released.iter().copied().fold(f64::INFINITY, f64::min);
        (transcripts.scores(least), "the least of what was released of the user")
    };
    let black = played(&rows, job.samples(), n_points).logistic();
    Ok(vec![
        attack(plan, ledger, AttackerView::Releases, &pair, score, white),
        attack(plan, ledger, AttackerView::Plays, &pair, "a logistic fit on the points played after round 1", black),
    ])
}
