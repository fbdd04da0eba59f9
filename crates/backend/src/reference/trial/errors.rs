//! Bounds the distance between the scores of a loop and those of the model that decides.
//!
//! Both models factor the same matrix in f64, in different orders of sums. Each stays within a bound of the exact posterior, and
//! the bounds are computed from magnitudes of the loop's own state. Derivation, with the same names:
//! `docs/derivations/device-loop.md`.

use crate::device::loop_domain::{LoopCovariances, LoopDomain, SUM_DEPTH};
use privateer_gp::score::FactorGrowth;

/// Unit roundoff.
pub const U: f64 = f64::EPSILON / 2.0;

/// Roundings that a division or a square root of a device counts for.
const DIVISION: f64 = 16.0;

/// Factor for the higher orders of bounds of the first order; it holds up to [`MOST_SHARE`].
const HIGHER_ORDERS: f64 = 1.05;

/// Largest share of the regularizer by which a factor may be off.
const MOST_SHARE: f64 = 0.01;

/// Exploration factor of a round, and a bound on its distance to that of the model that decides.
#[derive(Debug, Clone, Copy)]
pub struct LoopFactor {
    pub beta: f64,
    pub error: f64,
}

/// Magnitudes of a streak of a model.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreakSize {
    /// Observations in the streak, and of its point before.
    pub count: f64,
    pub before: f64,
    /// Leverage of the first observation.
    pub leverage: f64,
    /// Magnitude of the coefficient of the direction in the mean.
    pub coefficient: f64,
    /// Sum of the magnitudes of the row over visited points, and the point's own entry.
    pub row: f64,
    pub entry: f64,
    /// Bound on the product of the direction and a point's coordinates.
    pub direction: f64,
}

/// What a row adds to the error of a point's variance.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowBand {
    /// Error of `p`: a constant, and a part per unit of the posterior standard deviation.
    pub p: [f64; 2],
    /// From the end of the streak before, per unit of the variance.
    pub closed: f64,
}

/// Magnitudes of the rotations that lower a diagonal entry of a factor, with `m` the largest entry of the rotated vector below
/// the pivot.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoopRotated {
    /// Largest sum of squares of a row of the factor, in the rotated columns.
    pub row: f64,
    /// Sum of `(s m / c)²`, of the vector before, and of `m' (c m + |s| (1 + |s| m / c))` with `m'` of the vector after.
    pub squares: f64,
    pub rest: f64,
}

impl RowBand {
    /// Returns the error of a fall `squares p²` of a variance that is at most `variance` before.
    #[inline(always)]
    pub fn of_fall(&self, squares: f64, p: f64, variance: f64) -> f64 {
        let [e, share] = self.p;
        let of_share = 2.0 * (share * squares.sqrt() + share * share * squares) * variance;
        2.0 * squares * e * (p.abs() + e) + of_share + U * (4.0 * squares * p * p + 2.0 * variance)
    }
}

/// Distance between a loop's scores and those of the model that decides.
#[derive(Debug, Clone, Copy)]
pub struct Distance {
    /// Error of a mean per unit of the posterior standard deviation of what it is the mean of.
    pub mean: f64,
    /// Relative error of a posterior variance.
    pub share: f64,
    /// Rounding of an evaluation of a mean, of a variance, and of a posterior standard deviation beyond that, by both models.
    pub mean_rounding: f64,
    pub variance_rounding: f64,
    pub deviation_rounding: f64,
    /// Error of a model's product `p` of the current streak's direction.
    pub of_p: f64,
}

impl Distance {
    /// Bounds what the errors of `p` in both models change in a fall `squares p²`.
    pub fn of_fall(&self, squares: f64, p: f64) -> f64 {
        2.0 * squares * self.of_p * (2.0 * p.abs() + self.of_p)
    }
}

/// Magnitudes of the rounding errors of a loop.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoopErrors {
    prior: f64,
    ridge: f64,
    depth: f64,
    observations: f64,
    /// Error of an entry of the factored matrix from rotations.
    rotated: f64,
    /// Error of the mean of one model from its ended streaks, per unit of the posterior standard deviation.
    mean: f64,
    /// Roundings of the current streak's coefficient.
    steps: f64,
    /// Largest size of the weights of the mean.
    weights: f64,
    /// Information gain of the ended streaks, and its error in one model.
    gain: f64,
    gain_error: f64,
    /// Bound on the distance of any reward from the host's.
    pub rewards: f64,
    apart: LoopCovariances,
    /// Sum of the magnitudes of the mean's coefficients over visited points, without the current streak, and a bound on what the host's
    /// coefficients leave of the equations for them.
    coefficients: f64,
    left: f64,
}

impl LoopErrors {
    /// Creates the errors of a prior.
    pub fn new(domain: &LoopDomain, ridge: f64) -> Self {
        Self { prior: domain.prior, ridge, depth: domain.depth(), apart: domain.apart, ..Self::default() }
    }

    /// Bounds the diagonal of the factored matrix.
    fn diagonal(&self) -> f64 {
        self.prior + self.ridge
    }

