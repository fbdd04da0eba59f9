//! The error of features against their kernel, measured over pairs of points.

use crate::Points;
use crate::kernel::Kernel;
use crate::score::FeatureTable;
use privateer_numerics::linalg::dot;

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
