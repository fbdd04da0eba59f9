//! Bounds the errors of one device slot, and records whether it follows its model.
//!
//! Derivation: `docs/derivations/device-error-band.md`.

use crate::device::{Band4, Precision};
use crate::scale::Scale;
use privateer_gp::score::{Factor, Moments, TIE_TOLERANCE, VarianceForm};

/// Factor for bounds computed in f64 and used in the device's type; covers their rounding.
const ROUNDED_UP: f64 = 1.0 + 1e-5;

/// Returns the relative error of a sum of `terms` products, per unit of its magnitudes.
fn gamma(terms: usize, unit: f64) -> f64 {
    1.25 * (terms as f64 + 8.0) * unit
}

/// The host's record of one device slot.
#[derive(Debug, Clone, Default)]
pub struct SlotState {
    /// Whether mean and variance follow the model.
    pub fresh: bool,
    /// Whether `p` holds the row of the model's open streak.
    pub has_row: bool,
    /// Candidates beyond the first since the last reset.
    pub extra: u64,
    /// Rounds since answers were last compared with exact scores.
    pub since_check: u32,
    /// Next point to compare.
    pub next_checked: usize,
    /// Moments found by a scan of the last round, to which the next round resets the slot.
    pub scanned: Option<(Vec<f64>, Vec<f64>)>,
    /// `e_p` of the row in `p`.
    row_error: f64,
    /// Bound on `|p|` of the row in `p`.
    row_bound: f64,
    /// `e_s` of the last reset.
    start_deviation: f64,
    /// Absolute error of the variance at the last reset.
    start_variance: f64,
    /// Relative error of the variance at the last reset, in roundings.
    start_roundings: f64,
    /// `E`, the sum of `(scale e_p)²` since the last reset.
    squares: f64,
    /// Observations since the last reset.
    visits: f64,
    mean_error: f64,
    /// Bounds on the device's values.
    largest_mean: f64,
    largest_variance: f64,
    /// Bound on the model's own posterior variance, which the device's may fall below.
    prior: f64,
}

impl SlotState {
    /// Creates an empty slot, which is compared with exact scores in its first round.
    pub fn new(first_checked: usize) -> Self {
        Self { since_check: u32::MAX, next_checked: first_checked, ..Self::default() }
    }

    /// Resets the slot to values that were rounded once: the prior, or exact scores.
    ///
    /// `largest_mean` bounds the means.
    pub fn start(&mut self, prior: f64, prior_error: f64, largest_mean: f64, unit: f64) {
        *self = Self {
            fresh: true,
            start_variance: prior_error * prior,
            mean_error: unit * largest_mean,
            largest_mean,
            largest_variance: prior * ROUNDED_UP,
            prior: prior * ROUNDED_UP,
            ..self.cleared()
        };
    }

    /// Resets the slot to a factor over a basis of this scale.
    ///
    /// `prior` bounds `k(x, x)`, `kernel_error` the error of one basis function. Returns false, without any change, if the
    /// numbers do not fit the device's type.
    pub fn start_factor(
        &mut self,
        factor: &Factor<'_>,
        scale: &Scale,
        prior: f64,
        kernel_error: f64,
        precision: Precision,
    ) -> bool {
        let unit = precision.unit();
        let n = factor.weights.len();
        let norm = |values: &[f64]| privateer_numerics::linalg::dot(values, values).sqrt();
        let (weights, rows) = (norm(&factor.weights), norm(&factor.rows));
        // |h| <= sqrt(n) prior for Gram columns.
        let h = if scale.largest.is_empty() { (n as f64).sqrt() * prior } else { scale.norm };
        let per_norm = gamma(n, unit) * h + kernel_error * (n as f64).sqrt();
        if !fits(&[weights, rows, weights * h, rows * h, prior], precision) {
            return false;
        }
        let (deviation, mean) = (per_norm * rows, per_norm * weights);
        // Squares of n products may be flushed to zero.
        let flushed = (n as f64 + 2.0) * precision.tiny();
        let removed = match factor.variance {
            VarianceForm::Added => 0.0,
            VarianceForm::Removed => 2.0 * deviation * prior.sqrt() + deviation * deviation + (n as f64 + 10.0) * unit * prior,
        };
        let variance = flushed + removed;
        *self = Self {
            fresh: true,
            start_deviation: if factor.variance == VarianceForm::Added { deviation } else { 0.0 },
            start_variance: variance,
            start_roundings: if factor.variance == VarianceForm::Added { n as f64 } else { 0.0 },
            mean_error: mean,
            largest_mean: weights * h,
            largest_variance: prior * ROUNDED_UP,
            prior: prior * ROUNDED_UP,
            ..self.cleared()
        };
        true
    }

