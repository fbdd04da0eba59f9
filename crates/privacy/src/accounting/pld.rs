//! Discretises the distribution of the privacy loss between two enclosing distributions.
//!
//! One of them gives failure probabilities of at least the truth, the other of at most the truth. Both lie on an even grid.
//!
//! With P, Q the two output laws, `L = ln(P/Q)` under P and `x = e^-L`, `delta(epsilon) = E max(0, 1 - e^epsilon x)`. This is
//! decreasing and convex in x, also where x is a product over releases. So moving mass to larger losses, or splitting it
//! without changing the mean of x, gives an upper bound (Doroshenko2022); moving it to smaller losses gives a lower bound. All
//! sums have positive terms, and the bound on their rounding errors is carried along.

use super::Loss;
use std::f64::consts::SQRT_2;

/// Says on which side of the truth the discretisation errs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Failure probabilities are at least the truth.
    Upper,
    /// Failure probabilities are at most the truth.
    Lower,
}

/// Mass that each composition may move to the far ends, far below any delta in use.
const CUT: f64 = 1e-22;
/// Number of coarsenings from the first grid of a loss to the requested grid.
const DOUBLINGS: i32 = 4;
/// Bound on the relative rounding error of one multiplication, or of one addition into a sum.
const UNIT: f64 = 2.3e-16;

/// Holds a distribution of the loss on the points `(first + i) step`.
#[derive(Debug, Clone)]
pub struct Pld {
    side: Side,
    step: f64,
    first: i64,
    masses: Vec<f64>,
    /// Mass at an infinite loss.
    infinite: f64,
    /// Bound on the relative rounding error of any sum of masses.
    rounding: f64,
}

impl Pld {
    /// Discretises one release on a grid of this step.
    /// `None` for losses that are not a pair of laws (`Unbounded`, `Choice`, `Choices`, `Zcdp`).
    pub fn of(loss: &Loss, side: Side, step: f64) -> Option<Self> {
        let step = libm::ldexp(step, -DOUBLINGS);
        let mut builder = Builder { side, step, masses: std::collections::BTreeMap::new() };
        let mut infinite = 0.0;
        match *loss {
            Loss::Unbounded | Loss::Choice { .. } | Loss::Choices { .. } | Loss::Zcdp { .. } => return None,
            Loss::Gaussian { mu } => {
                if mu == 0.0 {
                    builder.put(1.0, 0.0);
                } else {
                    // Under P the loss is N(mu²/2, mu²).
                    let above = |l: f64| 0.5 * libm::erfc((l - 0.5 * mu * mu) / (mu * SQRT_2));
                    let (low, high) = (0.5 * mu * mu - 9.8 * mu, 0.5 * mu * mu + 9.8 * mu);
                    infinite = builder.distribute(above, low, high, 1.0);
                }
            }
            Loss::Laplace { epsilon } => {
                builder.put(0.5, epsilon);
                builder.put(0.5 * libm::exp(-epsilon), -epsilon);
                let between = |l: f64| -0.5 * libm::expm1(-0.5 * (epsilon - l).max(0.0));
                infinite = builder.distribute(between, -epsilon, epsilon, -0.5 * libm::expm1(-epsilon));
            }
            Loss::Response { .. } | Loss::TwoLevel { .. } | Loss::Mixture { .. } => {
                for (probability, value) in loss.atoms() {
                    builder.put(probability, value);
                }
            }
        }
        let (first, last) = (*builder.masses.keys().next()?, *builder.masses.keys().next_back()?);
        let mut masses = vec![0.0; usize::try_from(last - first).ok()? + 1];
        for (at, mass) in &builder.masses {
            masses[usize::try_from(at - first).ok()?] = *mass;
        }
        // Probabilities of atoms are computed by exp with errors of one or two ulps.
        let mut cut = Self { side, step, first, masses, infinite, rounding: 1e-14 };
        (0..DOUBLINGS).for_each(|_| cut.coarsen());
        Some(cut)
    }

    /// Composes two releases; the second may depend on the result of the first.
    ///
    /// Both must err on the same side and have the same step.
    pub fn with(&self, other: &Self) -> Self {
        debug_assert!(self.side == other.side && self.step.to_bits() == other.step.to_bits());
        let mut masses = vec![0.0; self.masses.len() + other.masses.len() - 1];
        for (i, &mass) in self.masses.iter().enumerate() {
            if mass == 0.0 {
                continue;
            }
            for (sum, &second) in masses[i..].iter_mut().zip(&other.masses) {
                *sum += mass * second;
            }
        }
        let terms = self.masses.len().min(other.masses.len()) as f64;
        let mut both = Self {
            side: self.side,
            step: self.step,
            first: self.first + other.first,
            masses,
            infinite: self.infinite + other.infinite,
            rounding: self.rounding + other.rounding + (terms + 8.0) * UNIT,
        };
        both.trim();
        both
    }

