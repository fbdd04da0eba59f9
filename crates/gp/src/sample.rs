//! Random functions over a finite domain: Gaussian-process samples and RKHS functions.
//!
//! Scaling, noise and the optimum belong to the environments.

use super::features::exact::exact;
use super::kernel::Kernel;
use super::{KernelGram, Points, grid_axis};
use crate::score::{FeatureTable, GramSource};
use privateer_config::error::Error;
use privateer_numerics::linalg::{add_scaled, dot};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Draws a sample `f = Phi z` of the Gaussian process over these features, `z` standard normal.
///
/// The variance that the features omit (at most the tolerance of exact features) is not drawn. It uses one word per
/// feature.
/// * returns — `n_points`
pub fn sample_gp(features: &FeatureTable, stream: &mut Stream) -> Vec<f64> {
    let mut z = vec![0.0; features.n_features];
    stream.normals(&mut z);
    (0..features.n_points).map(|point| dot(&features.row(point), &z)).collect()
}

/// A sampler over a grid for a kernel that is a product over coordinates.
///
/// It computes `f = (Phi_1 ⊗ … ⊗ Phi_d) z` one axis at a time, so neither a Gram matrix nor a feature table of the grid
/// is formed. Memory: twice the grid.
#[derive(Debug, Clone)]
pub struct GridSampler {
    /// Exact features of each axis, first coordinate first.
    axes: Vec<FeatureTable>,
}

impl GridSampler {
    /// Creates a sampler for the grid [`Points::grid`] with the same arguments.
    ///
    /// `None` if the kernel is not a product over coordinates. The covariance of a sample has an error of at most about
    /// `dimension * tolerance` of the variance.
    ///
    /// # Errors
    /// As [`exact`], for an axis.
    pub fn new(
        kernel: &dyn Kernel,
        dimension: usize,
        points_per_axis: usize,
        lo: f64,
        hi: f64,
        tolerance: f64,
    ) -> Result<Option<Self>, Error> {
        let Some(factors) = kernel.axis_factors(dimension) else {
            return Ok(None);
        };
        let axis = Points::new(1, grid_axis(points_per_axis, lo, hi));
        let features = |factor: Arc<dyn Kernel>| exact(&KernelGram::new(factor, axis.clone()), tolerance, points_per_axis);
        let axes = factors.into_iter().map(features).collect::<Result<_, _>>()?;
        Ok(Some(Self { axes }))
    }

    /// Returns the number of standard normals per sample, at most the number of points.
    ///
    /// It is the product of the numbers of features of the axes.
    pub fn n_features(&self) -> usize {
        self.axes.iter().map(|axis| axis.n_features).product()
    }

    /// Draws one sample in the order of the grid (last axis fastest), one word per feature.
    pub fn sample(&self, stream: &mut Stream) -> Vec<f64> {
        let mut values = vec![0.0; self.n_features()];
        stream.normals(&mut values);
        // The last axis comes first: the `inner` entries behind it are already points, the entries before it still
        // features.
        let mut inner = 1;
        for axis in self.axes.iter().rev() {
            let outer = if values.is_empty() { 0 } else { values.len() / (axis.n_features * inner) };
            let mut expanded = vec![0.0; outer * axis.n_points * inner];
            for block in 0..outer {
                let source = &values[block * axis.n_features * inner..][..axis.n_features * inner];
                for point in 0..axis.n_points {
                    let target = &mut expanded[(block * axis.n_points + point) * inner..][..inner];
                    for (feature, &weight) in axis.row(point).iter().enumerate() {
                        add_scaled(target, weight, &source[feature * inner..][..inner]);
                    }
                }
            }
            values = expanded;
            inner *= axis.n_points;
        }
        values
    }
}

/// A function of the reproducing kernel Hilbert space, over the whole domain.
#[derive(Debug, Clone, PartialEq)]
pub struct RkhsFunction {
    /// `n_points`: the function's values.
    pub values: Vec<f64>,
    /// Its norm in the Hilbert space, `sqrt(a^T K a)`.
    pub norm: f64,
}

/// The distribution of the weights of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// Each uniform on [-1, 1] [Zhou2021, section 6].
    Uniform,
    /// Uniform on the simplex: nonnegative, with sum 1 [Dubey2021, section 6.1].
    ///
    /// The simplex is the nonnegative face of the unit L1 ball.
    Simplex,
}

/// Draws uniform centres (with replacement), each a point's index, and their weights.
///
/// A centre uses two words: its index, then its weight. A domain without points has none and uses no word.
pub fn rkhs_centres(n_points: usize, n_centres: usize, weights: Weights, stream: &mut Stream) -> Vec<(usize, f64)> {
    if n_points == 0 {
        return Vec::new();
    }
    let weight = |stream: &mut Stream| match weights {
        Weights::Uniform => stream.uniform_in(-1.0, 1.0),
        // Exponentials divided by their sum.
        Weights::Simplex => -libm::log(1.0 - stream.uniform()),
    };
    let mut centres: Vec<(usize, f64)> = (0..n_centres).map(|_| (stream.index(n_points), weight(stream))).collect();
    if weights == Weights::Simplex {
        let sum: f64 = centres.iter().map(|(_, weight)| weight).sum();
        centres.iter_mut().for_each(|(_, weight)| *weight /= sum.max(f64::MIN_POSITIVE));
    }
    centres
}

/// Draws `f = Σ_i a_i k(x_i, ·)` with the centres of [`rkhs_centres`].
pub fn rkhs_function(gram: &dyn GramSource, n_centres: usize, weights: Weights, stream: &mut Stream) -> RkhsFunction {
    let mut values = vec![0.0; gram.n_points()];
    let centres = rkhs_centres(gram.n_points(), n_centres, weights, stream);
    gram.add_columns(&centres, &mut values);
    // a^T K a = Σ_i a_i f(x_i); rounding can leave a tiny negative number.
    let square: f64 = centres.iter().map(|&(centre, coefficient)| coefficient * values[centre]).sum();
    RkhsFunction { values, norm: libm::sqrt(square.max(0.0)) }
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
