//! The choice of pivots, as far as the work saved pays for it.

use super::table::Interpolation;
use crate::cpu::vector::{GROUP, grouped_sum, sum_depth};
use privateer_gp::score::FeatureTable;
use std::sync::Arc;

/// Set-up work counts this many times: in f64, with less reuse than products of a round.
const SETUP_WEIGHT: f64 = 2.0;

/// Largest arrays of the set-up.
const MOST_BYTES: f64 = (1u64 << 30) as f64;

/// Where the choice ends, as a share of `max |phi|²`: what is left then widens an interval about as much as the rounding of forms at the pivots does,
/// and pivots beyond would cost more than the candidates they spare.
pub const FINE: f64 = 6e-6;

/// The same for trials side by side: their intervals hold the distance of the form from a multiple of the identity (see `lanes`), which is smaller than
/// the form.
pub const FINE_OF_LANES: f64 = 8e-5;

/// Unit roundoff of f64.
const U: f64 = f64::EPSILON / 2.0;

/// Points whose sums stay in the first-level cache.
const POINTS: usize = 512;

/// Multiply-adds of a dense round of one trial over so many points: the factor is triangular, in four block rows.
pub fn dense_work(n_points: usize, n_features: usize) -> f64 {
    let m = n_features as f64;
    0.625 * n_points as f64 * m * m
}

/// Multiply-adds of a round of one trial by pivots.
pub fn work_by_pivots(n_points: usize, n_features: usize, rank: usize) -> f64 {
    let (m, r) = (n_features as f64, rank as f64);
    2.0 * n_points as f64 * r + r * m * (0.5 * m + 1.0)
}

/// Multiply-adds of the set-up up to so many pivots.
pub fn setup_work(n_points: usize, n_features: usize, rank: usize) -> f64 {
    let (n, m, r) = (n_points as f64, n_features as f64, rank as f64);
    SETUP_WEIGHT * n * r * (2.0 * m + r)
}

/// Whether rounds by so many pivots cost half of dense ones at most, and their arrays fit.
fn pays(n_points: usize, n_features: usize, rank: usize) -> bool {
    work_by_pivots(n_points, n_features, rank) <= 0.5 * dense_work(n_points, n_features)
        && 12.0 * n_points as f64 * rank as f64 <= MOST_BYTES
}

/// The set-up of one table, as far as it has come.
#[derive(Debug)]
pub struct PivotGrowth {
    table: Arc<FeatureTable>,
    /// `max |phi|²`.
    largest: f64,
    /// Where the choice ends.
    end: f64,
    state: PivotSearchState,
}

#[derive(Debug)]
enum PivotSearchState {
    Growing(Growing),
    /// It was finished after this much work.
    Ready(f64, Arc<Interpolation>),
    /// It does not pay.
    Never,
}

/// Pivots so far.
#[derive(Debug)]
pub struct Growing {
    /// The points.
    pub pivots: Vec<usize>,
    /// One column of the factor a pivot: `l(x)_k` of all points.
    pub columns: Vec<Vec<f64>>,
    /// `d(x)`.
    pub residual: Vec<f64>,
    /// `phi(x)·phi(p)` of the newest pivot.
    products: Vec<f64>,
}

impl PivotGrowth {
    /// Nothing done yet; the choice ends where so much of `max |phi|²` is left.
    pub fn new(table: &Arc<FeatureTable>, end: f64) -> Self {
        let squares = (0..table.n_points).map(|point| privateer_numerics::linalg::dot(table.row(point), table.row(point)));
        let residual: Vec<f64> = squares.map(|square| square * square).collect();
        let largest = residual.iter().fold(0.0f64, |most, &d| if d.is_nan() { f64::INFINITY } else { most.max(d) }).sqrt();
        let products = vec![0.0; table.n_points];
        let growing = Growing { pivots: Vec::new(), columns: Vec::new(), residual, products };
        let usable = 0.0 < largest && (largest * largest).is_finite();
        let state = if usable { PivotSearchState::Growing(growing) } else { PivotSearchState::Never };
        Self { table: Arc::clone(table), largest, end, state }
    }

    /// The interpolation, if this much work is enough to set it up: a function of the table and `allowed` alone, whoever else has asked.
    /// `columns` is the table by features, where it is needed.
    pub fn grow<'c>(&mut self, allowed: f64, columns: impl Fn() -> &'c [f64]) -> Option<Arc<Interpolation>> {
        while let PivotSearchState::Growing(growing) = &mut self.state {
            let rank = growing.pivots.len();
            let (n, m) = (self.table.n_points, self.table.n_features);
            let (next, deepest) = growing
                .residual
                .iter()
                .enumerate()
                .fold((0, f64::NEG_INFINITY), |best, (point, &d)| if best.1 < d { (point, d) } else { best });
            if deepest <= (16.0 * entry_error(self.table.n_features, rank)).max(self.end * self.end) * self.largest * self.largest
            {
                let work = setup_work(n, m, rank);
                let PivotSearchState::Growing(grown) = std::mem::replace(&mut self.state, PivotSearchState::Never) else {
                    return None;
                };
                let errors = Errors {
                    entry: entry_error(self.table.n_features, rank) * self.largest * self.largest,
                    diagonal: 1.25 * (rank as f64 + 8.0) * U * self.largest * self.largest,
                    substitution: sum_depth(rank) * U * self.largest,
                };
                let made = Interpolation::new(&self.table, columns(), grown.pivots, grown.columns, &grown.residual, errors);
                self.state = PivotSearchState::Ready(work, Arc::new(made));
                break;
            }
            if !pays(n, m, rank + 1) {
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
    /// Pivots, coordinates and residuals so far, where it is not finished.
    pub fn grown(self) -> Option<Growing> {
        match self.state {
            PivotSearchState::Growing(growing) => Some(growing),
            _ => None,
        }
    }
}

/// `eps` in units of `D²`.
fn entry_error(n_features: usize, rank: usize) -> f64 {
    1.25 * (2.0 * sum_depth(n_features) + sum_depth(rank) + 8.0) * U
}

/// Bounds on what rounding does to the factor, see the module's notes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Errors {
    /// `eps`
    pub entry: f64,
    /// `eps_d`
    pub diagonal: f64,
    /// `|l - L^T c| / |c|_1`
    pub substitution: f64,
}

impl Growing {
    /// One more pivot.
    fn add(&mut self, pivot: usize, table: &FeatureTable, features: &[f64]) {
        let n = table.n_points;
        let root = self.residual[pivot].sqrt();
        let of_pivot: Vec<f64> = self.columns.iter().map(|column| column[pivot]).collect();
        let features: Vec<&[f64]> = features.chunks_exact(n).collect();
        let known: Vec<&[f64]> = self.columns.iter().map(Vec::as_slice).collect();
        let mut new = vec![0.0; n];
        for first in (0..n).step_by(POINTS) {
            let end = (first + POINTS).min(n);
            let products = &mut self.products[first..end];
            grouped_sum(table.row(pivot), &features, first, products);
            grouped_sum(&of_pivot, &known, first, &mut new[first..end]);
            for ((new, product), d) in new[first..end].iter_mut().zip(products).zip(&mut self.residual[first..end]) {
                *new = (*product * *product - *new) / root;
                *d -= *new * *new;
            }
        }
        // The factor's diagonal is the root that the other entries were divided by, so that they are those of a factor.
        new[pivot] = root;
        // By its definition; what rounding left of it must not be chosen again.
        self.residual[pivot] = 0.0;
        self.pivots.push(pivot);
        self.columns.push(new);
    }
}

const _: () = assert!(GROUP == 16, "the module's notes state this depth");
