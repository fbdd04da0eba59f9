//! The posterior over a Nystrom embedding [Zhou2021, Algorithms 1 and 3].
//!
//! `mean = theta · c(x)`, variance `k(x,x) - |c(x)|² + ridge c(x)^T V^{-1} c(x)`, `V = ridge I + sum count c c^T`.
//!
//! **Columns.** The coordinates `c` of many points are stored as columns: of all points of a small domain, whose moments
//! form a table ([`ScoreModel::table`]), or of the visited points of a large domain, which is screened by the variance
//! `k(x,x) - |R k_D(x)|²` with `I - ridge V^{-1} = F^T F`, `K_D = L L^T`, `R = F L^{-1}`. Columns of a small domain may be
//! in coordinates of the symmetric root ([`SketchedPosterior::set_dictionary`]).
//!
//! **Long-lived dictionaries** are updated: one more interaction changes V by rank one, and with it `V^{-1}` and the
//! leverages `c^T V^{-1} c`, at a cost of O(m²) plus O(m) per column. The updated numbers are recomputed every 1024
//! observations. Dictionaries drawn every round are processed in one fixed order of operations. The policy owns the
//! rewards: it sets `theta`, or passes `sum c y` to `solve`.

use super::domain_root::{DomainRoot, MOST_WHOLE};
use super::matrices::{EmbeddedPoints, PrecisionMatrix, ScreenWeights, covariances};
use super::triangular::{explained_rows, inverse_norm, lower_factor, solve_from_right};
use crate::nystrom::Embedding;
use crate::posterior::Visits;
use crate::posterior::rotation::Rotation;
use crate::posterior::visited::Covariances;
use crate::score::{Basis, Change, Factor, GramSource, MomentTable, Moments, ScoreModel, StateError, VarianceForm};
use privateer_numerics::linalg::{self, Columns, InverseRoot, add_scaled, dot};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Number of observations between two recomputations of the updated numbers from the interactions.
pub(super) const ANEW_EVERY: u32 = 1024;

/// The posterior of one trial over its own dictionary.
#[derive(Debug, Clone)]
pub struct SketchedPosterior {
    gram: Arc<dyn GramSource>,
    prior_bound: f64,
    ridge: f64,
    /// Whether the dictionary is long-lived.
    follows: bool,
    /// Counts of interactions; their sums of rewards are not used.
    visits: Visits,
    /// Points, ascending.
    pub(super) dictionary: Vec<u32>,
    /// Observations since the updated numbers were last computed from the interactions.
    since_refresh: u32,
    /// The dictionary's embedding; empty where `root` computes the coordinates.
    embedding: Embedding,
    /// Coordinates of the symmetric root, if the dictionary was set with them.
    root: Option<Arc<DomainRoot>>,
    /// Rotation of the embedding, computed at first use.
    rotation: OnceLock<Option<Rotation>>,
    points: EmbeddedPoints,
    precision: PrecisionMatrix,
    theta: Vec<f64>,
    screen: ScreenWeights,
    error: StateError,
}

impl SketchedPosterior {
    /// Creates the prior over this domain (noise variance `ridge > 0`) with an empty dictionary.
    ///
    /// `prior_bound` is the largest `k(x, x)`; `follows` says whether dictionaries live for many observations.
    pub fn new(gram: Arc<dyn GramSource>, prior_bound: f64, ridge: f64, follows: bool) -> Self {
        let whole = gram.n_points() <= MOST_WHOLE;
        let mut posterior = Self {
            gram,
            prior_bound,
            ridge,
            follows,
            visits: Visits::default(),
            dictionary: Vec::new(),
            since_refresh: 0,
            embedding: Embedding::default(),
            root: None,
            rotation: OnceLock::new(),
            points: EmbeddedPoints { whole, ..EmbeddedPoints::default() },
            precision: PrecisionMatrix::default(),
            theta: Vec::new(),
            screen: ScreenWeights::default(),
            error: StateError::default(),
        };
        posterior.embed();
        posterior.refresh();
        posterior
    }

    /// Returns the column of a visited point.
    pub(crate) fn column_of(&self, slot: usize) -> usize {
        if self.points.whole { self.visits.points[slot] as usize } else { slot }
    }

