//! Checks whether a device's answer can be trusted.

use crate::BackendError;
use crate::device::{Answer, CAPACITY};
use crate::slot::SlotState;
use privateer_gp::score::TrialScore;

/// Rounds of a slot between comparisons with exact scores, and points per comparison.
pub const CHECK_EVERY: u32 = 64;
const CHECKED_POINTS: usize = 4;

/// Checks the conditions that every answer must fulfil.
pub fn plausible(answer: &mut Answer, stamp: u32, n_points: usize, subset: Option<&[u32]>) -> Result<(), BackendError> {
    let expected = subset.map_or(n_points, <[u32]>::len);
    let named = answer.points.len();
    answer.points.sort_unstable();
    let exists = |&point: &u32| (point as usize) < n_points && subset.is_none_or(|subset| subset.binary_search(&point).is_ok());
    let problem = if answer.stamp != stamp {
        format!("answered round {} when asked for round {stamp}: results were not written", answer.stamp)
    } else if answer.scored as usize != expected {
        format!("scored {} of {expected} points: the others are not finite", answer.scored)
    } else if !(answer.best_lower <= answer.best_upper && answer.best_upper.is_finite() && answer.best_lower.is_finite()) {
        format!("says that the best score lies between {} and {}", answer.best_lower, answer.best_upper)
    } else if answer.count == 0 || named != CAPACITY.min(answer.count as usize) || expected < answer.count as usize {
        format!("names {named} of {} candidates among {expected} points", answer.count)
    } else if !answer.points.iter().all(exists) || !answer.points.is_sorted_by(|a, b| a < b) {
        format!("names points that were not to be scored: {:?}", answer.points)
    } else {
        return Ok(());
    };
    Err(BackendError::untrusted(problem))
}

/// Compares an answer, at intervals, with exact scores; returns how many points break the band.
///
/// The best of its candidates must lie within the device's bounds, and no other point above them.
pub fn violations(slot: &mut SlotState, answer: &Answer, request: &TrialScore<'_>, n_points: usize) -> u64 {
    if slot.since_check < CHECK_EVERY {
        slot.since_check += 1;
        return 0;
    }
    slot.since_check = 1;
    let exact = |point: u32| request.model.exact(point as usize).upper(request.beta);
    let mut broken = 0;
    if answer.count as usize <= CAPACITY {
        let best = answer.points.iter().map(|&point| exact(point)).fold(f64::NEG_INFINITY, f64::max);
        broken += u64::from(!(answer.best_lower <= best && best <= answer.best_upper));
    }
    let n = request.subset.map_or(n_points, <[u32]>::len);
    for _ in 0..CHECKED_POINTS.min(n) {
        // Multiples of the golden ratio, modulo 1: the first few cover the domain evenly, and no point waits for long.
        let turns = slot.next_checked as f64 * 0.618_033_988_749_894_9;
        let at = (((turns - turns.floor()) * n as f64) as usize).min(n - 1);
        slot.next_checked += 1;
        let point = request.subset.map_or(at as u32, |subset| subset[at]);
        // NaN breaks no band: the decision reports it.
        broken += u64::from(answer.best_upper < exact(point));
    }
    broken
}
