//! The UCB score of posterior moments ([`Moments::upper`]), one trial's request for the best points, and the answer.

use super::{AxisFeatures, GramSource};
use privateer_numerics::linalg::sum_of_squares;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A trial's model in f64, for a backend to which the change since the last round is not enough.
///
/// `exact` is the one named f64 score function: candidates are compared by it on every path.
pub trait ScoreModel: Send + Sync {
    /// Returns posterior mean and variance (at least 0) of one point, in one fixed summation order.
    fn exact(&self, point: usize) -> Moments;

    /// Returns [`ScoreModel::exact`] of a point whose features are zero outside of this range.
    ///
    /// The two agree up to the order of summation.
    fn exact_within(&self, point: usize, _features: Range<usize>) -> Moments {
        self.exact(point)
    }

    /// Returns [`ScoreModel::exact_within`] of each row of an axis, with its bits.
    fn exact_within_each(&self, axis: &AxisFeatures) -> Vec<Moments> {
        axis.rows.clone().map(|row| self.exact_within(row, axis.features.clone())).collect()
    }

    /// Returns a bound on `k(x, x)` over the domain: the scale of the posterior variance.
    fn prior_variance_bound(&self) -> f64;

    /// Bounds the rounding errors of the f64 state.
    ///
    /// The bounds cover the difference to the sum of the changes reported since the state was made or rebuilt.
    fn state_error(&self) -> StateError;

    /// Bounds the rounding errors of the last reported row, and of the end of the streak before it.
    fn row_error(&self) -> RowError {
        RowError::default()
    }

    /// Returns the points whose Gram columns are the basis, in order; empty for a table basis.
    fn basis_points(&self) -> &[u32] {
        &[]
    }

    /// Returns the number of observations; a model without any has mean 0 and the prior variance.
    fn n_observations(&self) -> u64;

    /// Returns the model as weights and one factor over its basis.
    ///
    /// `None` if the factor would cancel and the model does not store it anyway. Equal to [`ScoreModel::exact`] up to
    /// [`ScoreModel::state_error`] and [`Factor::error`].
    fn factor(&self) -> Option<Factor<'_>> {
        None
    }

    /// Returns mean and variance of every point, if the model stores them (on small domains).
    ///
    /// They have the same bits as [`ScoreModel::exact`]; no screening is needed then.
    fn table(&self) -> Option<MomentTable<'_>> {
        None
    }

    /// Returns the interactions, if the model is ridge regression over its basis from them alone.
    fn visited(&self) -> Option<VisitedPoints<'_>> {
        None
    }

    /// Returns the trial's own covariance, for [`super::Basis::Own`].
    fn own_gram(&self) -> Option<&Arc<dyn GramSource>> {
        None
    }
}

/// A whole model over its basis of `n` functions.
///
/// The mean is `weights · h(x)`; [`VarianceForm`] says how the posterior variance follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor<'a> {
    /// `n` coefficients of the mean.
    pub weights: Cow<'a, [f64]>,
    /// `R`, `n x n` row-major, lower triangular.
    pub rows: Cow<'a, [f64]>,
    /// How `|R h(x)|²` enters the posterior variance.
    pub variance: VarianceForm,
    /// `|R|_F²` up to the rounding of a sum of `n²` numbers, where its maker knows it.
    pub squares: Option<f64>,
    /// Error of the variance beyond [`ScoreModel::state_error`]: a constant, and a part per unit of the posterior standard
    /// deviation.
    pub error: [f64; 2],
}

impl<'a> Factor<'a> {
    /// Makes a factor.
    pub fn new(weights: Cow<'a, [f64]>, rows: Cow<'a, [f64]>, variance: VarianceForm) -> Self {
        Self { weights, rows, variance, squares: None, error: [0.0; 2] }
    }

    /// Returns `|R|_F²`, up to the rounding of a sum of `n²` numbers.
    pub fn squares(&self) -> f64 {
        self.squares.unwrap_or_else(|| sum_of_squares(&self.rows))
    }
}

/// The interactions behind a ridge regression.
///
/// `V = ridge I + sum count phi phi^T`, and `A = K + ridge diag(1 / count)` over the visited points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisitedPoints<'a> {
    /// Distinct points, in the order of their first interactions.
    pub points: &'a [u32],
    /// Number of observations of each point.
    pub counts: &'a [u64],
    /// Sum of the rewards at each point.
    pub sums: &'a [f64],
    /// The regularizer, > 0.
    pub ridge: f64,
    /// Direction of the last streak over these points, if a feature model stores it.
    ///
    /// The direction is `u = sum row_i phi_i`.
    pub row: Option<&'a [f64]>,
}