    /// Computes the embedding, the coordinates and all else that depends on the dictionary alone.
    fn embed(&mut self) {
        let gram = Arc::clone(&self.gram);
        if let Some(root) = &self.root {
            root.coordinates(&self.dictionary, &mut self.points.columns);
            self.embedding = Embedding::default();
        } else {
            let covariances = |point, others: &[u32], out: &mut [f64]| covariances(gram.as_ref(), point, others, out);
            self.embedding = Embedding::of_rows(&self.dictionary, covariances);
            self.points.set_columns(gram.as_ref(), &self.embedding, &self.visits.points);
        }
        self.points.set_residual(gram.as_ref(), &self.visits.points);
        self.rotation = OnceLock::new();
        if !self.points.whole {
            self.screen.inverse_norm = inverse_norm(self.embedding.factor(), self.embedding.m());
        }
    }

    /// Sets the dictionary, ascending without repeats; [`SketchedPosterior::refresh`] must follow.
    ///
    /// With a `root`, which reaches the dictionary, coordinates are those of the symmetric root: for a small domain, and
    /// dictionaries drawn after every observation; see [`SketchedPosterior::whitened`].
    pub fn set_dictionary(&mut self, dictionary: Vec<u32>, root: Option<Arc<DomainRoot>>) {
        debug_assert!(root.as_ref().is_none_or(|root| self.points.whole && !self.follows && root.reaches(&dictionary)));
        if dictionary != self.dictionary || root.is_some() != self.root.is_some() {
            (self.dictionary, self.root) = (dictionary, root);
            self.embed();
        }
    }

    /// Counts one interaction, returns the slot; then `refresh` or `follow` is due.
    pub fn visit(&mut self, point: usize) -> usize {
        let (slot, new) = self.visits.add(point, 0.0);
        if new && !self.points.whole {
            let c = self.coordinates_of(point);
            let square = c.iter().fold(0.0, |sum, c| sum + c * c);
            let prior = self.gram.diagonal(point);
            // Without updates, everything that depends on the leverages is recomputed before its next use.
            let leverage = if self.follows { self.leverage(&c) } else { 0.0 };
            self.points.columns.push(&c);
            for (list, value) in [
                (&mut self.points.prior, prior),
                (&mut self.points.residual, (prior - square).max(0.0)),
                (&mut self.precision.leverages, leverage),
            ] {
                list.resize(self.points.columns.stride(), 0.0);
                list[slot] = value;
            }
        }
        slot
    }

    /// Recomputes everything from interactions and dictionary; the caller then sets the weights.
    pub fn refresh(&mut self) {
        self.since_refresh = 0;
        let m = self.m();
        let mut counts = vec![0.0; self.points.columns.stride()];
        for (slot, &count) in self.visits.counts.iter().enumerate() {
            counts[self.column_of(slot)] = count as f64;
        }
        self.precision.entries = self.points.columns.weighted_gram(&counts, self.ridge);
        self.precision.factor = OnceLock::new();
        self.precision.root = if self.root.is_some() { self.inverse_root() } else { None };
        let mut whitened = std::mem::take(&mut self.precision.whitened);
        whitened.copy_from(&self.points.columns);
        match &self.precision.root {
            Some(root) => root.apply_to_columns(&mut whitened),
            None => whitened.solve_lower(self.factor()),
        }
        self.precision.leverages.resize(self.points.columns.stride(), 0.0);
        whitened.squares(&mut self.precision.leverages);
        // Nothing reads the columns in other coordinates.
        self.precision.whitened = if self.precision.root.is_some() { whitened } else { Columns::default() };
        if self.follows {
            self.precision.inverse = linalg::inverse_spd(self.factor(), m);
        }
        self.screen.moved.anew();
        self.refreshed();
    }

    /// Adds one more interaction with `slot`, under the same dictionary; then set the weights.
    pub fn follow(&mut self, slot: usize) {
        self.since_refresh += 1;
        if !self.follows || ANEW_EVERY <= self.since_refresh {
            return self.refresh();
        }
        let m = self.m();
        let c = self.points.columns.column(self.column_of(slot));
        // V^{-1} - g g^T / (1 + c·g), g = V^{-1} c.
        let direction: Vec<f64> = self.precision.inverse.chunks_exact(m.max(1)).map(|row| dot(row, &c)).collect();
        let fall = 1.0 / (1.0 + dot(&c, &direction));
        for i in 0..m {
            add_scaled(&mut self.precision.entries[i * m..(i + 1) * m], c[i], &c);
            add_scaled(&mut self.precision.inverse[i * m..(i + 1) * m], -(fall * direction[i]), &direction);
        }
        let mut along = vec![0.0; self.points.columns.stride()];
        self.points.columns.combine(&direction, &mut along);
        for (leverage, along) in self.precision.leverages.iter_mut().zip(&along) {
            *leverage = (*leverage - fall * (along * along)).max(0.0);
        }
        self.precision.factor = OnceLock::new();
        if self.points.whole {
            // The change of a table is not expressed as a row.
            self.screen.moved.anew();
        } else {
            self.screen.moved.visited(slot, direction, fall, self.embedding.factor(), [self.ridge, self.prior_bound]);
        }
        self.refreshed();
    }

