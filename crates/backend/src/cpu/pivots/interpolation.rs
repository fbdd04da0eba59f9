//! Builds the matrix of the interpolation, and its error bounds point by point.

use crate::cpu::vector::grouped_sum;
use privateer_gp::score::FeatureTable;

/// Bounds on rounding errors of the factor; see `docs/derivations/pivot-interpolation.md`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Errors {
    /// `eps`: rounding error of an entry of `kappa` and of its reduction.
    pub entry: f64,
    /// `eps_d`: error of a running residual.
    pub diagonal: f64,
    /// Bound on `|l - L^T c| / |c|_1` after the substitution.
    pub substitution: f64,
}

/// Points whose sums stay in the first-level cache.
const POINTS: usize = 480;

/// The matrix of a table and its errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpolation {
    /// `r`, the number of pivots.
    pub rank: usize,
    pub pivots: Vec<usize>,
    /// `C`, point by point.
    pub rows: Vec<f32>,
    /// `|c(x)|_1`, rounded up.
    pub size: Vec<f32>,
    /// Bound on `rho(x)`, rounded up.
    pub rho: Vec<f32>,
    /// Bound on `|trace(x)|`, rounded up.
    pub trace: Vec<f32>,
    /// The largest of `size`, and the largest prior variance outside the features.
    pub largest_size: f64,
    /// See `largest_size`.
    pub largest_residual: f64,
}

/// Returns an f32 that is at least `value`, allowing for earlier rounding.
pub fn up(value: f64) -> f32 {
    (value * (1.0 + 1e-6)) as f32 + f32::MIN_POSITIVE
}

impl Interpolation {
    /// Builds the matrix from the factor's columns (consumed) and the residuals `d`.
    pub fn new(table: &FeatureTable, pivots: Vec<usize>, mut columns: Vec<Vec<f64>>, residual: &[f64], errors: Errors) -> Self {
        let (n, m, rank) = (table.n_points, table.n_features, pivots.len());
        solve(&pivots, &mut columns);
        let of_pivots: Vec<f64> = pivots.iter().map(|&pivot| table.square(pivot)).collect();
        let norm = of_pivots.iter().copied().fold(0.0, f64::max);
        let mut made = Self {
            rank,
            pivots,
            rows: Vec::with_capacity(n * rank),
            size: Vec::with_capacity(n),
            rho: Vec::with_capacity(n),
            trace: Vec::with_capacity(n),
            largest_size: 0.0,
            largest_residual: 0.0,
        };
        for point in 0..n {
            let own = table.square(point);
            let (mut size, mut square, mut carried) = (0.0, 0.0, 0.0);
            for (column, of_pivot) in columns.iter().zip(&of_pivots) {
                let c = column[point];
                made.rows.push(c as f32);
                size += c.abs();
                square += c * c;
                carried += c * of_pivot;
            }
            let solved = errors.substitution * size;
            let rho2 = solved * solved
                + residual[point].max(0.0)
                + (1.0 + size) * (1.0 + size) * errors.entry
                + (1.0 + square) * errors.diagonal;
            // A square has `m / 8 + 4` roundings, a sum over the pivots one per pivot.
            let rounded = (m as f64 + rank as f64 + 8.0) * f64::EPSILON * (own + size * norm);
            made.size.push(up(size));
            made.rho.push(up(rho2.sqrt()));
            made.trace.push(up((own - carried).abs() + rounded));
            made.largest_size = made.largest_size.max(f64::from(up(size)));
            made.largest_residual = made.largest_residual.max(table.residual[point]);
        }
        made
    }

    /// Returns `c(x)`.
    pub fn row(&self, point: usize) -> &[f32] {
        &self.rows[point * self.rank..][..self.rank]
    }
}

/// Replaces the coordinates `l(x)` of all points by the rows `c(x)` that solve `L^T c = l`.
fn solve(pivots: &[usize], columns: &mut [Vec<f64>]) {
    let rank = pivots.len();
    for j in (0..rank).rev() {
        let below: Vec<f64> = pivots[j + 1..].iter().map(|&pivot| columns[j][pivot]).collect();
        let diagonal = columns[j][pivots[j]];
        let (head, solved) = columns.split_at_mut(j + 1);
        let column = &mut head[j];
        let solved: Vec<&[f64]> = solved.iter().map(Vec::as_slice).collect();
        let mut sums = vec![0.0; POINTS];
        for first in (0..column.len()).step_by(POINTS) {
            let end = (first + POINTS).min(column.len());
            let sums = &mut sums[..end - first];
            grouped_sum(&below, &solved, first, sums);
            for (entry, sum) in column[first..end].iter_mut().zip(sums) {
                *entry = (*entry - *sum) / diagonal;
            }
        }
    }
}
