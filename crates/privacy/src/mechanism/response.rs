//! Rounds one bounded reward to k levels and answers by randomised response on them.
//!
//! Source: [Warner1965; Kairouz2016]. Two levels are one randomised bit. The number of levels is the one with the least worst-case variance.
//! Proof: `docs/proofs/randomised-response.md`.

use super::MechanismEntry;
use super::on_window::{self, UnitRandomiser};
use super::sub_gaussian::variance_proxy;
use crate::noise::{Entropy, SamplerLaw, Words, below};
use crate::planted::{self, PlantedFault};
use crate::{Epsilon, Event};
use privateer_numerics::rng::Stream;

/// Registry entry.
pub const ENTRY: MechanismEntry = MechanismEntry {
    name: "randomised-response",
    summary: "the clipped reward rounded to levels, one of them answered: pure epsilon, few output values",
    paper: "Kairouz2016",
    build: on_window::build::<Response>,
};

/// Largest number of levels.
pub(crate) const MOST_LEVELS: u64 = 64;

/// Randomises an input on [-1, 1].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response {
    pub(crate) epsilon: f64,
    /// Number of levels k, at -1 + 2 j/(k - 1).
    pub(crate) levels: u64,
    /// Probability of answering the input's own level for certain; else the answer is a uniform level.
    kept: f64,
    /// Variance of the answer at the worst input.
    pub(crate) worst_variance: f64,
}

impl Response {
    /// Returns randomised response on this number of levels.
    pub(crate) fn on(levels: u64, epsilon: f64) -> Self {
        let kept = 1.0 / (1.0 + per_level(drawn(epsilon), levels));
        Self { epsilon, levels, kept, worst_variance: worst_variance(epsilon, levels) }
    }

    fn level(&self, at: u64) -> f64 {
        2.0 * at as f64 / (self.levels - 1) as f64 - 1.0
    }

    /// Returns the level below an input, and the probability of rounding up that keeps the mean.
    fn round(&self, input: f64) -> (u64, f64) {
        let place = 0.5 * (input + 1.0) * (self.levels - 1) as f64;
        let below = place.floor().clamp(0.0, (self.levels - 2) as f64);
        (below as u64, (place - below).clamp(0.0, 1.0))
    }

    /// Returns the answer to an input for two uniform draws.
    fn respond(&self, input: f64, rounding: f64, answer: f64) -> f64 {
        let (below, up) = self.round(input);
        let own = below + u64::from(rounding < up);
        let other = ((answer - self.kept) / (1.0 - self.kept) * self.levels as f64) as u64;
        self.level(if answer < self.kept { own } else { other.min(self.levels - 1) }) / self.kept
    }

    /// Returns the integer weights of a level's own answer and of each other, with a checked ratio.
    fn weights(&self) -> (u64, u64) {
        // Large at small epsilon, where the own weight is hardly larger; small at large epsilon, where the sum has 64 bits.
        let other = if self.epsilon < 1.0 { 1 << 40 } else { 1 << 20 };
        // Rounded down by more than the error of exp: own/other <= e^epsilon.
        ((other as f64 * libm::exp(drawn(self.epsilon)) * (1.0 - 1e-14)).floor() as u64, other)
    }

    /// Returns the largest `ln E exp(x (answer - input))` over all inputs, for x > 0.
    fn log_mgf(&self, x: f64) -> f64 {
        let bound = self.bound();
        // In units of exp(x bound): no power overflows.
        let power = |at: u64| libm::exp(x * (self.level(at) / self.kept - bound));
        let others = (1.0 - self.kept) / self.levels as f64 * (0..self.levels).map(power).sum::<f64>();
        let width = 2.0 / (self.levels - 1) as f64;
        let cells = (0..self.levels - 1).map(|at| {
            let (low, left) = (self.level(at), self.kept * power(at));
            let slope = (self.kept * power(at + 1) - left) / width;
            // ln(whole + slope t) - x t is concave in t: it is largest where slope/(whole + slope t) = x.
            let whole = others + left - slope * low;
            let peak = 1.0 / x - whole / slope;
            let input = if peak.is_finite() { peak.clamp(low, low + width) } else { low };
            libm::log(whole + slope * input) + x * (bound - input)
        });
        cells.fold(0.0, f64::max)
    }
}

