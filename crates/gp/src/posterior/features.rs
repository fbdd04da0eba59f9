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
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The posterior of one trial over a feature table.
#[derive(Debug, Clone)]
pub struct FeaturePosterior {
    table: Arc<FeatureTable>,
    plays: Plays,
    prior_bound: f64,
    state: FeatureState,
    change: PendingChange,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FeatureState {
    model: LinearModel,
    visits: Visits,
    /// Rows of each play, over a product domain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    plays: Vec<Vec<u32>>,
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
        let state = FeatureState {
            model: LinearModel::new(ridge, table.n_features, prior_bound),
            visits: Visits::default(),
            plays: Vec::new(),
        };
        Self { plays: Plays::new(Arc::clone(&table), None), table, prior_bound, state, change: PendingChange::default() }
    }

    /// Sets the axes of a product domain; point indices are then numbers of plays.
    #[must_use]
    pub fn over_axes(mut self, axes: Arc<[AxisFeatures]>) -> Self {
        self.plays = Plays::new(Arc::clone(&self.table), Some(axes));
        // This form gives moments of single axes at a lower cost.
        self.state.model = LinearModel::Weights(WeightModel::new(self.state.model.ridge(), self.table.n_features));
        self
    }

    /// Restores a saved posterior over the same table.
    ///
    /// # Errors
    /// If the value is not a saved state of this version, if its size differs from the table's, or if it is inconsistent.
    pub fn restore(
        table: Arc<FeatureTable>,
        axes: Option<Arc<[AxisFeatures]>>,
        saved: serde_json::Value,
    ) -> Result<Self, serde_json::Error> {
        let mut state: FeatureState = serde_json::from_value(saved)?;
        if state.model.n() != table.n_features {
            return Err(serde::de::Error::custom(format!(
                "feature posterior state has {} features, expected {}",
                state.model.n(),
                table.n_features
            )));
        }
        let mut plays = Plays::new(Arc::clone(&table), axes);
        let fits = |rows: &Vec<u32>| {
            let axes = plays.axes().unwrap_or(&[]);
            axes.len() == rows.len() && axes.iter().zip(rows).all(|(axis, &row)| axis.rows.contains(&(row as usize)))
        };
        if !state.plays.iter().all(fits) {
            return Err(serde::de::Error::custom("a play is not one row of each axis"));
        }
        state.plays.iter().for_each(|rows| plays.define(rows));
        state
            .visits
            .check(plays.n())
            .and_then(|()| state.model.restore(&state.visits, &plays))
            .map_err(serde::de::Error::custom)?;
        let mut posterior = Self::new(table, state.model.ridge());
        posterior.plays = plays;
        posterior.state = state;
        posterior.change = PendingChange::restored(posterior.state.model.direction());
        Ok(posterior)
    }
}

/// Coordinates are features.
impl Covariances for Plays {
    fn n_coordinates(&self, _k: usize) -> usize {
        self.n_features()
    }

    fn coordinates(&self, point: u32, _visited: &[u32]) -> Cow<'_, [f64]> {
        Cow::Borrowed(self.features(point as usize))
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
        let inside = self.state.model.moments(self.table.row(point), &self.state.visits, &self.plays);
        Moments { mean: inside.mean, variance: self.table.residual[point] + inside.variance }
    }

    fn exact_within(&self, point: usize, features: Range<usize>) -> Moments {
        let phi = &self.table.row(point)[features.clone()];
        let Some(inside) = self.state.model.moments_within(phi, features) else { return self.exact(point) };
        Moments { mean: inside.mean, variance: self.table.residual[point] + inside.variance }
    }

    fn exact_within_each(&self, axis: &AxisFeatures) -> Vec<Moments> {
        let AxisFeatures { rows, features, columns } = axis;
        let Some(inside) = self.state.model.moments_within_each(features.clone(), columns) else {
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
        self.state.model.state_error(self.prior_bound, &self.plays)
    }

    fn row_error(&self) -> RowError {
        self.state.model.row_error(self.prior_bound, &self.plays)
    }

    fn n_observations(&self) -> u64 {
        self.state.visits.n_observations()
    }

    fn factor(&self) -> Option<Factor<'_>> {
        let (weights, rows) = self.state.model.factor(&self.state.visits, &self.plays)?;
        let error = self.state.model.factor_error(self.prior_bound, &self.plays);
        Some(Factor { error, ..Factor::new(weights.into(), rows.into(), VarianceForm::Added) })
    }

    fn visited(&self) -> Option<VisitedPoints<'_>> {
        // Over a product domain the visited points are plays, not points of the table.
        let visits = &self.state.visits;
        self.plays.axes().is_none().then(|| VisitedPoints {
            points: &visits.points,
            counts: &visits.counts,
            sums: &visits.sums,
            ridge: self.state.model.ridge(),
            row: self.state.model.row(),
        })
    }
}

impl Posterior for FeaturePosterior {
    fn observe(&mut self, point: usize, reward: f64) {
        let (FeatureState { model, visits, .. }, plays) = (&mut self.state, &self.plays);
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
        self.state.model.mean(self.plays.features(point))
    }

    fn visited_means(&self) -> Vec<f64> {
        let points = &self.state.visits.points;
        let features = |slot: usize| self.plays.features(points[slot] as usize);
        let mut means = vec![0.0; points.len()];
        dot_rows(&self.state.model.weights(), features, &mut means);
        means
    }

    fn information_gain(&self) -> f64 {
        self.state.model.gain()
    }

    fn define(&mut self, rows: &[u32]) {
        self.plays.define(rows);
        self.state.plays.push(rows.to_vec());
    }

    fn visits(&self) -> &Visits {
        &self.state.visits
    }

    fn basis(&self) -> Basis {
        Basis::Table(Arc::clone(&self.table))
    }

    fn save(&self) -> serde_json::Value {
        serde_json::json!(self.state)
    }
}
