//! Contextual trials of one cell, one after the other: a person comes, an arm is shown, a reward is observed, something is released.
//!
//! Trials share nothing that is recorded; a trial is one chain of small steps, so that lockstep would gain nothing.

use super::lockstep::BatchResult;
use super::observer::{Rows, Stop};
use super::prepare::ReadyContexts;
use crate::backend::Counters;
use crate::error::Error;
use crate::policy::contextual::Scratch;
use crate::privacy::visits::seal;
use crate::rng::Purpose;
use std::ops::Range;

/// Rounds between two looks at the stop flag.
const STOP_EVERY: u64 = 1024;

/// Runs trials `numbers` of a cell to the end. `None` if stopped on the way.
///
/// # Errors
/// Whatever the environment refuses.
pub fn batch(
    cell: &ReadyContexts,
    numbers: Range<u64>,
    recorded: &[u64],
    stop: &Stop,
    progressed: &(dyn Fn(u64) + Sync),
) -> Result<Option<BatchResult>, Error> {
    let mut rows = Rows::default();
    for number in numbers {
        if !trial(cell, number, recorded, stop, progressed, &mut rows)? {
            return Ok(None);
        }
    }
    Ok(Some(BatchResult { rows, counters: Counters::default() }))
}

/// One trial; false if stopped.
fn trial(
    cell: &ReadyContexts,
    number: u64,
    recorded: &[u64],
    stop: &Stop,
    progressed: &(dyn Fn(u64) + Sync),
    rows: &mut Rows,
) -> Result<bool, Error> {
    let label = cell.plan.policy.as_str();
    let of = |purpose| cell.streams.of(number, purpose);
    let (mut noise, mut mechanism) = (of(Purpose::Noise), of(Purpose::Mechanism(label)));
    let mut own = of(Purpose::Policy(label));
    let mut people = cell.environment.draw(number)?;
    let (mut policy, mut privatizer) = (cell.maker.make(), cell.maker.privatizer());
    let mut scratch = Scratch::default();
    let (mut cumulative, mut n_best) = (0.0, 0_u64);
    let mut next_recorded = recorded.iter().copied().peekable();
    for round in 1..=cell.plan.rounds {
        if round % STOP_EVERY == 0 {
            if stop.asked() {
                return Ok(false);
            }
            progressed(STOP_EVERY);
        }
        people.next();
        let arm = policy.choose(people.context(), &mut own, &mut scratch);
        let means = people.means();
        let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let regret = best - means[arm];
        let reward = people.reward(arm, &mut noise);
        let visit = seal(people.context(), arm, reward);
        policy.update(&privatizer.release(visit, &mut mechanism));
        cumulative += regret;
        n_best += u64::from(regret <= 0.0);
        if next_recorded.next_if_eq(&round).is_some() {
            rows.trial.push(number as u32);
            rows.round.push(round as u32);
            rows.point.push(Some(arm as i64));
            rows.regret.push(regret);
            rows.cumulative_regret.push(cumulative);
            // People differ: there is no best arm to have found, and none to recommend.
            rows.simple_regret.push(f64::NAN);
            rows.recommended_regret.push(f64::NAN);
            rows.best_share.push(n_best as f64 / round as f64);
        }
    }
    progressed(cell.plan.rounds % STOP_EVERY);
    Ok(true)
}
