//! What the host knows of one lane: whether it follows its model, and how far it may be off.

use crate::device::{Band4, Precision};
use crate::scale::Scale;
use privateer_gp::score::{Factor, Moments, Spread, TIE_TOLERANCE};

/// Bounds are computed in f64 and used in the device's type: this much on top covers the rounding of the bounds.
const ROUNDED_UP: f64 = 1.0 + 1e-5;

/// The error of a sum of so many products, as a share of the sum of their magnitudes: see the module's notes.
fn gamma(terms: usize, unit: f64) -> f64 {
    1.25 * (terms as f64 + 8.0) * unit
}

/// One lane.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Mean and variance follow the model.
    pub fresh: bool,
    /// `p` holds the row of the model's open run.
    pub has_row: bool,
    /// Candidates beyond the first since the last start.
    pub extra: u64,
    /// Rounds since answers were last compared with exact scores.
    pub since_check: u32,
    /// The next point to be compared.
    pub next_checked: usize,
    /// What a scan of the last round found: a start for the next.
    pub scanned: Option<(Vec<f64>, Vec<f64>)>,
    /// `e_p` of the row in `p`.
    row_error: f64,
    /// Bound on `|p|` of the row in `p`.
    row_bound: f64,
    /// `e_s` of the start.
    start_spread: f64,
    /// Constant error of the variance at the start.
    start_variance: f64,
    /// Relative error of the variance at the start, in roundings.
    start_roundings: f64,
    /// `E`.
    squares: f64,
    /// Observations since the start.
    visits: f64,
    mean_error: f64,
    /// Bounds on what the device holds.
    largest_mean: f64,
    largest_variance: f64,
    /// Bound on the model's own spread², which the device's may fall below.
    prior: f64,
}

impl Lane {
    /// A lane that holds nothing yet. It is compared with exact scores in its first round.
    pub fn new(first_checked: usize) -> Self {
        Self {
            fresh: false,
            has_row: false,
            extra: 0,
            since_check: u32::MAX,
            next_checked: first_checked,
            scanned: None,
            row_error: 0.0,
            row_bound: 0.0,
            start_spread: 0.0,
            start_variance: 0.0,
            start_roundings: 0.0,
            squares: 0.0,
            visits: 0.0,
            mean_error: 0.0,
            largest_mean: 0.0,
            largest_variance: 0.0,
            prior: 0.0,
        }
    }

    /// The lane starts from values that were rounded once: the prior, or exact scores with this largest mean.
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

    /// The lane starts from a factor over a basis of this scale. `prior` bounds `k(x, x)`, `kernel_error` an error of one
    /// basis function. False, changing nothing, where its numbers do not fit the device's type.
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
        let (spread, mean) = (per_norm * rows, per_norm * weights);
        // Squares of n products may be flushed to zero.
        let flushed = (n as f64 + 2.0) * precision.tiny();
        let removed = match factor.spread {
            Spread::Added => 0.0,
            Spread::Removed => 2.0 * spread * prior.sqrt() + spread * spread + (n as f64 + 10.0) * unit * prior,
        };
        let variance = flushed + removed;
        *self = Self {
            fresh: true,
            start_spread: if factor.spread == Spread::Added { spread } else { 0.0 },
            start_variance: variance,
            start_roundings: if factor.spread == Spread::Added { n as f64 } else { 0.0 },
            mean_error: mean,
            largest_mean: weights * h,
            largest_variance: prior * ROUNDED_UP,
            prior: prior * ROUNDED_UP,
            ..self.cleared()
        };
        true
    }

    /// What a start does not touch.
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

    /// A new row is about to be projected. False, changing nothing, where it does not fit the device's type.
    pub fn row(&mut self, row: &[f64], scale: &Scale, prior: f64, kernel_error: f64, precision: Precision) -> bool {
        let Some((bound, error)) = projected(row, scale, prior, kernel_error, precision) else { return false };
        (self.row_bound, self.row_error) = (bound, error);
        self.has_row = true;
        true
    }

    /// One observation along the row. False, changing nothing, where it does not fit the device's type.
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

    /// As [`Lane::visit`], but every mean is new: these weights over a basis of this scale, so that no error of a mean before
    /// counts. False, changing nothing, where it does not fit the device's type.
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

    /// A bound on the error of the variance, wherever the point.
    fn variance_error(&self) -> f64 {
        self.squares + self.start_variance + 3.0 * self.start_spread * self.start_spread
    }

    /// The band of a round.
    pub fn band(&self, beta: f64, state: Moments, precision: Precision) -> Band4 {
        let unit = precision.unit();
        let root = self.squares.sqrt();
        // The spread at the anchor is at most â + e_s + sqrt(error of its square).
        let beyond = self.start_spread + self.start_variance.sqrt();
        let score = self.largest_mean + beta * (self.largest_variance * ROUNDED_UP).sqrt();
        // Roundings are shares of the spread² at the anchor, which is at most (â + beyond)².
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
            c1: ROUNDED_UP * 2.0 * (self.start_spread + root + rounded * beyond),
            c2: ROUNDED_UP * rounded,
        }
    }

    /// What the device says it holds, of all points.
    pub fn seen(&mut self, largest_mean: f64, largest_variance: f64) {
        self.largest_mean = largest_mean;
        self.largest_variance = self.largest_variance.min(largest_variance.max(0.0) * ROUNDED_UP);
    }
}

/// Bounds on `|row · h|` and on its error where a device sums it; `None` where it does not fit the device's type.
fn projected(row: &[f64], scale: &Scale, prior: f64, kernel_error: f64, precision: Precision) -> Option<(f64, f64)> {
    let magnitudes: f64 = row.iter().map(|r| r.abs()).sum();
    let bound = scale.of_row(row, prior);
    let error = gamma(row.len(), precision.unit()) * bound
        + kernel_error * magnitudes
        + (row.len() as f64 + 2.0) * precision.tiny() * (1.0 + magnitudes + prior.max(prior.sqrt()));
    fits(&[bound, magnitudes], precision).then_some((bound, error))
}

/// Whether all of these can enter the device's arithmetic.
pub fn fits(values: &[f64], precision: Precision) -> bool {
    values.iter().all(|value| value.abs() <= precision.largest())
}
