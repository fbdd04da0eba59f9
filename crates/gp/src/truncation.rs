//! Truncation in feature space over the whole history.
//!
//! Sources: [Zhou2021, Algorithm 1, lines 8-10; Chowdhury2019, Algorithm 2].
//!
//! With rows `u_i` of `V^{-1/2} Phi^T` in the symmetric root's coordinates, feature `i` sums `u_i(x) y` over the
//! observations with `|u_i(x) y| <= b`, and `theta = V^{-1/2} r`. All observations of a point share `u(x)`, so the
//! retained part of a point is a sum over its smallest rewards ([`SortedRewards`]). A reward that passes the norm
//! `|u(x)|` passes in every coordinate: those rewards enter by one solve. Only points with larger rewards need `u(x)`,
//! and with it `V^{-1/2}`. Where these are most points, a posterior in symmetric coordinates has `u` of all of them.

use super::SortedRewards;
use super::posterior::SketchedPosterior;
use privateer_numerics::linalg::{Columns, InverseRoot, dot, padded_length};

/// Margin added to a squared norm, so that rounding retains no reward that a coordinate would drop.
///
/// The rounding errors of updated leverages reach 1e-13 relative to 1, their initial scale.
const ROUNDED_UP: f64 = 1e-12;

/// The estimate after truncation.
#[derive(Debug, Clone, PartialEq)]
pub struct TruncatedEstimate {
    /// `theta` in the posterior's coordinates; NaN if `V` is not finite.
    pub theta: Vec<f64>,
    /// Number of visited points with a reward beyond the norm of their coefficients.
    pub n_beyond_norm: usize,
}

/// Truncates the rewards: one list for each visited point, in the order of slots.
pub fn truncated(posterior: &SketchedPosterior, rewards: &[SortedRewards]) -> TruncatedEstimate {
    let is_beyond = |slot: usize| {
        let largest = rewards[slot].largest_key();
        1.0 < (posterior.leverage_of(slot) + ROUNDED_UP) * (largest * largest)
    };
    let beyond: Vec<usize> = (0..rewards.len()).filter(|&slot| is_beyond(slot)).collect();
    let theta = match posterior.whitened() {
        Some((root, whitened)) => theta_of_columns(posterior, root, whitened, rewards),
        None => theta_of_few(posterior, rewards, &beyond),
    };
    TruncatedEstimate { theta, n_beyond_norm: beyond.len() }
}

/// Computes `theta` from `u(x)` of all points, feature by feature.
fn theta_of_columns(
    posterior: &SketchedPosterior,
    root: &InverseRoot,
    whitened: &Columns,
    rewards: &[SortedRewards],
) -> Vec<f64> {
    let (mut totals, mut largest) = (vec![0.0; whitened.stride()], vec![0.0; whitened.stride()]);
    let mut slots = vec![0; whitened.stride()];
    for (slot, list) in rewards.iter().enumerate() {
        let column = posterior.column_of(slot);
        slots[column] = slot;
        // A sum of all rewards that is not finite is taken nowhere.
        (totals[column], largest[column]) =
            if list.total().is_finite() { (list.total(), list.largest_key()) } else { (0.0, f64::INFINITY) };
    }
    // Coefficients that retain all rewards, and zeros: a reward that is truncated enters no sum.
    let mut whole = vec![0.0; whitened.stride()];
    let mut retained: Vec<f64> = (0..whitened.n_rows())
        .map(|feature| {
            let row = whitened.padded(feature);
            for ((whole, &u), &largest) in whole.iter_mut().zip(row).zip(&largest) {
                *whole = if u.abs() * largest <= 1.0 { u } else { 0.0 };
            }
            let parts = row.iter().zip(&whole).zip(&slots).filter(|((u, whole), _)| u != whole);
            parts.fold(dot(&whole, &totals), |sum, ((&u, _), &slot)| sum + u * rewards[slot].kept(u))
        })
        .collect();
    retained.resize(padded_length(whitened.n_rows()), 0.0);
    root.apply(&mut retained);
    retained.truncate(whitened.n_rows());
    retained
}

