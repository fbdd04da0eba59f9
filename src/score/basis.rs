//! What the scores are linear in.

use std::fmt;
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

    /// All of `k(x_point, ·)`, where the source holds it as a table.
    fn dense_column(&self, _point: usize) -> Option<&[f64]> {
        None
    }

    /// Writes `k(x_point, x_i)` for `i` in `first .. first + out.len()`.
    fn column(&self, point: usize, first: usize, out: &mut [f64]) {
        for (offset, value) in out.iter_mut().enumerate() {
            *value = self.entry(point, first + offset);
        }
    }
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
}

impl FeatureTable {
    /// The features of one point, `n_features` long.
    #[must_use]
    pub fn row(&self, point: usize) -> &[f64] {
        &self.values[point * self.n_features..(point + 1) * self.n_features]
    }
}

/// The basis of a trial's linear model.
#[derive(Debug, Clone)]
pub enum Basis {
    /// One shared table: `h(x) = phi(x)`.
    Table(Arc<FeatureTable>),
    /// Gram columns of the trial's own basis points, which grow as the trial visits new points: `h(x)_i = k(p_i, x)`.
    Gram(Arc<dyn GramSource>),
}

impl Basis {
    /// Number of points of the domain.
    #[must_use]
    pub fn n_points(&self) -> usize {
        match self {
            Self::Table(table) => table.n_points,
            Self::Gram(gram) => gram.n_points(),
        }
    }
}
