//! The error of features against their kernel, measured over pairs of points.

use crate::Points;
use crate::kernel::Kernel;
use crate::score::{FeatureTable, GramSource};
use privateer_numerics::linalg::{dot, dot_depth, dot_rows};

/// Number of pairs over which the error of a kernel is measured.
pub const MEASURED_PAIRS: usize = 512;

/// Returns the largest error over all pairs, or over a fixed selection if there are many.
///
/// The selection is a two-dimensional low-discrepancy sequence.
pub fn measured_error(table: &FeatureTable, points: &Points, kernel: &dyn Kernel) -> f64 {
    let n = table.n_points;
    let error = |a: usize, b: usize| (dot(&table.row(a), &table.row(b)) - kernel.value(points.point(a), points.point(b))).abs();
    if n * n <= MEASURED_PAIRS {
        return (0..n * n).map(|at| error(at / n, at % n)).fold(0.0, f64::max);
    }
    // Multiples of 1/p and 1/p², p³ = p + 1 (the plastic number), modulo 1, cover the square of pairs evenly.
    let index = |pair: usize, step: f64| {
        let turns = (pair as f64 + 0.5) * step;
        (((turns - libm::floor(turns)) * n as f64) as usize).min(n - 1)
    };
    let pairs = (0..MEASURED_PAIRS).map(|pair| (index(pair, 0.754_877_666_246_692_7), index(pair, 0.569_840_290_998_053_2)));
    pairs.map(|(a, b)| error(a, b)).fold(0.0, f64::max)
}

/// Bounds the error of all pairs of points against the entries of a covariance.
///
/// O(n_points² · n_features) time, half of a whole product. The result counts the rounding of the products.
pub fn largest_error(table: &FeatureTable, gram: &dyn GramSource) -> f64 {
    let (mut products, mut entries) = (vec![0.0; BLOCK], vec![0.0; BLOCK]);
    let (mut largest, mut norm) = (0.0_f64, 0.0_f64);
    for first in (0..table.n_points).step_by(BLOCK) {
        for point in 0..table.n_points.min(first + BLOCK) {
            // Entries before the point were compared with its own column.
            let from = first.max(point);
            let n = BLOCK.min(table.n_points - first) - (from - first);
            dot_rows(&table.row(point), |other| table.row(from + other), &mut products[..n]);
            gram.column(point, from, &mut entries[..n]);
            let apart = |largest: f64, (product, entry): (&f64, &f64)| {
                let error = (product - entry).abs();
                largest.max(if error.is_nan() { f64::INFINITY } else { error })
            };
            largest = products[..n].iter().zip(&entries[..n]).fold(largest, apart);
            if from == point {
                largest = largest.max((products[0] - gram.diagonal(point)).abs());
                norm = norm.max(products[0]);
            }
        }
    }
    largest + 0.5 * f64::EPSILON * (dot_depth(table.n_features) + 2.0) * norm
}

/// Points whose features stay in a cache.
const BLOCK: usize = 256;
