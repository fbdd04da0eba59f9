//! Running bounds of the rounding errors of [`VisitedModel`](super::visited::VisitedModel).
//!
//! They are sums of the magnitudes of each update: a few numbers for each streak, and one for each observation. Derivation,
//! with the same names: `docs/derivations/posterior-rounding.md`.

use crate::score::{RowError, StateError};
use privateer_numerics::linalg::{Rotated, dot_depth};

/// Unit roundoff.
pub(super) const U: f64 = f64::EPSILON / 2.0;

/// Factor for the higher orders of bounds of the first order; it holds where [`RunningError::weights`] has a bound.
pub(super) const HIGHER_ORDERS: f64 = 1.01;

/// What the errors of a model depend on beside its updates.
#[derive(Debug, Clone, Copy)]
pub struct RoundingSetting {
    /// Largest prior variance.
    pub prior: f64,
    /// The regularizer.
    pub ridge: f64,
    /// Number of points in the factor.
    pub n_visited: usize,
    /// Roundings of a prior covariance.
    pub depth: f64,
}

/// Magnitudes since a state was made or rebuilt.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunningError {
    observations: f64,
    /// Largest norm of `theta` and of the current streak's part in the mean.
    largest_theta: f64,
    /// Sum of `|a| |u| + |theta|` of ended streaks, and of `|a| |u|` after each observation of them.
    mean: f64,
    /// Norm of `u` of the current streak, and the sum of `|a|` after each of its observations.
    direction: f64,
    steps: f64,
    /// Sum of the magnitudes of the current row, without a new point's entry.
    sum: f64,
    /// Roundings of `p` of the current row: of solves, in units of the root of `(prior + ridge) prior`, and of sums, in units of
    /// `prior`.
    solves: f64,
    sums: f64,
    /// Sum of magnitudes of features in the product `u · c`.
    products: f64,
    /// Of the current streak, if its point was known.
    known: Option<KnownPoint>,
    /// Rotations at the end of the streak before the current one.
    rotated: Option<Rotated>,
    /// Sums over all rotations: their number, and `rest`.
    rotations: f64,
    rest: f64,
}

/// The start of a streak of a known point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownPoint {
    /// Observations before.
    pub before: f64,
    /// Leverage of the first observation.
    pub leverage: f64,
    /// The point's entry of the row.
    pub entry: f64,
}

impl RunningError {
    /// Starts from a rebuilt state with this norm of `theta` after `observations`.
    pub fn of(theta: f64, observations: u64) -> Self {
        Self { observations: observations as f64, largest_theta: theta, ..Self::default() }
    }

    /// Adds the row of a new streak, whose first `k` entries come from a solve with the transposed factor.
    pub fn open(&mut self, row: &[f64], k: usize, direction: f64, depth: f64, known: Option<KnownPoint>) {
        let sum: f64 = row[..k].iter().map(|weight| weight.abs()).sum();
        let last = row.get(k).map_or(0.0, |weight| weight.abs());
        let most = k as f64 + 3.0;
        let (mut solves, mut before, mut partial, mut beyond) = (0.0, 0.0, 0.0, 0.0);
        for (i, weight) in row[..k].iter().enumerate() {
            // Of a partial sum of a dot, entry i goes through the additions from its own on.
            solves += weight.abs() * most.min((dot_depth(k - i + 7) + 1.0).max(6.0));
            before += weight.abs();
            // The sum up to entry i is at most that of its magnitudes, and lacks to u what follows.
            let after = (sum - before + last).max(0.0);
            partial += before.min(after);
            beyond += f64::from(after < before);
        }
        self.solves = solves;
        self.sums = 2.0 * (sum + last);
        if depth == 0.0 {
            // The row is the direction, and exact scores multiply it by covariances.
            self.sums += (dot_depth(row.len()) + 1.0) * (sum + last);
            self.products = 0.0;
        } else {
            self.sums += partial + sum + last;
            self.products = (depth + 2.0 + beyond) * direction;
        }
        (self.sum, self.known) = (sum, known);
        self.begin(direction);
    }

    /// Begins a streak whose direction has this norm.
    pub fn begin(&mut self, direction: f64) {
        (self.direction, self.steps) = (direction, 0.0);
    }

    /// Adds an observation, after which the coefficient of the current streak has this magnitude.
    pub fn step(&mut self, coefficient: f64) {
        self.observations += 1.0;
        self.steps += coefficient;
    }

    pub fn close(&mut self, coefficient: f64, theta: f64, rotated: Option<Rotated>) {
        self.largest_theta = self.largest_theta.max(theta + coefficient * self.direction);
        self.mean += (coefficient + self.steps) * self.direction + theta;
        self.rotated = rotated;
        if let Some(rotated) = rotated {
            self.rotations += 1.0;
            self.rest += rotated.rest;
        }
    }

