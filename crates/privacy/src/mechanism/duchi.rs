//! Randomises one bounded reward to one bit [Duchi2018, one dimension; Wang2019, section III].
//!
//! It has the least worst-case variance at small epsilon, and an output of two values. Proof: `docs/proofs/duchi.md`.

use super::MechanismEntry;
use super::on_window::{self, UnitRandomiser};
use crate::noise::{Entropy, SamplerLaw, Words};
use crate::planted::{self, PlantedFault};
use crate::{Epsilon, Event};
use privateer_numerics::rng::Stream;

/// Registry entry.
pub const ENTRY: MechanismEntry = MechanismEntry {
    name: "duchi",
    summary: "one randomised bit for the clipped reward: pure epsilon, two output values",
    paper: "Duchi2018",
    build: on_window::build::<TwoPoint>,
};

/// Unit of the exact coin; its probabilities are multiples of 2^-53.
const WHOLE: u64 = 1 << 52;

/// Randomises an input on [-1, 1] to `+output` or `-output`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TwoPoint {
    /// Absolute value of the released value.
    pub(crate) output: f64,
    /// Bias of the coin at an input of 1: the probability of `+output` is (1 + input tilt)/2.
    pub(crate) tilt: f64,
    /// Probability of the less likely value at an input of 1 or -1.
    pub(crate) rare: f64,
}

impl TwoPoint {
    /// Returns the released value for an input on [-1, 1] and a uniform draw.
    pub(crate) fn respond(&self, input: f64, uniform: f64) -> f64 {
        if uniform < 0.5 * (1.0 + input * drawn(self.tilt)) { self.output } else { -self.output }
    }

    /// Returns tanh(epsilon/2) in units of 2^-52, rounded down.
    fn tau(&self) -> u64 {
        // Rounded down by more than the error of tanh: (1 + tau)/(1 - tau) <= e^epsilon. Near 1 the distance to 1 decides.
        let tau = (self.tilt * (1.0 - 1e-14)).min(1.0 - 2.0 * self.rare * (1.0 + 1e-14));
        // One unit less covers the rounding of the distance to 1 at large epsilon.
        ((tau * WHOLE as f64).floor() as u64).saturating_sub(1)
    }

    /// Returns `2^53` times the probability of the upper value.
    fn weight(&self, input: f64) -> u64 {
        let (whole, tau) = (WHOLE as f64, self.tau() as f64);
        let lean = (input * (drawn(tau / whole) * whole)).clamp(-whole, whole).round() as i64;
        WHOLE.saturating_add_signed(lean)
    }
}

/// Returns the tilt that is drawn; the planted fault uses tanh(epsilon) instead of tanh(epsilon/2).
fn drawn(tilt: f64) -> f64 {
    if planted::is(PlantedFault::DuchiNoise) { 2.0 / (1.0 + tilt * tilt) * tilt } else { tilt }
}

impl UnitRandomiser for TwoPoint {
    const FORMULA: &'static str =
        "output = ±(e^epsilon + 1)/(e^epsilon - 1) on rewards clipped and scaled to [-1, 1] [Duchi2018]";

    fn new(epsilon: Epsilon) -> Self {
        // tilt = (e^epsilon - 1)/(e^epsilon + 1) = tanh(epsilon/2): the odds (1 + tilt)/(1 - tilt) at the two ends are then
        // e^epsilon.
        let tilt = libm::tanh(0.5 * epsilon.get());
        // output = 1/tilt: the mean (1 + t tilt)/2 · output - (1 - t tilt)/2 · output = t tilt output is then the input t.
        let output = 1.0 / tilt;
        // rare = (1 - tilt)/2 = 1/(e^epsilon + 1), without cancellation.
        let rare = 1.0 / (libm::exp(epsilon.get()) + 1.0);
        Self { output, tilt, rare }
    }

    fn draw(&self, input: f64, stream: &mut Stream) -> f64 {
        self.respond(input, stream.uniform())
    }

