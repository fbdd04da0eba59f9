//! Implements the piecewise mechanism for one bounded reward [Wang2019, algorithm 2].
//!
//! Its density has a higher level on an interval around the input. The variance is less than that of one bit at larger epsilon,
//! and the output is bounded. Proof: `docs/proofs/piecewise.md`.

use super::MechanismEntry;
use super::on_window::{self, UnitRandomiser};
use super::sub_gaussian::{log_sinh_ratio, variance_proxy};
use crate::noise::{Entropy, SamplerLaw, Words, below};
use crate::planted::{self, PlantedFault};
use crate::{Epsilon, Event};
use privateer_numerics::rng::Stream;

/// Registry entry.
pub const ENTRY: MechanismEntry = MechanismEntry {
    name: "piecewise",
    summary: "a density raised around the clipped reward: pure epsilon, bounded output",
    paper: "Wang2019",
    build: on_window::build::<TwoLevel>,
};

/// Number of cells of the exact output.
pub(super) const CELLS: u64 = 4096;

/// The density on a grid of cells: integer weights with a checked ratio.
/// Proof: `docs/proofs/discrete.md`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cells {
    /// Weight of a cell of the lower level.
    low: u64,
    /// Weight of a cell of the higher level.
    high: u64,
    /// Number of cells of the higher level.
    window: u64,
}

impl Cells {
    /// Makes the weights for an epsilon from 1e-6 to 20 and a window of the least variance with equally spaced values.
    fn new(epsilon: f64) -> Self {
        Self::with_window(epsilon, ((CELLS as f64 / (1.0 + libm::exp(0.5 * epsilon))).round() as u64).max(1))
    }

    /// Makes the weights for an epsilon from 1e-6 to 20 and a window of that many cells.
    pub(super) fn with_window(epsilon: f64, window: u64) -> Self {
        // Large at small epsilon, where the higher weight is hardly larger, so that their quotient stays near e^epsilon; small at
        // large epsilon, where the sum of all weights would exceed 64 bits.
        let low = if epsilon < 1.0 { 1 << 40 } else { 1 << 20 };
        // Rounded down by more than the error of exp: high/low <= e^epsilon.
        let twice = if doubled() { 2.0 } else { 1.0 };
        let high = (low as f64 * libm::exp(twice * epsilon) * (1.0 - 1e-14)).floor() as u64;
        Self { low, high, window }
    }

    /// Returns the sum of all weights.
    fn total(self) -> u64 {
        self.window * self.high + (CELLS - self.window) * self.low
    }

    /// Returns the cell released for an input on [-1, 1].
    /// The input is first rounded at random to one of the window's positions, so that the mean is kept.
    fn draw(self, input: f64, entropy: &mut Entropy) -> u64 {
        let places = CELLS - self.window;
        let place = (0.5 * (input + 1.0) * places as f64).clamp(0.0, places as f64);
        let rest = ((place - place.floor()) * libm::exp2(53.0)) as u64;
        self.draw_at((place.floor() as u64 + u64::from((entropy.word() >> 11) < rest)).min(places), entropy)
    }

    /// Returns the cell released for a window at this position.
    pub(super) fn draw_at(self, first: u64, entropy: &mut Entropy) -> u64 {
        // The weights of the higher level first, then those of the lower level in order.
        let drawn = below(self.total(), entropy);
        if drawn < self.window * self.high {
            return first + drawn / self.high;
        }
        let other = (drawn - self.window * self.high) / self.low;
        if other < first { other } else { other + self.window }
    }

    /// Returns the weights.
    pub(super) fn laws(self) -> Vec<SamplerLaw> {
        vec![SamplerLaw::Levels { high: self.high, low: self.low }]
    }

    /// Returns the probability that the window has beyond the lower weight.
    pub(super) fn raised(self) -> f64 {
        (self.high - self.low) as f64 * self.window as f64 / self.total() as f64
    }

    /// Returns the value of a cell, scaled so that the mean over the cells is the input.
    fn value(self, cell: u64) -> f64 {
        let along = cell as f64 - 0.5 * (CELLS - 1) as f64;
        along / (self.raised() * 0.5 * (CELLS - self.window) as f64)
    }
}

/// Returns whether the density answers at more than its epsilon.
pub(super) fn doubled() -> bool {
    planted::is(PlantedFault::PiecewiseNoise)
}

/// Randomises an input on [-1, 1].
#[derive(Debug, Clone, Copy)]
pub(super) struct TwoLevel {
    epsilon: f64,
    /// Half the length of the interval of the higher level.
    stretch: f64,
    /// Probability of the interval of the higher level.
    kept: f64,
    /// Largest released value.
    pub(super) output: f64,
    /// Density on the interval of the higher level.
    pub(super) high: f64,
    /// Density elsewhere.
    pub(super) low: f64,
    /// Variance at an input of 1 or -1, where it is largest.
    pub(super) worst_variance: f64,
}

