//! One trial's request and one backend's answer.

use super::{FactorLanes, GramSource};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A trial's model in f64: what a backend may pull when the change since the last round is not enough for it.
///
/// `exact` is the one named f64 score function; whoever decides among candidates uses it, on every path.
pub trait ScoreModel: Send + Sync {
    /// Posterior mean and spread² (at least 0) of one point, in one fixed order of summation.
    fn exact(&self, point: usize) -> Moments;

    /// As [`ScoreModel::exact`] for a point whose features are zero outside of this range: the same up to the order of summation.
    fn exact_within(&self, point: usize, features: Range<usize>) -> Moments {
        let _ = features;
        self.exact(point)
    }

    /// A bound on `k(x, x)` over the domain: the scale of spread².
    fn prior_variance_bound(&self) -> f64;

    /// Bounds on how far mean and spread² may differ, for the rounding of the f64 state alone, from what the changes handed
    /// out since it was made or rebuilt add up to.
    fn state_error(&self) -> Moments;

    /// The points whose Gram columns are the basis, in order; empty for a table basis.
    fn basis_points(&self) -> &[u32];

    /// Observations so far. A model without any has mean 0 and the prior's spread².
    fn n_observations(&self) -> u64;

    /// The model as weights and one factor over its basis, where it can say so in a form that does not cancel or that it
    /// keeps anyway. Equal to [`ScoreModel::exact`] up to [`ScoreModel::state_error`].
    fn factor(&self) -> Option<Factor<'_>> {
        None
    }

    /// The factor as one of several side by side, and this trial's place among them, where the model is kept so: rounded, but otherwise that of
    /// [`ScoreModel::factor`]. The standard job of whole factors keeps it so; a policy's factor stands alone.
    fn lanes(&self) -> Option<(FactorLanes<'_>, usize)> {
        None
    }

    /// Mean and spread² of every point, the bits of [`ScoreModel::exact`], where the model keeps them anyway (on small domains):
    /// then nothing needs to be screened.
    fn table(&self) -> Option<MomentTable<'_>> {
        None
    }

    /// The visits behind the model, where it is ridge regression over its basis and nothing but them made it.
    fn visited(&self) -> Option<Visited<'_>> {
        None
    }

    /// The trial's own covariance, for [`super::Basis::Own`].
    fn own_gram(&self) -> Option<&Arc<dyn GramSource>> {
        None
    }
}

/// A whole model over its basis of `n` functions: `mean = weights · h(x)` and spread² as [`Spread`] says.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor<'a> {
    /// `n`.
    pub weights: Cow<'a, [f64]>,
    /// `R`, `n x n` row-major, lower triangular.
    pub rows: Cow<'a, [f64]>,
    /// What `|R h(x)|²` is to spread².
    pub spread: Spread,
}

/// What ridge regression has visited: `V = ridge I + sum count phi phi^T`, `A = K + ridge diag(1 / count)` over the visited points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visited<'a> {
    /// Distinct points, in the order of their first visits.
    pub points: &'a [u32],
    /// How often each was observed.
    pub counts: &'a [u64],
    /// Sum of the rewards at each.
    pub sums: &'a [f64],
    /// The regularizer, > 0.
    pub ridge: f64,
    /// The direction of the last run over these points, where a model over features keeps it: `u = sum row_i phi_i`.
    pub row: Option<&'a [f64]>,
}

/// Posterior mean and spread² of every point of a domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentTable<'a> {
    /// One a point.
    pub means: &'a [f64],
    /// One a point, at least 0.
    pub variances: &'a [f64],
}

/// How a factor enters spread².
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// `residual(x) + |R h(x)|²`: nothing cancels.
    Added,
    /// `k(x, x) - |R h(x)|²`.
    Removed,
}

/// Posterior mean and spread² of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Mean.
    pub mean: f64,
    /// Squared spread, at least 0.
    pub variance: f64,
}

impl Moments {
    /// `mean + beta * sqrt(variance)`.
    #[must_use]
    pub fn upper(self, beta: f64) -> f64 {
        self.mean + beta * self.variance.sqrt()
    }
}

/// What changed in a trial's model since the last round in which it was screened.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// Nothing.
    None,
    /// One observation: at every point, with `p(x) = row · h(x)`, spread²(x) falls by `(scale * p(x))²` and the mean rises
    /// by `mean_step * p(x)`.
    Row {
        /// Coefficients over the basis, as long as the basis now is.
        row: &'a [f64],
        /// What multiplies `p` in the spread.
        scale: f64,
        /// What multiplies `p` in the mean.
        mean_step: f64,
        /// The row is that of the last change this screen took (the point was played again): `p` need not be computed anew.
        repeated: bool,
        /// After this observation the f64 state was rebuilt and shed its drift: a screen should start from it anew.
        rebuilt: bool,
    },
    /// One observation after which every mean is new: spread²(x) falls by `(scale * row · h(x))²`, and the mean is `weights · h(x)`.
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
    /// More than a row says: take everything from the model.
    Rebuild,
    /// All of the model is new, as it is every round (fresh noise in every entry of the precision matrix, another
    /// dictionary): take [`ScoreModel::factor`], or exact scores where it hands out none.
    Factor,
}

/// One trial's part of a round.
#[derive(Clone, Copy)]
pub struct TrialScore<'a> {
    /// Which of the opened trials, `0 .. n_trials`.
    pub trial: usize,
    /// What changed.
    pub change: Change<'a>,
    /// What multiplies the spread, finite and at least 0.
    pub beta: f64,
    /// The model behind it.
    pub model: &'a dyn ScoreModel,
    /// The only points that may be played this round, ascending, at least one; all if absent.
    pub subset: Option<&'a [u32]>,
}

impl<'a> TrialScore<'a> {
    /// A request over the whole domain.
    #[must_use]
    pub fn new(trial: usize, change: Change<'a>, beta: f64, model: &'a dyn ScoreModel) -> Self {
        Self { trial, change, beta, model, subset: None }
    }
}

/// The answer for one trial: every point that could be the best, ascending, at least one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Point indices, ascending.
    pub points: Vec<u32>,
}
