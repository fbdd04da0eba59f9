//! Gram sources: a kernel over points, or a table.

use super::Points;
use super::kernel::{Kernel, PlaneSums};
use crate::score::{GramSource, KernelForm, add_each_column};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A kernel evaluated on demand over points.
#[derive(Debug, Clone)]
pub struct KernelGram {
    kernel: Arc<dyn Kernel>,
    points: Points,
    /// `k(x, x)` as the kernel computes it, if it is the same for every point.
    prior_variance: Option<f64>,
    /// Variance that every row has in addition to the kernel and shares with no other row.
    row_term: f64,
    /// The boxes for [`GramSource::add_columns`], made at the first use; not used with a row term.
    sums: OnceLock<Option<Arc<PlaneSums>>>,
}

impl KernelGram {
    /// Creates the covariance `k(x_a, x_b)` of these points.
    pub fn new(kernel: Arc<dyn Kernel>, points: Points) -> Self {
        let alike = kernel.variance().is_some() && points.n_points() > 0;
        let prior_variance = alike.then(|| kernel.value(points.point(0), points.point(0)));
        Self { kernel, points, prior_variance, row_term: 0.0, sums: OnceLock::new() }
    }

    /// Creates the covariance of the function values by row, given noisy released inputs.
    ///
    /// The noise is independent and normal, with this variance in each coordinate. `k(x, x)` stays the prior variance:
    /// the part of a row's value that the noise hides is independent of all other rows. `None` if the kernel has no
    /// formula for it.
    pub fn of_noisy_rows(kernel: &Arc<dyn Kernel>, points: Points, noise_variance: f64) -> Option<Self> {
        if noise_variance == 0.0 {
            return Some(Self::new(Arc::clone(kernel), points));
        }
        let blurred = kernel.under_input_noise(noise_variance, points.dimension())?;
        let row_term = kernel.variance()? - blurred.variance()?;
        Some(Self::new(blurred, points).with_row_term(row_term))
    }

    /// Returns the boxes of the points; `None` where columns are added one after the other.
    fn plane_sums(&self) -> Option<&PlaneSums> {
        let sums = || self.sums.get_or_init(|| self.kernel.plane_sums(&self.points).map(Arc::new));
        (self.row_term == 0.0).then(sums)?.as_deref()
    }

    /// Adds `row_term` >= 0 to the covariance of a row with itself.
    ///
    /// Rows are compared by index, not by coordinates.
    #[must_use]
    pub fn with_row_term(mut self, row_term: f64) -> Self {
        self.row_term = row_term;
        self
    }
}

impl GramSource for KernelGram {
    fn n_points(&self) -> usize {
        self.points.n_points()
    }

    fn entry(&self, a: usize, b: usize) -> f64 {
        let shared = self.kernel.value(self.points.point(a), self.points.point(b));
        if a == b { shared + self.row_term } else { shared }
    }

    fn column(&self, point: usize, first: usize, out: &mut [f64]) {
        let d = self.points.dimension();
        let many = &self.points.coordinates()[first * d..(first + out.len()) * d];
        self.kernel.values(self.points.point(point), many, out);
        if let Some(own) = point.checked_sub(first).and_then(|at| out.get_mut(at)) {
            *own += self.row_term;
        }
    }

    fn entries(&self, others: &[u32], point: usize) -> Vec<f64> {
        let gathered: Vec<f64> = others.iter().flat_map(|&other| self.points.point(other as usize)).copied().collect();
        let mut values = vec![0.0; others.len()];
        self.kernel.values(self.points.point(point), &gathered, &mut values);
        for (value, _) in values.iter_mut().zip(others).filter(|(_, other)| **other as usize == point) {
            *value += self.row_term;
        }
        values
    }

    fn diagonal(&self, point: usize) -> f64 {
        self.prior_variance.map_or_else(|| self.entry(point, point), |variance| variance + self.row_term)
    }

    fn add_columns(&self, centres: &[(usize, f64)], out: &mut [f64]) {
        if !self.plane_sums().is_some_and(|sums| sums.add(centres, out)) {
            add_each_column(self, centres, out);
        }
    }

    fn evaluates_columns(&self) -> bool {
        self.plane_sums().is_none()
    }

    fn form(&self) -> Option<KernelForm> {
        self.kernel.form(&self.points).map(|form| KernelForm { row_term: self.row_term, ..form })
    }
}

/// A covariance given as a symmetric matrix, `n_points x n_points` row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct TableGram {
    n_points: usize,
    values: Vec<f64>,
}

impl TableGram {
    /// Wraps a symmetric matrix; its lower triangle is copied, so both orders give the same bits.
    pub fn new(n_points: usize, mut values: Vec<f64>) -> Self {
        assert_eq!(values.len(), n_points * n_points, "the covariance must be square");
        for from in (0..n_points).step_by(TILE) {
            for row in 0..n_points {
                for column in (row + 1).max(from)..n_points.min(from + TILE) {
                    values[row * n_points + column] = values[column * n_points + row];
                }
            }
        }
        Self { n_points, values }
    }
}

/// Columns that are mirrored together: their rows stay in the first-level cache, 64 bytes each.
const TILE: usize = 64;

/// Largest domain whose Gram matrix is stored as a table (at most 32 MiB).
const MOST_TABULATED: usize = 2048;