    /// Bounds the errors of the state; `size` bounds the terms of a product of coordinates and weights of a norm.
    pub fn bound(&self, setting: RoundingSetting, coefficient: f64, size: impl Fn(f64) -> f64) -> StateError {
        let RoundingSetting { prior, ridge, n_visited, depth } = setting;
        let (k, unit) = (n_visited as f64, HIGHER_ORDERS * U);
        let mean = size(self.of_mean(coefficient, depth.max(dot_depth(n_visited + 1))));
        let Some(weights) = self.weights(setting) else {
            return StateError { mean, variance: f64::INFINITY, deviation: 0.0 };
        };
        let deviation = unit * ((k + 3.0) * (prior + ridge) + depth * prior) * weights;
        StateError {
            mean,
            variance: unit * prior * (2.0 * (depth + dot_depth(n_visited) + 8.0) + 20.0) + deviation * deviation,
            deviation,
        }
    }

    /// Bounds the error of a mean, as a norm of weights; a product of coordinates and weights has this depth.
    pub fn of_mean(&self, coefficient: f64, depth: f64) -> f64 {
        let evaluated = 2.0 * (depth + 3.0) * (self.largest_theta + coefficient * self.direction);
        HIGHER_ORDERS * U * (self.mean + self.steps * self.direction + evaluated)
    }

    /// Bounds the errors of the current row, and of the end of the streak before it.
    pub fn of_row(&self, setting: RoundingSetting) -> RowError {
        let RoundingSetting { prior, ridge, n_visited, .. } = setting;
        let (k, scale, unit) = (n_visited as f64, prior + ridge, HIGHER_ORDERS * U);
        let Some(weights) = self.weights(setting) else {
            return RowError { row: f64::INFINITY, ..RowError::default() };
        };
        let share = self.known.map_or(0.0, |KnownPoint { before, leverage, entry }| {
            let solved = (entry.max(0.0) / before).sqrt();
            let of_leverage = unit * (ridge * scale.sqrt() * self.sum * solved * (2.0 * k + 6.0) + 9.0 / before);
            unit * (k + 3.0) * scale.sqrt() * solved * weights + of_leverage / (leverage.max(of_leverage) * ridge).sqrt()
        });
        let closed = self.rotated.map_or([0.0; 3], |Rotated { entries, squares, rest }| {
            // The larger of two bounds of the products with the columns, for a point whose variance is the regularizer, is left out.
            let by_weights = entries * self.observations < prior;
            let [constant, linear, share] = if by_weights {
                [0.0, 0.0, 11.0 * entries]
            } else {
                [5.0 * prior, 10.0 * (prior * entries.min(scale)).sqrt(), 0.0]
            };
            let linear = linear + 4.0 * (prior * squares).sqrt();
            [unit * constant, unit * linear * weights, unit * (share + 17.0 * rest) * weights * weights]
        });
        let row = unit * (scale * self.solves + prior * self.sums + prior.sqrt() * self.products);
        RowError { row, share, closed }
    }

    /// Bounds the error of a factor over `n` coordinates, see [`crate::score::Factor::error`].
    pub fn of_factor(&self, setting: RoundingSetting, n: usize) -> [f64; 2] {
        let RoundingSetting { prior, ridge, n_visited, .. } = setting;
        let Some(weights) = self.weights(setting) else { return [f64::INFINITY; 2] };
        let (k, root, n, unit) = (n_visited as f64, dot_depth(n) + 2.0, n as f64, HIGHER_ORDERS * U);
        let form = root * n + (k + 3.0) * (n + 1.0);
        [unit * form * prior, unit * 2.0 * (k + 3.0) * (prior * (prior + ridge) * k.min(n)).sqrt() * weights]
    }

    /// Bounds the sum of the magnitudes of a point's kriging weights, per unit of its posterior standard deviation.
    ///
    /// `None` where the factor may be off by as much as the regularizer.
    fn weights(&self, setting: RoundingSetting) -> Option<f64> {
        let RoundingSetting { prior, ridge, n_visited, depth } = setting;
        let scale = prior + ridge;
        let entry = U * ((n_visited as f64 + 10.0 + depth + 16.0 * self.rotations) * scale + 17.0 * self.rest);
        let (ratio, share) = (self.observations / ridge, entry * self.observations / ridge);
        // The rest of the regularizer is left.
        (share <= 0.5).then(|| (ratio / (1.0 - share)).sqrt())
    }
}