    /// Updates what depends on columns, precision and leverages.
    fn refreshed(&mut self) {
        let m = self.m();
        if self.points.whole {
            let ridge = self.ridge;
            self.points.variances.clear();
            self.points.variances.extend(
                self.points.residual.iter().zip(&self.precision.leverages).map(|(residual, lever)| residual + ridge * lever),
            );
        } else {
            self.screen.rows = OnceLock::new();
        }
        self.set_theta(vec![0.0; m]);
    }

    /// Returns the lower factor of `V`.
    fn factor(&self) -> &[f64] {
        self.precision.factor.get_or_init(|| lower_factor(&self.precision.entries, self.m()))
    }

    /// Returns the number of features: the numerical rank of the dictionary.
    pub fn m(&self) -> usize {
        self.points.columns.n_rows()
    }

    /// Returns the visited points with their counts.
    pub fn visits(&self) -> &Visits {
        &self.visits
    }

    /// Writes `c` of a visited point to `out`; later entries of `out` stay unchanged.
    pub fn coordinates(&self, slot: usize, out: &mut [f64]) {
        let column = self.column_of(slot);
        (0..self.m()).for_each(|f| out[f] = self.points.columns.row(f)[column]);
    }

    /// Returns `sum over visited points of c(x) s_x`; `sums` has one `s` per slot.
    pub fn moment(&self, sums: &[f64]) -> Vec<f64> {
        let mut padded = vec![0.0; self.points.columns.stride()];
        sums.iter().enumerate().for_each(|(slot, &sum)| padded[self.column_of(slot)] = sum);
        self.points.columns.products(&padded)
    }

    /// Returns [`SketchedPosterior::moment`] of many lists of sums; column j belongs to list j.
    ///
    /// `sums` is `n_visited x n_lists` row-major.
    pub fn moments(&self, sums: &[f64], n_lists: usize) -> Columns {
        let n = self.visits.n_distinct();
        let mut lists = Columns::zeros(n, n_lists);
        for (slot, line) in sums.chunks_exact(n_lists.max(1)).enumerate() {
            lists.row_mut(slot).copy_from_slice(line);
        }
        let mut moments = Columns::zeros(self.m(), n_lists);
        let (mut weights, mut out) = (vec![0.0; n], vec![0.0; lists.stride()]);
        for f in 0..self.m() {
            let row = self.points.columns.row(f);
            (0..n).for_each(|slot| weights[slot] = row[self.column_of(slot)]);
            lists.combine(&weights, &mut out);
            moments.row_mut(f).copy_from_slice(&out[..n_lists]);
        }
        moments
    }

    /// Returns `|V^{-1/2} c|²` of a visited point; it is below 1 for an observed point.
    pub fn leverage_of(&self, slot: usize) -> f64 {
        self.precision.leverages[self.column_of(slot)]
    }

    /// Returns `c^T V^{-1} c`.
    fn leverage(&self, c: &[f64]) -> f64 {
        let m = c.len();
        if self.follows {
            return c.iter().zip(self.precision.inverse.chunks_exact(m.max(1))).map(|(c_i, row)| c_i * dot(row, c)).sum();
        }
        let mut solved = c.to_vec();
        linalg::solve_lower(self.factor(), &mut solved);
        dot(&solved, &solved)
    }

    /// Returns the posterior variance of each visited point, by slot.
    pub fn variances(&self) -> Vec<f64> {
        let columns = (0..self.visits.n_distinct()).map(|slot| self.column_of(slot));
        columns.map(|column| self.points.residual[column] + self.ridge * self.precision.leverages[column]).collect()
    }

    /// Replaces a moment by `V^{-1}` times the moment.
    pub fn solve(&self, moment: &mut Vec<f64>) {
        if self.follows {
            *moment = self.precision.inverse.chunks_exact(self.m().max(1)).map(|row| dot(row, moment)).collect();
        } else {
            linalg::solve_spd(self.factor(), moment);
        }
    }

    /// Transforms moments to coordinates in which `V` is the identity; distances are in its norm.
    pub fn whiten(&self, moments: &mut Columns) {
        moments.solve_lower(self.factor());
    }

    /// Returns the symmetric `V^{-1/2}`; `None` if `V` is not finite.
    pub fn inverse_root(&self) -> Option<InverseRoot> {
        // Excludes the rounding discs around the least eigenvalue, which is at least the ridge.
        InverseRoot::of(&self.precision.entries, self.m(), 0.9 * self.ridge)
    }

