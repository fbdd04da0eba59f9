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
/// Standard deviations of the loss that the grid reaches below 0.
const REACH: f64 = 3.0;
/// Standard deviations to either side of its mean path that a loss is followed which ends at the largest epsilon.
const WIDTH: f64 = 7.0;
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
        let over = |root: f64| libm::log(epsilon(root * root, rounds, delta) / budget.get());
        let rho = zcdp::rho(budget, delta);
        // Less than the rounding of the root: the least that is returned keeps the budget.
        let (mut low, mut high) = (libm::sqrt(8.0 * rho) * (1.0 - 1e-12), f64::INFINITY);
        // The logarithm of the loss is nearly linear in that of the ranges, with the slope of a concentrated loss: secants.
        let mut slope = libm::log(zcdp::epsilon(1.21 * rho, delta) / budget.get()) / libm::log(1.1);
        let (mut at, mut before) = (1.05 * low, None);
        for step in 0..60 {
            let found = over(at);
            if found <= 0.0 {
                low = at
            } else {
                high = at
            }
            if (-2e-9..=0.0).contains(&found) || high < low * (1.0 + 1e-12) {
                break;
            }
            if let Some((root, value)) = before.replace((at, found))
                && f64::is_finite(found - value)
            {
                slope = (found - value) / libm::log(at / root);
            }
            let next = at * libm::exp((-1e-9 - found) / slope);
            at = if step < 8 && low < next && next < high { next } else { libm::sqrt(low * high.min(1.21 * low)) };
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
    /// `e^epsilon`, its inverse, and one over the distance to the next.
    odds: Vec<f64>,
    inverse_odds: Vec<f64>,
    inverse_gaps: Vec<f64>,
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
        let total = ranges.iter().map(|range| range * range).sum::<f64>() + rest;
        let deviation = 0.5 * libm::sqrt(total);
        let step = deviation / POINTS;
        if !(1e-4 < step && most + 18.0 * deviation < 500.0) {
            return None;
        }
        let margin = (ranges.iter().copied().fold(0.0, f64::max) / step) as usize + 2;
        let zero = margin + (REACH * POINTS) as usize;
        // Of a loss that ends at `most`, with this share of its variance to come.
        let top = |share: f64| most * share + WIDTH * deviation * libm::sqrt(share * (1.0 - share).max(0.0));
        let highest = 0.5 * (most + libm::hypot(most, WIDTH * deviation));
        let points = |top: f64| zero + (top / step) as usize + 3 + margin;
        let size = points(highest);
        let odds: Vec<f64> = (0..size).map(|at| libm::exp((at as f64 - zero as f64) * step)).collect();
        let late = zcdp::deltas(zcdp::of_choice(libm::sqrt(rest)), (0..size).map(|at| at as f64 * step));
        // Delta at -x is that of the exchanged neighbours at x: 1 - e^-x + e^-x delta(x).
        let below = (0..zero).map(|at| odds[at] * late[zero - at] - libm::expm1(-((zero - at) as f64) * step));
        let deltas = below.chain(late[..size - zero].iter().copied()).collect();
        let inverse_odds = odds.iter().map(|odds| 1.0 / odds).collect();
        let inverse_gaps = odds.windows(2).map(|odds| 1.0 / (odds[1] - odds[0])).collect();
        let mut curve = Self { step, zero, margin, odds, inverse_odds, inverse_gaps, deltas };
        curve.continue_ends(size);
        curve.make_convex();
        let mut known = rest;
        for &range in ranges.iter().rev() {
            known += range * range;
            curve.choose_before(range, points(top(known / total)).min(size));
        }
        Some(curve)
    }

    /// Continues the first `size` points of the curve to either side: downwards to 1 at odds of 0, upwards by their last value.
    fn continue_ends(&mut self, size: usize) {
        let (first, last) = (self.margin, size - 1 - self.margin);
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

    /// Puts one more choice before those of the curve, at its first `size` points.
    ///
    /// At odds y it is the largest value at y of a chord over `[z, e^range z]` with z at most y. Both ends of a chord lie on
    /// lines between points of the grid. While the lines stay the same, the value grows with z until `z² = y y*/e^range`, y* the odds at
    /// which the lines meet, and falls from there on. So it grows over all first pieces of z up to which no `z² e^range/y*` reaches y,
    /// falls over all last ones from which on none is below y, and is largest in the few between them.
    fn choose_before(&mut self, range: f64, size: usize) {
        let (odds, inverse_odds, deltas) = (&self.odds[..size], &self.inverse_odds[..size], &self.deltas[..size]);
        let (whole, ratio) = ((range / self.step) as usize, libm::exp(range));
        let (inverse_ratio, inverse_span) = (1.0 / ratio, 1.0 / libm::expm1(range));
        // Height at 0 and slope of the line from each point to the next.
        let line = |((d, y), gap): ((&[f64], &f64), &f64)| {
            let slope = (d[1] - d[0]) * gap;
            (d[0] - slope * y, slope)
        };
        let lines: Vec<(f64, f64)> = deltas.windows(2).zip(odds).zip(&self.inverse_gaps).map(line).collect();
        let mut pieces: Vec<Piece> = Vec::with_capacity(2 * size);
        let mut largest = 0.0_f64;
        let mut push = |low: (f64, f64), high: (f64, f64), meet: (f64, f64), (inverse_least, most): (f64, f64)| {
            let (fall, bend) = (high.0 - low.0, ratio * (low.1 - high.1));
            // Lines of a convex function meet between their pieces; those that are the same meet nowhere, and NaN becomes a bound.
            let turn = (bend / fall).max(ratio * meet.0).min(ratio * meet.1);
            largest = largest.max(most * most * turn);
            pieces.push(Piece {
                inverse_least,
                turn,
                rising: largest,
                falling: 0.0,
                height: (ratio * low.0 - high.0) * inverse_span,
                slope: (ratio * high.1 - low.1) * inverse_span,
                of_quotient: fall * inverse_span,
                of_end: bend * inverse_span,
            });
        };
        let ends = lines[whole..].windows(2).zip(inverse_odds[whole..].windows(2)).zip(&odds[whole + 1..]);
        let starts = lines.iter().zip(inverse_odds.windows(2)).zip(&odds[1..]);
        for (((low, inverse), next), ((high, inverse_high), middle)) in starts.zip(ends) {
            let (least, middle) = (inverse[0], (inverse_high[1] * ratio, middle * inverse_ratio));
            push(*low, high[0], (inverse_high[0], inverse[1]), (least, middle.1));
            push(*low, high[1], (inverse_high[1], inverse[1]), (middle.0, *next));
        }
        let mut least = f64::INFINITY;
        for piece in pieces.iter_mut().rev() {
            least = least.min(piece.turn / (piece.inverse_least * piece.inverse_least));
            piece.falling = least;
        }
        let (mut first, mut last) = (0, 0);
        let value = |(at, (&y, &delta)): (usize, (&f64, &f64))| {
            first += pieces[first..].iter().take_while(|piece| piece.rising < y).count();
            last += pieces[last + 1..].iter().take_while(|piece| piece.falling <= y).count();
            let [from, to] = [first, first.max(last)].map(|piece| piece.clamp(2 * (at - whole) - 1, 2 * at - 1));
            let mut found = delta;
            for pair in pieces[from..to + 2].windows(2) {
                found = found.max(pair[0].value(y, pair[1].inverse_least));
            }
            found
        };
        let inner = self.margin..size - self.margin;
        let chosen: Vec<f64> = odds.iter().zip(deltas).enumerate().take(inner.end).skip(inner.start).map(value).collect();
        self.deltas[self.margin..self.margin + chosen.len()].copy_from_slice(&chosen);
        self.continue_ends(size);
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

/// Chords from z, whose ends stay on the same two lines, to `e^range z`. At odds y, with `quotient = y/z`, their value is
/// `height + slope y + of_quotient quotient + of_end z`.
struct Piece {
    /// One over the least z; the largest is the least of the next piece.
    inverse_least: f64,
    /// Square of the best quotient, over y.
    turn: f64,
    /// Above these odds all pieces up to this one grow with z to their ends; up to `falling` all from this one on fall from their starts.
    rising: f64,
    falling: f64,
    height: f64,
    slope: f64,
    of_quotient: f64,
    of_end: f64,
}

impl Piece {
    /// Returns the largest value at odds y, with one over the largest z.
    fn value(&self, y: f64, inverse_most: f64) -> f64 {
        let quotient = libm::sqrt(y * self.turn).max(y * inverse_most).min(y * self.inverse_least);
        self.height + self.slope * y + self.of_quotient * quotient + self.of_end * (y / quotient)
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
        for range in [0.02, 0.6, 3.0] {
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
