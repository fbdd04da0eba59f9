//! Implements the piecewise mechanism with values spaced for the least worst-case variance.
//!
//! As in `piecewise` a density over cells is raised on a window that moves with the input. The values of the cells lie in an
//! inner band and two outer ones, each as long as the window. The worst-case variance is within 1.5 % of the least that
//! any unbiased mechanism has, from epsilon = 0.1 to 8. Proof: `docs/proofs/warped-piecewise.md`.

use super::MechanismEntry;
use super::on_window::{self, UnitRandomiser};
use super::piecewise::{CELLS, Cells, doubled};
use super::sub_gaussian::variance_proxy;
use crate::memo::Memo;
use crate::noise::{Entropy, SamplerLaw, Words};
use crate::{Epsilon, Event};
use privateer_numerics::rng::Stream;

/// Registry entry.
pub const ENTRY: MechanismEntry = MechanismEntry {
    name: "warped-piecewise",
    summary: "a density raised on a window, over values spaced for the clipped reward: pure epsilon, bounded output, least variance up to epsilon = 20",
    paper: "Wang2019",
    build: on_window::build::<Warped>,
};

/// Steps of each search, of a golden section.
const STEPS: u32 = 12;

/// Number of positions of the window at which searches compare variances.
const COARSE: u64 = 32;

/// Epsilon above which Hoeffding's lemma bounds the variance proxy.
const GREATEST_PROXY: f64 = 30.0;

/// Randomisers by the bits of their epsilon.
static KNOWN: Memo<u64, Warped> = Memo::new(MOST_KNOWN);

/// Variance proxies by the bits of their epsilon: each takes thousands of exponentials at some hundred arguments.
static PROXIES: Memo<u64, f64> = Memo::new(MOST_KNOWN);

/// Number of budgets whose randomisers are kept.
const MOST_KNOWN: usize = 1024;

/// Randomises an input on [-1, 1].
#[derive(Debug, Clone, Copy)]
pub(super) struct Warped {
    epsilon: f64,
    /// Number of cells of the window.
    window: u64,
    /// Probability of a uniform cell of the window; else the answer is a uniform cell.
    kept: f64,
    /// Values of the inner band over the sine of an angle from -1 to 1.
    inner: f64,
    /// Least value of the upper outer band.
    outer: f64,
    /// Length of an outer band.
    rise: f64,
    /// Bound on the variance of the answer at the worst input.
    worst_variance: f64,
}

/// Returns the probability of a uniform cell of the window, for a window of one of `windows` parts of the cells.
fn kept(epsilon: f64, windows: f64) -> f64 {
    1.0 / (1.0 + windows / libm::expm1(epsilon))
}

/// Returns the randomiser of the least variance among those of the arguments between two bounds, by golden sections.
fn least(mut low: f64, mut high: f64, of: impl Fn(f64) -> Warped) -> Warped {
    let golden = 0.5 * (libm::sqrt(5.0) - 1.0);
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_left, mut at_right) = (of(left), of(right));
    for _ in 0..STEPS {
        if at_left.worst_variance <= at_right.worst_variance {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = of(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = of(right);
        }
    }
    if at_left.worst_variance <= at_right.worst_variance { at_left } else { at_right }
}

impl Warped {
    /// Returns the randomiser of this window; `inner` and `half` are the largest value of the inner band and half the length of an
    /// outer band, in units of an outer band's mean.
    fn on(epsilon: f64, window: u64, inner: f64, half: f64) -> Self {
        let kept = kept(epsilon, CELLS as f64 / window as f64);
        // A window on the outer band is the input 1: kept times the band's mean.
        let mean = 1.0 / kept;
        let [inner, outer, rise] = [inner / libm::sin(1.0), 1.0 - half, 2.0 * half].map(|share| share * mean);
        let mut built = Self { epsilon, window, kept, inner, outer, rise, worst_variance: 0.0 };
        // More of the positions are near the end, where bands meet.
        let variance = |i: u64| built.moments((CELLS - window) - (CELLS - window) * i * i / (2 * COARSE * COARSE)).1;
        built.worst_variance = (0..=COARSE).map(variance).fold(0.0, f64::max);
        built
    }