/// Returns the epsilon that is drawn for.
fn drawn(epsilon: f64) -> f64 {
    if planted::is(PlantedFault::ResponseNoise) { 2.0 * epsilon } else { epsilon }
}

/// Returns `k/(e^epsilon - 1)`, which is `1/kept - 1`.
fn per_level(epsilon: f64, levels: u64) -> f64 {
    levels as f64 / libm::expm1(epsilon)
}

/// Returns the variance of the answer at the worst input, which is between the two outermost levels.
fn worst_variance(epsilon: f64, levels: u64) -> f64 {
    let (a, k) = (per_level(epsilon, levels), levels as f64);
    let width = 2.0 / (k - 1.0);
    // At 1 - x: a (1 - x)² + (1 + a) x (width - x), by the answer and by rounding, and the uniform answers' part.
    let x = (0.5 * (1.0 + a) * width - a).clamp(0.0, width);
    a * (1.0 - x) * (1.0 - x) + (1.0 + a) * x * (width - x) + a * (1.0 + a) * (k + 1.0) / (3.0 * (k - 1.0))
}

impl UnitRandomiser for Response {
    const FORMULA: &'static str = "a level's own answer with probability e^epsilon/(e^epsilon + k - 1), each other with 1/(e^epsilon + k - 1), \
     k of least worst-case variance, on rewards clipped and scaled to [-1, 1] [Kairouz2016]";

    fn new(epsilon: Epsilon) -> Self {
        let epsilon = epsilon.get();
        let of = |levels: u64| (levels, worst_variance(epsilon, levels));
        let less = |best: (u64, f64), levels| if of(levels).1 < best.1 { of(levels) } else { best };
        let (levels, _) = (3..=MOST_LEVELS).fold(of(2), less);
        Self::on(levels, epsilon)
    }

    fn draw(&self, input: f64, stream: &mut Stream) -> f64 {
        let (rounding, answer) = (stream.uniform(), stream.uniform());
        self.respond(input, rounding, answer)
    }

    fn draw_exact(&self, input: f64, entropy: &mut Entropy) -> f64 {
        let ((own, other), (below_input, up)) = (self.weights(), self.round(input));
        let level = below_input + u64::from(((entropy.word() >> 11) as f64) < up * libm::exp2(53.0));
        let total = own + (self.levels - 1) * other;
        let drawn = below(total, entropy);
        let answer = if drawn < own { level } else { (level + 1 + (drawn - own) / other) % self.levels };
        self.level(answer) * (total as f64 / (own - other) as f64)
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        let (high, low) = self.weights();
        vec![SamplerLaw::Levels { high, low }]
    }

    fn bound(&self) -> f64 {
        1.0 / self.kept
    }

    fn variance(&self) -> f64 {
        self.worst_variance
    }

    fn proxy(&self) -> f64 {
        // Hoeffding's lemma on [-bound, bound] gives the second number.
        variance_proxy(self.worst_variance, self.bound(), |x| self.log_mgf(x)).min(self.bound() * self.bound())
    }

