//! Compares [`CovariancePosterior`] with [`ExactPosterior`], which uses a different algorithm.

use super::{CovariancePosterior, ExactPosterior, Posterior};
use crate::KernelGram;
use crate::Points;
use crate::kernel::{Lengthscales, squared_exponential::SquaredExponential};
use crate::score::{Change, GramSource, ScoreModel};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use std::sync::Arc;

fn line(n: usize, lengthscale: f64) -> Arc<dyn GramSource> {
    let kernel = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(lengthscale), 1.0));
    Arc::new(KernelGram::new(kernel, Points::grid(1, n, 0.0, 1.0)))
}

fn stream(trial: u64) -> Stream {
    Streams::new(23, "covariance").of(trial, Purpose::Function)
}

/// Returns the largest absolute differences of mean and posterior variance over the domain.
fn apart(a: &CovariancePosterior, b: &ExactPosterior) -> (f64, f64) {
    let pairs = a.all_moments().into_iter().zip(b.all_moments());
    pairs.fold((0.0, 0.0), |worst: (f64, f64), (a, b)| {
        (worst.0.max((a.mean - b.mean).abs()), worst.1.max((a.variance - b.variance).abs()))
    })
}

/// Plays points in order, at random and alternately, through several recomputations.
#[test]
fn it_is_the_exact_posterior() {
    for (n, lengthscale, ridge, rounds) in
        [(1, 0.2, 1.0, 50), (30, 0.2, 0.7, 4000), (30, 0.05, 0.01, 2000), (100, 0.2, 1.0, 3000), (40, 1.0, 1e-3, 3000)]
    {
        let gram = line(n, lengthscale);
        let mut draws = stream(n as u64);
        let mut exact = ExactPosterior::new(Arc::clone(&gram), ridge);
        let mut posterior = CovariancePosterior::new(gram, 1.0, ridge);
        for round in 0..rounds {
            let point = match round % 500 {
                early if early < n => early,
                middle if middle < 300 => draws.index(n),
                late => (late / 3 % 2 * (n - 1)).min(n - 1),
            };
            let reward = 2.0 + draws.normal();
            exact.observe(point, reward);
            posterior.observe(point, reward);
            if round % 37 == 0 || round + 1 == rounds {
                let off = apart(&posterior, &exact);
                assert!(
                    off.0 < 1e-10 / ridge.sqrt() && off.1 < 1e-12 / ridge.sqrt(),
                    "n {n} ridge {ridge} round {round}: {off:?}"
                );
            }
        }
        let gains = (posterior.information_gain(), exact.information_gain());
        assert!((gains.0 - gains.1).abs() < 1e-9 * (1.0 + gains.1), "{gains:?}");
        let (visits, expected) = (posterior.visits(), exact.visits());
        assert_eq!((&visits.points, &visits.counts), (&expected.points, &expected.counts));
        assert!(visits.sums.iter().zip(&expected.sums).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())));
    }
}

/// The comparison above detects a missing streak.
#[test]
fn a_lost_streak_is_seen() {
    let gram = line(30, 0.2);
    let mut exact = ExactPosterior::new(Arc::clone(&gram), 0.7);
    let mut posterior = CovariancePosterior::new(gram, 1.0, 0.7);
    for round in 0..20 {
        exact.observe(round, 1.0);
        if round != 7 {
            posterior.observe(round, 1.0);
        }
    }
    let off = apart(&posterior, &exact);
    assert!(1e-6 < off.0 && 1e-6 < off.1, "{off:?}");
}

#[test]
fn a_backend_that_screens_it_starts_from_it() {
    let mut posterior = CovariancePosterior::new(line(20, 0.15), 1.0, 0.1);
    assert!(matches!(posterior.change(), Change::None));
    posterior.observe(3, 1.0);
    assert!(matches!(posterior.change(), Change::Rebuild));
    posterior.screened();
    assert!(matches!(posterior.change(), Change::None));
    assert!(posterior.table().is_some_and(|table| table.means.len() == 20));
}
