//! Provides test instruments for mechanisms.
//! Output laws in closed form and the exact ratio check.

use super::on_window::UnitRandomiser;
use crate::testing::epsilon as e;
use crate::{Budget, Calibration, Request, RewardFacts};
use privateer_numerics::rng::{Purpose, Stream, Streams};

/// Makes a request with this budget and delta 1e-5.
pub(super) fn request(mechanism: &'static str, calibration: Calibration, epsilon: f64) -> Request {
    let budget = Budget::new(Some(epsilon), Some(1e-5)).expect("a budget");
    Request { mechanism, calibration, budget, clip: None }
}

/// Returns the facts on rewards with B = R = 1, hence on [-2, 2].
pub(super) fn facts() -> RewardFacts {
    RewardFacts { bound: 1.0, noise_bound: Some(1.0), range: None, noise_variance: Some(1.0 / 3.0), rounds: 1000 }
}

/// Returns the random stream of the tests.
pub(super) fn stream(label: &str) -> Stream {
    Streams::new(11, "mechanisms").of(0, Purpose::Mechanism(label))
}

/// Holds a distribution of atoms (value, probability) and constant pieces (from, to, density).
#[derive(Debug, Clone)]
pub(super) struct Law {
    pub(super) atoms: Vec<(f64, f64)>,
    pub(super) pieces: Vec<(f64, f64, f64)>,
}

impl Law {
    /// Returns the mixture of this law, with probability `share`, and the other law.
    pub(super) fn mixed(&self, share: f64, other: &Self) -> Self {
        let weigh = |law: &Self, weight: f64| {
            let atoms: Vec<_> = law.atoms.iter().map(|&(x, p)| (x, weight * p)).collect();
            let pieces: Vec<_> = law.pieces.iter().map(|&(a, b, d)| (a, b, weight * d)).collect();
            (atoms, pieces)
        };
        let (mut atoms, mut pieces) = weigh(self, share);
        let (more_atoms, more_pieces) = weigh(other, 1.0 - share);
        atoms.extend(more_atoms);
        pieces.extend(more_pieces);
        pieces.retain(|&(_, _, density)| 0.0 < density);
        Self { atoms, pieces }
    }

    /// Returns the integral of x^power, for power 0, 1 or 2.
    fn moment(&self, power: i32) -> f64 {
        let atoms: f64 = self.atoms.iter().map(|&(x, p)| p * x.powi(power)).sum();
        let pieces: f64 =
            self.pieces.iter().map(|&(a, b, d)| d * (b.powi(power + 1) - a.powi(power + 1)) / f64::from(power + 1)).sum();
        atoms + pieces
    }

    fn below(&self, x: f64) -> f64 {
        let atoms: f64 = self.atoms.iter().filter(|&&(at, _)| at <= x).map(|&(_, p)| p).sum();
        atoms + self.pieces.iter().map(|&(a, b, d)| d * (x.clamp(a, b) - a)).sum::<f64>()
    }

    fn density(&self, x: f64) -> f64 {
        self.pieces.iter().filter(|&&(a, b, _)| a < x && x < b).map(|&(_, _, d)| d).sum()
    }

    /// Returns the largest log ratio of this law to the other over all outputs.
    fn log_ratio(&self, other: &Self) -> f64 {
        let mut ends: Vec<f64> = self.pieces.iter().chain(&other.pieces).flat_map(|&(a, b, _)| [a, b]).collect();
        ends.sort_by(f64::total_cmp);
        // Skips intervals as short as a rounding error, between two ends that are equal in exact arithmetic.
        let middles = ends.windows(2).filter(|pair| 1e-9 < pair[1] - pair[0]).map(|pair| 0.5 * (pair[0] + pair[1]));
        let densities = middles.map(|x| (self.density(x), other.density(x)));
        let atoms = self.atoms.iter().zip(&other.atoms).map(|(&(x, p), &(y, q))| {
            assert_eq!(x, y, "atoms do not move");
            (p, q)
        });
        densities.chain(atoms).filter(|&(p, _)| 0.0 < p).map(|(p, q)| libm::log(p / q)).fold(0.0, f64::max)
    }
}

fn inputs() -> impl Iterator<Item = f64> + Clone {
    (-8..=8).map(|i| f64::from(i) / 8.0)
}