/// Computes `theta` where `u(x)` is needed of few points: of those beyond.
fn theta_of_few(posterior: &SketchedPosterior, rewards: &[SortedRewards], beyond: &[usize]) -> Vec<f64> {
    // The sums that the norm retains.
    let mut safe: Vec<f64> = rewards.iter().map(SortedRewards::total).collect();
    for &slot in beyond {
        safe[slot] = rewards[slot].kept((posterior.leverage_of(slot) + ROUNDED_UP).sqrt());
    }
    let mut theta = posterior.moment(&safe);
    posterior.solve(&mut theta);
    if beyond.is_empty() {
        return theta;
    }
    let (m, stride) = (posterior.m(), padded_length(posterior.m()));
    let Some(root) = posterior.inverse_root() else { return vec![f64::NAN; m] };
    // u(x) = O V^{-1/2} c(x), one row per point.
    let mut rows = vec![0.0; beyond.len() * stride];
    for (row, &slot) in rows.chunks_exact_mut(stride.max(1)).zip(beyond) {
        posterior.coordinates(slot, row);
    }
    root.apply(&mut rows);
    if !posterior.rotate(&mut rows, false) {
        return vec![f64::NAN; m];
    }
    let mut more = vec![0.0; stride];
    for (row, &slot) in rows.chunks_exact(stride.max(1)).zip(beyond) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Lengthscales, matern::Matern};
    use crate::posterior::DomainRoot;
    use crate::score::{GramSource, ScoreModel};
    use crate::{KernelGram, Points, tabulated};
    use privateer_numerics::rng::{Purpose, Streams};
    use std::sync::Arc;

    /// Both orders of computation keep the same rewards, and less than all of them.
    #[test]
    fn coordinates_of_the_symmetric_root_truncate_alike() {
        let kernel = Arc::new(Matern::new(2.5, Lengthscales::Isotropic(0.2), 1.0));
        let gram: Arc<dyn GramSource> = tabulated(KernelGram::new(kernel, Points::grid(2, 10, 0.0, 1.0)));
        let root = Arc::new(DomainRoot::of(gram.as_ref()).expect("far from singular"));
        let dictionary: Vec<u32> = (0..100).filter(|point| point % 31 != 5).collect();
        let mut stream = Streams::new(31, "truncation").of(0, Purpose::Noise);
        let mut few = SketchedPosterior::new(Arc::clone(&gram), 1.0, 0.5, false);
        let mut rewards: Vec<SortedRewards> = Vec::new();
        for _ in 0..400 {
            let slot = few.visit(stream.index(100));
            if slot == rewards.len() {
                rewards.push(SortedRewards::default());
            }
            rewards[slot].insert(10.0 * stream.laplace(1.0), 2.0);
        }
        // A truncated reward may be of any size.
        rewards[7].insert(1e300, 2.0);
        rewards[7].insert(f64::MAX, 2.0);
        rewards[8].insert(f64::MAX, 2.0);
        let mut all = few.clone();
        few.set_dictionary(dictionary.clone(), None);
        all.set_dictionary(dictionary, Some(root));
        let found = [few, all].map(|mut posterior| {
            posterior.refresh();
            let truncated = truncated(&posterior, &rewards);
            let totals: Vec<f64> = rewards.iter().map(|list| list.kept(1e-6)).collect();
            let mut whole = posterior.moment(&totals);
            posterior.solve(&mut whole);
            assert!(whole.iter().zip(&truncated.theta).any(|(a, b)| 0.1 < (a - b).abs()), "nothing is truncated");
            posterior.set_theta(truncated.theta);
            let moments: Vec<_> = (0..100).map(|x| posterior.exact(x)).collect();
            (posterior.whitened().is_some(), truncated.n_beyond_norm, moments)
        });
        let [(few, beyond_few, by_few), (all, beyond_all, by_all)] = found;
        assert_eq!((few, all, beyond_few), (false, true, beyond_all));
        assert!(50 < beyond_few, "{beyond_few}");
        for (x, (a, b)) in by_few.iter().zip(&by_all).enumerate() {
            assert!((a.mean - b.mean).abs() < 1e-10 && (a.variance - b.variance).abs() < 1e-11, "{x}: {a:?} {b:?}");
        }
    }
}
