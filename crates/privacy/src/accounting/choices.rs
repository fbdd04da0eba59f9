//! Prices a sequence of exponential mechanisms, each of which may depend on all results before it.
//!
//! The largest failure probability of such a sequence follows from a recursion over its choices, from the last to the first.
//! Here the recursion runs on a grid and errs upwards only. Derivation: `docs/derivations/adaptive-choices.md`.

use super::zcdp;
use crate::memo::Memo;
use crate::planted::{self, PlantedFault};
use crate::{Delta, Epsilon};

/// Points of the grid per half of the root of the ranges' squares, which is the largest standard deviation of the loss.
const POINTS: f64 = 96.0;
/// Standard deviations of the loss that the grid reaches below 0 and beyond the largest epsilon.
const REACH: f64 = 6.0;
/// Share of delta that covers rounding.
const ROUNDING: f64 = 1e-8;
/// Most choices of the recursion: the time of a price grows with them, and later choices are small.
const MOST_CHOICES: usize = 400;
/// Rounds whose terms [`sum_over_rounds`] adds one by one.
const ADDED_TERMS: u64 = 1 << 22;

/// Returns an upper bound on the least epsilon at `delta` of choices in rounds t = 1 ..= `rounds`, one after another.
///
/// The range of the loss in round t is proportional to `sqrt(t)/(t + 1)`; `squares` is the sum of the squared ranges. It is
/// never above the bound by concentrated privacy, which it is where losses are too small or too large for the grid.
pub fn epsilon(squares: f64, rounds: u64, delta: Delta) -> f64 {
    static KNOWN: Memo<(u64, u64, u64), f64> = Memo::new(1024);
    let concentrated = zcdp::epsilon(zcdp::of_choice(libm::sqrt(squares)), delta);
    KNOWN.get((rounds, squares.to_bits(), delta.get().to_bits()), || {
        let curve = Curve::of_rounds(squares, rounds, concentrated);
        curve.map_or(concentrated, |curve| curve.epsilon(delta).min(concentrated))
    })
}

/// Returns an upper bound on the failure probability at `epsilon` of the same choices.
pub fn delta(squares: f64, rounds: u64, epsilon: f64) -> f64 {
    let concentrated = zcdp::delta(zcdp::of_choice(libm::sqrt(squares)), epsilon);
    Curve::of_rounds(squares, rounds, epsilon).map_or(concentrated, |curve| curve.delta(epsilon).min(concentrated))
}

/// Returns the largest sum of squared ranges that keeps the budget, on the private side and accurate to one part in 10⁸.
pub fn squares(budget: Epsilon, rounds: u64, delta: Delta) -> f64 {
    static KNOWN: Memo<(u64, u64, u64), f64> = Memo::new(1024);
    KNOWN.get((rounds, budget.get().to_bits(), delta.get().to_bits()), || {
        let goal = budget.get();
        let over = |root: f64| epsilon(root * root, rounds, delta) / goal - 1.0;
        // Less than the rounding of the root: the least that is returned keeps the budget.
        let concentrated = libm::sqrt(8.0 * zcdp::rho(budget, delta)) * (1.0 - 1e-12);
        let (mut low, mut high) = (concentrated, 1.1 * concentrated);
        let (mut below, mut above) = (over(low), over(high));
        while above <= 0.0 {
            (low, below, high) = (high, above, 1.1 * high);
            above = over(high);
        }
        // The loss is nearly proportional to the ranges, and 0 for small ones: chords, and now and then the middle.
        for step in 1..100 {
            if -2e-9 <= below {
                break;
            }
            let share = if step % 3 == 0 { 0.5 } else { (-(below + 1e-9) / (above - below)).max(0.0) };
            let at = low + share * (high - low);
            match over(at) {
                found if found <= 0.0 => (low, below) = (at, found),
                found => (high, above) = (at, found),
            }
        }
        low * low
    })
}

/// Largest failure probabilities at the epsilons of an even grid; a chord in `e^epsilon` lies above them in between.
struct Curve {
    /// Distance of two epsilons.
    step: f64,
    /// Index of epsilon 0.
    zero: usize,
    /// Points at either end that are continued from the others.
    margin: usize,
    /// `e^epsilon`.
    odds: Vec<f64>,
    deltas: Vec<f64>,
}

