//! Truncation in feature space over the whole history.
//!
//! Sources: [Zhou2021, Algorithm 1, lines 8-10; Chowdhury2019, Algorithm 2].
//!
//! With rows `u_i` of `V^{-1/2} Phi^T` in the symmetric root's coordinates, feature `i` sums `u_i(x) y` over the
//! observations with `|u_i(x) y| <= b`, and `theta = V^{-1/2} r`. All observations of a point share `u(x)`, so the
//! retained part of a point is a sum over its smallest rewards ([`SortedRewards`]). A reward that passes the norm
//! `|u(x)|` passes in every coordinate: those rewards enter by one solve. Only points with larger rewards need `u(x)`,
//! and with it `V^{-1/2}`.

use super::SortedRewards;
use super::posterior::SketchedPosterior;
use privateer_numerics::linalg::padded_length;

/// Margin added to a squared norm, so that rounding retains no reward that a coordinate would drop.
///
/// The rounding errors of updated leverages reach 1e-13 relative to 1, their initial scale.
const ROUNDED_UP: f64 = 1e-12;

/// Returns `theta` in the posterior's coordinates, from one list of rewards per visited point.
///
/// Lists are in the order of slots. The result is NaN if `V` is not finite.
#[must_use]
pub fn truncated_theta(posterior: &SketchedPosterior, rewards: &[SortedRewards]) -> Vec<f64> {
    // Slots with rewards beyond the norm, and the sums that the norm retains.
    let mut beyond = Vec::new();
    let safe: Vec<f64> = rewards
        .iter()
        .enumerate()
        .map(|(slot, list)| {
            let (largest, leverage) = (list.largest_key(), posterior.leverage_of(slot) + ROUNDED_UP);
            if leverage * (largest * largest) <= 1.0 {
                return list.total();
            }
            beyond.push(slot);
            list.kept(leverage.sqrt())
        })
        .collect();
    let mut theta = posterior.moment(&safe);
    posterior.solve(&mut theta);
    if beyond.is_empty() {
        return theta;
    }
    let (m, stride) = (posterior.m(), padded_length(posterior.m()));
    let Some(root) = posterior.inverse_root() else { return vec![f64::NAN; m] };
    // u(x) = O V^{-1/2} c(x), one row per point.
    let mut rows = vec![0.0; beyond.len() * stride];
    for (row, &slot) in rows.chunks_exact_mut(stride.max(1)).zip(&beyond) {
        posterior.coordinates(slot, row);
    }
    root.apply(&mut rows);
    if !posterior.rotate(&mut rows, false) {
        return vec![f64::NAN; m];
    }
    let mut more = vec![0.0; stride];
    for (row, &slot) in rows.chunks_exact(stride.max(1)).zip(&beyond) {
        let (list, largest, safe) = (&rewards[slot], rewards[slot].largest_key(), safe[slot]);
        let all = list.total() - safe;
        for (more, &u) in more.iter_mut().zip(&row[..m]) {
            *more += u * if u.abs() * largest <= 1.0 { all } else { list.kept(u) - safe };
        }
    }
    // theta += V^{-1/2} O^T more.
    if !posterior.rotate(&mut more, true) {
        return vec![f64::NAN; m];
    }
    root.apply(&mut more);
    theta.iter_mut().zip(&more).for_each(|(weight, &more)| *weight += more);
    theta
}
