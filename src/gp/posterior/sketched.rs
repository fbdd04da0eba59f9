//! The posterior over a Nystrom embedding [Zhou2021, Algorithms 1 and 3], whose dictionary may be new after every observation:
//! `mean = theta · c(x)`, `spread² = k(x,x) - |c(x)|² + ridge c(x)^T V^{-1} c(x)`, `V = ridge I + sum count c c^T`.
//!
//! With `I - ridge V^{-1} = F^T F` and `K_D = L L^T`, spread² is `k(x,x) - |R k_D(x)|²`, `R = F L^{-1}` lower triangular: the form
//! in which backends take a model that is new every round. Everything derived is found anew from the visits and the
//! dictionary, in one order of operations, so that a restored state continues with the same bits. What becomes of the
//! rewards is the policy's business: it hands over `theta`, or the moment `sum c y` to be solved.

use super::Visits;
use crate::gp::nystrom::Embedding;
use crate::linalg::{self, add_scaled, dot};
use crate::score::{Basis, Factor, GramSource, Moments, ScoreModel, Spread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The posterior of one trial over a dictionary of its own.
#[derive(Debug, Clone)]
pub struct SketchedPosterior {
    gram: Arc<dyn GramSource>,
    prior_bound: f64,
    ridge: f64,
    state: State,
    /// Covariances of points that have been in a dictionary with the visited points, in order of first visit.
    columns: BTreeMap<u32, Vec<f64>>,
    embedding: Embedding,
    /// `c` of the visited points: one row a feature.
    coordinates: Vec<Vec<f64>>,
    /// `O` of the embedding, once it was asked for.
    rotation: Option<Vec<f64>>,
    /// Lower factor of `V`, `m x m` row-major.
    factor: Vec<f64>,
    /// `R` and the weights over the dictionary's Gram columns.
    rows: Vec<f64>,
    weights: Vec<f64>,
    error: Moments,
}

/// What is saved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct State {
    version: u32,
    /// Counts of visits; their sums of rewards are not used.
    visits: Visits,
    /// Points, ascending.
    dictionary: Vec<u32>,
}

impl SketchedPosterior {
    /// The prior over this domain, with noise variance `ridge > 0` and an empty dictionary; `prior_bound` is the largest
    /// `k(x, x)`.
    #[must_use]
    pub fn new(gram: Arc<dyn GramSource>, prior_bound: f64, ridge: f64) -> Self {
        Self {
            gram,
            prior_bound,
            ridge,
            state: State { version: 1, ..State::default() },
            columns: BTreeMap::new(),
            embedding: Embedding::default(),
            coordinates: Vec::new(),
            rotation: None,
            factor: Vec::new(),
            rows: Vec::new(),
            weights: Vec::new(),
            error: Moments { mean: 0.0, variance: 0.0 },
        }
    }

    /// The posterior whose state was saved, over the same domain. Its weights are for the caller to set.
    ///
    /// # Errors
    /// If the value is not a saved state of this version, or does not hang together.
    pub fn restore(
        gram: Arc<dyn GramSource>,
        prior_bound: f64,
        ridge: f64,
        saved: serde_json::Value,
    ) -> Result<Self, serde_json::Error> {
        let wrong = <serde_json::Error as serde::de::Error>::custom::<String>;
        let state: State = serde_json::from_value(saved)?;
        if state.version != 1 {
            return Err(wrong(format!("sketched posterior state has version {}, this program reads 1", state.version)));
        }
        let n_points = gram.n_points();
        state.visits.check(n_points).map_err(|why| wrong(why.to_owned()))?;
        let ascending = state.dictionary.is_sorted_by(|a, b| a < b);
        if !ascending || state.dictionary.iter().any(|&point| n_points <= point as usize) {
            return Err(wrong("the dictionary is not an ascending list of points of the domain".to_owned()));
        }
        let mut posterior = Self::new(gram, prior_bound, ridge);
        posterior.state = state;
        posterior.embed();
        posterior.refresh();
        Ok(posterior)
    }