/// Returns the covariance as a table for a small domain, otherwise evaluated on demand.
///
/// The bits are the same. The table is computed when a whole column is borrowed, or when many of its entries were asked for:
/// a policy over features asks for few.
pub fn tabulated(gram: KernelGram) -> Arc<dyn GramSource> {
    if MOST_TABULATED < gram.n_points() {
        return Arc::new(gram);
    }
    Arc::new(LazyTable { gram, table: OnceLock::new(), n_asked: AtomicUsize::new(0) })
}

/// A table that is computed when it pays.
#[derive(Debug)]
struct LazyTable {
    gram: KernelGram,
    table: OnceLock<TableGram>,
    /// Number of entries that were evaluated one by one.
    n_asked: AtomicUsize,
}

impl LazyTable {
    /// Returns an entry with the bits of the table, whose upper triangle is the lower one.
    fn evaluate(&self, a: usize, b: usize) -> f64 {
        self.gram.entry(a.max(b), a.min(b))
    }

    fn table(&self) -> &TableGram {
        self.table.get_or_init(|| {
            let n = self.gram.n_points();
            let mut values = vec![0.0; n * n];
            for (row, values) in values.chunks_exact_mut(n.max(1)).enumerate() {
                self.gram.column(row, 0, &mut values[..=row]);
            }
            TableGram::new(n, values)
        })
    }

    /// Returns the table if it is there or if these entries make it worth its computation.
    fn table_for(&self, n_entries: usize) -> Option<&TableGram> {
        let is_worth = || {
            let n_asked = self.n_asked.fetch_add(n_entries, Ordering::Relaxed) + n_entries;
            self.gram.n_points() * self.gram.n_points() <= 4 * n_asked
        };
        self.table.get().or_else(|| is_worth().then(|| self.table()))
    }
}

impl GramSource for LazyTable {
    fn n_points(&self) -> usize {
        self.gram.n_points()
    }

    fn entry(&self, a: usize, b: usize) -> f64 {
        self.table_for(1).map_or_else(|| self.evaluate(a, b), |table| table.entry(a, b))
    }

    fn diagonal(&self, point: usize) -> f64 {
        self.evaluate(point, point)
    }

    fn dense_column(&self, point: usize) -> Option<&[f64]> {
        self.table().dense_column(point)
    }

    fn whole_column<'a>(&'a self, point: usize, buffer: &'a mut [f64]) -> &'a [f64] {
        if let Some(column) = self.table_for(buffer.len()).and_then(|table| table.dense_column(point)) {
            return column;
        }
        buffer.iter_mut().enumerate().for_each(|(other, value)| *value = self.evaluate(point, other));
        buffer
    }

    fn column(&self, point: usize, first: usize, out: &mut [f64]) {
        match self.table_for(out.len()) {
            Some(table) => table.column(point, first, out),
            None => out.iter_mut().zip(first..).for_each(|(out, other)| *out = self.evaluate(point, other)),
        }
    }
}

impl GramSource for TableGram {
    fn n_points(&self) -> usize {
        self.n_points
    }

    fn entry(&self, a: usize, b: usize) -> f64 {
        self.values[a * self.n_points + b]
    }

    fn dense_column(&self, point: usize) -> Option<&[f64]> {
        Some(&self.values[point * self.n_points..(point + 1) * self.n_points])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Lengthscales;
    use crate::kernel::matern::Matern;
    use crate::kernel::squared_exponential::SquaredExponential;

    /// Few columns are evaluated alone, many from a table, with the same bits.
    #[test]
    fn a_table_is_computed_when_it_pays() {
        let gram =
            KernelGram::new(Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.3), 1.5)), Points::grid(1, 40, 0.0, 1.0))
                .with_row_term(0.1);
        let whole = LazyTable { gram: gram.clone(), table: OnceLock::new(), n_asked: AtomicUsize::new(0) };
        let lazy = LazyTable { gram, table: OnceLock::new(), n_asked: AtomicUsize::new(0) };
        for (asked, point) in (0..40).rev().enumerate() {
            let mut column = vec![0.0; 40];
            lazy.column(point, 0, &mut column);
            assert_eq!(Some(column.as_slice()), whole.dense_column(point), "{point}");
            assert_eq!((lazy.entry(3, point), lazy.diagonal(point)), (whole.entry(3, point), whole.entry(point, point)));
            assert_eq!(lazy.table.get().is_some(), 9 <= asked, "{asked}");
        }
    }

    #[test]
    fn entries_and_diagonals_have_the_bits_of_single_ones() {
        let kernels: [Arc<dyn Kernel>; 3] = [
            Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.3), 0.7)),
            Arc::new(Matern::new(2.5, Lengthscales::Isotropic(0.3), 0.7)),
            Arc::new(Matern::new(1.7, Lengthscales::PerDimension(vec![0.3, 1.1]), 0.7)),
        ];
        for kernel in kernels {
            let gram = KernelGram::new(kernel, Points::grid(2, 6, 0.0, 1.0)).with_row_term(0.3);
            let others = [5, 0, 17, 35, 5];
            for point in 0..36 {
                let expected: Vec<f64> = others.iter().map(|&other| gram.entry(other as usize, point)).collect();
                assert_eq!(gram.entries(&others, point), expected);
                assert_eq!(gram.diagonal(point).to_bits(), gram.entry(point, point).to_bits());
            }
        }
    }
}
