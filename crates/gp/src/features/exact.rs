//! Exact features: a pivoted Cholesky factor of the Gram matrix, which is never formed.

use crate::Points;
use crate::kernel::Kernel;
use crate::score::{FeatureTable, GramSource};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_numerics::linalg::add_scaled;

/// The accuracy and the largest number of features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exact {
    /// Largest variance left out, as a share of the largest prior variance.
    pub tolerance: f64,
    /// Largest number of features.
    pub max_features: usize,
}

impl Default for Exact {
    fn default() -> Self {
        Self { tolerance: 1e-10, max_features: 4096 }
    }
}

/// Reads `tolerance` and `max_features`.
pub fn parse(args: &Args<'_>) -> Exact {
    let default = Exact::default();
    let tolerance = args.number("tolerance", "largest variance left out, as a share of the largest prior variance");
    let max_features = args.count("max_features", "most features; reaching it before the tolerance is an error");
    let exact = Exact {
        tolerance: tolerance.at_least(0.0).below(1.0).or(default.tolerance),
        max_features: max_features.between(1, 65_536).or(default.max_features as u64) as usize,
    };
    args.finish();
    exact
}

/// Computes features with `|phi(x)·phi(x') - k(x, x')| <= tolerance · max k(x, x)` for all pairs.
///
/// They are columns of the Cholesky factor, pivoted greedily on the largest remaining variance (the lowest index wins
/// ties) [Harbrecht, Peters & Schneider 2012, Applied Numerical Mathematics 62]. `n_features` is the numerical rank,
/// often far below the number of points. O(n_points · n_features²) time, O(n_points · n_features) memory, one fixed order
/// of summation.
///
/// A tolerance below 1e-14 counts as 1e-14, because below it only rounding errors would be factored.
///
/// `residual` holds the remaining variance of each point, and `kernel_error` the largest of them. The remaining matrix is
/// positive semi-definite, so no pair has a larger error.
///
/// # Errors
/// [`Error::TooLarge`] if `max_features` do not reach the tolerance; [`Error::Input`] if the covariance is not finite or
/// not positive semi-definite.
pub fn exact(gram: &dyn GramSource, tolerance: f64, max_features: usize) -> Result<FeatureTable, Error> {
    let found = pivoted(gram, tolerance, max_features)?;
    let (left, largest) = (found.left, found.largest);
    if found.columns.len() == max_features && tolerance.max(ROUNDING) * largest < left {
        return Err(too_many(gram.n_points(), max_features, tolerance.max(ROUNDING), left / largest));
    }
    Ok(found.table())
}

/// Computes the features of [`exact`] that come closest, at most `max_features`.
///
/// `None` if they leave more than `tolerance` of the largest prior variance, or if the matrix is not a covariance.
pub fn closest(gram: &dyn GramSource, tolerance: f64, max_features: usize) -> Option<FeatureTable> {
    let found = pivoted(gram, ROUNDING, max_features).ok()?;
    (found.left <= tolerance * found.largest).then(|| found.table())
}

/// Evaluates the features of [`exact`] at other points: `phi(x) = L^{-1} k(pivots, x)`.
///
/// The residual is the part of `k(x, x)` that the features do not carry.
/// * `gram` — covariance of the domain over which the features are built, with its `domain` and `kernel`
pub fn exact_at(
    gram: &dyn GramSource,
    plan: Exact,
    domain: &Points,
    kernel: &dyn Kernel,
    points: &Points,
) -> Result<FeatureTable, Error> {
    let Pivoted { columns, pivots, left, .. } = pivoted(gram, plan.tolerance, plan.max_features)?;
    let (n_points, n_features) = (points.n_points(), columns.len());
    let (mut values, mut residual) = (Vec::with_capacity(n_points * n_features), Vec::with_capacity(n_points));
    for point in 0..n_points {
        let x = points.point(point);
        let mut phi: Vec<f64> = Vec::with_capacity(n_features);
        for (i, &pivot) in pivots.iter().enumerate() {
            let explained: f64 = phi.iter().zip(&columns).map(|(phi, column)| phi * column[pivot]).sum();
            phi.push((kernel.value(domain.point(pivot), x) - explained) / columns[i][pivot]);
        }
        residual.push((kernel.value(x, x) - phi.iter().map(|phi| phi * phi).sum::<f64>()).max(0.0));
        values.extend(phi);
    }
    Ok(FeatureTable { n_points, n_features, values, residual, kernel_error: left, form: None })
}