impl Curve {
    /// Computes the curve of the choices of [`epsilon`] up to the epsilon `most`; `None` if f64 has no grid for it.
    /// Choices beyond the first [`MOST_CHOICES`], or whose range is below a step of the grid, enter together, as one concentrated loss.
    fn of_rounds(squares: f64, rounds: u64, most: f64) -> Option<Self> {
        let squares = if planted::is(PlantedFault::ChoiceRange) { 0.25 } else { 1.0 } * squares;
        let unit = libm::sqrt(squares / sum_over_rounds(rounds));
        let step = 0.5 * libm::sqrt(squares) / POINTS;
        let ranges = (1..=rounds).map(|t| unit * libm::sqrt(t as f64) / (t as f64 + 1.0)).take_while(|range| step <= *range);
        let ranges: Vec<f64> = ranges.take(MOST_CHOICES).collect();
        let known: f64 = ranges.iter().map(|range| range * range).sum();
        let rest = if ranges.len() as u64 == rounds { 0.0 } else { (squares - known).max(0.0) };
        Self::of(&ranges, rest, most)
    }

    /// Computes the curve of choices with these ranges, from the first to the last, and of later ones with this sum of squares.
    fn of(ranges: &[f64], rest: f64, most: f64) -> Option<Self> {
        let deviation = 0.5 * libm::sqrt(ranges.iter().map(|range| range * range).sum::<f64>() + rest);
        let step = deviation / POINTS;
        let reach = REACH * deviation;
        if !(1e-5 < step && most + 3.0 * reach < 500.0) {
            return None;
        }
        let margin = (ranges.iter().copied().fold(0.0, f64::max) / step) as usize + 2;
        let zero = margin + (REACH * POINTS) as usize;
        let size = zero + ((most + reach) / step) as usize + 2 + margin;
        let loss = |at: usize| (at as f64 - zero as f64) * step;
        let odds: Vec<f64> = (0..size).map(|at| libm::exp(loss(at))).collect();
        // Delta at -x is that of the exchanged neighbours at x: 1 - e^-x + e^-x delta(x).
        let deltas = (0..size).map(|at| {
            let late = zcdp::delta(zcdp::of_choice(libm::sqrt(rest)), loss(at).abs());
            if zero <= at { late } else { odds[at] * late - libm::expm1(loss(at)) }
        });
        let deltas = deltas.collect();
        let mut curve = Self { step, zero, margin, odds, deltas };
        curve.continue_ends();
        curve.make_convex();
        ranges.iter().rev().for_each(|&range| curve.choose_before(range));
        Some(curve)
    }

    /// Continues the curve to either side: downwards to 1 at odds of 0, upwards by its last value.
    fn continue_ends(&mut self) {
        let (first, last) = (self.margin, self.deltas.len() - 1 - self.margin);
        let slope = (1.0 - self.deltas[first]) / self.odds[first];
        (0..first).for_each(|at| self.deltas[at] = 1.0 - slope * self.odds[at]);
        let least = self.deltas[last];
        self.deltas[last..].fill(least);
    }

    /// Lowers the points to the largest convex function of the odds that lies below all of them.
    fn make_convex(&mut self) {
        let (odds, deltas) = (&self.odds, &mut self.deltas);
        let slope = |deltas: &[f64], a: usize, b: usize| (deltas[b] - deltas[a]) / (odds[b] - odds[a]);
        let mut corners: Vec<usize> = Vec::new();
        for at in 0..odds.len() {
            while let [.., a, b] = corners[..]
                && slope(deltas, b, at) <= slope(deltas, a, b)
            {
                corners.pop();
            }
            corners.push(at);
        }
        for pair in corners.windows(2) {
            let slope = slope(deltas, pair[0], pair[1]);
            (pair[0] + 1..pair[1]).for_each(|at| deltas[at] = deltas[pair[0]] + slope * (odds[at] - odds[pair[0]]));
        }
    }