    /// Composes `count >= 1` copies of the release.
    /// The grid is coarsened whenever it would have more than `points` points.
    pub fn repeated(&self, count: u64, points: usize) -> Self {
        let mut power = self.clone();
        let mut result: Option<Self> = None;
        let mut left = count;
        loop {
            power.coarsen_to(points);
            if left & 1 == 1 {
                result = Some(power.after(result, points));
            }
            left >>= 1;
            match result {
                Some(done) if left == 0 => return done,
                other => result = other,
            }
            power = power.with(&power);
        }
    }

    /// Composes an earlier release with this one, both on the coarser of their two grids.
    /// Their steps must differ by a power of two. Neither has more than `points` points, and nor has the result; this one may become
    /// coarser.
    pub fn after(&mut self, earlier: Option<Self>, points: usize) -> Self {
        let Some(mut earlier) = earlier else { return self.clone() };
        earlier.align(self);
        let mut both = earlier.with(self);
        both.coarsen_to(points);
        both
    }

    fn align(&mut self, other: &mut Self) {
        while self.step < other.step {
            self.coarsen();
        }
        while other.step < self.step {
            other.coarsen();
        }
    }

    /// Coarsens the grid until it has at most `points` points, numbered by integers that f64 holds.
    fn coarsen_to(&mut self, points: usize) {
        while points < self.masses.len() || 1 << 52 < self.first.unsigned_abs() {
            self.coarsen();
        }
    }

    /// Returns the bound on the failure probability at `epsilon`.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let mut sum = 0.0;
        for (i, &mass) in self.masses.iter().enumerate().rev() {
            let loss = (self.first + i as i64) as f64 * self.step;
            if loss <= epsilon {
                break;
            }
            sum += mass * -libm::expm1(epsilon - loss);
        }
        let slack = self.rounding + (self.masses.len() as f64 + 8.0) * UNIT;
        match self.side {
            Side::Upper => ((sum + self.infinite) * (1.0 + slack)).min(1.0),
            Side::Lower => (sum * (1.0 - slack)).max(0.0),
        }
    }

    /// Doubles the step of the grid.
    fn coarsen(&mut self) {
        let first = self.first.div_euclid(2);
        let last = (self.first + self.masses.len() as i64 - 1).div_euclid(2) + 1;
        let mut masses = vec![0.0; (last - first + 1) as usize];
        let ratio = libm::exp(-self.step);
        // Upper: a mass between two points of the new grid keeps its mean of x if the share 1/(1 + e^-step) moves up.
        let up = 1.0 / (1.0 + ratio) + 1e-15;
        // Lower: masses from above and below merge at a point of the new grid. The mass from below may be at most e^-step times
        // the mass from above: then x at that point is at least the mean of x of the merged masses.
        let mut credit = 0.0;
        for (i, &mass) in self.masses.iter().enumerate().rev() {
            let at = self.first + i as i64;
            let below = (at.div_euclid(2) - first) as usize;
            if at.rem_euclid(2) == 0 {
                masses[below] += mass;
                continue;
            }
            let raised = match self.side {
                Side::Upper => mass * up,
                Side::Lower => mass.min(credit),
            };
            masses[below] += mass - raised;
            masses[below + 1] += raised;
            credit = (mass - raised) * ratio * (1.0 - 1e-15);
        }
        self.first = first;
        self.step *= 2.0;
        self.masses = masses;
        self.rounding += 4.0 * UNIT;
        self.trim();
    }

    /// Removes ends of negligible mass; the mass moves to the safe side.
    fn trim(&mut self) {
        let mut moved = 0.0;
        while let Some(&top) = self.masses.last()
            && 1 < self.masses.len()
            && moved + top <= CUT
        {
            moved += top;
            self.masses.pop();
        }
        match (self.side, self.masses.last_mut()) {
            (Side::Lower, Some(top)) => *top += moved,
            _ => self.infinite += moved,
        }
        let (mut moved, mut dropped) = (0.0, 0);
        while dropped + 1 < self.masses.len() && moved + self.masses[dropped] <= CUT {
            moved += self.masses[dropped];
            dropped += 1;
        }
        self.masses.drain(..dropped);
        self.first += dropped as i64;
        if self.side == Side::Upper {
            self.masses[0] += moved;
        }
    }
}

struct Builder {
    side: Side,
    step: f64,
    masses: std::collections::BTreeMap<i64, f64>,
}

impl Builder {
    /// Puts mass at one loss, split between the neighbouring grid points.
    fn put(&mut self, mass: f64, loss: f64) {
        let below = (loss / self.step).floor();
        let rest = loss - below * self.step;
        let at = below as i64;
        // Solves a e^-below + b e^-above = mass e^-loss, a + b = mass.
        let up = match self.side {
            Side::Upper if 0.0 < rest => (libm::expm1(-rest) / libm::expm1(-self.step) + 1e-12).min(1.0),
            _ => 0.0,
        };
        *self.masses.entry(at).or_default() += mass * (1.0 - up);
        if 0.0 < up {
            *self.masses.entry(at + 1).or_default() += mass * up;
        }
    }

