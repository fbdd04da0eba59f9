//! Tests what the releases add, guarantee and refuse.

use super::{ChannelRelease, ReleaseError, RowsRelease};
use crate::mechanism::{MECHANISMS, laplace, none};
use crate::noise::Grid;
use crate::testing::{delta as d, epsilon as e};
use crate::{Budget, Calibration, Channel, MechanismEntry, Query, Raw, Request, RewardFacts, RewardMechanism};
use std::sync::Arc;

/// Checks that rows are refused beyond a bound of 10^8 radii.
/// Up to that bound the noise covers the rounding of f64.
#[test]
fn bounds_beyond_what_doubles_hold_are_refused() {
    let make = |bound: f64, columns: usize| RowsRelease::calibrated(e(1.0), d(1e-5), 1.0, bound, columns);
    assert!(matches!(make(5.6e14, 2), Err(ReleaseError::Range(said)) if said.contains("times the radius")));
    assert!(make(1.01e8, 2).is_err() && make(1e8, 2).is_ok());
    let share = |bound: f64| make(bound, 1000).expect("a mechanism").sigma() / make(1.0, 1000).expect("a mechanism").sigma();
    assert!(1.0 + 1e-5 < share(1e8) && share(1e8) < 1.0001 && share(1e2) == 1.0, "{} {}", share(1e8), share(1e2));
}

fn private() -> impl Iterator<Item = &'static MechanismEntry> {
    MECHANISMS.iter().filter(|entry| entry.name != "none")
}

fn mechanism(entry: &MechanismEntry, epsilon: f64) -> Arc<dyn RewardMechanism> {
    let facts = RewardFacts { bound: 1.0, noise_bound: Some(0.5), range: None, noise_variance: None, rounds: 10 };
    let budget = Budget::new(Some(epsilon), Some(1e-3)).expect("a budget");
    let request = Request { mechanism: entry.name, calibration: Calibration::Tight, budget, clip: Some((-1.0, 3.0)) };
    (entry.build)(&request, &facts).expect("a mechanism")
}

#[test]
fn ranges_beyond_a_grid_are_refused() {
    for range in [(0.0, f64::INFINITY), (1e18, 1e18 + 1e3)] {
        assert!(Grid::laplace(range, 1.0).is_err(), "{range:?}");
    }
}

fn released(mechanism: &Arc<dyn RewardMechanism>, reward: f64) -> Result<f64, ReleaseError> {
    let mut release = ChannelRelease::of(&Channel::Rewards(Arc::clone(mechanism)))?;
    release.release(&Query::default(), Raw::seal(reward)).map(|released| released.reward().expect("a reward"))
}

/// Returns the mean and the variance of 2000 releases of one reward.
fn moments(mechanism: &Arc<dyn RewardMechanism>, reward: f64) -> (f64, f64) {
    let draws: Vec<f64> = (0..2000).map(|_| released(mechanism, reward).expect("entropy")).collect();
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    (mean, draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n)
}

/// Checks that exact noise has the variance that policies are told.
/// At the reward with the largest variance it must agree to within 0.3
/// of that variance: five standard errors at a kurtosis of 6 or more, a false alarm at most once in a million. If the
/// hybrid's coin were tossed twice, the variance at epsilon 3 would be 1.4 times as large; with a hybrid instead of the
/// density, twice as large.
#[test]
fn exact_noise_has_the_variance_that_policies_are_told() {
    for entry in private() {
        for epsilon in [0.5, 3.0] {
            let mechanism = mechanism(entry, epsilon);
            let variance = [1.0, 1.5, 2.0, 2.5, 3.0].map(|reward| moments(&mechanism, reward).1).into_iter().fold(0.0, f64::max);
            let told = mechanism.noise_variance();
            assert!((variance / told - 1.0).abs() < 0.3, "{} at {epsilon}: {variance} for {told}", entry.name);
        }
    }
}

/// Checks that the mean of draws is the clipped reward, and what is refused.
/// Five standard errors: a false alarm once in a million and a half.
#[test]
fn every_mechanism_draws_exact_noise() {
    for entry in private() {
        for epsilon in [0.5, 3.0] {
            let (mean, variance) = moments(&mechanism(entry, epsilon), 0.4);
            assert!((mean - 0.4).abs() < 5.0 * (variance / 2000.0).sqrt(), "{}: {mean}", entry.name);
            assert!(1e-3 < variance, "{}", entry.name);
        }
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(released(&mechanism(entry, 1.0), bad), Err(ReleaseError::NotFinite), "{}", entry.name);
        }
        let exact = mechanism(entry, 21.0).exact();
        assert_eq!(exact.is_ok(), ["laplace", "gaussian"].contains(&entry.name), "{}", entry.name);
    }
    let open = mechanism(&none::ENTRY, 1.0);
    assert_eq!((released(&open, 7.5), open.exact()), (Ok(7.5), Ok(Vec::new())));
    assert!(released(&open, f64::INFINITY).is_err());
    // As printed, nothing is clipped where the noise is unbounded: no claim, and nothing is released.
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: 10 };
    let budget = Budget::new(Some(1.0), None).expect("a budget");
    let request = Request { mechanism: "laplace", calibration: Calibration::AsPrinted, budget, clip: Some((-1.0, 1.0)) };
    let unclipped = laplace::build(&request, &facts).expect("a mechanism");
    assert!(matches!(released(&unclipped, 0.0), Err(ReleaseError::Range(_))));
}
