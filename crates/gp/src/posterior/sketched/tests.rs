//! Tests the posterior over a dictionary against textbook formulas.
//!
//! Covers whole and screened domains, long-lived and new dictionaries, and small ridges.

use super::posterior::ANEW_EVERY;
use super::posterior::SketchedPosterior;
use crate::kernel::{Kernel, Lengthscales, matern::Matern, squared_exponential::SquaredExponential};
use crate::score::{Change, GramSource, ScoreModel};
use crate::{KernelGram, Points, tabulated};
use privateer_numerics::linalg::{cholesky, dot, solve_spd};
use privateer_numerics::rng::{Purpose, Streams};
use std::sync::Arc;

/// Returns a smooth or a rough covariance on `n` points of [0, 1].
fn gram(n: usize, smooth: bool) -> Arc<dyn GramSource> {
    let lengthscales = Lengthscales::Isotropic(0.2);
    let kernel: Arc<dyn Kernel> =
        if smooth { Arc::new(SquaredExponential::new(lengthscales, 1.0)) } else { Arc::new(Matern::new(2.5, lengthscales, 1.0)) };
    tabulated(KernelGram::new(kernel, Points::grid(1, n, 0.0, 1.0)))
}

/// Returns a posterior after neighbouring plays, over a dictionary drawn meanwhile, and its sums.
fn visited(gram: &Arc<dyn GramSource>, ridge: f64, follows: bool, n_visits: usize) -> (SketchedPosterior, Vec<f64>) {
    let n = gram.n_points();
    let mut posterior = SketchedPosterior::new(Arc::clone(gram), 1.0, ridge, follows);
    let mut stream = Streams::new(29, "sketched").of(n as u64, Purpose::Noise);
    let mut sums: Vec<f64> = Vec::new();
    for visit in 0..n_visits {
        let point = if visit % 3 == 0 { stream.index(n) } else { n / 3 + stream.index(n / 5) };
        let slot = posterior.visit(point);
        sums.resize(posterior.visits().n_distinct(), 0.0);
        sums[slot] += stream.normal();
        if [0, 1, 7, 20].contains(&visit) {
            let dictionary: Vec<u32> = (0..=visit as u32 / 2).map(|i| i * (n as u32 - 1) / (visit as u32 / 2).max(1)).collect();
            posterior.set_dictionary(dictionary, None);
            posterior.refresh();
        } else if follows {
            posterior.follow(slot);
        } else {
            posterior.refresh();
        }
    }
    let mut theta = posterior.moment(&sums);
    posterior.solve(&mut theta);
    posterior.set_theta(theta);
    (posterior, sums)
}

/// Computes mean and variance by `k_D^T (ridge K_D + K_D,X N K_X,D)^{-1}`.
///
/// Where the covariance of the dictionary occurs alone, the dictionary's own factor is used.
fn textbook(gram: &dyn GramSource, posterior: &SketchedPosterior, sums: &[f64], ridge: f64, x: usize) -> (f64, f64) {
    let d = posterior.basis_points();
    let (m, visits) = (d.len(), posterior.visits());
    let entry = |a: u32, b: usize| gram.entry(a as usize, b);
    let mut prior: Vec<f64> = (0..m * m).map(|e| gram.entry(d[e / m] as usize, d[e % m] as usize)).collect();
    let mut system: Vec<f64> = prior.iter().map(|k| ridge * k).collect();
    for (&point, &count) in visits.points.iter().zip(&visits.counts) {
        for i in 0..m {
            for j in 0..m {
                system[i * m + j] += count as f64 * entry(d[i], point as usize) * entry(d[j], point as usize);
            }
        }
    }
    cholesky(&mut prior, m).expect("positive");
    cholesky(&mut system, m).expect("positive");
    let k: Vec<f64> = d.iter().map(|&d| entry(d, x)).collect();
    let (mut by_prior, mut by_system) = (k.clone(), k.clone());
    solve_spd(&prior, &mut by_prior);
    solve_spd(&system, &mut by_system);
    let moment: Vec<f64> =
        d.iter().map(|&d| visits.points.iter().zip(sums).map(|(&point, sum)| entry(d, point as usize) * sum).sum()).collect();
    (dot(&by_system, &moment), gram.entry(x, x) - dot(&k, &by_prior) + ridge * dot(&k, &by_system))
}

#[test]
fn every_form_is_the_textbook_formula() {
    for n in [50, 300] {
        let gram = gram(n, false);
        for follows in [false, true] {
            let (posterior, sums) = visited(&gram, 0.5, follows, 60);
            assert_eq!((posterior.table().is_some(), posterior.factor().is_none()), (n == 50, n == 50));
            assert_eq!(posterior.dictionary.len(), 11);
            for x in 0..n {
                let (mean, variance) = textbook(gram.as_ref(), &posterior, &sums, 0.5, x);
                let exact = posterior.exact(x);
                assert!((exact.mean - mean).abs() < 1e-8 * (1.0 + mean.abs()), "{n} {follows} {x}: {} {mean}", exact.mean);
                assert!((exact.variance - variance).abs() < 1e-9, "{n} {follows} {x}: {} {variance}", exact.variance);
                assert_eq!(posterior.mean(x), exact.mean);
                // The factor given to a backend agrees with the exact scores within the stated error.
                if let Some(factor) = posterior.factor() {
                    let h: Vec<f64> = posterior.basis_points().iter().map(|&p| gram.entry(p as usize, x)).collect();
                    let m = h.len();
                    let square: f64 = (0..m).map(|i| dot(&factor.rows[i * m..(i + 1) * m], &h).powi(2)).sum();
                    let error = posterior.state_error();
                    assert!((dot(&factor.weights, &h) - exact.mean).abs() <= error.mean);
                    assert!((gram.diagonal(x) - square - exact.variance).abs() <= error.variance, "{} {}", exact.variance, x);
                    assert!(error.variance < 1e-6, "{error:?}");
                }
            }
            for (slot, &point) in posterior.visits().points.iter().enumerate() {
                assert!((posterior.variances()[slot] - posterior.exact(point as usize).variance).abs() < 1e-13);
                assert!((0.0..1.0).contains(&posterior.leverage_of(slot)));
            }
        }
    }
}

