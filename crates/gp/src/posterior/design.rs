//! The posterior of some points under a design: each of its points is observed once, as a mean with noise of its own.
//!
//! Variances do not depend on what is observed, so that a design can be planned ahead. Raising the precision (the inverse noise
//! variance) of a point by `d` lowers the posterior covariance by `f c c^T`: `c` are the point's covariances with all points, `v`
//! its own variance, `f = d / (1 + d v)`. These rows are kept until they are twice as many as the design has points; then they are
//! replaced by `L^{-1} K`, one row a point of the design, with `L L^T = K + diag(1/precision)`.

use crate::score::{GramSource, TIE_TOLERANCE};
use privateer_numerics::linalg::{self, Columns, add_scaled};
use std::sync::Arc;

/// Rows beyond twice the number of the design's points, before they are computed again.
const SPARE_ROWS: usize = 16;

/// A design over some points of a domain, and the posterior variances under it. Points are named by their place in the list.
#[derive(Debug, Clone)]
pub struct Design {
    gram: Arc<dyn GramSource>,
    points: Vec<u32>,
    prior: Vec<f64>,
    variances: Vec<f64>,
    /// Places of the design's points and their precisions, in the order in which they entered.
    entries: Vec<(usize, f64)>,
    /// The posterior covariance is the prior's less the sum of `c c^T` over these rows.
    rows: Vec<Vec<f64>>,
}

impl Design {
    /// Creates the empty design over these points.
    pub fn new(gram: Arc<dyn GramSource>, points: Vec<u32>) -> Self {
        let prior: Vec<f64> = points.iter().map(|&point| gram.diagonal(point as usize)).collect();
        Self { gram, points, variances: prior.clone(), prior, entries: Vec::new(), rows: Vec::new() }
    }

    /// Returns the domain.
    pub fn gram(&self) -> Arc<dyn GramSource> {
        Arc::clone(&self.gram)
    }

    /// Returns the posterior variance of every point.
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// Returns the place of the largest variance, the first among those that tie with it; 0 without points.
    ///
    /// A tie is relative, so that the unit of rewards does not decide between points that are alike.
    pub fn widest(&self) -> usize {
        let largest = self.variances.iter().copied().fold(0.0, f64::max);
        let floor = largest * (1.0 - TIE_TOLERANCE);
        self.variances.iter().position(|&variance| floor <= variance).unwrap_or(0)
    }

    /// Raises the precision of a point to this number.
    pub fn raise(&mut self, place: usize, precision: f64) {
        let entry = match self.entries.iter().position(|entry| entry.0 == place) {
            Some(entry) => entry,
            None => {
                self.entries.push((place, 0.0));
                self.entries.len() - 1
            }
        };
        let step = precision - std::mem::replace(&mut self.entries[entry].1, precision);
        if 2 * self.entries.len() + SPARE_ROWS <= self.rows.len() && self.rebuild().is_some() {
            return;
        }
        let mut row = self.gram.entries(&self.points, self.points[place] as usize);
        for before in &self.rows {
            add_scaled(&mut row, -before[place], before);
        }
        let factor = step / (1.0 + step * row[place].max(0.0));
        let root = libm::sqrt(factor);
        for (entry, variance) in row.iter_mut().zip(&mut self.variances) {
            *entry *= root;
            *variance = (*variance - *entry * *entry).max(0.0);
        }
        self.rows.push(row);
    }

    /// Computes rows and variances from the precisions; returns the factor `L`, or `None` if rounding leaves the matrix without one.
    fn rebuild(&mut self) -> Option<Vec<f64>> {
        let mut rows = Columns::zeros(self.entries.len(), self.points.len());
        for (i, &(place, _)) in self.entries.iter().enumerate() {
            rows.row_mut(i).copy_from_slice(&self.gram.entries(&self.points, self.points[place] as usize));
        }
        let observed = self.entries.iter().map(|&(place, precision)| (place, 1.0 / precision));
        let lower = observed_factor(&rows, observed)?;
        rows.solve_lower(&lower);
        let mut explained = vec![0.0; rows.stride()];
        rows.squares(&mut explained);
        for ((variance, prior), explained) in self.variances.iter_mut().zip(&self.prior).zip(&explained) {
            *variance = (prior - explained).max(0.0);
        }
        self.rows = (0..rows.n_rows()).map(|row| rows.row(row).to_vec()).collect();
        Some(lower)
    }

    /// Returns the posterior mean of every point, given the means that were observed in the order in which points entered.
    ///
    /// `None` if the covariance of the observations has no factor.
    pub fn means(&mut self, mut observed: Vec<f64>) -> Option<Vec<f64>> {
        let lower = self.rebuild()?;
        linalg::solve_lower(&lower, &mut observed);
        let mut means = vec![0.0; self.points.len()];
        for (row, weight) in self.rows.iter().zip(observed) {
            add_scaled(&mut means, weight, row);
        }
        Some(means)
    }
}

/// Returns the lower factor of the covariance of noisy observations; `None` if rounding leaves it without one.
///
/// * `rows` — prior covariances of each observed point with all points
/// * `observed` — place of each observed point among all, and the variance of its noise
pub fn observed_factor(rows: &Columns, observed: impl Iterator<Item = (usize, f64)> + Clone) -> Option<Vec<f64>> {
    let k = rows.n_rows();
    let mut lower = vec![0.0; k * k];
    for (i, (_, noise)) in observed.clone().enumerate() {
        for (j, (place, _)) in observed.clone().take(i + 1).enumerate() {
            lower[i * k + j] = rows.row(i)[place];
        }
        lower[i * k + i] += noise;
    }
    linalg::cholesky(&mut lower, k).ok()?;
    Some(lower)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableGram;
    use crate::posterior::ExactPosterior;
    use crate::score::ScoreModel;

    /// With noise of one variance a play, moments are those of the exact posterior that observes every play.
    #[test]
    fn moments_are_those_of_the_exact_posterior() {
        let (n, ridge) = (12, 0.3);
        let at = |i: usize, j: usize| libm::exp(-0.05 * (i as f64 - j as f64) * (i as f64 - j as f64));
        let gram: Arc<dyn GramSource> = Arc::new(TableGram::new(n, (0..n * n).map(|e| at(e / n, e % n)).collect()));
        let survivors: Vec<u32> = vec![1, 2, 4, 7, 8, 11];
        let mut design = Design::new(Arc::clone(&gram), survivors.clone());
        let mut exact = ExactPosterior::new(gram, ridge);
        let (mut counts, mut order) = (vec![0u32; survivors.len()], Vec::new());
        for round in 0..60 {
            let place = design.widest();
            let largest = survivors.iter().map(|&point| exact.exact(point as usize).variance).fold(0.0, f64::max);
            assert!((largest - design.variances()[place]).abs() < 1e-12, "round {round}");
            if counts[place] == 0 {
                order.push(place);
            }
            counts[place] += 1;
            design.raise(place, f64::from(counts[place]) / ridge);
            crate::posterior::Posterior::observe(&mut exact, survivors[place] as usize, (place as f64).sin());
        }
        let means = design.means(order.iter().map(|&place| (place as f64).sin()).collect()).expect("a factor");
        for ((&point, mean), variance) in survivors.iter().zip(means).zip(design.variances()) {
            let expected = exact.exact(point as usize);
            assert!((expected.mean - mean).abs() < 1e-10 && (expected.variance - variance).abs() < 1e-12, "{point}");
        }
    }
}
