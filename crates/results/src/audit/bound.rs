//! Computes a lower bound on epsilon from the scores of both sides.
//!
//! An event of probability p on one side and q on the other refutes every (epsilon, delta) with `p > e^epsilon q + delta`, and
//! every mu of Gaussian privacy with `mu < Phi⁻¹(p) - Phi⁻¹(q)`. The event is "score above a threshold", more likely on the
//! first side, or "score below it", more likely on the second. The direction and the threshold are chosen on a tenth of the
//! replays, which the bound then excludes.

use super::tail::{clopper_pearson_lower, clopper_pearson_upper};
use privateer_numerics::rng::normal_quantile;
use privateer_privacy::{Delta, gdp_epsilon};

/// Largest number of thresholds that are tried on the held-out tenth.
const MOST_THRESHOLDS: usize = 2000;

/// Describes an event whose probabilities on the two sides differ.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AttackEvent {
    threshold: f64,
    /// True: scores at least the threshold, likelier on the first side; false: the reverse.
    above: bool,
}

/// States the privacy statement under attack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BoundForm {
    /// (epsilon, delta)-differential privacy.
    Direct {
        /// The failure probability.
        delta: f64,
    },
    /// Gaussian privacy, evaluated at one delta.
    Gaussian {
        /// The failure probability.
        delta: Delta,
    },
}

impl BoundForm {
    /// Returns the lower bound on epsilon that follows if the event's probabilities are these.
    fn shown(self, likely: f64, unlikely: f64) -> f64 {
        match self {
            Self::Direct { delta } => {
                let excess = likely - delta;
                if excess <= 0.0 { 0.0 } else { libm::log(excess / unlikely).max(0.0) }
            }
            Self::Gaussian { delta } => {
                if likely <= 0.0 || 1.0 <= unlikely {
                    return 0.0;
                }
                gdp_epsilon(mu(likely, unlikely).max(0.0), delta)
            }
        }
    }

    /// Ranks events as [`BoundForm::shown`] does, on any increasing scale.
    fn merit(self, likely: f64, unlikely: f64) -> f64 {
        match self {
            Self::Direct { .. } => self.shown(likely, unlikely),
            Self::Gaussian { .. } => mu(likely, unlikely),
        }
    }
}

fn mu(likely: f64, unlikely: f64) -> f64 {
    let inside = |p: f64| p.clamp(1e-300, 1.0 - 1e-16);
    normal_quantile(inside(likely)) - normal_quantile(inside(unlikely))
}

/// Returns a lower bound on epsilon with confidence `1 - alpha`.
///
/// Both sides have equally many scores, at least 20, none of them NaN.
pub(super) fn epsilon_at_least(first: &[f64], second: &[f64], form: BoundForm, alpha: f64) -> f64 {
    let held_out = first.len() / 10;
    let event = chosen(&first[..held_out], &second[..held_out], form);
    let (first, second) = (&first[held_out..], &second[held_out..]);
    let n = first.len() as u64;
    let (likely, unlikely) = counts(first, second, event);
    // Each bound takes half of alpha: both hold with probability 1 - alpha, whether or not the two sides are independent.
    form.shown(clopper_pearson_lower(likely, n, 0.5 * alpha), clopper_pearson_upper(unlikely, n, 0.5 * alpha))
}

fn counts(first: &[f64], second: &[f64], event: AttackEvent) -> (u64, u64) {
    let hits = |scores: &[f64]| scores.iter().filter(|&&score| (event.threshold <= score) == event.above).count() as u64;
    if event.above { (hits(first), hits(second)) } else { (hits(second), hits(first)) }
}

/// Returns the event with the largest bound on these scores.
///
/// Each share is first moved three standard errors (Wilson's) in the mechanism's favour, so that a few chance scores in a tail
/// do not decide.
fn chosen(first: &[f64], second: &[f64], form: BoundForm) -> AttackEvent {
    let sorted = |scores: &[f64]| {
        let mut sorted = scores.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let (first, second) = (sorted(first), sorted(second));
    let mut thresholds = sorted(&[first.as_slice(), second.as_slice()].concat());
    thresholds.dedup();
    let step = thresholds.len().div_ceil(MOST_THRESHOLDS).max(1);
    let n = first.len() as f64;
    let mut best = (f64::NEG_INFINITY, AttackEvent { threshold: 0.0, above: true });
    for &threshold in thresholds.iter().step_by(step) {
        let below = |scores: &[f64]| scores.partition_point(|&score| score < threshold) as f64 / n;
        let (p, q) = (below(&first), below(&second));
        for (above, likely, unlikely) in [(true, 1.0 - p, 1.0 - q), (false, q, p)] {
            let merit = form.merit(moved(likely, n, -3.0), moved(unlikely, n, 3.0));
            if best.0 < merit {
                best = (merit, AttackEvent { threshold, above });
            }
        }
    }
    best.1
}

/// Returns Wilson's bound, `z` standard errors away from the share.
fn moved(share: f64, n: f64, z: f64) -> f64 {
    let centre = share + z * z / (2.0 * n);
    let half = z * libm::sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
    ((centre + half) / (1.0 + z * z / n)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns scores with known tail probabilities: the quantiles of an even grid.
    fn grid(n: usize, of: impl Fn(f64) -> f64) -> Vec<f64> {
        // A fixed shuffle makes the held-out tenth similar to the rest.
        (0..n).map(|i| of(((i * 7919) % n) as f64 / n as f64 + 0.5 / n as f64)).collect()
    }

    #[test]
    fn bounds_approach_the_truth_from_below() {
        let laplace = |shift: f64| {
            move |u: f64| {
                let v = u - 0.5;
                shift - v.signum() * libm::log1p(-2.0 * v.abs())
            }
        };
        let normal = |shift: f64| move |u: f64| shift + normal_quantile(u);
        let n = 100_003;
        let found = epsilon_at_least(&grid(n, laplace(1.0)), &grid(n, laplace(0.0)), BoundForm::Direct { delta: 0.0 }, 1e-3);
        assert!((0.94..1.0).contains(&found), "{found}");
        // The bound for scores of the opposite direction must be small.
        let turned = epsilon_at_least(&grid(n, laplace(0.0)), &grid(n, laplace(1.0)), BoundForm::Direct { delta: 0.0 }, 1e-3);
        assert!(turned < 0.01, "large scores must speak for the first side: {turned}");
        let delta = Delta::try_from(1e-5).expect("a probability");
        let truth = gdp_epsilon(1.0, delta);
        let found = epsilon_at_least(&grid(n, normal(1.0)), &grid(n, normal(0.0)), BoundForm::Gaussian { delta }, 1e-3);
        assert!((0.93 * truth..truth).contains(&found), "{found} of {truth}");
        let direct = epsilon_at_least(&grid(n, normal(1.0)), &grid(n, normal(0.0)), BoundForm::Direct { delta: 1e-5 }, 1e-3);
        assert!(0.5 * truth < direct && direct < truth, "{direct} of {truth}");
    }

    #[test]
    fn certain_leaks_reach_the_logarithm_of_the_replays() {
        let (first, second) = (vec![f64::INFINITY; 1000], vec![f64::NEG_INFINITY; 1000]);
        let found = epsilon_at_least(&first, &second, BoundForm::Direct { delta: 0.0 }, 0.01);
        assert!((4.0..libm::log(1000.0)).contains(&found), "{found}");
        let same = epsilon_at_least(&second, &second, BoundForm::Direct { delta: 0.0 }, 0.01);
        assert_eq!(same, 0.0);
    }
}
