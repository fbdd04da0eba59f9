//! Domains that cannot be listed: one point of each axis, freely combined.

use super::kernel::Kernel;
use super::{Points, grid_axis};
use crate::score::{AxisFeatures, FeatureTable};
use privateer_numerics::linalg::dot;
use std::ops::Range;
use std::sync::Arc;

/// A product of axes. Its *rows* are the points of the first axis, then of the second, …; a point of the domain, a *play*, is one
/// row of each axis.
#[derive(Debug, Clone)]
pub struct ProductDomain {
    edges: Vec<(f64, f64)>,
    points_per_axis: usize,
    kernel: Arc<dyn Kernel>,
}

impl ProductDomain {
    /// Equispaced points on each axis, both ends included.
    #[must_use]
    pub fn new(edges: Vec<(f64, f64)>, points_per_axis: usize, kernel: Arc<dyn Kernel>) -> Self {
        Self { edges, points_per_axis, kernel }
    }

    /// Number of axes.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.edges.len()
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.dimension() * self.points_per_axis
    }

    /// The rows of an axis.
    #[must_use]
    pub fn rows(&self, axis: usize) -> Range<usize> {
        axis * self.points_per_axis..(axis + 1) * self.points_per_axis
    }

    /// The points of an axis.
    #[must_use]
    pub fn axis(&self, axis: usize) -> Points {
        let (lo, hi) = self.edges[axis];
        Points::new(1, grid_axis(self.points_per_axis, lo, hi))
    }

    /// Lengths of the axes.
    #[must_use]
    pub fn extents(&self) -> Vec<f64> {
        self.edges.iter().map(|(lo, hi)| hi - lo).collect()
    }

    /// The kernel between points of the domain.
    #[must_use]
    pub fn kernel(&self) -> &Arc<dyn Kernel> {
        &self.kernel
    }
}

/// Features of what is played: rows of a table or, over a product domain, sums of one row of each axis, numbered as they come.
#[derive(Debug, Clone)]
pub struct Plays {
    table: Arc<FeatureTable>,
    axes: Option<Arc<[AxisFeatures]>>,
    /// Sums of rows, one play after the other.
    sums: Vec<f64>,
}

impl Plays {
    /// Of the points of a table.
    #[must_use]
    pub fn of_points(table: Arc<FeatureTable>) -> Self {
        Self { table, axes: None, sums: Vec::new() }
    }

    /// Of a product domain with these axes; of the points of the table without.
    #[must_use]
    pub fn new(table: Arc<FeatureTable>, axes: Option<Arc<[AxisFeatures]>>) -> Self {
        Self { table, axes, sums: Vec::new() }
    }

    /// The axes of a product domain.
    #[must_use]
    pub fn axes(&self) -> Option<&[AxisFeatures]> {
        self.axes.as_deref()
    }

    /// The features of a play: a point of the table, or the number of a defined play.
    #[must_use]
    pub fn features(&self, play: usize) -> &[f64] {
        let m = self.table.n_features;
        if self.axes.is_some() { &self.sums[play * m..(play + 1) * m] } else { self.table.row(play) }
    }

    /// Gives the next number to the play of these rows, one of each axis.
    pub fn define(&mut self, rows: &[u32]) {
        let m = self.table.n_features;
        let first = self.sums.len();
        self.sums.resize(first + m, 0.0);
        for &row in rows {
            for (sum, value) in self.sums[first..].iter_mut().zip(self.table.row(row as usize)) {
                *sum += value;
            }
        }
    }

    /// How many plays there can be.
    #[must_use]
    pub fn n(&self) -> usize {
        if self.axes.is_some() { self.sums.len() / self.table.n_features.max(1) } else { self.table.n_points }
    }

    /// The largest `|phi|` of a play.
    #[must_use]
    pub fn largest_norm(&self) -> f64 {
        let largest = |rows: Range<usize>| rows.map(|row| dot(self.table.row(row), self.table.row(row))).fold(0.0, f64::max);
        let square: f64 = match &self.axes {
            Some(axes) => axes.iter().map(|axis| largest(axis.rows.clone())).sum(),
            None => largest(0..self.table.n_points),
        };
        square.sqrt()
    }

    /// The largest `residual + |phi|²` of a play.
    #[must_use]
    pub fn prior_bound(&self) -> f64 {
        let square = |row: usize| self.table.residual[row] + dot(self.table.row(row), self.table.row(row));
        let largest = |rows: Range<usize>| rows.map(square).fold(0.0, f64::max);
        match &self.axes {
            Some(axes) => axes.iter().map(|axis| largest(axis.rows.clone())).sum(),
            None => largest(0..self.table.n_points),
        }
    }
}