    fn covariance(gram: &dyn GramSource, a: u32, b: u32) -> f64 {
        match gram.dense_column(a as usize) {
            Some(column) => column[b as usize],
            None => gram.entry(a as usize, b as usize),
        }
    }

    /// The covariances of a dictionary point with all visited points.
    fn column(&mut self, point: u32) -> Vec<f64> {
        let column = self.columns.entry(point).or_default();
        let gram = self.gram.as_ref();
        column.extend(self.state.visits.points[column.len()..].iter().map(|&x| Self::covariance(gram, point, x)));
        column.clone()
    }

    /// Embedding and coordinates from the dictionary.
    fn embed(&mut self) {
        let gram = Arc::clone(&self.gram);
        self.embedding = Embedding::of(&self.state.dictionary, |a, b| Self::covariance(gram.as_ref(), a, b));
        let points: Vec<u32> = self.embedding.points().to_vec();
        self.coordinates = points.into_iter().map(|point| self.column(point)).collect();
        self.embedding.coordinates(&mut self.coordinates, 0);
        self.rotation = None;
    }

    /// Another dictionary, ascending and without repeats; [`SketchedPosterior::refresh`] is due.
    pub fn set_dictionary(&mut self, dictionary: Vec<u32>) {
        if dictionary != self.state.dictionary {
            self.state.dictionary = dictionary;
            self.embed();
        }
    }

    /// Counts one visit; [`SketchedPosterior::refresh`] is due. Returns the point's slot.
    pub fn visit(&mut self, point: usize) -> usize {
        let (slot, new) = self.state.visits.add(point, 0.0);
        if new {
            let gram = self.gram.as_ref();
            for (row, &from) in self.coordinates.iter_mut().zip(self.embedding.points()) {
                row.push(Self::covariance(gram, from, point as u32));
            }
            self.embedding.coordinates(&mut self.coordinates, slot);
        }
        slot
    }

    /// Finds `V`, its factor and `R` from visits and dictionary; weights are to be set anew.
    pub fn refresh(&mut self) {
        let m = self.m();
        let counts: Vec<f64> = self.state.visits.counts.iter().map(|&count| count as f64).collect();
        let mut precision = vec![0.0; m * m];
        for (i, row) in self.coordinates.iter().enumerate() {
            let weighted: Vec<f64> = row.iter().zip(&counts).map(|(c, count)| c * count).collect();
            for (j, other) in self.coordinates[..=i].iter().enumerate() {
                precision[i * m + j] = dot(&weighted, other);
            }
            precision[i * m + i] += self.ridge;
        }
        self.factor = precision;
        // V is at least ridge I: with finite coordinates it can only fail where ridge is below the rounding of the sums.
        if linalg::cholesky_repaired(&mut self.factor, m).is_err() {
            self.factor.fill(f64::NAN);
        }
        self.rows = self.explained(m);
        self.solve_rows(m);
        self.set_theta(vec![0.0; m]);
    }

    /// `F`, lower triangular with `F^T F = I - ridge V^{-1}`: a Cholesky factorization from the last row up. The matrix is
    /// positive semi-definite; where rounding denies it, its diagonal is raised by what takes no more than 1e-6 off spread².
    fn explained(&self, m: usize) -> Vec<f64> {
        let mut target = linalg::inverse_spd(&self.factor, m);
        target.iter_mut().for_each(|entry| *entry *= -self.ridge);
        (0..m).for_each(|i| target[i * m + i] += 1.0);
        let mut jitter = 0.0;
        while jitter < 1e-6 {
            let mut rows = target.clone();
            (0..m).for_each(|i| rows[i * m + i] += jitter);
            if cholesky_from_below(&mut rows, m) {
                return rows;
            }
            jitter = if jitter == 0.0 { 1e-14 } else { 16.0 * jitter };
        }
        vec![f64::NAN; m * m]
    }

