//! What the scores are linear in.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The prior covariance over a finite domain, by point index.
///
/// `entry`, `column` and `diagonal` give the same bits for the same pair of points, in either order.
pub trait GramSource: Send + Sync + fmt::Debug {
    /// Number of points of the domain.
    fn n_points(&self) -> usize;

    /// `k(x_a, x_b)`.
    fn entry(&self, a: usize, b: usize) -> f64;

    /// `k(x_point, x_point)`.
    fn diagonal(&self, point: usize) -> f64 {
        self.entry(point, point)
    }

    /// The covariance as a formula over coordinates, where it is one that a device can evaluate.
    fn form(&self) -> Option<KernelForm> {
        None
    }

    /// All of `k(x_point, ·)`, where the source holds it as a table.
    fn dense_column(&self, _point: usize) -> Option<&[f64]> {
        None
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

/// A covariance as a formula over scaled coordinates `z`: with `r² = |z_a - z_b|²`,
/// `scale * rho(r) + offset`, or `scale * z_a·z_b + offset` for the linear family, and `row_term` more for a point and itself.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelForm {
    /// Which formula.
    pub family: KernelFamily,
    /// Factor.
    pub scale: f64,
    /// Constant term.
    pub offset: f64,
    /// What is added for a point and itself, by index: 0 but for released inputs.
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
    /// `z_a · z_b` in the place of `rho`
    Linear,
}

/// Fourier features as a formula: with `t_i = w_i · x`, features `a_i cos(t_i)` for all `i`, then `a_i sin(t_i)`.
#[derive(Debug, Clone, PartialEq)]
pub struct FourierForm {
    /// Number of coordinates.
    pub dimension: usize,
    /// `n_points x dimension`, row-major.
    pub points: Arc<[f64]>,
    /// `n_frequencies x dimension`, row-major: the `w_i`.
    pub frequencies: Vec<f64>,
    /// `n_frequencies`: the `a_i`.
    pub amplitudes: Vec<f64>,
}

/// Features of every point of a domain, shared by all trials.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureTable {
    /// Number of points.
    pub n_points: usize,
    /// Number of features.
    pub n_features: usize,
    /// `n_points x n_features`, row-major: the features of a point are contiguous.
    pub values: Vec<f64>,
    /// `n_points`: prior variance that the features do not carry, `max(0, k(x,x) - |phi(x)|²)` where the posterior is to
    /// keep it, else zeros.
    pub residual: Vec<f64>,
    /// Largest measured `|phi(x)·phi(x') - k(x,x')|` over the pairs that were checked; for exact features a bound
    /// over all pairs: the largest variance left.
    pub kernel_error: f64,
    /// The features as a formula, where they are one that a device can evaluate.
    pub form: Option<FourierForm>,
}

impl FeatureTable {
    /// The features of one point, `n_features` long.
    #[must_use]
    pub fn row(&self, point: usize) -> &[f64] {
        &self.values[point * self.n_features..(point + 1) * self.n_features]
    }
}

/// One axis of a product domain in a feature table: features of its rows are zero beyond its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisFeatures {
    /// Its rows.
    pub rows: Range<usize>,
    /// The features that only its rows have.
    pub features: Range<usize>,
}

/// The basis of a trial's linear model.
#[derive(Debug, Clone)]
pub enum Basis {
    /// One shared table: `h(x) = phi(x)`.
    Table(Arc<FeatureTable>),
    /// Gram columns of the trial's own basis points, which grow as the trial visits new points: `h(x)_i = k(p_i, x)`.
    Gram(Arc<dyn GramSource>),
    /// As `Gram`, but every trial has inputs of its own: [`super::ScoreModel::own_gram`] gives them. The number of points
    /// is the same for all trials.
    Own(usize),
}

impl Basis {
    /// Number of points of the domain.
    #[must_use]
    pub fn n_points(&self) -> usize {
        match self {
            Self::Table(table) => table.n_points,
            Self::Gram(gram) => gram.n_points(),
            Self::Own(n_points) => *n_points,
        }
    }
}