/// Posterior mean and variance of every point of a domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentTable<'a> {
    /// One per point.
    pub means: &'a [f64],
    /// One per point, at least 0.
    pub variances: &'a [f64],
}

/// How a factor enters the posterior variance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VarianceForm {
    /// `residual(x) + |R h(x)|²`: nothing cancels.
    Added,
    /// `k(x, x) - |R h(x)|²`.
    Removed,
}

/// Posterior mean and variance of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Mean.
    pub mean: f64,
    /// Posterior variance, at least 0.
    pub variance: f64,
}

impl Moments {
    /// Returns the UCB score, `mean + beta * sqrt(variance)`.
    pub fn upper(self, beta: f64) -> f64 {
        self.mean + beta * self.variance.sqrt()
    }
}

/// Bounds of the rounding errors of a model's f64 state, at every point.
///
/// Let the changes be those reported since the state was made or rebuilt, with errors of their rows as in [`RowError`]. Mean and
/// variance of [`ScoreModel::exact`] then differ from the sum of the changes by at most `mean` and `variance + 2 deviation s`,
/// with `s` the posterior standard deviation. Derivation: `docs/derivations/posterior-rounding.md`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StateError {
    /// Error of a mean.
    pub mean: f64,
    /// Constant error of a variance.
    pub variance: f64,
    /// Error of a posterior standard deviation beyond that.
    pub deviation: f64,
}

impl StateError {
    /// Returns the error of the variance of a point with this posterior variance.
    pub fn of_variance(&self, variance: f64) -> f64 {
        self.variance + 2.0 * self.deviation * variance.max(0.0).sqrt()
    }
}

/// Bounds of the rounding errors that come with a new row of [`Change::Row`], at every point.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RowError {
    /// Error of `row · h`.
    pub row: f64,
    /// Further error of `row · h`, per unit of the posterior standard deviation before.
    pub share: f64,
    /// Error of the variance from the end of the last streak: a constant, and parts per unit of the posterior standard
    /// deviation and of the variance.
    pub closed: [f64; 3],
}

impl RowError {
    /// Returns the error from the end of the last streak, for posterior variances up to this number.
    pub fn of_closed(&self, variance: f64) -> f64 {
        let [constant, deviation, share] = self.closed;
        constant + deviation * variance.sqrt() + share * variance
    }
}

/// The change of a trial's model since the last round in which it was screened.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// No change.
    None,
    /// One observation, as a row over the basis.
    ///
    /// With `p(x) = row · h(x)`, the variance at every point falls by `(scale * p(x))²` and the mean rises by `mean_step
    /// * p(x)`.
    Row {
        /// Coefficients over the current basis.
        row: &'a [f64],
        /// Factor of `p` in the posterior standard deviation.
        scale: f64,
        /// Factor of `p` in the mean.
        mean_step: f64,
        /// Whether the row is that of the last change this screen applied, so that it has `p`.
        repeated: bool,
        /// Whether the f64 state was rebuilt afterwards and lost its drift: restart from it.
        rebuilt: bool,
    },
    /// One observation after which every mean is new.
    ///
    /// The variance falls by `(scale * row · h(x))²`, and the mean is `weights · h(x)`.
    Weights {
        /// As in [`Change::Row`].
        row: &'a [f64],
        /// As in [`Change::Row`].
        scale: f64,
        /// As in [`Change::Row`].
        repeated: bool,
        /// Coefficients of the mean over the basis, as long as the row.
        weights: &'a [f64],
    },
    /// A change that no row describes: read everything from the model.
    Rebuild,
    /// All of the model is new, as with fresh noise in the precision matrix or a new dictionary.
    ///
    /// Read [`ScoreModel::factor`], or exact scores if it is `None`.
    Factor,
}

/// One trial's part of a round.
#[derive(Clone, Copy)]
pub struct TrialScore<'a> {
    /// Index among the opened trials, `0 .. n_trials`.
    pub trial: usize,
    /// The change of the model.
    pub change: Change<'a>,
    /// Exploration factor `beta`, finite and at least 0.
    pub beta: f64,
    /// The model that changed.
    pub model: &'a dyn ScoreModel,
    /// The only points that may be played this round, ascending, at least one; all if absent.
    pub subset: Option<&'a [u32]>,
}

impl<'a> TrialScore<'a> {
    /// Creates a request over the whole domain.
    pub fn new(trial: usize, change: Change<'a>, beta: f64, model: &'a dyn ScoreModel) -> Self {
        Self { trial, change, beta, model, subset: None }
    }
}

/// The answer for one trial: every point that may be the best, ascending, at least one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Point indices, ascending.
    pub points: Vec<u32>,
}
