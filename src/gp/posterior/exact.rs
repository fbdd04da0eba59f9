//! The exact posterior in the span of the points visited.
//!
//! Visited points whose feature is not yet (to a tolerance) a combination of earlier ones join the basis: `L L^T` is the
//! Gram matrix of the basis points, the coordinates of any point are `c(x) = L^{-1} k_basis(x)`, and
//!
//! `mean(x) = theta · c(x)`, `spread²(x) = max(0, k(x,x) - |c(x)|² + ridge c(x)^T V^{-1} c(x))`.
//!
//! No N x N matrix, no T x T matrix: the state is K x K for K basis points. A backend needs one row of coefficients over
//! the basis points' Gram columns an observation, `L^{-T} V^{-1} c`.

use super::change::PendingChange;
use super::{Posterior, Visits, WeightModel};
use crate::gp::posterior::weights::REBUILD_EVERY;
use crate::linalg;
use crate::score::{Basis, Change, GramSource, Moments, ScoreModel};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A visited point joins the basis when more than this share of its prior variance is outside the span. What is left out
/// changes a score by less than its square root of the prior standard deviation, and only at points that coincide with
/// the span to 1e-6; without the cut-off the pivots of smooth kernels fall to rounding noise.
pub const SPAN_TOLERANCE: f64 = 1e-12;

/// The exact posterior of one trial.
#[derive(Debug, Clone)]
pub struct ExactPosterior {
    gram: Arc<dyn GramSource>,
    prior_bound: f64,
    state: State,
    /// Coefficients of the open run over the basis.
    row: Vec<f64>,
    change: PendingChange,
}

/// What is saved: everything that cannot be derived from the problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    version: u32,
    model: WeightModel,
    visits: Visits,
    /// Basis points, in the order in which they joined.
    basis: Vec<u32>,
    /// Packed rows of the lower triangular `L`.
    lower: Vec<f64>,
    /// Coordinates of the visited points, by slot, as they entered the model: those of the basis at the first visit.
    coordinates: Vec<Vec<f64>>,
}

impl State {
    /// Whether a saved value hangs together and lies within the domain.
    fn check(&self, n_points: usize) -> Result<(), &'static str> {
        self.model.check()?;
        self.visits.check(n_points)?;
        let k = self.basis.len();
        if self.model.n() != k || self.lower.len() != k * (k + 1) / 2 || self.coordinates.len() != self.visits.n_distinct() {
            return Err("basis, coordinates and visits have different sizes");
        }
        if self.basis.iter().any(|&point| n_points <= point as usize) {
            return Err("a basis point is outside of the domain");
        }
        if self.coordinates.iter().any(|c| k < c.len()) {
            return Err("a visited point has more coordinates than the basis has points");
        }
        let finite = self.coordinates.iter().flatten().chain(&self.lower).all(|x| x.is_finite());
        if finite { Ok(()) } else { Err("a coordinate is not finite") }
    }
}

impl ExactPosterior {
    /// The prior over this domain, with noise variance `ridge > 0`.
    #[must_use]
    pub fn new(gram: Arc<dyn GramSource>, ridge: f64) -> Self {
        let prior_bound = (0..gram.n_points()).map(|point| gram.diagonal(point)).fold(0.0, f64::max);
        let state = State {
            version: 1,
            model: WeightModel::new(ridge, 0),
            visits: Visits::default(),
            basis: Vec::new(),
            lower: Vec::new(),
            coordinates: Vec::new(),
        };
        Self { gram, prior_bound, state, row: Vec::new(), change: PendingChange::default() }
    }

    /// The posterior whose state was saved, over the same domain.
    ///
    /// # Errors
    /// If the value is not a saved state of this version, or does not hang together.
    pub fn restore(gram: Arc<dyn GramSource>, saved: serde_json::Value) -> Result<Self, serde_json::Error> {
        let state: State = serde_json::from_value(saved)?;
        if state.version != 1 {
            return Err(serde::de::Error::custom(format!(
                "exact posterior state has version {}, this program reads 1",
                state.version
            )));
        }
        state.check(gram.n_points()).map_err(serde::de::Error::custom)?;
        let mut posterior = Self::new(gram, state.model.ridge());
        posterior.state = state;
        posterior.find_row();
        posterior.change.lost();
        Ok(posterior)
    }

