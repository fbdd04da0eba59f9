//! Gram sources: a kernel over points, or a table.

use super::Points;
use super::kernel::Kernel;
use crate::score::GramSource;
use std::sync::Arc;

/// A kernel evaluated on demand over points.
#[derive(Debug, Clone)]
pub struct KernelGram {
    kernel: Arc<dyn Kernel>,
    points: Points,
}

impl KernelGram {
    /// The covariance `k(x_a, x_b)` of these points.
    #[must_use]
    pub fn new(kernel: Arc<dyn Kernel>, points: Points) -> Self {
        Self { kernel, points }
    }
}

impl GramSource for KernelGram {
    fn n_points(&self) -> usize {
        self.points.n_points()
    }

    fn entry(&self, a: usize, b: usize) -> f64 {
        self.kernel.value(self.points.point(a), self.points.point(b))
    }
}

/// A covariance given as a symmetric matrix, `n_points x n_points` row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct TableGram {
    n_points: usize,
    values: Vec<f64>,
}

impl TableGram {
    /// Takes a symmetric matrix; only its lower triangle is read, so that both orders give the same bits.
    #[must_use]
    pub fn new(n_points: usize, values: Vec<f64>) -> Self {
        assert_eq!(values.len(), n_points * n_points, "the covariance must be square");
        Self { n_points, values }
    }
}

impl GramSource for TableGram {
    fn n_points(&self) -> usize {
        self.n_points
    }

    fn entry(&self, a: usize, b: usize) -> f64 {
        let (row, column) = if a < b { (b, a) } else { (a, b) };
        self.values[row * self.n_points + column]
    }
}
