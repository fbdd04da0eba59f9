//! Bounds the errors of one device slot, and records whether it follows its model.
//!
//! Derivation: `docs/derivations/device-error-band.md`.

use crate::device::{DeviceBand, Precision};
use crate::scale::Scale;
use privateer_gp::score::{Factor, RowError, StateError, TIE_TOLERANCE, VarianceForm};

/// Factor for bounds computed in f64 and used in the device's type; covers their rounding.
const ROUNDED_UP: f64 = 1.0 + 1e-5;

/// Returns the relative error of a sum of `terms` products, per unit of its magnitudes.
///
/// In f64 both factors are exact.
fn gamma(terms: usize, precision: Precision) -> f64 {
    let roundings = if precision == Precision::F64 { 2.0 } else { 8.0 };
    let share = (terms as f64 + roundings) * precision.unit();
    share / (1.0 - share)
}

#[derive(Clone, Copy)]
pub struct SlotBasis<'a> {
    pub scale: &'a Scale,
    /// Bound on `k(x, x)`.
    pub prior: f64,
    /// Error of one basis function.
    pub kernel_error: f64,
    pub precision: Precision,
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
    /// `e_p` of the row in `p`: of the device, and of the model, a constant and a part per unit of the posterior deviation.
    row_error: f64,
    row_of_model: [f64; 2],
    /// Bound on `|p|` of the row in `p`.
    row_bound: f64,
    /// What the round adds to the error of the variance: a constant, and factors on the fall's root, on the
    /// variance and on its root.
    added: [f64; 4],
    /// The model's constant error of the variance, as far as it has been added.
    of_model: f64,
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
    /// `largest_mean` bounds the means, and `deviation` the model's error of a posterior standard deviation.
    pub fn start(&mut self, prior: f64, prior_error: f64, largest_mean: f64, unit: f64, deviation: f64) {
        let added = [prior_error * prior, 0.0, 2.0 * unit, 2.0 * deviation];
        self.reset(prior, added, unit * largest_mean, largest_mean);
    }

    pub fn begin_round(&mut self) {
        self.added = [0.0; 4];
    }

    /// Adds the model's constant error of the variance, as far as it has grown.
    pub fn follow(&mut self, state: &StateError) {
        self.added[0] += (state.variance - self.of_model).max(0.0);
        self.of_model = self.of_model.max(state.variance);
    }

    /// Resets the slot to a factor; false, without any change, if the numbers do not fit the device's type.
    pub fn start_factor(&mut self, factor: &Factor<'_>, basis: &SlotBasis<'_>, state: &StateError) -> bool {
        let SlotBasis { scale, prior, kernel_error, precision } = *basis;
        let unit = precision.unit();
        let n = factor.weights.len();
        let norm = |values: &[f64]| privateer_numerics::linalg::dot(values, values).sqrt();
        let (weights, rows) = (norm(&factor.weights), norm(&factor.rows));
        // |h| <= sqrt(n) prior for Gram columns.
        let h = if scale.largest.is_empty() { (n as f64).sqrt() * prior } else { scale.norm };
        let per_norm = gamma(n, precision) * h + kernel_error * (n as f64).sqrt();
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
        // The deviation of the exact factor is at most that of the device, its error, and the root of the square's.
        let (root, share) = match factor.variance {
            VarianceForm::Added => (2.0 * deviation, (n as f64 + 12.0) * unit),
            VarianceForm::Removed => (0.0, 12.0 * unit),
        };
        let constant = flushed + removed + root * (2.5 * deviation + flushed.sqrt()) + factor.error[0];
        let added = [constant, 0.0, share, root + factor.error[1] + 2.0 * state.deviation];
        self.reset(prior, added, mean, weights * h);
        true
    }

    /// Resets the slot, except for the row in `p` and the comparisons with exact scores.
    fn reset(&mut self, prior: f64, added: [f64; 4], mean_error: f64, largest_mean: f64) {
        *self = Self {
            fresh: true,
            extra: 0,
            scanned: None,
            added,
            of_model: 0.0,
            mean_error,
            largest_mean,
            largest_variance: prior * ROUNDED_UP,
            prior: prior * ROUNDED_UP,
            ..std::mem::take(self)
        };
    }

    /// Prepares the projection of a new row; false, without any change, if the row does not fit the device's type.
    ///
    /// * `model` — the model's error
    pub fn row(&mut self, row: &[f64], basis: &SlotBasis<'_>, model: &RowError) -> bool {
        let Some((bound, error)) = projected(row, basis) else { return false };
        (self.row_bound, self.row_error) = (bound, error);
        self.row_of_model = [model.row, model.share];
        let [constant, deviation, share] = model.closed;
        self.added[0] += constant;
        self.added[2] += share;
        self.added[3] += deviation;
        self.has_row = true;
        true
    }

    /// Adds an observation along the row; false, without any change, if it does not fit the type.
    pub fn visit(&mut self, scale: f64, mean_step: f64, precision: Precision) -> bool {
        let unit = precision.unit();
        let [of_model, share] = self.row_of_model;
        let (epsilon, share) = (scale * (self.row_error + of_model), scale * share);
        let p = if 0.0 < scale { self.row_bound.min(self.prior.sqrt() / scale) } else { self.row_bound };
        let step = mean_step.abs() * (p + self.row_error);
        if !fits(&[scale, mean_step, scale * self.row_bound, mean_step * self.row_bound, epsilon, share], precision) {
            return false;
        }
        // 2 |z| (e + share s) + (e + share s)², with |z| at most the device's fall's root and e, and |z| at most s; roundings of
        // the fall and of the difference.
        self.added[0] += 6.0 * epsilon * epsilon + precision.tiny();
        self.added[1] += 2.0 * epsilon + 4.0 * unit * self.prior.sqrt();
        self.added[2] += 2.0 * share + 4.0 * share * share + 2.0 * unit;
        self.largest_mean += step;
        self.mean_error += mean_step.abs() * self.row_error + 3.0 * unit * step + unit * self.largest_mean + precision.tiny();
        true
    }

    /// Adds an observation like [`SlotState::visit`], with weights from which all means are recomputed.
    ///
    /// Earlier errors of means no longer count. Returns false, without any change, if it does not fit the device's type.
    pub fn visit_with(&mut self, scale: f64, weights: &[f64], basis: &SlotBasis<'_>) -> bool {
        let Some((mean, error)) = projected(weights, basis) else { return false };
        if !self.visit(scale, 0.0, basis.precision) {
            return false;
        }
        self.largest_mean = mean;
        self.mean_error = error;
        true
    }

    pub fn band(&self, beta: f64, state: &StateError, precision: Precision) -> DeviceBand {
        let unit = precision.unit();
        let score = self.largest_mean + beta * (self.largest_variance * ROUNDED_UP).sqrt();
        // A square root flushed to zero.
        let flushed = beta * precision.tiny().sqrt();
        DeviceBand {
            c: ROUNDED_UP
                * (self.mean_error
                    + state.mean
                    + beta * state.deviation
                    + 8.0 * unit * score
                    + TIE_TOLERANCE * (1.0 + score)
                    + flushed
                    + precision.tiny()),
            c0: ROUNDED_UP * (self.added[0] + precision.tiny()),
            c1: ROUNDED_UP * self.added[1],
            c2: ROUNDED_UP * self.added[2],
            c3: ROUNDED_UP * self.added[3],
        }
    }

    /// Records the device's own bounds on its values, over all points.
    pub fn seen(&mut self, largest_mean: f64, largest_variance: f64) {
        self.largest_mean = largest_mean;
        self.largest_variance = self.largest_variance.min(largest_variance.max(0.0) * ROUNDED_UP);
    }
}

/// Bounds `|row · h|` and its error in the device's sum; `None` if it does not fit the type.
fn projected(row: &[f64], basis: &SlotBasis<'_>) -> Option<(f64, f64)> {
    let SlotBasis { scale, prior, kernel_error, precision } = *basis;
    let (bound, magnitudes) = scale.of_row(row, prior);
    let error = gamma(row.len(), precision) * bound
        + kernel_error * magnitudes
        + (row.len() as f64 + 2.0) * precision.tiny() * (1.0 + magnitudes + prior.max(prior.sqrt()));
    fits(&[bound, magnitudes], precision).then_some((bound, error))
}

/// Returns whether all values may enter the device's arithmetic.
pub fn fits(values: &[f64], precision: Precision) -> bool {
    values.iter().all(|value| value.abs() <= precision.largest())
}