    /// Coefficients of the open run over the Gram columns of the basis points: `L^{-T} u`.
    fn find_row(&mut self) {
        self.row.clear();
        self.row.extend_from_slice(self.state.model.direction());
        linalg::solve_lower_transposed_packed(&self.state.lower, &mut self.row);
    }

    /// Coordinates of a point in the span: stored for basis points, solved for otherwise. Only a basis point has all its
    /// coordinates from its first visit on; other visited points gain some as the basis grows.
    fn coordinates_of<'s>(&'s self, point: usize, scratch: &'s mut Vec<f64>) -> &'s [f64] {
        if let Some(slot) = self.state.visits.slot(point) {
            let stored = &self.state.coordinates[slot];
            if stored.len().checked_sub(1).and_then(|last| self.state.basis.get(last)) == Some(&(point as u32)) {
                return stored;
            }
        }
        self.solve_coordinates(point, scratch);
        scratch
    }

    fn solve_coordinates(&self, point: usize, scratch: &mut Vec<f64>) {
        scratch.clear();
        scratch.extend(self.state.basis.iter().map(|&basis_point| self.gram.entry(basis_point as usize, point)));
        linalg::solve_lower_packed(&self.state.lower, scratch);
    }
}

impl ScoreModel for ExactPosterior {
    fn exact(&self, point: usize) -> Moments {
        let mut scratch = Vec::new();
        let c = self.coordinates_of(point, &mut scratch);
        // What is outside of the span can round to less than 0 where the basis extrapolates. It is not cut off by itself:
        // a screen that follows the sum would then differ by more than rounding.
        let outside = self.gram.diagonal(point) - linalg::dot(c, c);
        let inside = self.state.model.moments(c);
        Moments { mean: inside.mean, variance: (outside + inside.variance).max(0.0) }
    }

    fn prior_variance_bound(&self) -> f64 {
        self.prior_bound
    }

    fn state_error(&self) -> Moments {
        self.state.model.state_error(self.prior_bound)
    }

    fn basis_points(&self) -> &[u32] {
        &self.state.basis
    }
}

impl Posterior for ExactPosterior {
    fn observe(&mut self, point: usize, reward: f64) {
        let (slot, new) = self.state.visits.add(point, reward);
        if new {
            let mut c = Vec::new();
            self.solve_coordinates(point, &mut c);
            let prior = self.gram.diagonal(point);
            let outside = prior - linalg::dot(&c, &c);
            if SPAN_TOLERANCE * prior < outside {
                c.push(outside.sqrt());
                self.state.lower.extend_from_slice(&c);
                self.state.basis.push(point as u32);
                self.state.model.join();
            }
            self.state.coordinates.push(c);
        }
        let observed = self.state.model.observe(slot as u64, &self.state.coordinates[slot], reward);
        if !observed.repeated {
            self.find_row();
        }
        self.change.observed(&observed);
        if REBUILD_EVERY <= self.state.model.since_rebuild() {
            let visits = &self.state.visits;
            let coordinates = &self.state.coordinates;
            let groups = (0..visits.n_distinct())
                .map(|slot| (coordinates[slot].as_slice(), visits.counts[slot] as f64, visits.sums[slot]));
            if self.state.model.rebuild(groups) {
                self.change.rebuilt();
            }
        }
    }

    fn change(&self) -> Change<'_> {
        self.change.of(&self.row)
    }

    fn screened(&mut self) {
        self.change.taken();
    }

    fn mean(&self, point: usize) -> f64 {
        let mut scratch = Vec::new();
        self.state.model.mean(self.coordinates_of(point, &mut scratch))
    }

    fn information_gain(&self) -> f64 {
        self.state.model.gain()
    }

    fn visits(&self) -> &Visits {
        &self.state.visits
    }

    fn basis(&self) -> Basis {
        Basis::Gram(Arc::clone(&self.gram))
    }

    fn save(&self) -> serde_json::Value {
        serde_json::json!(self.state)
    }
}
