//! Computes the magnitudes of a basis over its domain, from which error bounds are built.

use super::playable::playable;
use privateer_gp::score::{Basis, Candidates, TIE_TOLERANCE};
use privateer_numerics::linalg;

/// Magnitudes of a shared basis.
#[derive(Debug, Clone, Default)]
pub struct Scale {
    /// `k(x, x)` or `residual + |phi|²` of every point; empty if each trial has its own inputs.
    pub prior: Vec<f64>,
    /// Part of `prior` outside the features; empty for Gram columns.
    pub residual: Vec<f64>,
    /// Relative rounding error of `prior`.
    pub prior_error: f64,
    /// Largest `|h_i(x)|` of each feature; empty for Gram columns, where the prior bounds it.
    pub largest: Vec<f64>,
    /// Largest `|h(x)|` of the features.
    pub norm: f64,
}

impl Scale {
    /// Computes the magnitudes in one pass over the basis.
    #[must_use]
    pub fn of(basis: &Basis) -> Self {
        match basis {
            Basis::Own(_) => Self::default(),
            Basis::Gram(gram) => {
                Self { prior: (0..gram.n_points()).map(|point| gram.diagonal(point)).collect(), ..Self::default() }
            }
            Basis::Table(table) => {
                let mut largest = vec![0.0f64; table.n_features];
                let (mut prior, mut norm) = (Vec::with_capacity(table.n_points), 0.0f64);
                for point in 0..table.n_points {
                    let row = table.row(point);
                    let square = linalg::dot(row, row);
                    for (most, value) in largest.iter_mut().zip(row) {
                        *most = most.max(value.abs());
                    }
                    norm = norm.max(square);
                    prior.push(table.residual[point] + square);
                }
                let error = 4.0 * (table.n_features as f64 + 8.0) * f64::EPSILON;
                Self { prior, residual: table.residual.clone(), prior_error: error, largest, norm: norm.sqrt() * (1.0 + error) }
            }
        }
    }

    /// Returns the prior variance of a point outside the features.
    #[must_use]
    pub fn residual(&self, point: usize) -> f64 {
        self.residual.get(point).copied().unwrap_or(0.0)
    }

    /// Returns a bound on `sum |row_i h_i(x)|` over the domain; `prior` bounds `k(x, x)`.
    #[must_use]
    pub fn of_row(&self, row: &[f64], prior: f64) -> f64 {
        let magnitudes: f64 = row.iter().map(|r| r.abs()).sum();
        if self.largest.is_empty() {
            // |k(p, x)| <= sqrt(k(p,p) k(x,x)) <= prior.
            return magnitudes * prior;
        }
        let by_column: f64 = row.iter().zip(&self.largest).map(|(r, largest)| r.abs() * largest).sum();
        by_column.min(linalg::dot(row, row).sqrt() * self.norm)
    }

    /// Writes the points that may be the best before the first observation, when every mean is 0.
    ///
    /// Of the points that certainly tie with the best, only the lowest is a candidate.
    pub fn best_priors(&self, beta: f64, subset: Option<&[u32]>, out: &mut Candidates) {
        out.points.clear();
        let points = || playable(self.prior.len(), subset);
        let score = |point: u32| beta * self.prior[point as usize].max(0.0).sqrt();
        let best = points().map(score).fold(f64::NEG_INFINITY, f64::max);
        // The relative error of a square root is at most that of its square.
        let error = (self.prior_error + 4.0 * f64::EPSILON) * best.abs();
        let tie = TIE_TOLERANCE * (1.0 + best.abs());
        for point in points().filter(|&point| best - 2.0 * error - tie <= score(point)) {
            let certain = best + error - (tie - 2.0 * error) <= score(point) - error;
            out.points.push(point);
            if certain && out.points.len() == 1 {
                // Later points can at best tie with it, and the lowest wins. This does not hold after a point that is not
                // certain: the best decides whether that point ties, so the best must be among the candidates.
                break;
            }
        }
        if out.points.is_empty() {
            out.points.extend(points());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_gp::score::GramSource;
    use std::sync::Arc;

    #[derive(Debug)]
    struct Diagonal(Vec<f64>);

    impl GramSource for Diagonal {
        fn n_points(&self) -> usize {
            self.0.len()
        }

        fn entry(&self, a: usize, b: usize) -> f64 {
            if a == b { self.0[a] } else { 0.0 }
        }
    }

    fn best(diagonal: &[f64], subset: Option<&[u32]>) -> Vec<u32> {
        let scale = Scale::of(&Basis::Gram(Arc::new(Diagonal(diagonal.to_vec()))));
        let mut out = Candidates::default();
        scale.best_priors(2.0, subset, &mut out);
        out.points
    }

    #[test]
    fn the_lowest_of_certain_ties_stands_for_all() {
        assert_eq!(best(&[1.0; 5], None), [0]);
        assert_eq!(best(&[0.5, 1.0, 1.0 + 1e-12, 1.0], None), [1]);
        assert_eq!(best(&[1.0, 1.0, 2.0, 1.0], None), [2]);
        assert_eq!(best(&[1.0, 1.0, 2.0, 1.0], Some(&[1, 3])), [1]);
        // At the edge of the tolerance nothing is certain: the decision needs both points.
        let edge = 1.0 - 2.0 * TIE_TOLERANCE * 1.5;
        assert_eq!(best(&[edge, 1.0], None), [0, 1]);
        // After a point at the edge the best is needed too: without it, the tolerance would be taken from a lesser point,
        // and reach further.
        assert_eq!(best(&[edge, 1.0 - TIE_TOLERANCE, 1.0], None), [0, 1, 2]);
    }
}