    /// Returns the randomiser of the least variance, with the bound on its variance at all inputs.
    fn of_least_variance(epsilon: f64) -> Self {
        let most = (2.0 + libm::exp(epsilon / 3.0)).min(CELLS as f64);
        let found = least(1.9, most, |windows| {
            let window = ((CELLS as f64 / windows).round() as u64).clamp(1, CELLS / 2);
            least(0.0, 1.0, |inner| least(0.0, 1.0 - inner, |half| Self::on(epsilon, window, inner, half)))
        });
        // The second moment is linear between two positions; the square of the mean takes away at least the chord less step²/4.
        let between = |first: u64| {
            let ((mean, variance), (next_mean, next)) = (found.moments(first), found.moments(first + 1));
            variance.max(next) + 0.25 * (next_mean - mean) * (next_mean - mean)
        };
        let places = CELLS - found.window;
        Self { worst_variance: (places / 2..places).map(between).fold(0.0, f64::max), ..found }
    }

    /// Returns how far a position is from the middle cell, in units of the window: as an angle of the inner band, and beyond it.
    /// The last result is the length of that band's half.
    fn parts(&self, cell: f64) -> (f64, f64, f64) {
        let unit = 1.0 / self.window as f64;
        let (along, half) = ((cell - 0.5 * CELLS as f64).abs() * unit, 0.5 * CELLS as f64 * unit - 1.0);
        if along < half { (along / half, 0.0, half) } else { (1.0, along - half, half) }
    }

    /// Returns the integral of the values from the middle cell to a position, in units of the window.
    fn sum(&self, cell: f64) -> f64 {
        let (angle, beyond, half) = self.parts(cell);
        self.inner * half * (1.0 - libm::cos(angle)) + beyond * (self.outer + 0.5 * self.rise * beyond)
    }

    /// Returns the integral of the squares of the values, likewise.
    fn square(&self, cell: f64) -> f64 {
        let ((angle, beyond, half), outer, rise) = (self.parts(cell), self.outer, self.rise);
        let inside = self.inner * self.inner * half * (0.5 * angle - 0.25 * libm::sin(2.0 * angle));
        let outside = beyond * (outer * outer + beyond * rise * (outer + beyond * rise / 3.0));
        (inside + outside).copysign(cell - 0.5 * CELLS as f64)
    }

    /// Returns the mean of the answer for a window at this position.
    fn mean(&self, first: u64) -> f64 {
        self.kept * (self.sum((first + self.window) as f64) - self.sum(first as f64))
    }

    /// Returns this mean, and a bound on the variance of the answer.
    fn moments(&self, first: u64) -> (f64, f64) {
        // The square of a cell's value, a mean over the cell, is at most the mean of squares.
        let uniform = 2.0 * self.square(CELLS as f64) * self.window as f64 / CELLS as f64;
        let (mean, raised) = (self.mean(first), self.square((first + self.window) as f64) - self.square(first as f64));
        (mean, (1.0 - self.kept) * uniform + self.kept * raised - mean * mean)
    }

    /// Returns the value of a cell: the mean over the cell.
    fn value(&self, cell: u64) -> f64 {
        (self.sum((cell + 1) as f64) - self.sum(cell as f64)) * self.window as f64
    }

    /// Returns the position of the window below an input, and the probability of the next one that keeps the mean.
    fn place(&self, input: f64) -> (u64, f64) {
        let (mut below, mut above) = (0, CELLS - self.window);
        while 1 < above - below {
            let middle = below.midpoint(above);
            if self.mean(middle) <= input { below = middle } else { above = middle }
        }
        (below, ((input - self.mean(below)) / (self.mean(above) - self.mean(below))).clamp(0.0, 1.0))
    }

    /// Returns the answer to an input for three uniform draws.
    fn respond(&self, input: f64, rounding: f64, level: f64, place: f64) -> f64 {
        let (below, up) = self.place(input);
        let windows = CELLS as f64 / self.window as f64;
        let drawn = if doubled() { kept(2.0 * self.epsilon, windows) } else { self.kept };
        let (first, cells) = if level < drawn { (below + u64::from(rounding < up), self.window) } else { (0, CELLS) };
        self.value(first + ((place * cells as f64) as u64).min(cells - 1))
    }