    /// Returns `V^{-1/2}` and its product with every column, in symmetric coordinates; `None` in others.
    pub fn whitened(&self) -> Option<(&InverseRoot, &Columns)> {
        self.precision.root.as_ref().map(|root| (root, &self.precision.whitened))
    }

    /// Rotates padded rows into the symmetric root's coordinates ([`Embedding::polar`]), or back.
    ///
    /// Returns false if the rotation cannot be computed.
    pub fn rotate(&self, rows: &mut [f64], back: bool) -> bool {
        if self.root.is_some() {
            return true;
        }
        let rotation = self.rotation.get_or_init(|| Rotation::of(&self.embedding, self.follows));
        rotation.as_ref().map(|rotation| rotation.turn(rows, back)).is_some()
    }

    /// Sets the posterior mean of the feature weights.
    pub fn set_theta(&mut self, theta: Vec<f64>) {
        self.theta = theta;
        if self.points.whole {
            self.points.means.resize(self.points.columns.stride(), 0.0);
            self.points.columns.combine(&self.theta, &mut self.points.means);
            return;
        }
        let m = self.m();
        self.screen.weights.clone_from(&self.theta);
        solve_from_right(self.embedding.factor(), m, &mut self.screen.weights);
        self.error =
            self.screen.moved.state_error(&self.screen.weights, self.screen.inverse_norm, [self.ridge, self.prior_bound]);
    }

    /// Returns the change since the last [`SketchedPosterior::screened`], for the scoring backend.
    pub fn change(&self) -> Change<'_> {
        if self.n_observations() == 0 { Change::None } else { self.screen.moved.change(&self.screen.weights) }
    }

    /// Records that a backend has applied the change.
    pub fn screened(&mut self) {
        self.screen.moved.taken();
    }

    /// Returns the posterior mean of one point, with the same bits as [`ScoreModel::exact`].
    pub fn mean(&self, point: usize) -> f64 {
        if self.points.whole { self.points.means[point] } else { dot(&self.screen.weights, &self.dictionary_covariances(point)) }
    }

    /// Returns `c` of any point.
    fn coordinates_of(&self, point: usize) -> Vec<f64> {
        let h = self.dictionary_covariances(point);
        let mut c = Columns::zeros(h.len(), 1);
        h.iter().enumerate().for_each(|(f, &value)| c.row_mut(f)[0] = value);
        self.embedding.coordinates(&mut c);
        c.column(0)
    }

    fn dictionary_covariances(&self, point: usize) -> Cow<'_, [f64]> {
        self.gram.coordinates(point as u32, self.embedding.points())
    }

    /// Returns the basis that a backend opens.
    pub fn basis(&self) -> Basis {
        Basis::Gram(Arc::clone(&self.gram))
    }
}

impl ScoreModel for SketchedPosterior {
    fn exact(&self, point: usize) -> Moments {
        if self.points.whole {
            return Moments { mean: self.points.means[point], variance: self.points.variances[point] };
        }
        let mean = self.mean(point);
        let c = self.coordinates_of(point);
        let square = c.iter().fold(0.0, |sum, c| sum + c * c);
        let residual = (self.gram.diagonal(point) - square).max(0.0);
        Moments { mean, variance: residual + self.ridge * self.leverage(&c) }
    }

    fn table(&self) -> Option<MomentTable<'_>> {
        let n = self.points.columns.n();
        self.points.whole.then(|| MomentTable { means: &self.points.means[..n], variances: &self.points.variances[..n] })
    }

    fn prior_variance_bound(&self) -> f64 {
        self.prior_bound
    }

    fn state_error(&self) -> StateError {
        self.error
    }

    fn basis_points(&self) -> &[u32] {
        if self.root.is_some() { &self.dictionary } else { self.embedding.points() }
    }

    fn n_observations(&self) -> u64 {
        self.visits.n_observations()
    }

    /// Returns `None` for a domain stored whole, and where rounding prevents `R`: see exact scores.
    fn factor(&self) -> Option<Factor<'_>> {
        if self.points.whole {
            return None;
        }
        let m = self.m();
        let rows = self.screen.rows.get_or_init(|| {
            let inverse = if self.follows { self.precision.inverse.clone() } else { linalg::inverse_spd(self.factor(), m) };
            explained_rows(inverse, self.embedding.factor(), m, self.ridge)
        });
        let removed = VarianceForm::Removed;
        (rows.len() == m * m).then(|| Factor::new((&self.screen.weights).into(), rows.into(), removed))
    }
}