    fn draw_exact(&self, input: f64, entropy: &mut Entropy) -> f64 {
        let bound = WHOLE as f64 / self.tau() as f64;
        if (entropy.word() >> 11) < self.weight(input) { bound } else { -bound }
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        vec![SamplerLaw::Bit { upper: self.weight(1.0), lower: self.weight(-1.0), total: 2 * WHOLE }]
    }

    fn bound(&self) -> f64 {
        self.output
    }

    fn variance(&self) -> f64 {
        // At an input of 0, where output² - input² is largest.
        self.output * self.output
    }

    fn proxy(&self) -> f64 {
        // Hoeffding's lemma on [-output, output] gives output², the variance at an input of 0.
        self.variance()
    }

    fn event(&self) -> Event {
        Event::TwoPoint { rare: self.rare }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::law::{
        Law, assert_private_and_unbiased, assert_proxies, assert_sampler_follows, assert_weights, worst_log_ratio,
    };
    use super::*;
    use crate::noise::fits;
    use crate::testing::epsilon as e;

    /// Returns the law as printed in [Wang2019, algorithm 1].
    pub(in super::super) fn law(epsilon: f64, input: f64) -> Law {
        let e = libm::exp(epsilon);
        let output = (e + 1.0) / (e - 1.0);
        let plus = (input * (e - 1.0) + e + 1.0) / (2.0 * e + 2.0);
        Law { atoms: vec![(-output, 1.0 - plus), (output, plus)], pieces: Vec::new() }
    }

    #[test]
    fn the_law_is_private_and_unbiased() {
        for epsilon in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let coin = TwoPoint::new(e(epsilon));
            assert_private_and_unbiased(epsilon, coin.variance(), |input| law(epsilon, input));
            // The planted fault: probabilities for twice the budget.
            assert!(1.9 * epsilon < worst_log_ratio(|input| law(2.0 * epsilon, input)));
            let n = 4096;
            for input in [-1.0, -0.3, 0.0, 0.8, 1.0] {
                let draws = (0..n).map(|i| coin.respond(input, (f64::from(i) + 0.5) / f64::from(n))).collect();
                assert_sampler_follows(draws, &law(epsilon, input), 1.0 / f64::from(n));
            }
        }
    }

    #[test]
    fn the_proxy_is_proved_and_tight() {
        assert_proxies::<TwoPoint>(&[0.1, 0.6, 1.0, 2.0, 6.0], &[], |_, epsilon, input| law(epsilon, input));
    }

    #[test]
    fn extremes_of_the_draw_stay_within_the_bound() {
        let coin = TwoPoint::new(e(1.0));
        assert_eq!([coin.respond(1.0, 0.0), coin.respond(1.0, 1.0 - f64::EPSILON / 2.0)], [coin.output, -coin.output]);
    }

    #[test]
    fn the_exact_coin_is_private_and_unbiased() {
        for epsilon in [1e-6, 0.1, 1.0, 5.0, 12.0, 20.0] {
            let bit = TwoPoint::new(e(epsilon));
            let (high, low) = (bit.weight(1.0), 2 * WHOLE - bit.weight(1.0));
            assert_weights(epsilon, (high, low), 1e-6);
            assert_eq!(bit.weight(-1.0), low);
            for unit in [-1.0, -0.4, 0.0, 0.9] {
                let p = bit.weight(unit) as f64 / (2 * WHOLE) as f64;
                let bound = bit.draw_exact(1.0, &mut Entropy::seeded(1)).abs();
                assert!(((2.0 * p - 1.0) * bound - unit).abs() < 1e-9, "{epsilon} {unit}");
            }
        }
        let bit = TwoPoint::new(e(1.0));
        let mut words = Entropy::seeded(8);
        let ups = (0..100_000).filter(|_| 0.0 < bit.draw_exact(0.5, &mut words)).count() as u64;
        let p = bit.weight(0.5) as f64 / (2 * WHOLE) as f64;
        assert!(fits(&[ups, 100_000 - ups], &[p, 1.0 - p]));
        assert!(!fits(&[ups, 100_000 - ups], &[p + 0.02, 0.98 - p]), "a planted lean is caught");
    }
}
