//! Tests identities between the two forms, and compares both with the dense textbook formula.

use super::{ExactPosterior, FeaturePosterior, Posterior};
use crate::TableGram;
use crate::score::{Change, FeatureTable, GramSource, ScoreModel};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use std::sync::Arc;

/// Returns a squared-exponential covariance on `n` equispaced points of [0, 1].
///
/// Its numerical rank is far below `n`.
pub fn smooth(n: usize, lengthscale: f64) -> Arc<dyn GramSource> {
    let x = |i: usize| i as f64 / (n - 1) as f64;
    let values = (0..n * n)
        .map(|e| {
            let r = (x(e / n) - x(e % n)) / lengthscale;
            libm::exp(-0.5 * r * r)
        })
        .collect();
    Arc::new(TableGram::new(n, values))
}

fn stream() -> Stream {
    Streams::new(3, "posterior").of(0, Purpose::Noise)
}

/// Computes mean and variance of every point by Gaussian elimination on the T x T system.
fn dense(gram: &dyn GramSource, observed: &[(usize, f64)], ridge: f64) -> Vec<(f64, f64)> {
    let t = observed.len();
    let n = gram.n_points();
    let mut system: Vec<Vec<f64>> = (0..t)
        .map(|i| {
            let mut row: Vec<f64> =
                (0..t).map(|j| gram.entry(observed[i].0, observed[j].0) + if i == j { ridge } else { 0.0 }).collect();
            row.push(observed[i].1);
            row.extend((0..n).map(|x| gram.entry(observed[i].0, x)));
            row
        })
        .collect();
    for i in 0..t {
        for j in i + 1..t {
            let factor = system[j][i] / system[i][i];
            let (above, below) = system.split_at_mut(j);
            for (entry, pivot) in below[0][i..].iter_mut().zip(&above[i][i..]) {
                *entry -= factor * pivot;
            }
        }
    }
    for i in (0..t).rev() {
        for column in t..t + 1 + n {
            let known: f64 = (i + 1..t).map(|j| system[i][j] * system[j][column]).sum();
            system[i][column] = (system[i][column] - known) / system[i][i];
        }
    }
    (0..n)
        .map(|x| {
            let k: Vec<f64> = observed.iter().map(|&(point, _)| gram.entry(point, x)).collect();
            let mean = (0..t).map(|i| k[i] * system[i][t]).sum();
            let explained: f64 = (0..t).map(|i| k[i] * system[i][t + 1 + x]).sum();
            (mean, gram.diagonal(x) - explained)
        })
        .collect()
}

/// Checks means, variances and gain after some plays against the textbook's formulas, means and variances within these distances.
fn is_dense(
    gram: &Arc<dyn GramSource>,
    ridge: f64,
    rounds: usize,
    within: [f64; 2],
    point: impl Fn(usize, &mut Stream) -> usize,
) {
    let mut draws = stream();
    let mut posterior = ExactPosterior::new(Arc::clone(gram), ridge);
    let (mut observed, mut gain) = (Vec::new(), 0.0);
    for round in 0..rounds {
        let (point, reward) = (point(round, &mut draws), draws.normal());
        gain += 0.5 * libm::log1p(posterior.exact(point).variance / ridge);
        posterior.observe(point, reward);
        observed.push((point, reward));
    }
    for (point, (mean, variance)) in dense(gram.as_ref(), &observed, ridge).into_iter().enumerate() {
        let got = posterior.exact(point);
        assert!((got.mean - mean).abs() < within[0], "ridge {ridge} point {point}: {} {mean}", got.mean);
        assert!((got.variance - variance).abs() < within[1], "ridge {ridge} point {point}: {} {variance}", got.variance);
    }
    assert!((posterior.information_gain() - gain).abs() < 1e-9, "{} {gain}", posterior.information_gain());
}

#[test]
fn exact_posterior_is_the_textbook_one() {
    for (n, lengthscale, ridge, t) in [(30, 0.2, 0.7, 60), (30, 0.05, 0.01, 40), (12, 1.0, 1e-3, 50)] {
        is_dense(&smooth(n, lengthscale), ridge, t, [1e-9; 2], |_, draws| draws.index(n));
    }
}

/// Weights reach `|y| / ridge`, so sums of covariances and weights lose `1e-16 K / ridge`.
#[test]
fn means_of_visited_points_follow_from_their_weights() {
    let cases = [(30, 0.05, 0.01, 1e-12), (30, 0.3, 1e-3, 1e-11), (100, 0.3, 1e-6, 1e-8), (30, 0.3, 1e6, 1e-13)];
    for (n, lengthscale, ridge, within) in cases {
        let mut draws = stream();
        let mut posterior = ExactPosterior::new(smooth(n, lengthscale), ridge);
        let mut point = 0;
        for round in 0..200 {
            // Streaks of a few plays, of new and of known points.
            point = if draws.uniform() < 0.4 { point } else { draws.index(n) };
            posterior.observe(point, draws.normal());
            let found = posterior.visited_means();
            assert_eq!(found.len(), posterior.visits().n_distinct());
            for (&point, found) in posterior.visits().points.iter().zip(found) {
                let mean = posterior.mean(point as usize);
                assert!((found - mean).abs() < within, "ridge {ridge} round {round} point {point}: {found} {mean}");
            }
        }
        let best = posterior.recommend().expect("a visited point");
        assert!(posterior.visited_means().iter().all(|&mean| mean <= posterior.mean(best) + 1e-8));
    }
}

