//! Domains that are too large to be listed: any combination of one point per axis.

use super::kernel::Kernel;
use super::{Points, grid_axis};
use crate::score::{AxisFeatures, FeatureTable};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A product of axes.
///
/// Its *rows* are the points of the first axis, then of the second, …; a point of the domain, a *play*, is one row of
/// each axis.
#[derive(Debug, Clone)]
pub struct ProductDomain {
    edges: Vec<(f64, f64)>,
    points_per_axis: usize,
    kernel: Arc<dyn Kernel>,
}

impl ProductDomain {
    /// Creates a product of axes with equispaced points, both ends included.
    pub fn new(edges: Vec<(f64, f64)>, points_per_axis: usize, kernel: Arc<dyn Kernel>) -> Self {
        Self { edges, points_per_axis, kernel }
    }

    /// Returns the number of axes.
    pub fn dimension(&self) -> usize {
        self.edges.len()
    }

    /// Returns the number of rows.
    pub fn n_rows(&self) -> usize {
        self.dimension() * self.points_per_axis
    }

    /// Returns the rows of an axis.
    pub fn rows(&self, axis: usize) -> Range<usize> {
        axis * self.points_per_axis..(axis + 1) * self.points_per_axis
    }

    /// Returns the points of an axis.
    pub fn axis(&self, axis: usize) -> Points {
        let (lo, hi) = self.edges[axis];
        Points::new(1, grid_axis(self.points_per_axis, lo, hi))
    }

    /// Returns the lengths of the axes.
    pub fn extents(&self) -> Vec<f64> {
        self.edges.iter().map(|(lo, hi)| hi - lo).collect()
    }

    /// Returns the kernel between points of the domain.
    pub fn kernel(&self) -> &Arc<dyn Kernel> {
        &self.kernel
    }
}

/// The features of plays: rows of a table, or sums of one row of each axis of a product domain.
///
/// Plays of a product domain are numbered in the order of their definition.
#[derive(Debug, Clone)]
pub struct Plays {
    table: Arc<FeatureTable>,
    axes: Option<Arc<[AxisFeatures]>>,
    /// Sums of rows, one play after the other.
    sums: Vec<f64>,
}

impl Plays {
    /// Creates the plays of a product domain with these axes, or of the points of the table without axes.
    pub fn new(table: Arc<FeatureTable>, axes: Option<Arc<[AxisFeatures]>>) -> Self {
        Self { table, axes, sums: Vec::new() }
    }

    /// Returns the axes of a product domain.
    pub fn axes(&self) -> Option<&[AxisFeatures]> {
        self.axes.as_deref()
    }

    /// Returns the number of features.
    pub fn n_features(&self) -> usize {
        self.table.n_features
    }

    /// Returns the features of a play: a point of the table, or the number of a defined play.
    pub fn features(&self, play: usize) -> Cow<'_, [f64]> {
        let m = self.table.n_features;
        if self.axes.is_some() { self.sums[play * m..(play + 1) * m].into() } else { self.table.row(play) }
    }

    /// Assigns the next number to the play with these rows, one of each axis.
    pub fn define(&mut self, rows: &[u32]) {
        let m = self.table.n_features;
        let first = self.sums.len();
        self.sums.resize(first + m, 0.0);
        for &row in rows {
            for (sum, value) in self.sums[first..].iter_mut().zip(&*self.table.row(row as usize)) {
                *sum += value;
            }
        }
    }

    /// Returns the largest `|phi|` of a play.
    pub fn largest_norm(&self) -> f64 {
        self.largest(|row| self.table.square(row)).sqrt()
    }

    /// Returns the largest `residual + |phi|²` of a play.
    pub fn prior_bound(&self) -> f64 {
        self.largest(|row| self.table.residual[row] + self.table.square(row))
    }

    /// Returns the largest sum over the rows of a play.
    fn largest(&self, of_row: impl Fn(usize) -> f64) -> f64 {
        let largest = |rows: Range<usize>| rows.map(&of_row).fold(0.0, f64::max);
        match &self.axes {
            Some(axes) => axes.iter().map(|axis| largest(axis.rows.clone())).sum(),
            None => largest(0..self.table.n_points),
        }
    }
}