/// Returns the largest log ratio over a grid of input pairs.
pub(super) fn worst_log_ratio(law: impl Fn(f64) -> Law) -> f64 {
    inputs().flat_map(|a| inputs().map(move |b| (a, b))).map(|(a, b)| law(a).log_ratio(&law(b))).fold(0.0, f64::max)
}

/// Asserts mass 1, mean = input, and that variance and ratio keep their bounds and attain them.
/// The bounds are `worst_variance` and e^epsilon; each is attained at some input.
pub(super) fn assert_private_and_unbiased(epsilon: f64, worst_variance: f64, law: impl Fn(f64) -> Law) {
    let worst = worst_log_ratio(&law);
    assert!((worst - epsilon).abs() < 1e-10, "log ratio {worst} for epsilon {epsilon}");
    let mut largest = 0.0_f64;
    for input in inputs() {
        let law = law(input);
        assert!((law.moment(0) - 1.0).abs() < 1e-10, "mass {} at {input}", law.moment(0));
        assert!((law.moment(1) - input).abs() < 1e-9, "mean {} at {input}", law.moment(1));
        largest = largest.max(law.moment(2) - input * input);
    }
    assert!((largest - worst_variance).abs() < 1e-8 * worst_variance, "variance {largest}, stated {worst_variance}");
}

/// Asserts that `proxy` is a variance proxy of the law around its input, and that 0.99 of it is not.
fn assert_sub_gaussian(proxy: f64, law: impl Fn(f64) -> Law) {
    let scale = libm::sqrt(proxy);
    let mut most = 0.0_f64;
    for input in inputs() {
        let law = law(input);
        for i in 1..=400 {
            // Both signs, from 0.02 to 8 in units of the scale.
            for x in [-1.0, 1.0].map(|sign| sign * 0.02 * f64::from(i) / scale) {
                let atoms: f64 = law.atoms.iter().map(|&(at, p)| p * libm::exp(x * (at - input))).sum();
                let pieces =
                    law.pieces.iter().map(|&(a, b, d)| d * (libm::exp(x * (b - input)) - libm::exp(x * (a - input))) / x);
                most = most.max(2.0 * libm::log(atoms + pieces.sum::<f64>()) / (x * x));
            }
        }
    }
    assert!(most <= proxy, "an argument asks for {most}, and the proxy is {proxy}");
    assert!(0.99 * proxy < most, "{proxy} is more than 1 % above {most}");
}

/// Asserts that a randomiser's proxies are those of its law at some budgets, and keep their bounds at extreme ones.
pub(super) fn assert_proxies<R: UnitRandomiser>(epsilons: &[f64], extreme: &[f64], law: impl Fn(&R, f64, f64) -> Law) {
    for &epsilon in epsilons {
        let randomiser = R::new(e(epsilon));
        assert_sub_gaussian(randomiser.proxy(), |input| law(&randomiser, epsilon, input));
    }
    for &epsilon in extreme {
        let randomiser = R::new(e(epsilon));
        let (proxy, bound) = (randomiser.proxy(), randomiser.bound());
        assert!(randomiser.variance() <= proxy && proxy <= bound * bound, "{epsilon}: {proxy}");
    }
}

/// Asserts that integer weights of ratio at most e^epsilon have nearly that ratio.
#[track_caller]
pub(super) fn assert_weights(epsilon: f64, (high, low): (u64, u64), shortfall: f64) {
    let loss = libm::log1p((high - low) as f64 / low as f64);
    assert!(loss <= epsilon * (1.0 + 2e-16) && epsilon * (1.0 - shortfall) < loss, "{epsilon}: {loss}");
}

/// Asserts that the empirical distribution of equally likely draws follows the law.
/// The two distribution functions differ by at most `tolerance`.
pub(super) fn assert_sampler_follows(mut draws: Vec<f64>, law: &Law, tolerance: f64) {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    for (i, pair) in draws.windows(2).enumerate() {
        if pair[0] < pair[1] {
            let (share, exact) = ((i + 1) as f64 / n, law.below(0.5 * (pair[0] + pair[1])));
            assert!((share - exact).abs() <= tolerance, "share {share} below {} for {exact}", pair[0]);
        }
    }
}