/// Tests shortly after the round of a recomputation, and long after it.
#[test]
fn following_drifts_no_further_than_rounding() {
    for n_visits in [1024 + 8, 1024 + 60] {
        assert!(ANEW_EVERY as usize + 8 <= n_visits);
        let gram = gram(50, true);
        let (followed, _) = visited(&gram, 1e-3, true, n_visits);
        let (anew, _) = visited(&gram, 1e-3, false, n_visits);
        for x in 0..50 {
            let (a, b) = (followed.exact(x), anew.exact(x));
            assert!(
                (a.variance - b.variance).abs() < 1e-10 && (a.mean - b.mean).abs() < 1e-6 * (1.0 + b.mean.abs()),
                "{x}: {a:?} {b:?}"
            );
        }
    }
}

/// Variances of visited points are about ridge / count, which no diagonal jitter may exceed.
#[test]
fn small_ridges_keep_the_variance_of_visited_points() {
    for n in [50, 300] {
        let gram = gram(n, false);
        for ridge in [1e-3, 1e-6, 1e-9] {
            let mut posterior = SketchedPosterior::new(Arc::clone(&gram), 1.0, ridge, false);
            for _ in 0..4 {
                posterior.visit(0);
                posterior.visit(n - 1);
            }
            posterior.set_dictionary(vec![0, n as u32 - 1], None);
            posterior.refresh();
            // Far points have variance ridge / (ridge + 4).
            for x in [0, n - 1] {
                let expected = ridge / (ridge + 4.0);
                let found = posterior.exact(x).variance;
                assert!((found - expected).abs() < 1e-3 * expected + 1e-15, "{n} {ridge}: {found} for {expected}");
            }
        }
    }
}

/// The posterior of a small domain reports its changes as a whole table, never as rows.
#[test]
fn small_domains_hand_out_no_rows() {
    let (mut posterior, _) = visited(&gram(50, false), 0.5, true, 30);
    for point in [3, 3, 4] {
        posterior.screened();
        assert!(matches!(posterior.change(), Change::None));
        let slot = posterior.visit(point);
        posterior.follow(slot);
        assert!(matches!(posterior.change(), Change::Factor));
    }
}

/// Checks that rows and weights of a long-lived dictionary add up to the exact scores.
///
/// The sums agree with the exact scores within the stated error, and repeated plays reuse the same row. With one scale in
/// a hundred wrong, they disagree.
#[test]
fn rows_add_up_to_exact_scores() {
    let gram = gram(300, false);
    for (ridge, wrong) in [(0.5, 1.0), (1e-4, 1.0), (0.5, 1.001)] {
        let (mut posterior, mut sums) = visited(&gram, ridge, true, 30);
        posterior.screened();
        let start: Vec<f64> = (0..300).map(|x| posterior.exact(x).variance).collect();
        let (mut falls, mut last) = (vec![0.0; 300], Vec::new());
        let (mut repetitions, mut broken) = (0, 0);
        for visit in 0..200 {
            let point = [7, 7, 7, 250, 40 + visit % 9][visit % 5];
            let slot = posterior.visit(point);
            sums.resize(posterior.visits().n_distinct(), 0.0);
            sums[slot] += 0.3;
            posterior.follow(slot);
            let mut theta = posterior.moment(&sums);
            posterior.solve(&mut theta);
            posterior.set_theta(theta);
            let Change::Weights { row, scale, repeated, weights } = posterior.change() else { panic!("one visit is one row") };
            repetitions += usize::from(repeated);
            assert!(!repeated || row == &last[..], "a repeated row is the one before");
            last = row.to_vec();
            let scale = if visit == 100 { scale * wrong } else { scale };
            let error = posterior.state_error();
            assert!(error.variance < 1e-6, "{error:?}");
            for x in 0..300 {
                let h: Vec<f64> = posterior.basis_points().iter().map(|&p| gram.entry(p as usize, x)).collect();
                falls[x] += (scale * dot(row, &h)).powi(2);
                let exact = posterior.exact(x);
                broken += usize::from(error.variance < (start[x] - falls[x] - exact.variance).abs());
                assert!((dot(weights, &h) - exact.mean).abs() <= error.mean);
            }
            posterior.screened();
            assert!(matches!(posterior.change(), Change::None));
        }
        assert_eq!(repetitions, 80, "two visits of five are of the point before");
        assert_eq!(broken == 0, wrong == 1.0, "{ridge} {wrong}: {broken}");
        // After two interactions at once, or a new dictionary, no row describes the change.
        for _ in 0..2 {
            let slot = posterior.visit(9);
            posterior.follow(slot);
        }
        assert!(matches!(posterior.change(), Change::Factor));
        posterior.screened();
        posterior.refresh();
        assert!(matches!(posterior.change(), Change::Factor));
    }
}