    /// Returns a bound on `ln E exp(x (answer - input))` over all inputs, for x > 0 and the values of all cells.
    fn worst_log_mgf(&self, values: &[f64], x: f64) -> f64 {
        let (bound, variance) = (self.bound(), self.worst_variance);
        // Bennett's inequality, for deviations of at most 2 bound.
        let largest = 2.0 * x * bound;
        let bennett = variance * (libm::expm1(largest) - largest) / (4.0 * bound * bound);
        // In units of exp(x bound): no power overflows.
        let powers: Vec<f64> = values.iter().map(|value| libm::exp(x * (value - bound))).collect();
        let everywhere = (1.0 - self.kept) / CELLS as f64 * powers.iter().sum::<f64>();
        // So many that a chord is at most about 0.3 % above the function.
        let pieces = (18.0 / libm::sqrt(variance)).clamp(16.0, 1024.0) as u64;
        let ends: Vec<(f64, f64)> = (0..=pieces)
            .map(|piece| {
                let first = (CELLS - self.window) * piece / pieces;
                let raised: f64 = powers[first as usize..(first + self.window) as usize].iter().sum();
                (self.mean(first), everywhere + self.kept / self.window as f64 * raised)
            })
            .collect();
        // The moment generating function is convex in the input; the logarithm of its chord less x · input is largest at `peak`.
        let over = ends.windows(2).map(|ends| {
            let [(left, at_left), (right, at_right)] = [ends[0], ends[1]];
            let slope = (at_right - at_left) / (right - left);
            let at_zero = at_left - slope * left;
            let peak = 1.0 / x - at_zero / slope;
            let input = if peak.is_finite() { peak.clamp(left, right) } else { left };
            libm::log(at_zero + slope * input) + x * (bound - input)
        });
        // Pays for the rounding of the sums.
        bennett.min(over.fold(0.0, f64::max) + 1e-12)
    }
}

impl UnitRandomiser for Warped {
    const FORMULA: &'static str = "density e^epsilon on a window of 1/k of the cells and 1 elsewhere, k and the cells' values of least worst-case \
     variance, on rewards clipped and scaled to [-1, 1]";

    fn new(epsilon: Epsilon) -> Self {
        KNOWN.get(epsilon.get().to_bits(), || Self::of_least_variance(epsilon.get()))
    }

    fn draw(&self, input: f64, stream: &mut Stream) -> f64 {
        let (rounding, level, place) = (stream.uniform(), stream.uniform(), stream.uniform());
        self.respond(input, rounding, level, place)
    }

    fn draw_exact(&self, input: f64, entropy: &mut Entropy) -> f64 {
        let (cells, (below, up)) = (Cells::with_window(self.epsilon, self.window), self.place(input));
        let first = below + u64::from(((entropy.word() >> 11) as f64) < up * libm::exp2(53.0));
        self.value(cells.draw_at(first, entropy)) * (self.kept / cells.raised())
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        Cells::with_window(self.epsilon, self.window).laws()
    }

    fn bound(&self) -> f64 {
        self.outer + self.rise
    }

    fn variance(&self) -> f64 {
        self.worst_variance
    }

    fn proxy(&self) -> f64 {
        // Hoeffding's lemma on [-bound, bound].
        let hoeffding = self.bound() * self.bound();
        if GREATEST_PROXY < self.epsilon {
            return hoeffding;
        }
        PROXIES.get(self.epsilon.to_bits(), || {
            let values: Vec<f64> = (0..CELLS).map(|cell| self.value(cell)).collect();
            variance_proxy(self.worst_variance, self.bound(), |x| self.worst_log_mgf(&values, x)).min(hoeffding)
        })
    }

