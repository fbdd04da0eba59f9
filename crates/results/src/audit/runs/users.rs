//! Audits users with contexts: one user's rewards, in round 1 and wherever the claim lets the user return, are at either end of
//! their range. Sums that the tight calibration protects are attacked by the context too: part of its entries change sign.
//!
//! For the white box, all other users have zero contexts, which add nothing, and where the user returns there is one arm, so that
//! what their rewards move adds up. For the black box, they are the users of the problem's first trial, with their mean rewards.

use super::fit::played;
use super::participation::{covered, rounds_of, takes_part};
use super::replay::{AttackerView, ReplayJob, RunAttack, attack, ends, side_of};
use super::transcript::Transcript;
use privateer_config::error::Error;
use privateer_engine::engine::Preparation;
use privateer_engine::env::contextual::{Contextual, User, Users};
use privateer_engine::env::{BuildContext, EnvironmentPlan};
use privateer_engine::spec::{CellPlan, ContextualBandit, Task};
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::interactions::ContextFacts;
use privateer_privacy::{Event, Ledger};
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
    let (dimension, n_arms, participation) = (facts.dimension, facts.n_arms, covered(ledger));
    // Contexts at a cosine of 1/4 differ most in both sums together (erratum E7).
    let changes = matches!(ledger.event, Event::Sums { .. }) && ledger.calibration.redesigns();
    let most = if changes { (3 * dimension + 4) / 8 } else { 0 };
    let replayed = |zeros: bool| {
        let flipped = if zeros { most } else { 0 };
        let mut replay = plan.clone();
        let (inner, samples) = (Arc::clone(&task.environment_plan), job.samples());
        let build = move |context: &BuildContext<'_>| {
            Ok(planted((inner.build)(context)?, samples, (first, second), participation, (zeros, flipped)))
        };
        let environment_plan = Arc::new(EnvironmentPlan::new(build));
        replay.task = Task::Contextual(ContextualBandit { environment_plan, ..task.clone() });
        job.play(replay, Transcript { rounds: plan.rounds as usize, dimension, flipped, ..Transcript::default() })
    };
    let white = replayed(true)?.0.discriminant();
    let black = played(&replayed(false)?.2, job.samples(), n_arms).logistic();
    let pair = format!("one user's reward of {} is {first} against {second}", rounds_of(participation));
    let score = "a linear discriminant of all releases along what changes";
    let of_white =
        if 0 < most { format!("{pair}, the signs of {most} of {dimension} entries of the context differ") } else { pair.clone() };
    Ok(vec![
        attack(plan, ledger, AttackerView::Releases, &of_white, score, white),
        attack(plan, ledger, AttackerView::Plays, &pair, "a logistic fit on the arms shown after round 1", black),
    ])
}

/// Returns a context with equal entries, as large as both bounds allow.
fn canary(facts: &ContextFacts) -> Vec<f64> {
    let d = facts.dimension;
    vec![facts.largest_entry.min(facts.length / libm::sqrt(d as f64)); d]
}

/// Returns the problem with a planted user.
///
/// * `zeros` — whether all other contexts are zeros
/// * `flipped` — number of entries of the context that have the other sign on the second side
fn planted(
    inner: Contextual,
    samples: u64,
    rewards: (f64, f64),
    participation: Participation,
    (zeros, flipped): (bool, usize),
) -> Contextual {
    let (mut facts, draw) = (inner.facts.clone(), inner.draw);
    if zeros && !participation.is_once() {
        facts.n_arms = 1;
    }
    let of = facts.clone();
    let draw = move |trial| {
        let (mut inner, mut canary, mut round) = (draw(0)?, canary(&of), 0);
        let side = side_of(trial, samples);
        let planted = side.pick(rewards.0, rewards.1);
        canary[..side.pick(0, flipped)].iter_mut().for_each(|entry| *entry = -*entry);
        Ok(Users::new(User::new(of.dimension, of.n_arms), None, move |user| {
            inner.next();
            round += 1;
            user.context.fill(0.0);
            if !zeros {
                user.context.copy_from_slice(inner.context());
                user.means.copy_from_slice(inner.means());
            }
            user.reward = takes_part(participation, round).then_some(planted);
            if user.reward.is_some() {
                user.context.copy_from_slice(&canary);
            }
        }))
    };
    Contextual { draw: Box::new(draw), facts, ..inner }
}