impl TwoLevel {
    /// Returns the logarithms of the two parts of `E exp(x answer)` for x > 0.
    ///
    /// The first part is the level outside of the interval, on all of [-output, output]. The second is what the interval has
    /// beyond that level, up to a factor `e^(input rate)`; the last result is this rate.
    pub(super) fn log_mgf_parts(&self, x: f64) -> [f64; 3] {
        // With s = e^(epsilon/2) = 1 + 1/stretch: probabilities 1/s and (s - 1)/s, both 0 to 1.
        let s = 1.0 + 1.0 / self.stretch;
        let everywhere = log_sinh_ratio(x * self.output) - libm::log(s);
        let raised = log_sinh_ratio(x * self.stretch) - libm::log1p(self.stretch);
        [everywhere, raised, x * (1.0 + self.stretch)]
    }

    /// Returns `ln E exp(x (answer - input))` for x > 0.
    fn centred_log_mgf(&self, input: f64, x: f64) -> f64 {
        let [everywhere, raised, rate] = self.log_mgf_parts(x);
        let (a, b) = (everywhere - x * input, raised + (rate - x) * input);
        a.max(b) + libm::log1p(libm::exp(-(a - b).abs()))
    }

    /// Returns the released value for an input on [-1, 1] and two uniform draws.
    /// One draw selects the level, the other the position on it.
    pub(super) fn respond(&self, input: f64, level: f64, place: f64) -> f64 {
        // The interval is [l, r] with l = (C + 1)/2 t - (C - 1)/2 and r = l + C - 1: centre t (C + 1)/2, inside [-C, C] for |t|
        // <= 1.
        let centre = input * (1.0 + self.stretch);
        let (left, right) = (centre - self.stretch, centre + self.stretch);
        let rare = 1.0 - self.kept;
        let kept = if doubled() { 1.0 - rare * rare } else { self.kept };
        let value = if level < kept {
            left + 2.0 * self.stretch * place
        } else {
            // A position on the rest: first [-C, l], then [r, C].
            let along = (self.output + 1.0) * place;
            let first = left + self.output;
            if along < first { along - self.output } else { right + (along - first) }
        };
        value.clamp(-self.output, self.output)
    }
}

impl UnitRandomiser for TwoLevel {
    const FORMULA: &'static str = "densities s (s - 1)/(2 (s + 1)) and e^-epsilon of that, s = e^(epsilon/2), \
     on rewards clipped and scaled to [-1, 1] [Wang2019]";

    fn new(epsilon: Epsilon) -> Self {
        // With s = e^(epsilon/2): C = (s + 1)/(s - 1), and the interval of the higher level has length C - 1 = 2/(s - 1).
        let s_less_one = libm::expm1(0.5 * epsilon.get());
        let stretch = 1.0 / s_less_one;
        let output = 1.0 + 2.0 * stretch;
        // The interval has probability s/(s + 1); the rest of [-C, C] has length 2C - (C - 1) = C + 1.
        let kept = (s_less_one + 1.0) / (s_less_one + 2.0);
        let high = kept / (2.0 * stretch);
        let low = 1.0 / (s_less_one + 2.0) / (output + 1.0);
        // t²/(s - 1) + (s + 3)/(3 (s - 1)²) at t = 1 [Wang2019, lemma 1].
        let worst_variance = stretch + (s_less_one + 4.0) / 3.0 * stretch * stretch;
        Self { epsilon: epsilon.get(), stretch, kept, output, high, low, worst_variance }
    }

    fn draw(&self, input: f64, stream: &mut Stream) -> f64 {
        let (level, place) = (stream.uniform(), stream.uniform());
        self.respond(input, level, place)
    }

    fn draw_exact(&self, input: f64, entropy: &mut Entropy) -> f64 {
        let cells = Cells::new(self.epsilon);
        cells.value(cells.draw(input, entropy))
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        Cells::new(self.epsilon).laws()
    }

    fn bound(&self) -> f64 {
        self.output
    }

    fn variance(&self) -> f64 {
        self.worst_variance
    }

    fn proxy(&self) -> f64 {
        // The log moment generating function is convex in the input, so an end of [-1, 1] is the worst.
        let log_mgf = |x: f64| self.centred_log_mgf(1.0, x).max(self.centred_log_mgf(-1.0, x));
        variance_proxy(self.worst_variance, self.output, log_mgf)
    }

