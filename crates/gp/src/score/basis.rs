//! The basis functions of a linear model.

use super::{FourierForm, GridFeatures};
use privateer_numerics::linalg::{Columns, add_rows_wide, dot, dot_rows};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The prior covariance over a finite domain, by point index.
///
/// `entry`, `column` and `diagonal` give the same bits for the same pair of points, in either order.
pub trait GramSource: Send + Sync + fmt::Debug {
    /// Returns the number of points of the domain.
    fn n_points(&self) -> usize;

    /// Returns `k(x_a, x_b)`.
    fn entry(&self, a: usize, b: usize) -> f64;

    /// Returns `k(x_other, x_point)` for each of these points, with the bits of [`GramSource::entry`].
    fn entries(&self, others: &[u32], point: usize) -> Vec<f64> {
        others.iter().map(|&other| self.entry(other as usize, point)).collect()
    }

    /// Returns `k(x_point, x_point)`.
    fn diagonal(&self, point: usize) -> f64 {
        self.entry(point, point)
    }

    /// Returns the covariance as a formula over coordinates, if a device can evaluate one.
    fn form(&self) -> Option<KernelForm> {
        None
    }

    /// Returns all of `k(x_point, ·)`, if the source holds it as a table.
    fn dense_column(&self, _point: usize) -> Option<&[f64]> {
        None
    }

    /// Returns all of `k(x_point, ·)`: of a table where there is one, otherwise computed into `buffer` of `n_points`.
    fn whole_column<'a>(&'a self, point: usize, buffer: &'a mut [f64]) -> &'a [f64] {
        if let Some(column) = self.dense_column(point) {
            return column;
        }
        self.column(point, 0, buffer);
        buffer
    }

    /// Adds `Σ_i weight_i k(x_i, ·)` to `out` at every point; a centre is a point's index, then its weight.
    fn add_columns(&self, centres: &[(usize, f64)], out: &mut [f64]) {
        add_each_column(self, centres, out);
    }

    /// Returns whether [`GramSource::add_columns`] evaluates every covariance, so that all points cost as much as one by one.
    fn evaluates_columns(&self) -> bool {
        false
    }

    /// Writes `k(x_point, x_i)` for `i` in `first .. first + out.len()`.
    fn column(&self, point: usize, first: usize, out: &mut [f64]) {
        if let Some(column) = self.dense_column(point) {
            out.copy_from_slice(&column[first..first + out.len()]);
            return;
        }
        for (offset, value) in out.iter_mut().enumerate() {
            *value = self.entry(point, first + offset);
        }
    }
}

/// Adds columns as [`GramSource::add_columns`], one after the other.
pub fn add_each_column<G: GramSource + ?Sized>(gram: &G, centres: &[(usize, f64)], out: &mut [f64]) {
    let mut buffer = vec![0.0; gram.n_points()];
    for &(centre, weight) in centres {
        let column = gram.whole_column(centre, &mut buffer);
        add_rows_wide(&[weight], |_| column, out);
    }
}

/// A covariance as a formula over scaled coordinates `z`, with `r² = |z_a - z_b|²`.
///
/// It is `scale * rho(r) + offset`, or `scale * z_a·z_b + offset` for the linear family, plus `row_term` for a point with
/// itself.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelForm {
    /// Which formula.
    pub family: KernelFamily,
    /// Factor.
    pub scale: f64,
    /// Constant term.
    pub offset: f64,
    /// Term added for a point with itself, by index: 0 except for released noisy inputs.
    pub row_term: f64,
    /// Number of coordinates, at least 1.
    pub dimension: usize,
    /// `n_points x dimension`, row-major: coordinates divided by their length-scales.
    pub points: Arc<[f64]>,
}

/// The formulas that every device evaluates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelFamily {
    /// `rho = exp(-r²/2)`
    SquaredExponential,
    /// `rho = exp(-r)`
    MaternHalf,
    /// `rho = (1 + z) exp(-z)`, `z = sqrt(3) r`
    MaternThreeHalves,
    /// `rho = (1 + z + z²/3) exp(-z)`, `z = sqrt(5) r`
    MaternFiveHalves,
    /// `z_a · z_b` replaces `rho`
    Linear,
}