    /// Puts one more choice before those of the curve.
    ///
    /// At odds y it is the largest value at y of a chord over `[z, e^range z]` with z at most y. Both ends of a chord lie on
    /// lines between points of the grid. While the lines stay the same, the value is largest where z is the root of
    /// `y y*/e^range`, y* the odds at which the lines meet.
    fn choose_before(&mut self, range: f64) {
        let (odds, deltas) = (&self.odds, &self.deltas);
        let (whole, ratio, span) = ((range / self.step) as usize, libm::exp(range), libm::expm1(range));
        let slopes: Vec<f64> = odds.windows(2).zip(deltas.windows(2)).map(|(y, d)| (d[1] - d[0]) / (y[1] - y[0])).collect();
        let piece = |at: usize, other: usize, least: f64, most: f64| {
            let height = |at: usize| deltas[at] - slopes[at] * odds[at];
            let meet = (height(at) - height(other)) / (slopes[other] - slopes[at]);
            Piece {
                least,
                most,
                turn: libm::sqrt(meet / ratio),
                low: (height(at), slopes[at]),
                high: (height(other), ratio * slopes[other]),
            }
        };
        let count = slopes.len() - whole - 1;
        let middle = |at: usize| odds[at + whole + 1] / ratio;
        let first: Vec<Piece> = (0..count).map(|at| piece(at, at + whole, odds[at], middle(at))).collect();
        let second: Vec<Piece> = (0..count).map(|at| piece(at, at + whole + 1, middle(at), odds[at + 1])).collect();
        let value = |at: usize| {
            let (y, root) = (odds[at], libm::sqrt(odds[at]));
            let largest = |pieces: &[Piece]| pieces.iter().map(|piece| piece.value(y, root, ratio, span)).fold(0.0, f64::max);
            deltas[at].max(largest(&first[at - whole..at])).max(largest(&second[at - whole - 1..at]))
        };
        let chosen: Vec<f64> = (self.margin..deltas.len() - self.margin).map(value).collect();
        self.deltas[self.margin..self.margin + chosen.len()].copy_from_slice(&chosen);
        self.continue_ends();
    }

    fn epsilon(&self, delta: Delta) -> f64 {
        let goal = delta.get() * (1.0 - ROUNDING);
        let Some(at) = (self.zero..self.deltas.len()).find(|&at| self.deltas[at] <= goal) else { return f64::INFINITY };
        if at == self.zero {
            return 0.0;
        }
        let share = (self.deltas[at - 1] - goal) / (self.deltas[at - 1] - self.deltas[at]);
        (at - 1 - self.zero) as f64 * self.step + libm::log1p(share * libm::expm1(self.step))
    }

    fn delta(&self, epsilon: f64) -> f64 {
        let at = self.zero + (epsilon / self.step) as usize;
        let share = libm::expm1(epsilon - (at - self.zero) as f64 * self.step) / libm::expm1(self.step);
        (self.deltas[at] + share * (self.deltas[at + 1] - self.deltas[at])) * (1.0 + ROUNDING)
    }
}

/// Chords whose ends stay on the same two lines: the lower end z in `[least, most]`, the upper one at `e^range z`.
struct Piece {
    least: f64,
    most: f64,
    /// Over the root of the odds, the best z.
    turn: f64,
    /// Height at 0 and slope of the line of the lower end, in z.
    low: (f64, f64),
    /// The same for the upper end, in z.
    high: (f64, f64),
}

impl Piece {
    fn value(&self, y: f64, root: f64, ratio: f64, span: f64) -> f64 {
        // Lines that are the same meet nowhere: NaN becomes `least`.
        let z = (root * self.turn).max(self.least).min(self.most);
        let quotient = y / z;
        ((ratio - quotient) * (self.low.0 + self.low.1 * z) + (quotient - 1.0) * (self.high.0 + self.high.1 * z)) / span
    }
}