    fn event(&self) -> Event {
        // As randomised response on k windows: 1/(e^epsilon + k - 1), and e^epsilon of that.
        let wrong = 1.0 / (libm::expm1(self.epsilon) + CELLS as f64 / self.window as f64);
        Event::Response { right: wrong * libm::exp(self.epsilon), wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::{Law, assert_proxies, assert_sampler_follows, assert_weights};
    use super::super::piecewise::tests::square;
    use super::*;
    use crate::testing::epsilon as e;

    /// Returns the integer weights of a cell of the window and of each other.
    fn weights(warped: &Warped) -> (u64, u64) {
        let SamplerLaw::Levels { high, low } = warped.laws()[0] else { unreachable!("two weights") };
        (high, low)
    }

    /// Returns the law of the exact sampler, for a window at `first`, or with probability `up` at the next position.
    fn law(warped: &Warped, first: u64, up: f64) -> Law {
        let (high, low) = weights(warped);
        let total = (low * (CELLS - warped.window) + high * warped.window) as f64;
        let weight =
            |cell: u64, first: u64| if (first..first + warped.window).contains(&cell) { high } else { low } as f64 / total;
        let scale = warped.kept / Cells::with_window(warped.epsilon, warped.window).raised();
        let atom = |cell| (scale * warped.value(cell), (1.0 - up) * weight(cell, first) + up * weight(cell, first + 1));
        Law { atoms: (0..CELLS).map(atom).collect(), pieces: Vec::new() }
    }

    fn law_of(warped: &Warped, input: f64) -> Law {
        let (first, up) = warped.place(input);
        law(warped, first, up)
    }

    /// Checks privacy in integers, and mean and variance of the weights at inputs on and between positions.
    #[test]
    fn exact_answers_are_private_and_unbiased() {
        for epsilon in [1e-6, 0.1, 0.9, 1.0, 1.5, 2.0, 4.0, 8.0, 12.0, 20.0] {
            let warped = Warped::new(e(epsilon));
            let (high, low) = weights(&warped);
            assert_weights(epsilon, (high, low), 1e-5);
            assert!(2 * warped.window <= CELLS, "opposite inputs have windows that do not meet");
            let mut largest = 0.0_f64;
            for input in (-50..=50).map(|i| f64::from(i) / 50.0) {
                let law = law_of(&warped, input);
                let moment = |power| law.atoms.iter().map(|(x, p)| p * (x - input).powi(power)).sum::<f64>();
                assert!(moment(1).abs() < 1e-9 * warped.bound(), "{epsilon} {input}: {}", moment(1));
                largest = largest.max(moment(2) / warped.worst_variance);
            }
            // At epsilon = 20 the window is 7 cells, and the bound counts a cell's width.
            assert!(
                if epsilon < 15.0 { 0.99 } else { 0.7 } < largest && largest < 1.0 + 1e-4,
                "{epsilon}: {largest} of the stated variance"
            );
            let rise = |first: u64| warped.mean(first) < warped.mean(first + 1);
            assert!((0..CELLS - warped.window).all(rise) && (warped.mean(CELLS - warped.window) - 1.0).abs() < 1e-12);
        }
    }

    /// Checks the variance against that of the best unbiased mechanism, by a linear program over 21 to 101 inputs and 121 to 181 outputs.
    #[test]
    fn the_variance_is_near_the_least() {
        for (epsilon, least) in [
            (0.25, 64.0007),
            (0.5, 16.0028),
            (1.0, 3.991),
            (1.5, 1.6916),
            (2.0, 0.86553),
            (3.0, 0.3041),
            (3.5, 0.19345),
            (4.0, 0.12713),
            (6.0, 0.027155),
            (8.0, 0.0065149),
        ] {
            let ratio = Warped::new(e(epsilon)).worst_variance / least;
            assert!((0.999..1.015).contains(&ratio), "{epsilon}: {ratio}");
        }
    }

    #[test]
    fn draws_follow_the_law() {
        for epsilon in [0.1, 1.0, 2.0, 4.0, 8.0] {
            let warped = Warped::new(e(epsilon));
            for input in [-1.0, -0.3, 0.0, 0.8, 1.0] {
                let first = warped.place(input).0;
                for (rounding, up) in [(0.0, 1.0), (1.0, 0.0)] {
                    let draws = square(256, |level, place| warped.respond(input, rounding, level, place));
                    assert_sampler_follows(draws, &law(&warped, first, up), 2.0 / 256.0);
                }
            }
        }
    }

    #[test]
    fn the_proxy_is_proved_and_tight() {
        let law = |warped: &Warped, _, input| law_of(warped, input);
        assert_proxies(&[0.1, 0.5, 1.0, 2.0, 4.0], &[1e-6, 8.0, 20.0, 40.0, 700.0], law);
    }
}