/// A pivoted Cholesky factor, complete or not.
struct Pivoted {
    /// One column per feature, with an entry for every point.
    columns: Vec<Vec<f64>>,
    pivots: Vec<usize>,
    /// Remaining variance of each point, and the largest of them.
    residual: Vec<f64>,
    left: f64,
    /// The largest prior variance.
    largest: f64,
}

impl Pivoted {
    fn table(self) -> FeatureTable {
        let (n_points, n_features) = (self.residual.len(), self.columns.len());
        let mut values = vec![0.0; n_points * n_features];
        for (feature, column) in self.columns.iter().enumerate() {
            for (point, entry) in column.iter().enumerate() {
                values[point * n_features + feature] = *entry;
            }
        }
        FeatureTable { n_points, n_features, values, residual: self.residual, kernel_error: self.left, form: None }
    }
}

/// Selects up to `most` points, each with the largest variance given the points before.
///
/// The lowest index wins ties. The selection ends early when only rounding errors remain.
///
/// # Errors
/// As [`exact`], if the matrix is not a covariance.
pub fn widest_first(gram: &dyn GramSource, most: usize) -> Result<Vec<usize>, Error> {
    Ok(pivoted(gram, Exact::default().tolerance, most)?.pivots)
}

/// Factors until `tolerance` is reached or there are `most` columns.
fn pivoted(gram: &dyn GramSource, tolerance: f64, most: usize) -> Result<Pivoted, Error> {
    let n_points = gram.n_points();
    let mut residual: Vec<f64> = (0..n_points).map(|point| gram.diagonal(point)).collect();
    let largest = residual.iter().fold(0.0_f64, |largest, &v| largest.max(v));
    check(&residual, largest)?;
    // Each column holds one feature of every point, so that the inner loop runs along memory.
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut pivots: Vec<usize> = Vec::new();
    let tolerance = tolerance.max(ROUNDING);
    loop {
        let (pivot, left) = widest(&residual);
        if left <= tolerance * largest || columns.len() == most {
            return Ok(Pivoted { columns, pivots, residual, left, largest });
        }
        let mut column = vec![0.0; n_points];
        gram.column(pivot, 0, &mut column);
        for earlier in &columns {
            add_scaled(&mut column, -earlier[pivot], earlier);
        }
        let root = libm::sqrt(left);
        column.iter_mut().for_each(|entry| *entry /= root);
        // The pivot's own entry is the root of its variance; earlier pivots have no variance left.
        pivots.iter().for_each(|&earlier| column[earlier] = 0.0);
        column[pivot] = root;
        for (variance, entry) in residual.iter_mut().zip(&column) {
            *variance -= entry * entry;
        }
        residual[pivot] = 0.0;
        pivots.push(pivot);
        check(&residual, largest)?;
        residual.iter_mut().for_each(|variance| *variance = variance.max(0.0));
        columns.push(column);
    }
}

/// Smallest meaningful tolerance: about fifty roundings of the largest variance.
const ROUNDING: f64 = 1e-14;

/// Returns the point of the largest variance (lowest index in a tie), and that variance.
///
/// The variance is 0 without points.
fn widest(residual: &[f64]) -> (usize, f64) {
    let mut best = (0, 0.0);
    for (point, &variance) in residual.iter().enumerate() {
        if best.1 < variance {
            best = (point, variance);
        }
    }
    best
}

/// Rejects variances that are far below zero.
///
/// Rounding leaves variances down to about -1e-14 of the largest; a matrix that is not a covariance leaves far lower
/// ones.
fn check(residual: &[f64], largest: f64) -> Result<(), Error> {
    let Some(point) = residual.iter().position(|v| !(v.is_finite() && -1e-8 * largest <= *v)) else {
        return Ok(());
    };
    let message =
        format!("the covariance is not positive semi-definite: variance {:e} is left at point {point}", residual[point]);
    Diagnostic::new(message).hint("check that the covariance is symmetric and estimated from one set of samples").refuse()
}

fn too_many(n_points: usize, max_features: usize, tolerance: f64, left: f64) -> Error {
    let bytes = |features: usize| 8.0 * n_points as f64 * features as f64;
    Error::TooLarge {
        what: format!(
            "exact features of {n_points} points, up to one a point ({left:.1e} of the variance is left after {max_features})"
        ),
        needs_bytes: bytes(n_points),
        limit_bytes: bytes(max_features),
        hint: format!("raise `max_features` or `tolerance` (now {tolerance:e}), or use fewer points or a longer length-scale"),
    }
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;