/// Returns the sum over t = 1 ..= n of `t/(t + 1)²`, in bounded time.
///
/// Terms far out are bounded from above by trapezoids and their largest error, an eighth of the slope: at most 1e-13 too much.
pub(crate) fn sum_over_rounds(n: u64) -> f64 {
    let term = |t: u64| t as f64 / ((t as f64 + 1.0) * (t as f64 + 1.0));
    let added: f64 = (1..=n.min(ADDED_TERMS)).map(term).sum();
    if n <= ADDED_TERMS {
        return added;
    }
    let first = ADDED_TERMS + 1;
    // The integral of t/(t + 1)² is ln(t + 1) + 1/(t + 1).
    let (from, to) = (first as f64 + 1.0, n as f64 + 1.0);
    let error = 0.125 / (first as f64 * first as f64);
    added + libm::log(to / from) + (1.0 / to - 1.0 / from) + 0.5 * (term(first) + term(n)) + error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{Composition, Loss};
    use crate::testing::{delta as d, epsilon as e};

    /// One choice of range r has delta `(e^(r/2) - e^(epsilon/2))²/(e^r - 1)`, which the grid holds exactly.
    #[test]
    fn one_choice_has_a_closed_form() {
        for range in [0.01, 0.6, 3.0] {
            let curve = Curve::of(&[range], 0.0, 1.5 * range).expect("a grid");
            for at in [0, 7, 64, 100, 128] {
                let epsilon = at as f64 * curve.step;
                let root = libm::exp(0.5 * range) - libm::exp(0.5 * epsilon);
                let exact = root * root / libm::expm1(range);
                let found = curve.deltas[curve.zero + at];
                assert!((found - exact).abs() <= 1e-9 * exact + 1e-15, "{range} {epsilon}: {found} {exact}");
            }
        }
    }

    /// Randomised response at half of the range is such a choice, and its composition is exact. The numbers are those of the recursion
    /// in NumPy (`tests/answers/adaptive-choices`), continued to a grid without steps.
    #[test]
    fn the_recursion_is_bounded_closely() {
        for (range, count, epsilon, known) in
            [(0.2, 100, 1.0, 0.12833), (0.2, 100, 4.0, 4.687e-5), (0.5, 16, 1.0, 0.13348), (0.02, 900, 0.5, 7.591e-3)]
        {
            let found = Curve::of(&vec![range; count], 0.0, epsilon).expect("a grid").delta(epsilon);
            let fixed = Composition::default().and(Loss::Response { epsilon: 0.5 * range }, count as u64).delta(epsilon);
            assert!(fixed.lower <= found, "{range} {count}: {found} {fixed:?}");
            assert!(known * (1.0 - 1e-3) <= found && found <= 1.04 * known, "{range} {count}: {found} {known}");
        }
    }

    /// Choices that enter the grid together as a concentrated loss cost more than one by one, and less than all together.
    #[test]
    fn late_choices_are_bounded_together() {
        let ranges: Vec<f64> = (1..=200).map(|t| 0.5 / libm::sqrt(f64::from(t))).collect();
        let late: f64 = ranges[50..].iter().map(|range| range * range).sum();
        let all: f64 = ranges.iter().map(|range| range * range).sum();
        let each = Curve::of(&ranges, 0.0, 2.0).expect("a grid").delta(2.0);
        let joined = Curve::of(&ranges[..50], late, 2.0).expect("a grid").delta(2.0);
        assert!(each < joined && joined < zcdp::delta(zcdp::of_choice(libm::sqrt(all)), 2.0), "{each} {joined}");
    }

    #[test]
    fn the_largest_ranges_keep_the_budget() {
        for (epsilon_of_budget, rounds, delta) in [(1.0, 1, 1e-3), (1.0, 1000, 1e-5), (4.0, 50, 1e-3), (0.1, 1 << 40, 1e-2)] {
            let found = squares(e(epsilon_of_budget), rounds, d(delta));
            let loss = epsilon(found, rounds, d(delta));
            assert!(loss <= epsilon_of_budget && epsilon_of_budget * (1.0 - 1e-8) < loss, "{rounds}: {loss}");
            let gain = libm::sqrt(found / (8.0 * zcdp::rho(e(epsilon_of_budget), d(delta))));
            assert!((1.01..1.6).contains(&gain), "{rounds}: {gain}");
        }
        // A budget that is too small for the grid has the concentrated bound.
        let least = squares(e(1e-6), 10, d(1e-9));
        assert!((least / (8.0 * zcdp::rho(e(1e-6), d(1e-9))) - 1.0).abs() < 1e-7);
    }

    #[test]
    fn far_terms_are_bounded_from_above_and_closely() {
        for more in [1, 2, 1000, 3 * ADDED_TERMS] {
            let n = ADDED_TERMS + more;
            // Backwards, small terms first: rounding is far below the tolerance.
            let exact: f64 = (1..=n).rev().map(|t| t as f64 / ((t as f64 + 1.0) * (t as f64 + 1.0))).sum();
            let error = (sum_over_rounds(n) - exact) / exact;
            assert!(error.abs() < 1e-12, "{n}: {error}");
        }
        // ln(2^64), Euler's constant and -π²/6.
        let limit = 64.0 * std::f64::consts::LN_2 + 0.577_215_665 - std::f64::consts::PI.powi(2) / 6.0;
        assert!((sum_over_rounds(u64::MAX) - limit).abs() < 1e-8);
    }
}