    /// Bounds the error of an entry of the factored matrix, with `k` rows.
    fn entry(&self, k: f64) -> f64 {
        HIGHER_ORDERS * (U * (k + DIVISION + 8.0 + self.depth) * self.diagonal() + self.rotated + self.apart.error)
    }

    /// Returns the relative error of a posterior variance of one model; `None` where the regularizer is uncertain.
    fn share(&self, k: f64) -> Option<f64> {
        Some(self.entry(k) * self.observations / self.ridge).filter(|share| *share <= MOST_SHARE)
    }

    /// Bounds the magnitudes of kriging weights, per unit of the posterior standard deviation.
    fn kriging(&self) -> f64 {
        HIGHER_ORDERS * (self.observations / self.ridge).sqrt()
    }

    /// Bounds the rounding error of a solve, per unit of its row.
    fn solve(&self, k: f64) -> f64 {
        U * self.diagonal() * (k + DIVISION + 3.0)
    }

    /// Bounds the error of a streak's leverage.
    fn of_leverage(&self, k: f64, size: &StreakSize) -> f64 {
        let StreakSize { before, row, .. } = *size;
        let (ridge, solve) = (self.ridge, self.solve(k));
        if 0.0 < before {
            ridge * (self.entry(k) + 2.0 * solve) * row * row + (DIVISION + 9.0) * U / before
        } else {
            ridge * self.entry(k) * row * row + 2.0 * solve * row + U * (2.0 * self.depth + 2.0 * k + 8.0) * self.prior / ridge
        }
    }

    /// Returns the information gain with a streak, and a bound on its error in one model.
    fn gain(&self, k: f64, size: &StreakSize) -> [f64; 2] {
        let StreakSize { count, leverage, .. } = *size;
        let after = 1.0 + count * leverage;
        let gain = self.gain + 0.5 * logarithm(after);
        [gain, self.gain_error + count * self.of_leverage(k, size) / after + U * (16.0 + 8.0 * gain)]
    }

    /// Returns the exploration factor of a round with this current streak, from that at no information gain.
    pub fn factor(&self, k: f64, open: &StreakSize, least: f64, growth: FactorGrowth) -> LoopFactor {
        let FactorGrowth { slope, offset } = growth;
        if slope == 0.0 {
            return LoopFactor { beta: least, error: 0.0 };
        }
        let [gain, error] = self.gain(k, open);
        let root = |gain: f64| (gain.max(0.0) + offset).sqrt();
        let of_gain = root(gain + 2.0 * error) - root(gain - 2.0 * error);
        let of_rounding = 256.0 * U * (least + slope * root(gain));
        LoopFactor { beta: least + slope * (root(gain) - offset.sqrt()), error: slope * of_gain + of_rounding }
    }

    /// Bounds what the row leaves of its equation: entries of the matrix, two solves, and the sum of coordinates.
    fn of_row(&self, k: f64, size: &StreakSize) -> f64 {
        (self.entry(k) + 2.0 * self.solve(k) + U * self.diagonal() * (k + 2.0)) * size.row
    }

    /// Bounds the error of the mean at the start of a streak.
    fn of_start(&self) -> f64 {
        U * (self.depth + 2.0) * self.weights + self.apart.error * self.coefficients
    }

    /// Bounds the roundings of the host's coefficients over visited points at the end of a streak; 0 where it has none.
    fn of_coefficients(&self, size: &StreakSize) -> f64 {
        self.apart.rounding * (self.coefficients + 2.0 * size.coefficient * size.row)
    }

    /// Bounds the distance of the host's mean of a visited point, from its coefficients, to the product of the same coefficients; 0 where
    /// it has none.
    pub fn left(&self, k: f64, open: &StreakSize) -> f64 {
        if self.apart.rounding == 0.0 { 0.0 } else { self.left + self.of_equation(k, open) }
    }

    /// Bounds what a streak adds to that.
    fn of_equation(&self, k: f64, size: &StreakSize) -> f64 {
        let StreakSize { count, before, leverage, coefficient, .. } = *size;
        let of_steps = U * self.steps * (1.0 + count * leverage) / (before + count).max(1.0);
        let of_coefficient = coefficient * (self.of_row(k, size) + self.of_leverage(k, size));
        HIGHER_ORDERS * (of_coefficient + self.of_start() + of_steps + self.diagonal() * self.of_coefficients(size))
    }

    /// Bounds the error of the mean that a streak adds, per unit of the posterior standard deviation.
    fn of_streak(&self, k: f64, size: &StreakSize) -> f64 {
        let StreakSize { count, leverage, coefficient, direction, .. } = *size;
        let (t, ridge) = (self.observations, self.ridge);
        let along = t.sqrt() * self.of_row(k, size) * (1.0 + count * leverage).sqrt();
        let of_leverage = self.of_leverage(k, size);
        let of_steps = U * self.steps * (leverage * (1.0 + count * leverage)).sqrt();
        let norm = (ridge / self.prior + t).sqrt();
        let of_sum = norm * U * (self.weights + 2.0 * coefficient * direction) + norm * self.prior * self.of_coefficients(size);
        let sum = coefficient * (along + count.sqrt() * of_leverage) + count.sqrt() * self.of_start() + of_steps + of_sum;
        HIGHER_ORDERS * sum / ridge.sqrt()
    }

