//! The exact posterior over the distinct visited points, for any kernel and any domain size.
//!
//! The state is K x K for K distinct points ([`VisitedModel`]); no N x N or T x T matrix is formed. For each observation a
//! backend reads one row of coefficients over the Gram columns of the visited points; a repeated play of the same point
//! needs no new row.

use super::change::PendingChange;
use super::visited::{Covariances, VisitedModel};
use super::weights::REBUILD_EVERY;
use super::{Posterior, Visits};
use crate::score::{Basis, Change, GramSource, Moments, RowError, ScoreModel, StateError, VisitedPoints};
use std::borrow::Cow;
use std::sync::Arc;

/// The exact posterior of one trial.
#[derive(Debug, Clone)]
pub struct ExactPosterior {
    gram: Arc<dyn GramSource>,
    /// Whether the inputs belong to this trial alone.
    own: bool,
    prior_bound: f64,
    model: VisitedModel,
    visits: Visits,
    change: PendingChange,
}

impl ExactPosterior {
    /// Creates the prior over this domain, with noise variance `ridge > 0`.
    pub fn new(gram: Arc<dyn GramSource>, ridge: f64) -> Self {
        let prior_bound = Self::prior_bound(gram.as_ref());
        Self::with_prior_bound(gram, prior_bound, ridge)
    }

    /// Returns the largest `k(x, x)` of a domain in one pass; it is the same for all trials.
    pub fn prior_bound(gram: &dyn GramSource) -> f64 {
        (0..gram.n_points()).map(|point| gram.diagonal(point)).fold(0.0, f64::max)
    }

    /// Creates the prior as [`ExactPosterior::new`] does, with a known prior bound.
    ///
    /// The bound is [`ExactPosterior::prior_bound`] of the domain.
    pub fn with_prior_bound(gram: Arc<dyn GramSource>, prior_bound: f64, ridge: f64) -> Self {
        let (model, visits) = (VisitedModel::new(ridge, 0), Visits::default());
        Self { gram, own: false, prior_bound, model, visits, change: PendingChange::default() }
    }

    /// Marks the inputs as belonging to this trial alone.
    #[must_use]
    pub fn over_own_inputs(mut self) -> Self {
        self.own = true;
        self
    }

    /// Returns the covariances of a point with the visited points.
    fn coordinates(&self, point: usize) -> Cow<'_, [f64]> {
        self.gram.coordinates(point as u32, &self.visits.points)
    }
}

/// Coordinates are covariances with the visited points.
impl Covariances for Arc<dyn GramSource> {
    fn coordinates(&self, point: u32, visited: &[u32]) -> Cow<'_, [f64]> {
        let point = point as usize;
        Cow::Owned(match self.dense_column(point) {
            Some(column) => visited.iter().map(|&other| column[other as usize]).collect(),
            None => self.entries(visited, point),
        })
    }

    fn variance(&self, point: u32, _covariances: &[f64]) -> f64 {
        self.diagonal(point as usize)
    }

    fn covariances(&self, covariances: &[f64], visited: &[u32]) -> Vec<f64> {
        covariances[..visited.len()].to_vec()
    }

    fn combine(&self, row: &[f64], _visited: &[u32], out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(row);
    }

    fn magnitude(&self, weights: &[f64]) -> f64 {
        weights.iter().map(|weight| weight.abs()).sum()
    }

    fn size(&self, magnitude: f64, prior: f64) -> f64 {
        prior * magnitude
    }

    fn product_depth(&self) -> f64 {
        0.0
    }
}

impl ScoreModel for ExactPosterior {
    fn exact(&self, point: usize) -> Moments {
        self.model.moments(&self.coordinates(point), self.gram.diagonal(point), &self.visits, &self.gram)
    }

    fn prior_variance_bound(&self) -> f64 {
        self.prior_bound
    }

    fn state_error(&self) -> StateError {
        self.model.state_error(self.prior_bound, &self.gram)
    }

    fn row_error(&self) -> RowError {
        self.model.row_error(self.prior_bound, &self.gram)
    }

    fn basis_points(&self) -> &[u32] {
        &self.visits.points
    }

    fn n_observations(&self) -> u64 {
        self.visits.n_observations()
    }

    fn visited(&self) -> Option<VisitedPoints<'_>> {
        let Visits { points, counts, sums, .. } = &self.visits;
        Some(VisitedPoints { points, counts, sums, ridge: self.model.ridge, row: None })
    }

    fn own_gram(&self) -> Option<&Arc<dyn GramSource>> {
        self.own.then_some(&self.gram)
    }
}

impl Posterior for ExactPosterior {
    fn observe(&mut self, point: usize, reward: f64) {
        let (model, visits) = (&mut self.model, &mut self.visits);
        let (slot, _) = visits.add_likely(point, reward, model.open_slot());
        let observed = model.observe(slot, visits, &self.gram, reward);
        self.change.observed(&observed, &model.direction);
        if REBUILD_EVERY <= model.since_rebuild && model.rebuild(visits, &self.gram) {
            self.change.rebuilt();
        }
    }

    fn change(&self) -> Change<'_> {
        self.change.get()
    }

    fn screened(&mut self) {
        self.change.taken();
    }

    fn mean(&self, point: usize) -> f64 {
        self.model.mean(&self.coordinates(point))
    }

    fn visited_means(&self) -> Vec<f64> {
        self.model.visited_means(&self.visits)
    }

    fn information_gain(&self) -> f64 {
        self.model.gain()
    }

    fn visits(&self) -> &Visits {
        &self.visits
    }

    fn basis(&self) -> Basis {
        if self.own { Basis::Own(self.gram.n_points()) } else { Basis::Gram(Arc::clone(&self.gram)) }
    }
}
