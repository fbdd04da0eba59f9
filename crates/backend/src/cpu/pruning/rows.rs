//! Computes rows over the visited points, from a growing Cholesky factor.
//!
//! The factor is that of `A = K + ridge diag(1 / count)`, as in the posterior over visited points. Let `g = A^{-1} e`,
//! with e the unit vector of the played point, and V without this observation. For a new point, `V^{-1} phi` is
//! `(1 + q) sum g_i phi_i`, where `1 + q` is its pivot over the ridge. For a point visited before, it is `1 / count`
//! times the sum.

use super::covariance::Covariance;
use privateer_numerics::linalg::{GrowingCholesky, add_scaled, dot};

/// All observations of a new point, as one.
#[derive(Debug, Clone, Copy)]
pub struct AveragedObservation {
    pub point: u32,
    pub count: u64,
    pub average: f64,
    pub ridge: f64,
}

/// The visited points of a trial.
#[derive(Debug, Default)]
pub struct VisitedRows {
    /// Indices of the points, in the order of their first visits.
    pub points: Vec<u32>,
    counts: Vec<u64>,
    /// Discarded once the model reports rows itself, see [`VisitedRows::follow`].
    factor: GrowingCholesky,
    /// Slot and count before the open streak's further observations, which are not in the factor.
    open: Option<(usize, u64)>,
    scratch: Vec<f64>,
    /// Weights of the mean; only [`VisitedRows::visit`] updates them.
    weights: Vec<f64>,
}

impl VisitedRows {
    /// Adds all observations of a new point as one, with noise variance `ridge / count`.
    ///
    /// Writes `A^{-1} e` for the point's own `e`; returns the square root of its pivot and its surprise. The posterior
    /// variance falls by `(root p)²` and the mean rises by `surprise p`, as for a new point of the posterior over visited
    /// points. `row_term` is added for a point with itself.
    pub fn visit(&mut self, visit: AveragedObservation, source: &Covariance, row_term: f64, alpha: &mut Vec<f64>) -> (f64, f64) {
        let AveragedObservation { point, count, average, ridge } = visit;
        let known = self.points.len();
        let mut k: Vec<f64> = self.points.iter().map(|&other| source.entry(other as usize, point as usize)).collect();
        let surprise = average - dot(&self.weights, &k);
        let prior = source.entry(point as usize, point as usize) + row_term;
        self.factor.solve_lower(&mut k, 0);
        let root = ((prior - dot(&k, &k)).max(0.0) + ridge / count as f64).sqrt();
        self.factor.push(&k, root);
        self.points.push(point);
        self.counts.push(count);
        self.solve(known, 1.0, alpha);
        self.weights.push(0.0);
        add_scaled(&mut self.weights, surprise, alpha);
        (root, surprise)
    }

    /// Starts a streak whose row the model reports, like [`VisitedRows::start`]; discards the factor.
    pub fn follow(&mut self, points: &[u32], counts: &[u64]) -> Option<()> {
        self.factor = GrowingCholesky::default();
        self.count(points, counts).map(|_| ())
    }

    /// Opens a streak at the slot whose count the model has just raised.
    ///
    /// Returns the slot and its number of earlier observations, or `None` if the model's visits differ from those followed
    /// here.
    fn count(&mut self, points: &[u32], counts: &[u64]) -> Option<(usize, u64)> {
        let known = self.points.len();
        if points.len() == known + 1 {
            self.points.push(*points.last()?);
            self.counts.push(1);
            self.open = Some((known, 1));
            return (counts.last() == Some(&1)).then_some((known, 0));
        }
        if points.len() != known || counts.len() != known {
            return None;
        }
        let slot = (0..known).find(|&slot| counts[slot] == self.counts[slot] + 1)?;
        let before = self.counts[slot];
        self.open = Some((slot, before));
        self.counts[slot] += 1;
        Some((slot, before))
    }

    /// Starts a streak at the slot whose count the model has just raised; writes the coefficients.
    ///
    /// Returns `None` if the model's visits differ from those followed here, or if the model reported rows before.
    pub fn start(&mut self, points: &[u32], counts: &[u64], ridge: f64, source: &Covariance, alpha: &mut Vec<f64>) -> Option<()> {
        if self.factor.n() != self.points.len() {
            return None;
        }
        self.close(ridge);
        let (slot, before) = self.count(points, counts)?;
        if before == 0 {
            let new = self.points[slot] as usize;
            alpha.clear();
            alpha.extend(self.points[..slot].iter().map(|&point| source.entry(point as usize, new)));
            self.factor.solve_lower(alpha, 0);
            let pivot = (source.entry(new, new) - dot(alpha, alpha)).max(0.0) + ridge;
            self.factor.push(alpha, pivot.sqrt());
            self.solve(slot, pivot / ridge, alpha);
        } else {
            self.solve(slot, 1.0 / before as f64, alpha);
        }
        Some(())
    }

    /// Counts another observation of the open streak.
    pub fn again(&mut self) {
        if let Some((slot, _)) = self.open {
            self.counts[slot] += 1;
        }
    }

    /// Returns whether the model's counts are those followed here.
    pub fn follows(&self, counts: &[u64]) -> bool {
        match self.open {
            Some((slot, _)) => counts.len() == self.counts.len() && counts.get(slot) == self.counts.get(slot),
            None => counts.is_empty(),
        }
    }

    /// Writes `factor A^{-1} e`.
    fn solve(&self, slot: usize, factor: f64, alpha: &mut Vec<f64>) {
        alpha.clear();
        alpha.resize(self.points.len(), 0.0);
        alpha[slot] = factor;
        self.factor.solve_lower(alpha, slot);
        self.factor.solve_transposed(alpha);
    }

    fn close(&mut self, ridge: f64) {
        let Some((slot, before)) = self.open.take() else { return };
        let (before, after) = (before as f64, self.counts[slot] as f64);
        if before < after {
            let delta = ridge * (after - before) / (before * after);
            self.factor.lower_diagonal(slot, delta, &mut self.scratch);
        }
    }
}
