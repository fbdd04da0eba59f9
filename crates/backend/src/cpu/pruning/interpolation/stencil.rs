//! Interpolates a block's means and posterior variances from grid nodes, vectorised in f32.

use pulp::{Simd, WithSimd};

/// Nodes per axis in the stencil of a point.
pub const STENCIL: usize = 8;

/// `prod (i - j)` over the other nodes j, for the upper node i of each pair in [`PAIRS`].
///
/// The lower node of the pair has the other sign.
pub const DENOMINATORS: [f32; STENCIL / 2] = [-144.0, 240.0, -720.0, 5040.0];

/// Distance from the stencil's middle of each pair of nodes symmetric about it, in grid steps.
pub const PAIRS: [f32; STENCIL / 2] = [0.5, 1.5, 2.5, 3.5];

/// Number of roundings of a weight.
///
/// Two differences and a product for each of three pairs, two more products, and the last difference, quotient and two
/// products. Cancellation occurs only in differences, which round once, so all errors are relative to the weight.
pub const WEIGHT_ROUNDINGS: usize = 15;

/// Values at the nodes, row-major with this stride, in f64 and rounded to f32.
#[derive(Clone, Copy)]
pub struct Nodes<'a> {
    pub values: &'a [f64],
    pub rounded: &'a [f32],
    pub stride: usize,
}

/// An interpolation over one block, vectorised over its points.
pub struct Interpolate<'a> {
    pub means: Nodes<'a>,
    /// Posterior variances, which may be slightly below 0.
    pub variances: Nodes<'a>,
    /// Index of the first node of the stencil.
    pub first: usize,
    /// Distances of the block's points from the stencil's middle along both axes, in grid steps.
    pub offsets: [&'a [f32]; 2],
    pub beta: f32,
    /// Term added to every variance, and the share of the stencil's largest variance added to it.
    pub added: f64,
    pub share: f64,
}

/// Result of [`Interpolate`].
#[derive(Debug, Clone, Copy)]
pub struct Interpolated {
    /// Largest score and largest posterior variance, with the terms added.
    pub score: f64,
    pub variance: f64,
    /// Largest magnitude of a mean at the nodes; not finite if a node is NaN or infinite.
    pub mean_size: f64,
}

/// Sums and products of numbers below this are finite in f32.
const LARGEST: f64 = 1e15;

impl WithSimd for Interpolate<'_> {
    type Output = Interpolated;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Interpolated {
        let Self { means, variances, first, offsets: [down, across], beta, added, share } = self;
        let (mean_size, variance_size) = (largest(simd, means, first), largest(simd, variances, first));
        // A SIMD `max` may drop a NaN; a sum keeps it.
        let known = mean_size + variance_size < LARGEST;
        if !known {
            return Interpolated { score: f64::INFINITY, variance: f64::INFINITY, mean_size: f64::INFINITY };
        }
        let added = simd.splat_f32s((added + share * variance_size) as f32);
        let (beta, zero) = (simd.splat_f32s(beta), simd.splat_f32s(0.0));
        let (mut best, mut most) = (simd.splat_f32s(f32::NEG_INFINITY), zero);
        for (&down, &across) in S::as_simd_f32s(down).0.iter().zip(S::as_simd_f32s(across).0) {
            let (down, across) = (weights(simd, down), weights(simd, across));
            let (mut mean, mut variance) = (zero, zero);
            for (i, &down) in down.iter().enumerate() {
                let (m, v) = (row(simd, means, first, i, &across), row(simd, variances, first, i, &across));
                mean = simd.mul_add_e_f32s(down, m, mean);
                variance = simd.mul_add_e_f32s(down, v, variance);
            }
            let square = simd.max_f32s(simd.add_f32s(variance, added), zero);
            most = simd.max_f32s(most, square);
            best = simd.max_f32s(best, simd.mul_add_e_f32s(beta, simd.sqrt_f32s(square), mean));
        }
        let (score, variance) = (simd.reduce_max_f32s(best), simd.reduce_max_f32s(most));
        Interpolated { score: f64::from(score), variance: f64::from(variance), mean_size }
    }
}

/// Returns `sum_j across_j node_ij` for row i of the stencil.
#[inline(always)]
fn row<S: Simd>(simd: S, nodes: Nodes<'_>, first: usize, i: usize, across: &[S::f32s; STENCIL]) -> S::f32s {
    let values = &nodes.rounded[first + i * nodes.stride..][..STENCIL];
    let mut sum = simd.mul_f32s(across[0], simd.splat_f32s(values[0]));
    for j in 1..STENCIL {
        sum = simd.mul_add_e_f32s(across[j], simd.splat_f32s(values[j]), sum);
    }
    sum
}

/// Returns the largest magnitude in the stencil; NaN or infinite if a node is.
#[inline(always)]
fn largest<S: Simd>(simd: S, nodes: Nodes<'_>, first: usize) -> f64 {
    let (mut most, mut sum) = (simd.splat_f64s(0.0), simd.splat_f64s(0.0));
    for i in 0..STENCIL {
        let values = &nodes.values[first + i * nodes.stride..][..STENCIL];
        for &values in S::as_simd_f64s(values).0 {
            let size = simd.abs_f64s(values);
            most = simd.max_f64s(most, size);
            sum = simd.add_f64s(sum, size);
        }
    }
    let sum = simd.reduce_sum_f64s(sum);
    if sum.is_finite() { simd.reduce_max_f64s(most) } else { sum }
}

/// Returns the nodes' weights for points at these distances from the stencil's middle, in steps.
#[inline(always)]
pub fn weights<S: Simd>(simd: S, s: S::f32s) -> [S::f32s; STENCIL] {
    let pairs = PAIRS.map(|pair| simd.splat_f32s(pair));
    let square = |pair: S::f32s| simd.mul_f32s(simd.sub_f32s(s, pair), simd.add_f32s(s, pair));
    let times = |a: S::f32s, b: S::f32s| simd.mul_f32s(a, b);
    let [a, b, c, d] = [square(pairs[0]), square(pairs[1]), square(pairs[2]), square(pairs[3])];
    let (inner, outer) = (times(a, b), times(c, d));
    let others = [times(b, outer), times(a, outer), times(inner, d), times(inner, c)];
    let mut weights = [s; STENCIL];
    for pair in 0..STENCIL / 2 {
        let weight = times(others[pair], simd.splat_f32s(1.0 / DENOMINATORS[pair]));
        weights[STENCIL / 2 + pair] = times(weight, simd.add_f32s(s, pairs[pair]));
        weights[STENCIL / 2 - 1 - pair] = times(weight, simd.sub_f32s(pairs[pair], s));
    }
    weights
}
