//! Chooses pivots while the work that they save exceeds the work of choosing them.

use super::interpolation::{Errors, Interpolation};
use crate::cpu::path::{pivots_pay, setup_work};
use crate::cpu::vector::{GROUP, U, grouped_sum, sum_depth};
use privateer_gp::score::FeatureTable;
use std::sync::Arc;

/// Residual at which the choice ends, as a share of `max |phi|²`.
///
/// The remaining error widens an interval by the form's distance from a multiple of the identity; more pivots would cost more
/// than the candidates that they remove.
const FINE: f64 = 8e-5;

/// Points whose sums stay in the first-level cache.
const POINTS: usize = 512;

/// The set-up of one table, in its present state.
#[derive(Debug)]
pub struct PivotGrowth {
    table: Arc<FeatureTable>,
    /// Largest squared norm `max |phi|²` of a feature vector.
    largest: f64,
    state: PivotSearchState,
}

#[derive(Debug)]
enum PivotSearchState {
    Growing(Growing),
    /// Finished after this much work.
    Ready(f64, Arc<Interpolation>),
    /// Interpolation would cost more than dense products.
    Never,
}

/// The pivots chosen so far.
#[derive(Debug)]
pub struct Growing {
    pub pivots: Vec<usize>,
    /// One column of the factor per pivot: `l(x)_k` of all points.
    pub columns: Vec<Vec<f64>>,
    /// Residuals `d(x)` of all points.
    pub residual: Vec<f64>,
    /// Products `phi(x)·phi(p)` with the newest pivot p.
    products: Vec<f64>,
}

impl PivotGrowth {
    pub fn new(table: &Arc<FeatureTable>) -> Self {
        let squares = (0..table.n_points).map(|point| table.square(point));
        let residual: Vec<f64> = squares.map(|square| square * square).collect();
        let largest = residual.iter().fold(0.0f64, |most, &d| if d.is_nan() { f64::INFINITY } else { most.max(d) }).sqrt();
        let products = vec![0.0; table.n_points];
        let growing = Growing { pivots: Vec::new(), columns: Vec::new(), residual, products };
        let usable = 0.0 < largest && (largest * largest).is_finite();
        let state = if usable { PivotSearchState::Growing(growing) } else { PivotSearchState::Never };
        Self { table: Arc::clone(table), largest, state }
    }

    /// Returns the interpolation if `allowed` work is enough to set it up.
    ///
    /// The result is a function of the table and of `allowed` alone. `columns` returns the table feature by feature, and is
    /// called only if needed.
    pub fn grow<'c>(&mut self, allowed: f64, columns: impl Fn() -> &'c [f64]) -> Option<Arc<Interpolation>> {
        while let PivotSearchState::Growing(growing) = &mut self.state {
            let rank = growing.pivots.len();
            let (n, m) = (self.table.n_points, self.table.n_features);
            let (next, deepest) = growing
                .residual
                .iter()
                .enumerate()
                .fold((0, f64::NEG_INFINITY), |best, (point, &d)| if best.1 < d { (point, d) } else { best });
            if deepest <= (16.0 * entry_error(m, rank)).max(FINE * FINE) * self.largest * self.largest {
                let PivotSearchState::Growing(grown) = std::mem::replace(&mut self.state, PivotSearchState::Never) else {
                    return None;
                };
                let errors = Errors {
                    entry: entry_error(m, rank) * self.largest * self.largest,
                    diagonal: 1.25 * (rank as f64 + 8.0) * U * self.largest * self.largest,
                    substitution: sum_depth(rank) * U * self.largest,
                };
                let made = Interpolation::new(&self.table, grown.pivots, grown.columns, &grown.residual, errors);
                self.state = PivotSearchState::Ready(setup_work(n, m, rank), Arc::new(made));
                break;
            }
            if !pivots_pay(n, m, rank + 1) {
                self.state = PivotSearchState::Never;
                break;
            }
            if allowed < setup_work(n, m, rank + 1) {
                return None;
            }
            growing.add(next, &self.table, columns());
        }
        match &self.state {
            PivotSearchState::Ready(work, made) if *work <= allowed => Some(Arc::clone(made)),
            _ => None,
        }
    }
}

#[cfg(test)]
impl PivotGrowth {
    /// Returns the pivots, coordinates and residuals of an unfinished set-up.
    pub fn grown(self) -> Option<Growing> {
        match self.state {
            PivotSearchState::Growing(growing) => Some(growing),
            _ => None,
        }
    }
}

/// Returns `eps` in units of `D²`.
fn entry_error(n_features: usize, rank: usize) -> f64 {
    1.25 * (2.0 * sum_depth(n_features) + sum_depth(rank) + 8.0) * U
}

impl Growing {
    fn add(&mut self, pivot: usize, table: &FeatureTable, features: &[f64]) {
        let n = table.n_points;
        let root = self.residual[pivot].sqrt();
        let of_features = table.row(pivot);
        let of_pivot: Vec<f64> = self.columns.iter().map(|column| column[pivot]).collect();
        let features: Vec<&[f64]> = features.chunks_exact(n).collect();
        let known: Vec<&[f64]> = self.columns.iter().map(Vec::as_slice).collect();
        let mut new = vec![0.0; n];
        for first in (0..n).step_by(POINTS) {
            let end = (first + POINTS).min(n);
            let products = &mut self.products[first..end];
            grouped_sum(&of_features, &features, first, products);
            grouped_sum(&of_pivot, &known, first, &mut new[first..end]);
            for ((new, product), d) in new[first..end].iter_mut().zip(products).zip(&mut self.residual[first..end]) {
                *new = (*product * *product - *new) / root;
                *d -= *new * *new;
            }
        }
        // The factor's diagonal is the square root by which the other entries were divided, so that all belong to one factor.
        new[pivot] = root;
        // Zero by its definition; a rounding remainder must not be chosen as a pivot.
        self.residual[pivot] = 0.0;
        self.pivots.push(pivot);
        self.columns.push(new);
    }
}

const _: () = assert!(GROUP == 16, "the module's notes state this depth");
