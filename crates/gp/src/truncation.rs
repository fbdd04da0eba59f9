//! Truncation in feature space over the whole history [Zhou2021, Algorithm 1, lines 8-10; Chowdhury2019, Algorithm 2].
//!
//! With rows `u_i` of `V^{-1/2} Phi^T` in the symmetric root's coordinates, feature `i` sums `u_i(x) y` over the observations that
//! it keeps, `|u_i(x) y| <= b`, and `theta = V^{-1/2} r`. Observations of one point share `u(x)`, so what a feature keeps of a
//! point is a sum over its smallest rewards ([`SortedRewards`]). A reward that survives the norm `|u(x)|` survives in every
//! coordinate: those enter by one solve, and only points with rewards beyond it need `u(x)`, and with it `V^{-1/2}`, at all.

use super::SortedRewards;
use super::posterior::SketchedPosterior;
use privateer_numerics::linalg::padded_length;

/// On top of a norm, so that its rounding keeps no reward that a coordinate would drop: leverages that are followed round off up
/// to 1e-13 of 1, which is what they start from.
const ROUNDED_UP: f64 = 1e-12;

/// `theta` in the posterior's coordinates, from one list of rewards a visited point, by slot. NaN where `V` is not finite.
#[must_use]
pub fn truncated_theta(posterior: &SketchedPosterior, rewards: &[SortedRewards]) -> Vec<f64> {
    // Slots with rewards beyond the norm, and what the norm keeps of them.
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
    // u(x) = O V^{-1/2} c(x), one row a point.
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