    /// `R = F L^{-1}`, row by row in place.
    fn solve_rows(&mut self, m: usize) {
        let l = self.embedding.factor();
        for i in 0..m {
            solve_from_right(l, m, &mut self.rows[i * m..i * m + i + 1]);
        }
    }

    /// Number of features: the numerical rank of the dictionary.
    #[must_use]
    pub fn m(&self) -> usize {
        self.embedding.m()
    }

    /// The dictionary, ascending.
    #[must_use]
    pub fn dictionary(&self) -> &[u32] {
        &self.state.dictionary
    }

    /// The points visited, with counts.
    #[must_use]
    pub fn visits(&self) -> &Visits {
        &self.state.visits
    }

    /// `c` of a visited point.
    #[must_use]
    pub fn coordinates(&self, slot: usize) -> Vec<f64> {
        self.coordinates.iter().map(|row| row[slot]).collect()
    }

    /// `sum over visited points of c(x) s_x`, with one `s` a slot.
    #[must_use]
    pub fn moment(&self, sums: &[f64]) -> Vec<f64> {
        self.coordinates.iter().map(|row| dot(row, sums)).collect()
    }

    /// `|c^T V^{-1} c|` of the visited points, by slot; below 1 for a point that was observed.
    #[must_use]
    pub fn leverages(&self) -> Vec<f64> {
        let (m, n) = (self.m(), self.state.visits.n_distinct());
        let mut solved = self.coordinates.clone();
        let mut leverages = vec![0.0; n];
        for f in 0..m {
            let (above, rest) = solved.split_at_mut(f);
            let line = &self.factor[f * m..f * m + f + 1];
            let current = &mut rest[0];
            for (row, &entry) in above.iter().zip(line) {
                add_scaled(current, -entry, row);
            }
            for (value, leverage) in current.iter_mut().zip(&mut leverages) {
                *value /= line[f];
                *leverage += *value * *value;
            }
        }
        leverages
    }

    /// Spread² of the visited points, by slot, from their leverages.
    #[must_use]
    pub fn spreads(&self, leverages: &[f64]) -> Vec<f64> {
        let mut spreads: Vec<f64> = self.state.visits.points.iter().map(|&point| self.gram.diagonal(point as usize)).collect();
        for row in &self.coordinates {
            for (spread, c) in spreads.iter_mut().zip(row) {
                *spread -= c * c;
            }
        }
        for (spread, leverage) in spreads.iter_mut().zip(leverages) {
            *spread = spread.max(0.0) + self.ridge * leverage;
        }
        spreads
    }

    /// Replaces a moment by `V^{-1}` times it.
    pub fn solve(&self, moment: &mut [f64]) {
        linalg::solve_spd(&self.factor, moment);
    }

    /// Replaces a moment by its image in coordinates in which `V` is the identity: `|a - b|` there is the distance of the
    /// two estimates in the norm of `V`.
    pub fn whiten(&self, moment: &mut [f64]) {
        linalg::solve_lower(&self.factor, moment);
    }