    /// Returns a slot with the fields that a reset keeps.
    fn cleared(&self) -> Self {
        let kept = Self::new(self.next_checked);
        Self {
            since_check: self.since_check,
            has_row: self.has_row,
            row_error: self.row_error,
            row_bound: self.row_bound,
            ..kept
        }
    }

    /// Prepares the projection of a new row.
    ///
    /// Returns false, without any change, if the row does not fit the device's type.
    pub fn row(&mut self, row: &[f64], scale: &Scale, prior: f64, kernel_error: f64, precision: Precision) -> bool {
        let Some((bound, error)) = projected(row, scale, prior, kernel_error, precision) else { return false };
        (self.row_bound, self.row_error) = (bound, error);
        self.has_row = true;
        true
    }

    /// Adds an observation along the row; false, without any change, if it does not fit the type.
    pub fn visit(&mut self, scale: f64, mean_step: f64, precision: Precision) -> bool {
        let unit = precision.unit();
        let epsilon = scale * self.row_error;
        let p = if 0.0 < scale { self.row_bound.min(self.prior.sqrt() / scale) } else { self.row_bound };
        let step = mean_step.abs() * (p + self.row_error);
        if !fits(&[scale, mean_step, scale * self.row_bound, mean_step * self.row_bound, epsilon], precision) {
            return false;
        }
        self.squares += epsilon * epsilon + precision.tiny();
        self.visits += 1.0;
        self.largest_mean += step;
        self.mean_error += mean_step.abs() * self.row_error + 3.0 * unit * step + unit * self.largest_mean + precision.tiny();
        true
    }

    /// Adds an observation like [`SlotState::visit`], with weights from which all means are recomputed.
    ///
    /// The weights are over a basis of this scale, and earlier errors of means no longer count. Returns false, without any
    /// change, if it does not fit the device's type.
    pub fn visit_with(
        &mut self,
        scale: f64,
        weights: &[f64],
        basis: &Scale,
        prior: f64,
        kernel_error: f64,
        precision: Precision,
    ) -> bool {
        let Some((mean, error)) = projected(weights, basis, prior, kernel_error, precision) else { return false };
        if !self.visit(scale, 0.0, precision) {
            return false;
        }
        self.largest_mean = mean;
        self.mean_error = error;
        true
    }

    /// Returns a bound on the error of the variance, uniform over points.
    fn variance_error(&self) -> f64 {
        self.squares + self.start_variance + 3.0 * self.start_deviation * self.start_deviation
    }

    /// Returns the band of a round.
    pub fn band(&self, beta: f64, state: Moments, precision: Precision) -> Band4 {
        let unit = precision.unit();
        let root = self.squares.sqrt();
        // The standard deviation at the last reset is at most â + e_s + sqrt(error of its square).
        let beyond = self.start_deviation + self.start_variance.sqrt();
        let score = self.largest_mean + beta * (self.largest_variance * ROUNDED_UP).sqrt();
        // Roundings are relative to the variance at the last reset, which is at most (â + beyond)².
        let rounded = (self.visits + self.start_roundings + 12.0) * unit;
        // A square root flushed to zero.
        let flushed = beta * precision.tiny().sqrt();
        Band4 {
            c: ROUNDED_UP
                * (self.mean_error
                    + state.mean
                    + 8.0 * unit * score
                    + TIE_TOLERANCE * (1.0 + score)
                    + flushed
                    + precision.tiny()),
            c0: ROUNDED_UP
                * (self.variance_error()
                    + 2.0 * beyond * root
                    + rounded * beyond * beyond
                    + state.variance
                    + self.visits.max(1.0) * precision.tiny()),
            c1: ROUNDED_UP * 2.0 * (self.start_deviation + root + rounded * beyond),
            c2: ROUNDED_UP * rounded,
        }
    }

    /// Records the device's own bounds on its values, over all points.
    pub fn seen(&mut self, largest_mean: f64, largest_variance: f64) {
        self.largest_mean = largest_mean;
        self.largest_variance = self.largest_variance.min(largest_variance.max(0.0) * ROUNDED_UP);
    }
}

/// Bounds `|row · h|` and its error in the device's sum; `None` if it does not fit the type.
fn projected(row: &[f64], scale: &Scale, prior: f64, kernel_error: f64, precision: Precision) -> Option<(f64, f64)> {
    let (bound, magnitudes) = scale.of_row(row, prior);
    let error = gamma(row.len(), precision.unit()) * bound
        + kernel_error * magnitudes
        + (row.len() as f64 + 2.0) * precision.tiny() * (1.0 + magnitudes + prior.max(prior.sqrt()));
    fits(&[bound, magnitudes], precision).then_some((bound, error))
}

/// Returns whether all values may enter the device's arithmetic.
pub fn fits(values: &[f64], precision: Precision) -> bool {
    values.iter().all(|value| value.abs() <= precision.largest())
}
