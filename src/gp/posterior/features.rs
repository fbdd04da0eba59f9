//! The posterior over a shared feature table: `mean = theta · phi`, `spread² = residual + ridge phi^T V^{-1} phi`.

use super::{Posterior, Visits, WeightModel};
use crate::gp::posterior::weights::REBUILD_EVERY;
use crate::linalg;
use crate::score::{Basis, Change, FeatureTable, Moments, ScoreModel};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The posterior of one trial over a feature table.
#[derive(Debug, Clone)]
pub struct FeaturePosterior {
    table: Arc<FeatureTable>,
    prior_bound: f64,
    state: State,
    row: Vec<f64>,
    mean_step: f64,
    pending: u32,
    rebuilt: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    version: u32,
    model: WeightModel,
    visits: Visits,
}

impl FeaturePosterior {
    /// The prior, with noise variance `ridge > 0`.
    #[must_use]
    pub fn new(table: Arc<FeatureTable>, ridge: f64) -> Self {
        let prior_bound = (0..table.n_points)
            .map(|point| table.residual[point] + linalg::dot(table.row(point), table.row(point)))
            .fold(0.0, f64::max);
        let state = State { version: 1, model: WeightModel::new(ridge, table.n_features), visits: Visits::default() };
        Self { table, prior_bound, state, row: Vec::new(), mean_step: 0.0, pending: 0, rebuilt: false }
    }

    /// The posterior whose state was saved, over the same table.
    ///
    /// # Errors
    /// If the value is not a saved state of this version, its size is not the table's, or it does not hang together.
    pub fn restore(table: Arc<FeatureTable>, saved: serde_json::Value) -> Result<Self, serde_json::Error> {
        let state: State = serde_json::from_value(saved)?;
        if state.version != 1 || state.model.n() != table.n_features {
            return Err(serde::de::Error::custom(format!(
                "feature posterior state has version {} and {} features, expected version 1 and {}",
                state.version,
                state.model.n(),
                table.n_features
            )));
        }
        state.model.check().and_then(|()| state.visits.check(table.n_points)).map_err(serde::de::Error::custom)?;
        let mut posterior = Self::new(table, state.model.ridge());
        posterior.state = state;
        posterior.pending = 2;
        Ok(posterior)
    }
}

impl ScoreModel for FeaturePosterior {
    fn exact(&self, point: usize) -> Moments {
        let phi = self.table.row(point);
        Moments { mean: self.state.model.mean(phi), variance: self.table.residual[point] + self.state.model.variance(phi) }
    }

    fn prior_variance_bound(&self) -> f64 {
        self.prior_bound
    }

    fn state_error(&self) -> Moments {
        self.state.model.state_error(self.prior_bound)
    }

    fn basis_points(&self) -> &[u32] {
        &[]
    }
}

impl Posterior for FeaturePosterior {
    fn observe(&mut self, point: usize, reward: f64) {
        self.state.visits.add(point, reward);
        let observed = self.state.model.observe(self.table.row(point), reward);
        let shrink = 1.0 / (1.0 + observed.leverage);
        let scale = (self.state.model.ridge() * shrink).sqrt();
        self.row.clear();
        self.row.extend(self.state.model.direction().iter().map(|&u| scale * u));
        // The mean rises by (direction · phi) surprise / (1 + leverage) = p surprise shrink / scale.
        self.mean_step = observed.surprise * shrink / scale;
        self.pending += 1;
        if REBUILD_EVERY <= self.state.model.since_rebuild() {
            let (visits, table) = (&self.state.visits, &self.table);
            let groups = (0..visits.n_distinct())
                .map(|slot| (table.row(visits.points[slot] as usize), visits.counts[slot] as f64, visits.sums[slot]));
            self.rebuilt |= self.state.model.rebuild(groups);
        }
    }

    fn change(&self) -> Change<'_> {
        match self.pending {
            0 => Change::None,
            1 => Change::Row { row: &self.row, mean_step: self.mean_step, rebuilt: self.rebuilt },
            _ => Change::Rebuild,
        }
    }

    fn screened(&mut self) {
        self.pending = 0;
        self.rebuilt = false;
    }

    fn information_gain(&self) -> f64 {
        self.state.model.gain()
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