    fn event(&self) -> Event {
        Event::TwoLevel { high: self.high, low: self.low }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::law::{
        Law, assert_private_and_unbiased, assert_proxies, assert_sampler_follows, assert_weights, worst_log_ratio,
    };
    use super::*;
    use crate::noise::fits;

    /// Returns the law as printed in [Wang2019, algorithm 2].
    pub(in super::super) fn law(epsilon: f64, input: f64) -> Law {
        let s = libm::exp(epsilon / 2.0);
        let c = (s + 1.0) / (s - 1.0);
        let high = (s * s - s) / (2.0 * s + 2.0);
        let low = high / (s * s);
        let left = (c + 1.0) / 2.0 * input - (c - 1.0) / 2.0;
        let right = left + c - 1.0;
        Law { atoms: Vec::new(), pieces: vec![(-c, left, low), (left, right, high), (right, c, low)] }
    }

    /// Returns a square of draws through a sampler of two uniforms.
    pub(in super::super) fn square(n: u32, draw: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let at = |i: u32| (f64::from(i) + 0.5) / f64::from(n);
        (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| draw(at(i), at(j))).collect()
    }

    #[test]
    fn the_law_is_private_and_unbiased() {
        for epsilon in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let density = TwoLevel::new(Epsilon::try_from(epsilon).expect("a budget"));
            assert_private_and_unbiased(epsilon, density.worst_variance, |input| law(epsilon, input));
            assert!(1.9 * epsilon < worst_log_ratio(|input| law(2.0 * epsilon, input)));
            for input in [-1.0, -0.3, 0.0, 0.8, 1.0] {
                let draws = square(256, |level, place| density.respond(input, level, place));
                assert_sampler_follows(draws, &law(epsilon, input), 2.0 / 256.0);
            }
        }
    }

    #[test]
    fn the_proxy_is_proved_and_tight() {
        // Extreme budgets neither overflow nor take for ever.
        let extreme = [1e-6, 40.0, 700.0];
        assert_proxies::<TwoLevel>(&[0.1, 0.6, 1.0, 2.0, 6.0], &extreme, |_, epsilon, input| law(epsilon, input));
    }

    #[test]
    fn extremes_of_the_draws_stay_within_the_bound() {
        for epsilon in [1e-6, 0.3, 1.0, 40.0, 700.0] {
            let density = TwoLevel::new(Epsilon::try_from(epsilon).expect("a budget"));
            for input in [-1.0, -0.5, 0.0, 1.0] {
                for level in [0.0, 1.0 - f64::EPSILON / 2.0] {
                    for place in [0.0, 0.5, 1.0 - f64::EPSILON / 2.0] {
                        let value = density.respond(input, level, place);
                        assert!(value.abs() <= density.output, "{epsilon} {input} {level} {place}: {value}");
                    }
                }
            }
        }
    }

    #[test]
    fn densities_on_a_grid_are_private_and_unbiased() {
        for epsilon in [1e-6, 1.9e-6, 1e-5, 0.1, 1.0, 2.0, 4.0, 20.0] {
            let density = Cells::new(epsilon);
            assert_weights(epsilon, (density.high, density.low), 1e-4);
            // Mean and variance of the law, computed from its weights for an input on a grid position.
            let moments = |first: u64| {
                let (mut mean, mut square) = (0.0, 0.0);
                for cell in 0..4096 {
                    let raised = (first..first + density.window).contains(&cell);
                    let p = if raised { density.high } else { density.low } as f64 / density.total() as f64;
                    mean += p * density.value(cell);
                    square += p * density.value(cell) * density.value(cell);
                }
                (mean, square)
            };
            let last = 4096 - density.window;
            assert!((moments(last).0 - 1.0).abs() < 1e-9 && (moments(0).0 + 1.0).abs() < 1e-9);
            // Variance of the continuous density at the ends of the range: t²/(s - 1) + (s + 3)/(3 (s - 1)²).
            let s = libm::exp(0.5 * epsilon);
            let worst = 1.0 / (s - 1.0) + (s + 3.0) / (3.0 * (s - 1.0) * (s - 1.0));
            let found = moments(last).1 - 1.0;
            assert!(20.0 <= epsilon || (found / worst - 1.0).abs() < 0.01, "{epsilon}: {found} {worst}");
        }
        let density = Cells::new(2.0);
        let mut words = Entropy::seeded(12);
        // An input on a grid position: 16 groups of cells.
        let places = 4096 - density.window;
        let (first, mut counts, mut shares) = (places / 4, vec![0_u64; 16], vec![0.0; 16]);
        let unit = 2.0 * first as f64 / places as f64 - 1.0;
        (0..200_000).for_each(|_| counts[(density.draw(unit, &mut words) / 256) as usize] += 1);
        for cell in 0..4096_u64 {
            let raised = (first..first + density.window).contains(&cell);
            shares[(cell / 256) as usize] += if raised { density.high } else { density.low } as f64 / density.total() as f64;
        }
        assert!(fits(&counts, &shares), "{counts:?}");
    }
}
