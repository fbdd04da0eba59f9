//! Implements the hybrid mechanism for one bounded reward [Wang2019, section III-C].
//!
//! A coin that does not depend on the reward chooses between the piecewise density and one bit. The output is bounded. Above the
//! threshold the variance is the same for every reward.
//! Proof: `docs/proofs/hybrid.md`.

use super::MechanismEntry;
use super::duchi::TwoPoint;
use super::on_window::{self, UnitRandomiser};
use super::piecewise::TwoLevel;
use super::sub_gaussian::variance_proxy;
use crate::noise::{Entropy, SamplerLaw, Words};
use crate::planted::{self, PlantedFault};
use crate::{Epsilon, Event};
use privateer_numerics::rng::Stream;

/// Registry entry.
pub const ENTRY: MechanismEntry = MechanismEntry {
    name: "hybrid",
    summary: "piecewise density or one randomised bit, whichever epsilon favours: pure epsilon, bounded output",
    paper: "Wang2019",
    build: on_window::build::<Mixture>,
};

/// Returns the epsilon up to which one bit alone has the least worst-case variance.
/// It is 0.6094 to four digits.
fn threshold() -> f64 {
    // With s = e^(epsilon/2) and the share 1 - 1/s of the piecewise density, the mixture's variance (s + 3)/(3 s (s - 1)) +
    // C²/s equals the bit's C², C = (s² + 1)/(s² - 1), where 3 s³ - s² + s - 7 = 0. Cardano's formula, with 54² · 241 = 838² +
    // 8³:
    let first = libm::cbrt(838.0 + 54.0 * libm::sqrt(241.0));
    // The product of the two cube roots is -8.
    let s = (1.0 + first - 8.0 / first) / 9.0;
    2.0 * libm::log(s)
}

/// Number of pieces of [-1, 1] on which chords bound a function of the input.
const PIECES: u32 = 16;

/// Randomises an input on [-1, 1].
#[derive(Debug, Clone, Copy)]
pub(super) struct Mixture {
    density: TwoLevel,
    coin: TwoPoint,
    /// Probability of the piecewise density.
    density_share: f64,
    worst_variance: f64,
}

impl Mixture {
    /// Returns the probability that the density answers; the planted fault looks at the input.
    fn drawn_share(&self, input: f64) -> f64 {
        let share = if planted::is(PlantedFault::HybridBranch) { 0.5 * (1.0 + input) } else { 1.0 };
        share * self.density_share
    }

    fn respond(&self, input: f64, branch: f64, level: f64, place: f64) -> f64 {
        if branch < self.drawn_share(input) { self.density.respond(input, level, place) } else { self.coin.respond(input, level) }
    }

    /// Returns a bound on `ln E exp(x (answer - input))` over all inputs, for x > 0.
    fn worst_log_mgf(&self, x: f64) -> f64 {
        let [everywhere, raised, rate] = self.density.log_mgf_parts(x);
        let scale = x * self.density.output;
        let (up, down) = (libm::exp(x * self.coin.output - scale), libm::exp(-x * self.coin.output - scale));
        // The moment generating function at an input, times e^-scale, is this line and an exponential: convex in the input.
        let coin_share = 1.0 - self.density_share;
        let middle = self.density_share * libm::exp(everywhere - scale) + coin_share * 0.5 * (up + down);
        let rise = coin_share * 0.5 * self.coin.tilt * (up - down);
        let mgf = |input: f64| middle + rise * input + self.density_share * libm::exp(raised + rate * input - scale);
        // On each of the pieces the chord is above it, and the logarithm of the chord less x · input is largest at `peak`.
        let width = 2.0 / f64::from(PIECES);
        let (mut left, mut at_left, mut largest) = (-1.0, mgf(-1.0), f64::NEG_INFINITY);
        for i in 1..=PIECES {
            let right = width * f64::from(i) - 1.0;
            let at_right = mgf(right);
            let slope = (at_right - at_left) / width;
            let at_zero = at_left - slope * left;
            let peak = (1.0 / x - at_zero / slope).clamp(left, right);
            largest = largest.max(libm::log(at_zero + slope * peak) - x * peak);
            (left, at_left) = (right, at_right);
        }
        scale + largest
    }
}

impl UnitRandomiser for Mixture {
    const FORMULA: &'static str = "one bit up to epsilon = 0.6094, above it the piecewise density with probability 1 - e^(-epsilon/2), \
     on rewards clipped and scaled to [-1, 1] [Wang2019]";