    /// Begins a streak: returns the errors of its row, for a streak before that ended with these magnitudes.
    ///
    /// * `weights` — size of the weights of the mean, without the new streak
    pub fn begin(
        &mut self,
        k: f64,
        ended: Option<(StreakSize, Option<LoopRotated>)>,
        weights: f64,
        size: &StreakSize,
    ) -> RowBand {
        let (prior, ridge, g) = (self.prior, self.ridge, self.diagonal());
        let mut closed = 0.0;
        if let Some((ended, rotated)) = ended {
            self.mean += self.of_streak(k, &ended);
            self.left += self.of_equation(k, &ended);
            self.coefficients += ended.coefficient * ended.row;
            [self.gain, self.gain_error] = self.gain(k, &ended);
            if let Some(LoopRotated { row, squares, rest }) = rotated {
                let of_entries = (4.0 * DIVISION + 11.0) * row + (2.0 * DIVISION + 4.0) * (squares * row).sqrt();
                let error = U * (of_entries + (2.0 * DIVISION + 17.0) * row.sqrt().max(1.0) * rest);
                self.rotated += error;
                closed = error * self.kriging() * self.kriging();
            }
        }
        self.weights = self.weights.max(weights);
        self.steps = 0.0;
        let solve = HIGHER_ORDERS * U * (k + DIVISION + 3.0);
        let row = solve * (g * prior).sqrt() * size.row
            + HIGHER_ORDERS * U * ((k + 3.0) * prior * size.row + (self.depth + 2.0) * size.direction);
        let mut share = 0.0;
        if 0.0 < size.before {
            let solved = (size.entry.max(0.0) / size.before).sqrt();
            let of_leverage = solve * 2.0 * ridge * g.sqrt() * size.row * solved + (DIVISION + 9.0) * U / size.before;
            share = solve * g.sqrt() * solved * self.kriging() + of_leverage / (size.leverage.max(of_leverage) * ridge).sqrt();
        }
        RowBand { p: [row, share], closed }
    }

    /// Adds an observation to the current streak.
    ///
    /// * `magnitude` — of the reward, the mean and their difference
    /// * `after` — `1 + j leverage`; `coefficient`, `step` — magnitudes after it
    pub fn observe(&mut self, magnitude: f64, after: f64, coefficient: f64, step: f64) {
        self.observations += 1.0;
        self.steps += 4.0 * magnitude / after + coefficient + (DIVISION + 4.0) * step;
        // The sum of the point's rewards, and its difference from the coefficient.
        self.left += 8.0 * U * magnitude;
    }

    /// Returns the distance for a factor of `k` rows and this current streak; `None` where it has no bound.
    pub fn distance(&self, k: f64, open: &StreakSize) -> Option<Distance> {
        let share = self.share(k)?;
        let weights = self.weights + open.coefficient * open.direction;
        let coefficients = self.coefficients + open.coefficient * open.row;
        let (prior, g, unit) = (self.prior, self.diagonal(), HIGHER_ORDERS * U);
        let apart = HIGHER_ORDERS * self.apart.error;
        // Two models, each at this distance from the exact posterior.
        Some(Distance {
            mean: 2.0 * HIGHER_ORDERS * (self.mean + self.of_streak(k, open)) + self.rewards * self.kriging(),
            share: 2.0 * HIGHER_ORDERS * share,
            mean_rounding: unit * 4.0 * (self.depth + 3.0) * weights + apart * coefficients,
            variance_rounding: unit * prior * (4.0 * (self.depth + k + 8.0) + 20.0) + apart,
            deviation_rounding: (unit * 2.0 * ((k + DIVISION + 3.0) * g + self.depth * prior) + apart) * self.kriging(),
            of_p: U * ((SUM_DEPTH + self.depth + k) * prior + 3.0 * (k + DIVISION + 3.0) * g) * open.row,
        })
    }
}

/// Returns the natural logarithm of a number from 1 to 2^64, in the steps of a shader, which has none in f64: exact halvings, then
/// the series of `2 atanh((x - 1) / (x + 1))`.
fn logarithm(number: f64) -> f64 {
    let (mut x, mut halvings) = (number, 0.0);
    for _ in 0..64 {
        if std::f64::consts::SQRT_2 < x {
            (x, halvings) = (0.5 * x, halvings + 1.0);
        }
    }
    let t = (x - 1.0) / (x + 1.0);
    let mut sum = 0.0;
    for n in (0..13).rev() {
        sum = sum * (t * t) + 1.0 / f64::from(2 * n + 1);
    }
    halvings * std::f64::consts::LN_2 + 2.0 * t * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_within_its_bound() {
        for step in 0..40_000 {
            let x = libm::exp2(f64::from(step) * 1e-3) * (1.0 + f64::from(step % 7) * 1e-9);
            let (found, exact) = (logarithm(x), libm::log(x));
            assert!((found - exact).abs() <= U * (10.0 + 4.0 * exact), "ln {x:e}: {found:e}, {exact:e}");
        }
        assert_eq!(logarithm(1.0), 0.0);
    }
}