    /// `V^{-1/2}`, symmetric; `None` if its eigenvalues cannot be found.
    #[must_use]
    pub fn inverse_root(&self) -> Option<Vec<f64>> {
        let m = self.m();
        let mut precision = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..=i {
                let entry = dot(&self.factor[i * m..i * m + j + 1], &self.factor[j * m..j * m + j + 1]);
                precision[i * m + j] = entry;
                precision[j * m + i] = entry;
            }
        }
        Some(linalg::eigen_symmetric(&precision, m)?.function(|value| 1.0 / value.max(self.ridge).sqrt()))
    }

    /// The rotation into the symmetric root's coordinates ([`Embedding::rotation`]).
    pub fn rotation(&mut self) -> Option<&[f64]> {
        if self.rotation.is_none() {
            self.rotation = self.embedding.rotation();
        }
        self.rotation.as_deref()
    }

    /// The posterior mean of the features' weights.
    pub fn set_theta(&mut self, mut theta: Vec<f64>) {
        let m = self.m();
        solve_from_right(self.embedding.factor(), m, &mut theta);
        self.weights = theta;
        // |h| <= sqrt(m) prior: roundings of m products and sums, of the row products and of their squares.
        let share = 4.0 * (m as f64 + 10.0) * f64::EPSILON;
        let h = (m as f64).sqrt() * self.prior_bound;
        let product = share * dot(&self.rows, &self.rows).sqrt() * h;
        self.error = Moments {
            mean: share * dot(&self.weights, &self.weights).sqrt() * h,
            variance: product * (2.0 * self.prior_bound.sqrt() + product) + share * self.prior_bound,
        };
    }

    /// Posterior mean of one point: the bits of [`ScoreModel::exact`].
    #[must_use]
    pub fn mean(&self, point: usize) -> f64 {
        dot(&self.weights, &self.dictionary_covariances(point))
    }

    fn dictionary_covariances(&self, point: usize) -> Vec<f64> {
        let points = self.embedding.points().iter();
        match self.gram.dense_column(point) {
            Some(column) => points.map(|&other| column[other as usize]).collect(),
            None => points.map(|&other| self.gram.entry(other as usize, point)).collect(),
        }
    }

    /// The basis that a backend opens.
    #[must_use]
    pub fn basis(&self) -> Basis {
        Basis::Gram(Arc::clone(&self.gram))
    }

    /// The state as plain data with a version, for [`SketchedPosterior::restore`].
    #[must_use]
    pub fn save(&self) -> serde_json::Value {
        serde_json::json!(self.state)
    }
}

/// Replaces `a` (symmetric, `n x n` row-major) by a lower triangular `F` with `F^T F = a`, zeros above the diagonal; false if a
/// pivot is not positive.
fn cholesky_from_below(a: &mut [f64], n: usize) -> bool {
    for i in (0..n).rev() {
        let (above, rest) = a.split_at_mut(i * n);
        let row = &mut rest[..n];
        let pivot = row[i];
        if !(0.0 < pivot && pivot.is_finite()) {
            return false;
        }
        let root = pivot.sqrt();
        row[..=i].iter_mut().for_each(|entry| *entry /= root);
        row[i + 1..].fill(0.0);
        for (j, line) in above.chunks_exact_mut(n).enumerate() {
            add_scaled(&mut line[..=j], -row[j], &row[..=j]);
        }
    }
    true
}

/// Replaces the row `b` by `b L^{-1}`, with the leading block of `l` (`m x m` row-major, lower) as long as `b`.
fn solve_from_right(l: &[f64], m: usize, b: &mut [f64]) {
    for r in (0..b.len()).rev() {
        let line = &l[r * m..r * m + r + 1];
        b[r] /= line[r];
        let value = b[r];
        add_scaled(&mut b[..r], -value, &line[..r]);
    }
}

impl ScoreModel for SketchedPosterior {
    fn exact(&self, point: usize) -> Moments {
        let h = self.dictionary_covariances(point);
        let m = h.len();
        let mut square = 0.0;
        for i in 0..m {
            let y = dot(&self.rows[i * m..i * m + i + 1], &h[..=i]);
            square += y * y;
        }
        Moments { mean: dot(&self.weights, &h), variance: (self.gram.diagonal(point) - square).max(0.0) }
    }

    fn prior_variance_bound(&self) -> f64 {
        self.prior_bound
    }

    fn state_error(&self) -> Moments {
        self.error
    }

    fn basis_points(&self) -> &[u32] {
        self.embedding.points()
    }

    fn n_observations(&self) -> u64 {
        self.state.visits.n_observations()
    }

    fn factor(&self) -> Option<Factor<'_>> {
        Some(Factor { weights: (&self.weights).into(), rows: (&self.rows).into(), spread: Spread::Removed })
    }
}
