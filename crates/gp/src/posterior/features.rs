//! The posterior over a shared feature table.
//!
//! `mean = theta · phi`, variance `residual + ridge phi^T V^{-1} phi`.

use super::change::PendingChange;
use super::linear::LinearModel;
use super::visited::Covariances;
use super::{Posterior, Visits};
use crate::Plays;
use crate::posterior::weights::{REBUILD_EVERY, WeightModel};
use crate::score::{
    AxisFeatures, Basis, Change, Factor, FeatureTable, Moments, RowError, ScoreModel, StateError, VarianceForm, VisitedPoints,
};
use privateer_numerics::linalg::{add_rows_wide, dot, dot_depth, dot_rows};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The posterior of one trial over a feature table.
#[derive(Debug, Clone)]
pub struct FeaturePosterior {
    table: Arc<FeatureTable>,
    plays: Plays,
    prior_bound: f64,
    model: LinearModel,
    visits: Visits,
    change: PendingChange,
}

impl FeaturePosterior {
    /// Creates the prior, with noise variance `ridge > 0`.
    pub fn new(table: Arc<FeatureTable>, ridge: f64) -> Self {
        let prior_bound = Plays::new(Arc::clone(&table), None).prior_bound();
        Self::with_prior_bound(table, prior_bound, ridge)
    }

    /// Creates the prior as [`FeaturePosterior::new`] does, with a known prior bound.
    ///
    /// The bound is [`Plays::prior_bound`]; it is the same for all trials.
    pub fn with_prior_bound(table: Arc<FeatureTable>, prior_bound: f64, ridge: f64) -> Self {
        let model = LinearModel::new(ridge, table.n_features, prior_bound);
        let plays = Plays::new(Arc::clone(&table), None);
        Self { plays, table, prior_bound, model, visits: Visits::default(), change: PendingChange::default() }
    }

    /// Sets the axes of a product domain; point indices are then numbers of plays.
    #[must_use]
    pub fn over_axes(mut self, axes: Arc<[AxisFeatures]>) -> Self {
        self.plays = Plays::new(Arc::clone(&self.table), Some(axes));
        // This form gives moments of single axes at a lower cost.
        self.model = LinearModel::Weights(WeightModel::new(self.model.ridge(), self.table.n_features));
        self
    }
}

/// Coordinates are features.
impl Covariances for Plays {
    fn coordinates(&self, point: u32, _visited: &[u32]) -> Cow<'_, [f64]> {
        self.features(point as usize)
    }

    fn variance(&self, _point: u32, c: &[f64]) -> f64 {
        dot(c, c)
    }

    fn covariances(&self, c: &[f64], visited: &[u32]) -> Vec<f64> {
        let mut k = vec![0.0; visited.len()];
        dot_rows(c, |slot| self.features(visited[slot] as usize), &mut k);
        k
    }

    fn combine(&self, row: &[f64], visited: &[u32], out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.n_features(), 0.0);
        add_rows_wide(row, |slot| self.features(visited[slot] as usize), out);
    }

    fn magnitude(&self, weights: &[f64]) -> f64 {
        dot(weights, weights).sqrt()
    }

    fn size(&self, magnitude: f64, prior: f64) -> f64 {
        prior.sqrt() * magnitude
    }

    fn product_depth(&self) -> f64 {
        dot_depth(self.n_features())
    }
}

impl ScoreModel for FeaturePosterior {
    fn exact(&self, point: usize) -> Moments {
        let inside = self.model.moments(&self.table.row(point), &self.visits, &self.plays);
        Moments { mean: inside.mean, variance: self.table.residual[point] + inside.variance }
    }

    fn exact_within(&self, point: usize, features: Range<usize>) -> Moments {
        let phi = &self.table.row(point)[features.clone()];
        let Some(inside) = self.model.moments_within(phi, features) else { return self.exact(point) };
        Moments { mean: inside.mean, variance: self.table.residual[point] + inside.variance }
    }

    fn exact_within_each(&self, axis: &AxisFeatures) -> Vec<Moments> {
        let AxisFeatures { rows, features, columns } = axis;
        let Some(inside) = self.model.moments_within_each(features.clone(), columns) else {
            return rows.clone().map(|row| self.exact_within(row, features.clone())).collect();
        };
        let residual = &self.table.residual[rows.clone()];
        let moments = residual.iter().zip(inside);
        moments.map(|(residual, Moments { mean, variance })| Moments { mean, variance: residual + variance }).collect()
    }

    fn prior_variance_bound(&self) -> f64 {
        self.prior_bound
    }

    fn state_error(&self) -> StateError {
        self.model.state_error(self.prior_bound, &self.plays)
    }

    fn row_error(&self) -> RowError {
        self.model.row_error(self.prior_bound, &self.plays)
    }

    fn n_observations(&self) -> u64 {
        self.visits.n_observations()
    }

    fn factor(&self) -> Option<Factor<'_>> {
        let (weights, rows) = self.model.factor(&self.visits, &self.plays)?;
        let error = self.model.factor_error(self.prior_bound, &self.plays);
        Some(Factor { error, ..Factor::new(weights.into(), rows.into(), VarianceForm::Added) })
    }

    fn visited(&self) -> Option<VisitedPoints<'_>> {
        // Over a product domain the visited points are plays, not points of the table.
        let visits = &self.visits;
        self.plays.axes().is_none().then(|| VisitedPoints {
            points: &visits.points,
            counts: &visits.counts,
            sums: &visits.sums,
            ridge: self.model.ridge(),
            row: self.model.row(),
        })
    }
}

impl Posterior for FeaturePosterior {
    fn observe(&mut self, point: usize, reward: f64) {
        let (model, visits, plays) = (&mut self.model, &mut self.visits, &self.plays);
        let (slot, _) = visits.add_likely(point, reward, model.open_slot());
        let observed = model.observe(slot, visits, plays, reward);
        self.change.observed(&observed, model.direction());
        let outgrown = !observed.repeated && model.is_outgrown(visits.n_distinct());
        if (REBUILD_EVERY <= model.since_rebuild() || outgrown) && model.rebuild(visits, plays) {
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
        self.model.mean(&self.plays.features(point))
    }

    fn visited_means(&self) -> Vec<f64> {
        let points = &self.visits.points;
        let features = |slot: usize| self.plays.features(points[slot] as usize);
        let mut means = vec![0.0; points.len()];
        dot_rows(&self.model.weights(), features, &mut means);
        means
    }

    fn information_gain(&self) -> f64 {
        self.model.gain()
    }

    fn define(&mut self, rows: &[u32]) {
        self.plays.define(rows);
    }

    fn visits(&self) -> &Visits {
        &self.visits
    }

    fn basis(&self) -> Basis {
        Basis::Table(Arc::clone(&self.table))
    }
}
