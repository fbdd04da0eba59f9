//! Truncation in feature space over the whole history [Zhou2021, Algorithm 1, lines 8-10; Chowdhury2019, Algorithm 2].
//!
//! With rows `u_i` of `V^{-1/2} Phi^T` in the symmetric root's coordinates, feature `i` sums `u_i(x) y` over the observations that
//! it keeps, `|u_i(x) y| <= b`, and `theta = V^{-1/2} r`. Observations of one point share `u(x)`, so what a feature keeps of a
//! point is a sum over its smallest rewards ([`SortedRewards`]). A reward that survives the norm `|u(x)|` survives in every
//! coordinate: those enter by one solve, and only what lies beyond needs `V^{-1/2}` at all.

use super::SortedRewards;
use super::posterior::SketchedPosterior;
use crate::linalg::dot;

/// On top of a norm, so that its rounding keeps no reward that a coordinate would drop.
const ROUNDED_UP: f64 = 1.0 + 1e-12;

/// `theta` in the posterior's coordinates, from one list of rewards a visited point, by slot; `leverages` are the
/// posterior's own. NaN where eigenvalues cannot be found.
#[must_use]
pub fn truncated_theta(posterior: &mut SketchedPosterior, rewards: &[SortedRewards], leverages: &[f64]) -> Vec<f64> {
    let norms: Vec<f64> = leverages.iter().map(|leverage| leverage.sqrt() * ROUNDED_UP).collect();
    let safe: Vec<f64> = rewards.iter().zip(&norms).map(|(list, &norm)| list.kept(norm)).collect();
    let mut theta = posterior.moment(&safe);
    posterior.solve(&mut theta);
    let beyond: Vec<usize> = (0..rewards.len()).filter(|&slot| 1.0 < norms[slot] * rewards[slot].largest_key()).collect();
    if beyond.is_empty() {
        return theta;
    }
    let m = posterior.m();
    let Some(root) = posterior.inverse_root() else { return vec![f64::NAN; m] };
    let Some(rotation) = posterior.rotation() else { return vec![f64::NAN; m] };
    // u(x) = O V^{-1/2} c(x); the rows of O V^{-1/2}, by the symmetry of the root.
    let mut map = vec![0.0; m * m];
    for (row, turn) in map.chunks_exact_mut(m).zip(rotation.chunks_exact(m)) {
        for (entry, line) in row.iter_mut().zip(root.chunks_exact(m)) {
            *entry = dot(turn, line);
        }
    }
    let mut more = vec![0.0; m];
    for slot in beyond {
        let c = posterior.coordinates(slot);
        let (list, largest, safe) = (&rewards[slot], rewards[slot].largest_key(), safe[slot]);
        for (more, row) in more.iter_mut().zip(map.chunks_exact(m)) {
            let u = dot(row, &c);
            let kept = if u.abs() * largest <= 1.0 { list.total() } else { list.kept(u) };
            *more += u * (kept - safe);
        }
    }
    // theta += V^{-1/2} O^T more.
    for (row, &sum) in map.chunks_exact(m).zip(&more) {
        for (weight, &entry) in theta.iter_mut().zip(row) {
            *weight += entry * sum;
        }
    }
    theta
}