    /// Adds a continuous loss; `above(l)` is its probability of being above `l`.
    /// `total` is its probability from `low` on; returns the mass at infinity. Each probability is moved to the safe side by
    /// more than its rounding error, and masses are differences of these probabilities, so that errors do not add up.
    fn distribute(&mut self, above: impl Fn(f64) -> f64, low: f64, high: f64, total: f64) -> f64 {
        let fine = self.step;
        let (start, end) = ((low / fine).floor() as i64, (high / fine).ceil() as i64);
        let shift = match self.side {
            Side::Upper => 1.0 + 1e-14,
            Side::Lower => 1.0 - 1e-14,
        };
        let mut before = total * shift;
        for cell in start..end {
            let (left, right) = (cell as f64 * fine, (cell + 1) as f64 * fine);
            let after = (above(right) * shift).min(before);
            self.put(before - after, if self.side == Side::Upper { right } else { left });
            before = after;
        }
        match self.side {
            Side::Upper => before,
            Side::Lower => {
                self.put(before, end as f64 * fine);
                0.0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaussian_delta;

    fn both(loss: &Loss, step: f64, count: u64, epsilon: f64) -> (f64, f64) {
        let at = |side| Pld::of(loss, side, step).expect("a pair").repeated(count, 4096).delta(epsilon);
        (at(Side::Lower), at(Side::Upper))
    }

    #[test]
    fn gaussians_are_enclosed() {
        for (mu, count, epsilon) in [(1.0, 1, 1.0), (0.3, 11, 1.0), (0.05, 300, 2.0)] {
            let (lower, upper) = both(&Loss::Gaussian { mu }, mu / 256.0, count, epsilon);
            let exact = gaussian_delta(epsilon, mu * libm::sqrt(count as f64));
            assert!(lower <= exact && exact <= upper, "{mu} {count}: {lower} {exact} {upper}");
            assert!(upper <= 1.02 * exact && 0.98 * exact <= lower, "{mu} {count}: {lower} {exact} {upper}");
        }
    }

    /// Compares repeated randomised response with the binomial distribution, computed directly.
    #[test]
    fn coins_are_exact() {
        let (epsilon, n) = (0.4_f64, 20_i32);
        let lie = 1.0 / (1.0 + libm::exp(epsilon));
        for target in [0.0, 1.0, 3.3] {
            let mut choose = 1.0;
            let mut exact = 0.0;
            for lies in 0..=n {
                let loss = epsilon * f64::from(n - 2 * lies);
                if target < loss {
                    let p = choose * libm::pow(lie, f64::from(lies)) * libm::pow(1.0 - lie, f64::from(n - lies));
                    exact += p * -libm::expm1(target - loss);
                }
                choose *= f64::from(n - lies) / f64::from(lies + 1);
            }
            let (lower, upper) = both(&Loss::Response { epsilon }, epsilon, 20, target);
            assert!(lower <= exact && exact <= upper && upper - lower <= 1e-9 * exact, "{target}: {lower} {exact} {upper}");
        }
    }

    /// Compares one Laplace release with `1 - e^((epsilon - L)/2)`.
    #[test]
    fn laplace_is_enclosed() {
        for (scale, epsilon) in [(1.0, 0.3), (2.0, 0.0), (0.1, 0.05)] {
            let exact = -libm::expm1(0.5 * (epsilon - scale));
            let (lower, upper) = both(&Loss::Laplace { epsilon: scale }, scale / 1024.0, 1, epsilon);
            assert!(lower <= exact && exact <= upper && upper - lower < 2e-3 * exact, "{lower} {exact} {upper}");
        }
    }

    /// Checks that a coarse grid gives a wide enclosure that still holds the truth.
    #[test]
    fn a_coarse_grid_is_wide_and_safe() {
        let exact = gaussian_delta(1.0, 0.5 * libm::sqrt(8.0));
        let mut last = f64::INFINITY;
        for step in [0.2, 0.05, 0.0125] {
            let (lower, upper) = both(&Loss::Gaussian { mu: 0.5 }, step, 8, 1.0);
            assert!(lower < exact && exact < upper && upper - lower < last, "{step}: {lower} {exact} {upper}");
            last = upper - lower;
        }
    }

    #[test]
    fn what_is_no_pair_has_no_distribution() {
        for loss in
            [Loss::Unbounded, Loss::Choice { epsilon: 1.0 }, Loss::Choices { squares: 1.0, rounds: 2 }, Loss::Zcdp { rho: 1.0 }]
        {
            assert!(Pld::of(&loss, Side::Upper, 0.1).is_none());
        }
    }
}