/// Plays neighbours first, one after the other, on a covariance of numerical rank 20 of 100.
///
/// This order ruins a factor of the covariance without the ridge.
#[test]
fn smooth_kernels_survive_visits_of_neighbours() {
    let gram = smooth(100, 0.2);
    for ridge in [1.0, 1e-2, 1e-4] {
        let neighbours = |round, draws: &mut Stream| if round < 100 { round } else { draws.index(100) };
        is_dense(&gram, ridge, 400, [1e-9 / ridge.sqrt(), 1e-11], neighbours);
    }
}

/// Checks that rows add up to the exact scores after many close points and their surroundings.
///
/// This includes points where the visited points extrapolate.
#[test]
fn rows_add_up_beside_a_basis_of_close_points() {
    let n = 100;
    let gram = smooth(n, 0.2);
    let mut draws = stream();
    let mut posterior = ExactPosterior::new(Arc::clone(&gram), 1.0);
    let (mut mean, mut variance) = (vec![0.0; n], (0..n).map(|x| gram.diagonal(x)).collect::<Vec<_>>());
    for round in 0..2000 {
        // A cluster first, its surroundings later.
        let point = if round < 1000 { 40 + draws.index(20) } else { 30 + draws.index(50) };
        posterior.observe(point, draws.normal());
        let Change::Row { row, scale, mean_step, .. } = posterior.change() else { panic!("one observation is one row") };
        for x in 0..n {
            let p: f64 = row.iter().zip(posterior.basis_points()).map(|(r, &b)| r * gram.entry(b as usize, x)).sum();
            mean[x] += mean_step * p;
            variance[x] -= scale * p * scale * p;
        }
        posterior.screened();
    }
    assert!(matches!(posterior.change(), Change::None));
    for x in 0..n {
        let exact = posterior.exact(x);
        let off = ((exact.mean - mean[x]).abs(), (exact.variance - variance[x]).abs());
        assert!(off.0 < 2e-9 && off.1 < 2e-10, "point {x}: {off:?}");
    }
}

#[test]
fn features_of_the_gram_matrix_give_the_exact_posterior() {
    // A linear kernel in two dimensions: its features are the coordinates.
    let points: Vec<[f64; 2]> = (0..15).map(|i| [0.1 * f64::from(i) - 0.7, libm::sin(f64::from(i))]).collect();
    let gram = TableGram::new(
        15,
        (0..225).map(|e| points[e / 15][0] * points[e % 15][0] + points[e / 15][1] * points[e % 15][1]).collect(),
    );
    let table = FeatureTable {
        n_points: 15,
        n_features: 2,
        values: points.concat(),
        residual: vec![0.0; 15],
        kernel_error: 0.0,
        form: None,
    };
    let mut draws = stream();
    let mut exact = ExactPosterior::new(Arc::new(gram), 0.3);
    let mut features = FeaturePosterior::new(Arc::new(table), 0.3);
    for _ in 0..50 {
        let (point, reward) = (draws.index(15), draws.normal());
        exact.observe(point, reward);
        features.observe(point, reward);
        // The features' model changes its form at the fifth point.
        for (&point, found) in features.visits().points.iter().zip(features.visited_means()) {
            assert!((found - features.mean(point as usize)).abs() < 1e-14, "{point}");
        }
    }
    for x in 0..15 {
        let (a, b) = (exact.exact(x), features.exact(x));
        assert!((a.mean - b.mean).abs() < 1e-11 && (a.variance - b.variance).abs() < 1e-11, "{x}: {a:?} {b:?}");
    }
    assert!((exact.information_gain() - features.information_gain()).abs() < 1e-11);
}

#[test]
fn rebuilding_from_the_visits_removes_the_drift() {
    let gram = smooth(20, 0.15);
    let mut draws = stream();
    let mut posterior = ExactPosterior::new(Arc::clone(&gram), 0.1);
    let mut rebuilt = 0;
    let mut before = posterior.all_moments();
    for _ in 0..10_000 {
        posterior.observe(draws.index(20), draws.normal());
        if matches!(posterior.change(), Change::Row { rebuilt: true, .. }) {
            rebuilt += 1;
            // One observation changes a late posterior little; the rebuild itself must not change it at all.
            let after = posterior.all_moments();
            assert!(before.iter().zip(&after).all(|(a, b)| (a.variance - b.variance).abs() < 1e-4));
        }
        before = posterior.all_moments();
        posterior.screened();
    }
    assert_eq!(rebuilt, 2);
}
