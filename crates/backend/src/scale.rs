//! Computes the magnitudes of a basis over its domain, from which error bounds are built.

use super::playable::playable;
use privateer_gp::score::{Basis, Candidates, tie_margin};
use privateer_numerics::{linalg, vectorised};
use std::sync::OnceLock;

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
    /// Largest prior variance, once it is asked for.
    largest_prior: OnceLock<f64>,
}

impl Scale {
    /// Computes the magnitudes in one pass over the basis.
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
                    let row = &*table.row(point);
                    let square = linalg::dot(row, row);
                    for (most, value) in largest.iter_mut().zip(row) {
                        *most = most.max(value.abs());
                    }
                    norm = norm.max(square);
                    prior.push(table.residual[point] + square);
                }
                let error = 4.0 * (table.n_features as f64 + 8.0) * f64::EPSILON;
                let (residual, norm) = (table.residual.clone(), norm.sqrt() * (1.0 + error));
                Self { prior, residual, prior_error: error, largest, norm, largest_prior: OnceLock::new() }
            }
        }
    }

    /// Returns the prior variance of a point outside the features.
    pub fn residual(&self, point: usize) -> f64 {
        self.residual.get(point).copied().unwrap_or(0.0)
    }

    /// Returns a bound on `sum |row_i h_i(x)|` over the domain, and `sum |row_i|`; `prior` bounds `k(x, x)`.
    pub fn of_row(&self, row: &[f64], prior: f64) -> (f64, f64) {
        let [magnitudes, by_column, squares] = sum_row(row, &self.largest);
        if self.largest.is_empty() {
            // |k(p, x)| <= sqrt(k(p,p) k(x,x)) <= prior.
            return (magnitudes * prior, magnitudes);
        }
        (by_column.min(squares.sqrt() * self.norm), magnitudes)
    }

    /// Writes the points that may be the best before the first observation, when every mean is 0.
    ///
    /// Of the points that certainly tie with the best, only the lowest is a candidate.
    pub fn best_priors(&self, beta: f64, subset: Option<&[u32]>, out: &mut Candidates) {
        out.points.clear();
        let points = || playable(self.prior.len(), subset);
        let score = |point: u32| beta * self.prior[point as usize].max(0.0).sqrt();
        let best = if subset.is_none() && 0.0 <= beta {
            // Every trial over the basis asks; the best score is that of the largest prior.
            beta * self.largest_prior.get_or_init(|| self.prior.iter().copied().fold(0.0, f64::max)).sqrt()
        } else {
            points().map(score).fold(f64::NEG_INFINITY, f64::max)
        };
        // The relative error of a square root is at most that of its square.
        let error = (self.prior_error + 4.0 * f64::EPSILON) * best.abs();
        let tie = tie_margin(best);
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

const LANES: usize = 8;

vectorised! {
    /// Sums `|r|`, `|r| largest` and `r²` over a row; without `largest`, the magnitudes alone.
    fn sum_row(row: &[f64], largest: &[f64]) -> [f64; 3] {
        let mut sums = [[0.0; LANES]; 3];
        let ((blocks, rest), (of_blocks, of_rest)) = (row.as_chunks::<LANES>(), largest.as_chunks::<LANES>());
        if largest.is_empty() {
            blocks.iter().for_each(|block| (0..LANES).for_each(|lane| sums[0][lane] += block[lane].abs()));
            (0..rest.len()).for_each(|lane| sums[0][lane] += rest[lane].abs());
        } else {
            for (block, largest) in blocks.iter().zip(of_blocks) {
                for lane in 0..LANES {
                    sums[0][lane] += block[lane].abs();
                    sums[1][lane] += block[lane].abs() * largest[lane];
                    sums[2][lane] += block[lane] * block[lane];
                }
            }
            for (lane, (r, largest)) in rest.iter().zip(of_rest).enumerate() {
                sums[0][lane] += r.abs();
                sums[1][lane] += r.abs() * largest;
                sums[2][lane] += r * r;
            }
        }
        sums.map(|lanes| lanes.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_gp::TableGram;
    use privateer_gp::score::TIE_TOLERANCE;
    use std::sync::Arc;

    fn best(diagonal: &[f64], subset: Option<&[u32]>) -> Vec<u32> {
        let n = diagonal.len();
        let values = (0..n * n).map(|e| if e / n == e % n { diagonal[e % n] } else { 0.0 }).collect();
        let scale = Scale::of(&Basis::Gram(Arc::new(TableGram::new(n, values))));
        let mut out = Candidates::default();
        scale.best_priors(2.0, subset, &mut out);
        out.points
    }

    #[test]
    fn sums_of_a_row_are_those_of_all_its_entries() {
        for n in 0..40 {
            let row: Vec<f64> = (0..n).map(|i| f64::from(i % 7) - 3.0).collect();
            let largest: Vec<f64> = (0..n).map(|i| f64::from(i % 5)).collect();
            let [magnitudes, by_column, squares] = sum_row(&row, &largest);
            assert_eq!(magnitudes, row.iter().map(|r| r.abs()).sum::<f64>(), "{n}");
            assert_eq!(by_column, row.iter().zip(&largest).map(|(r, largest)| r.abs() * largest).sum::<f64>(), "{n}");
            assert_eq!(squares, linalg::dot(&row, &row), "{n}");
            assert_eq!(sum_row(&row, &[])[0], magnitudes, "{n}");
        }
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