/// Features of every point of a domain, shared by all trials.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureTable {
    /// Number of points.
    pub n_points: usize,
    /// Number of features.
    pub n_features: usize,
    /// `n_points x n_features`, row-major: the features of a point are contiguous. Empty if the form has a grid.
    pub values: Vec<f64>,
    /// Prior variance that the features do not carry, one entry per point.
    ///
    /// It is `max(0, k(x,x) - |phi(x)|²)` if the posterior is to keep this variance, otherwise 0.
    pub residual: Vec<f64>,
    /// Largest measured `|phi(x)·phi(x') - k(x,x')|` over the checked pairs.
    ///
    /// For exact features it is a bound over all pairs: the largest remaining variance.
    pub kernel_error: f64,
    /// The features as a formula, if a device can evaluate one.
    pub form: Option<FourierForm>,
}

impl FeatureTable {
    /// Returns the features of one point, `n_features` long.
    pub fn row(&self, point: usize) -> Cow<'_, [f64]> {
        match self.grid() {
            Some(grid) => Cow::Owned(grid.row(point)),
            None => Cow::Borrowed(&self.values[point * self.n_features..(point + 1) * self.n_features]),
        }
    }

    /// Returns `|phi|²` of one point.
    pub fn square(&self, point: usize) -> f64 {
        let row = self.row(point);
        dot(&row, &row)
    }

    /// Writes `weights · phi(x)` for consecutive points; those of a stored table have the bits of a product with each row.
    pub fn products(&self, weights: &[f64], first: usize, out: &mut [f64]) {
        match self.grid() {
            Some(grid) => {
                let points: Vec<u32> = (0..out.len()).map(|at| (first + at) as u32).collect();
                grid.products(weights, &points, out);
            }
            None => dot_rows(weights, |at| &self.values[(first + at) * self.n_features..][..self.n_features], out),
        }
    }

    /// Returns the features by axis if rows are computed where they are read.
    pub fn grid(&self) -> Option<&GridFeatures> {
        self.form.as_ref()?.grid.as_ref()
    }
}

/// One axis of a product domain in a feature table; its rows are zero in other axes' features.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisFeatures {
    /// Rows of the axis.
    pub rows: Range<usize>,
    /// Features that only these rows have.
    pub features: Range<usize>,
    /// These features, one column a row.
    pub columns: Columns,
}

impl AxisFeatures {
    /// Describes rows and features of this table.
    pub fn of(table: &FeatureTable, rows: Range<usize>, features: Range<usize>) -> Self {
        let columns = Columns::transposed(&table.values, table.n_features, rows.clone(), features.clone());
        Self { rows, features, columns }
    }
}

/// The basis of a trial's linear model.
#[derive(Debug, Clone)]
pub enum Basis {
    /// One shared table: `h(x) = phi(x)`.
    Table(Arc<FeatureTable>),
    /// Gram columns `h(x)_i = k(p_i, x)` of the trial's own basis points.
    ///
    /// They grow as the trial visits new points.
    Gram(Arc<dyn GramSource>),
    /// As `Gram`, with inputs of its own for every trial, from [`super::ScoreModel::own_gram`].
    ///
    /// The number of points is the same for all trials.
    Own(usize),
}

impl Basis {
    /// Returns the number of points of the domain.
    pub fn n_points(&self) -> usize {
        match self {
            Self::Table(table) => table.n_points,
            Self::Gram(gram) => gram.n_points(),
            Self::Own(n_points) => *n_points,
        }
    }

    /// Returns whether this is the same table or covariance in memory; inputs of each trial's own never are.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Table(one), Self::Table(other)) => Arc::ptr_eq(one, other),
            (Self::Gram(one), Self::Gram(other)) => std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
            _ => false,
        }
    }
}