    fn event(&self) -> Event {
        // 1/(e^epsilon + k - 1), and e^epsilon of that.
        let wrong = 1.0 / (libm::expm1(self.epsilon) + self.levels as f64);
        Event::Response { right: wrong * libm::exp(self.epsilon), wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::{Law, assert_private_and_unbiased, assert_proxies, assert_weights, worst_log_ratio};
    use super::*;
    use crate::testing::epsilon as e;

    /// Returns the law by its definition: rounding, then randomised response on k levels.
    fn law(epsilon: f64, levels: u64, input: f64) -> Law {
        let (e, k) = (libm::exp(epsilon), levels as f64);
        let (own, other) = (e / (e + k - 1.0), 1.0 / (e + k - 1.0));
        let at = |j: u64| -1.0 + 2.0 * j as f64 / (k - 1.0);
        let rounded = |j: u64| (1.0 - (input - at(j)).abs() * (k - 1.0) / 2.0).max(0.0);
        let atom = |i| (at(i) / (own - other), (0..levels).map(|j| rounded(j) * if i == j { own } else { other }).sum());
        Law { atoms: (0..levels).map(atom).collect(), pieces: Vec::new() }
    }

    /// Checks the law at enumerated inputs, and the sampler by counting equally likely draws.
    #[test]
    fn the_law_is_private_and_unbiased() {
        for (epsilon, levels) in [(0.1, 2), (1.0, 2), (2.0, 3), (4.0, 5)] {
            let response = Response::new(e(epsilon));
            assert_eq!(response.levels, levels, "{epsilon}");
            let found = worst_log_ratio(|input| law(epsilon, levels, input));
            assert!((found - epsilon).abs() < 1e-12, "{epsilon}: {found}");
            assert!(1.9 * epsilon < worst_log_ratio(|input| law(2.0 * epsilon, levels, input)));
            for input in [-1.0, -0.3, 0.0, 0.8, 1.0] {
                let (n, law) = (400, law(epsilon, levels, input));
                for &(value, probability) in &law.atoms {
                    let place = |i: i32| (f64::from(i) + 0.5) / f64::from(n);
                    let all = (0..n).flat_map(|i| (0..n).map(move |j| response.respond(input, place(i), place(j))));
                    let share = all.filter(|x| (x - value).abs() < 1e-9).count() as f64 / f64::from(n * n);
                    assert!((share - probability).abs() < 2.0 / f64::from(n), "{epsilon} {input} {value}: {share}");
                }
            }
        }
        // With worst inputs on the grid of eighths.
        assert_private_and_unbiased(1.0, worst_variance(1.0, 2), |input| law(1.0, 2, input));
    }

    /// Checks worst variances by a fine search over inputs, and the chosen number of levels.
    #[test]
    fn the_levels_have_the_least_worst_variance() {
        for epsilon in [1e-3, 0.5, 1.5, 2.0, 4.0, 9.0, 20.0] {
            let found = Response::new(e(epsilon));
            for levels in [2, 3, 4, 5, 11, 64] {
                let variance = |input: f64| {
                    let law = law(epsilon, levels, input);
                    law.atoms.iter().map(|(x, p)| p * (x - input) * (x - input)).sum::<f64>()
                };
                let searched = (0..=4000).map(|i| variance(f64::from(i) / 2000.0 - 1.0)).fold(0.0, f64::max);
                let stated = worst_variance(epsilon, levels);
                assert!(searched <= stated * (1.0 + 1e-9) && stated <= searched * (1.0 + 1e-3), "{epsilon} {levels}: {stated}");
                assert!(found.worst_variance <= stated, "{epsilon} {levels}");
            }
        }
    }

    #[test]
    fn the_proxy_is_proved_and_tight() {
        let law = |response: &Response, epsilon, input| law(epsilon, response.levels, input);
        assert_proxies(&[0.1, 1.0, 2.0, 4.0, 6.0], &[1e-6, 40.0, 700.0], law);
    }

    /// Checks the exact answers by enumeration: the ratio of two weights, and the mean over all answers.
    #[test]
    fn exact_answers_are_private_and_unbiased() {
        for epsilon in [1e-6, 0.1, 1.0, 4.0, 12.0, 20.0] {
            let response = Response::new(e(epsilon));
            let (own, other) = response.weights();
            assert_weights(epsilon, (own, other), 1e-5);
            let levels = response.levels;
            let total = own.checked_add((levels - 1) * other).expect("64 bits") as f64;
            for level in 0..levels {
                let weight = |at: u64| if at == level { own } else { other } as f64 / total;
                let mean = (0..levels).map(|at| weight(at) * response.level(at)).sum::<f64>() * total / (own - other) as f64;
                assert!((mean - response.level(level)).abs() < 1e-6, "{epsilon} {level}: {mean}");
            }
        }
    }
}