    fn new(epsilon: Epsilon) -> Self {
        let (density, coin) = (TwoLevel::new(epsilon), TwoPoint::new(epsilon));
        if epsilon.get() <= threshold() {
            return Self { density, coin, density_share: 0.0, worst_variance: coin.variance() };
        }
        // share = 1 - e^(-epsilon/2): the terms share/(s - 1) and -(1 - share) of input² in the two variances then cancel.
        let density_share = -libm::expm1(-0.5 * epsilon.get());
        let s = libm::exp(0.5 * epsilon.get());
        // (s + 3)/(3 s (s - 1)) + C²/s, for every input.
        let worst_variance = (1.0 + 3.0 / s) / (3.0 * libm::expm1(0.5 * epsilon.get())) + coin.variance() / s;
        Self { density, coin, density_share, worst_variance }
    }

    fn draw(&self, input: f64, stream: &mut Stream) -> f64 {
        // Three words for either branch, so that draws stay aligned between budgets.
        let (branch, level, place) = (stream.uniform(), stream.uniform(), stream.uniform());
        self.respond(input, branch, level, place)
    }

    fn draw_exact(&self, input: f64, entropy: &mut Entropy) -> f64 {
        // Privacy holds for any share; 2^53 is the range of the coin.
        let dense = (self.drawn_share(input) * libm::exp2(53.0)) as u64;
        if (entropy.word() >> 11) < dense {
            self.density.draw_exact(input, entropy)
        } else {
            self.coin.draw_exact(input, entropy)
        }
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        let density = if self.density_share == 0.0 { Vec::new() } else { self.density.laws() };
        [density, self.coin.laws()].concat()
    }

    fn bound(&self) -> f64 {
        // The density's coth(epsilon/4) exceeds the bit's coth(epsilon/2).
        if self.density_share == 0.0 { self.coin.output } else { self.density.output }
    }

    fn variance(&self) -> f64 {
        self.worst_variance
    }

    fn proxy(&self) -> f64 {
        if self.density_share == 0.0 {
            return self.coin.proxy();
        }
        variance_proxy(self.worst_variance, self.density.output, |x| self.worst_log_mgf(x))
    }

    fn event(&self) -> Event {
        let Self { density, coin, density_share, .. } = *self;
        if density_share == 0.0 {
            Event::TwoPoint { rare: coin.rare }
        } else {
            Event::Mixture { rare: coin.rare, high: density.high, low: density.low, two_level_share: density_share }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::{Law, assert_private_and_unbiased, assert_proxies, assert_sampler_follows, worst_log_ratio};
    use super::super::{duchi, piecewise};
    use super::*;
    use crate::testing::epsilon as e;

    fn law(epsilon: f64, share: f64, input: f64) -> Law {
        piecewise::tests::law(epsilon, input).mixed(share, &duchi::tests::law(epsilon, input))
    }

    #[test]
    fn the_law_is_private_and_unbiased() {
        for epsilon in [0.1, 0.5, 0.7, 1.0, 2.0, 4.0] {
            let mixture = Mixture::new(e(epsilon));
            assert_private_and_unbiased(epsilon, mixture.worst_variance, |input| law(epsilon, mixture.density_share, input));
            assert!(1.9 * epsilon < worst_log_ratio(|input| law(2.0 * epsilon, 0.5, input)));
            for input in [-1.0, -0.3, 0.0, 0.8, 1.0] {
                let branches = [0.0, 1.0 - f64::EPSILON];
                let density = piecewise::tests::square(256, |level, place| mixture.respond(input, branches[0], level, place));
                let coin = piecewise::tests::square(256, |level, place| mixture.respond(input, branches[1], level, place));
                let first = if mixture.density_share == 0.0 {
                    duchi::tests::law(epsilon, input)
                } else {
                    piecewise::tests::law(epsilon, input)
                };
                assert_sampler_follows(density, &first, 2.0 / 256.0);
                assert_sampler_follows(coin, &duchi::tests::law(epsilon, input), 2.0 / 256.0);
            }
        }
    }

    #[test]
    fn the_proxy_is_proved_and_tight() {
        let law = |mixture: &Mixture, epsilon, input| law(epsilon, mixture.density_share, input);
        assert_proxies(&[0.1, 0.62, 1.0, 2.0, 6.0], &[1e-6, 40.0, 700.0], law);
    }

    /// Checks that the threshold is that of [Wang2019, section III-C], with equal variances there.
    #[test]
    fn threshold_is_where_the_variances_meet() {
        let root = libm::sqrt(241.0);
        let printed =
            libm::log((-5.0 + 2.0 * libm::cbrt(6353.0 - 405.0 * root) + 2.0 * libm::cbrt(6353.0 + 405.0 * root)) / 27.0);
        assert!((threshold() - printed).abs() < 1e-13, "{} for {printed}", threshold());
        let (below, above) = (Mixture::new(e(threshold())), Mixture::new(e(threshold() * (1.0 + 1e-12))));
        assert_eq!(below.density_share, 0.0);
        assert!(0.0 < above.density_share);
        assert!((below.worst_variance - above.worst_variance).abs() < 1e-10 * below.worst_variance);
    }
}
