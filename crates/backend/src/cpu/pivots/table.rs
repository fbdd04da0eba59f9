//! Builds the matrix of the interpolation, and its error bounds point by point.

use super::choose::Errors;
use crate::cpu::vector::grouped_sum;
use ndarray::{Array2, ArrayView2, linalg::general_mat_mul};
use privateer_gp::score::FeatureTable;
use privateer_numerics::linalg::dot;

/// Points per panel: three SIMD vectors of the largest size.
pub const PANEL: usize = 48;
/// Pivots are padded to a multiple of this: two SIMD vectors of the largest size.
pub const PIVOTS: usize = 32;
/// Points whose features are compared together.
const POINTS: usize = 480;

/// Data of a round; points are padded to whole panels by copies of the last one.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpolation {
    /// `N`, the number of points.
    pub n_points: usize,
    /// `m`, the number of features.
    pub n_features: usize,
    /// `r`, the number of pivots.
    pub rank: usize,
    /// `r`, padded to a multiple of [`PIVOTS`].
    pub padded: usize,
    /// `m x padded`: features of the pivots, feature by feature; zeros beyond `r`.
    pub features: Vec<f64>,
    /// `features`, rounded to f32.
    pub features32: Vec<f32>,
    /// `C` in panels of [`PANEL`] points, pivot by pivot within a panel.
    pub panels: Vec<f32>,
    /// `|c(x)|_1`, rounded up.
    pub size: Vec<f32>,
    /// Bound on `rho(x)`, rounded up.
    pub rho: Vec<f32>,
    /// Bound on `|trace(x)|`, rounded up.
    pub trace: Vec<f32>,
    /// Bound on `delta(x)`, rounded up.
    pub delta: Vec<f32>,
    /// The prior variance outside the features, rounded.
    pub residual: Vec<f32>,
    /// The largest of `size`, and the largest of `residual`.
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
    ///
    /// `features` is the table feature by feature.
    pub fn new(
        table: &FeatureTable,
        features: &[f64],
        pivots: Vec<usize>,
        mut columns: Vec<Vec<f64>>,
        residual: &[f64],
        errors: Errors,
    ) -> Self {
        let (n, m, rank) = (table.n_points, table.n_features, pivots.len());
        solve(&pivots, &mut columns);
        let padded = rank.next_multiple_of(PIVOTS);
        let mut of_pivots = vec![0.0; m * padded];
        for (j, &pivot) in pivots.iter().enumerate() {
            for (i, &value) in table.row(pivot).iter().enumerate() {
                of_pivots[i * padded + j] = value;
            }
        }
        let deltas = deltas(table, features, &columns, &pivots);
        let n_padded = n.next_multiple_of(PANEL);
        let mut made = Self {
            n_points: n,
            n_features: m,
            rank,
            padded,
            features32: of_pivots.iter().map(|&value| value as f32).collect(),
            features: of_pivots,
            panels: vec![0.0; n_padded * rank],
            size: vec![0.0; n_padded],
            rho: vec![0.0; n_padded],
            trace: vec![0.0; n_padded],
            delta: vec![0.0; n_padded],
            residual: vec![0.0; n_padded],
            largest_size: 0.0,
            largest_residual: 0.0,
        };
        let square = |point: usize| dot(table.row(point), table.row(point));
        let of_pivots: Vec<f64> = pivots.iter().map(|&pivot| square(pivot)).collect();
        let norm = of_pivots.iter().copied().fold(0.0, f64::max);
        for at in 0..n_padded {
            let point = at.min(n - 1);
            let own = square(point);
            let panel = &mut made.panels[at / PANEL * PANEL * rank..];
            let (mut size, mut square, mut carried) = (0.0, 0.0, 0.0);
            for ((j, column), of_pivot) in columns.iter().enumerate().zip(&of_pivots) {
                let c = column[point];
                panel[j * PANEL + at % PANEL] = c as f32;
                size += c.abs();
                square += c * c;
                carried += c * of_pivot;
            }
            let solved = errors.substitution * size;
            let rho2 = solved * solved
                + residual[point].max(0.0)
                + (1.0 + size) * (1.0 + size) * errors.entry
                + (1.0 + square) * errors.diagonal;
            made.size[at] = up(size);
            made.rho[at] = up(rho2.sqrt());
            // A square has `m / 8 + 4` roundings, a sum over the pivots one per pivot.
            let rounded = (m as f64 + rank as f64 + 8.0) * f64::EPSILON * (own + size * norm);
            made.trace[at] = up((own - carried).abs() + rounded);
            made.delta[at] = up(deltas[point]);
            made.residual[at] = table.residual[point] as f32;
            made.largest_size = made.largest_size.max(f64::from(made.size[at]));
            made.largest_residual = made.largest_residual.max(table.residual[point]);
        }
        made
    }
}

impl Interpolation {
    /// Returns `c_j(x)`.
    pub fn coefficient(&self, point: usize, j: usize) -> f32 {
        self.panels[(point / PANEL * self.rank + j) * PANEL + point % PANEL]
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

/// Returns `|phi(x) - sum_j c_j phi(p_j)|` at every point, increased by a bound on its rounding.
fn deltas(table: &FeatureTable, features: &[f64], columns: &[Vec<f64>], pivots: &[usize]) -> Vec<f64> {
    let (n, m, rank) = (table.n_points, table.n_features, pivots.len());
    let of_pivots: Vec<f64> = pivots.iter().flat_map(|&pivot| table.row(pivot).iter().copied()).collect();
    let norm = pivots.iter().map(|&pivot| dot(table.row(pivot), table.row(pivot))).fold(0.0f64, f64::max).sqrt();
    let Ok(of_pivots) = ArrayView2::from_shape((rank, m), &of_pivots) else { return vec![f64::INFINITY; n] };
    let mut found = vec![0.0; n];
    for first in (0..n).step_by(POINTS) {
        let end = (first + POINTS).min(n);
        let block = Array2::from_shape_fn((rank, end - first), |(j, x)| columns[j][first + x]);
        let mut carried = Array2::zeros((m, end - first));
        general_mat_mul(1.0, &of_pivots.t(), &block, 0.0, &mut carried);
        for (feature, carried) in features.chunks_exact(n).zip(carried.rows()) {
            for ((found, &value), &carried) in found[first..end].iter_mut().zip(&feature[first..end]).zip(carried) {
                *found += (value - carried) * (value - carried);
            }
        }
        for (x, found) in found[first..end].iter_mut().enumerate() {
            let size: f64 = block.column(x).iter().map(|c| c.abs()).sum();
            // A product of `rank` terms in any order has the error `(rank + 8) u` relative to the magnitudes.
            *found = found.sqrt() * (1.0 + 1e-6) + (rank as f64 + 8.0) * f64::EPSILON * (1.0 + size) * norm;
        }
    }
    found
}
