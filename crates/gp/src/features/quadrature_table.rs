//! Quadrature Fourier features of the squared exponential in two dimensions.

use crate::Points;
use crate::score::{FeatureTable, FourierForm};
use crate::special::gauss_hermite;
use privateer_numerics::linalg::dot;

/// Computes the features of every point: `q² / 2` cosines, then as many sines.
///
/// The `q x q` rule (`q` even) approximates the spectral density `N(0, lengthscale^-2 I)`; by symmetry half of it
/// suffices [Mutny & Krause 2018, NeurIPS 31].
#[must_use]
pub fn quadrature_fourier(points: &Points, q: usize, lengthscale: f64) -> FeatureTable {
    let rule = gauss_hermite(q);
    let scale = 2f64.sqrt() / lengthscale;
    let mut frequencies = Vec::with_capacity(q * q);
    let mut amplitudes = Vec::with_capacity(q * q / 2);
    for &(first, first_weight) in rule.iter().filter(|(node, _)| 0.0 < *node) {
        for &(second, second_weight) in &rule {
            frequencies.extend([scale * first, scale * second]);
            amplitudes.push((2.0 * first_weight * second_weight).sqrt());
        }
    }
    let (n_points, half) = (points.n_points(), amplitudes.len());
    let mut values = Vec::with_capacity(n_points * 2 * half);
    for point in 0..n_points {
        let x = points.point(point);
        let angles: Vec<f64> = frequencies.chunks_exact(2).map(|w| x[0] * w[0] + x[1] * w[1]).collect();
        values.extend(angles.iter().zip(&amplitudes).map(|(&t, a)| a * libm::cos(t)));
        values.extend(angles.iter().zip(&amplitudes).map(|(&t, a)| a * libm::sin(t)));
    }
    let form = FourierForm {
        dimension: 2,
        points: (0..n_points).flat_map(|i| points.point(i).iter().copied()).collect(),
        frequencies,
        amplitudes,
    };
    let residual = vec![0.0; n_points];
    let mut table = FeatureTable { n_points, n_features: 2 * half, values, residual, kernel_error: 0.0, form: Some(form) };
    table.kernel_error = kernel_error(&table, points, lengthscale);
    table
}

/// Returns the largest kernel error over all pairs of the first 400 points.
///
/// The error is `|phi(x)·phi(x') - exp(-|x - x'|² / (2 lengthscale²))|`.
#[must_use]
pub fn kernel_error(table: &FeatureTable, points: &Points, lengthscale: f64) -> f64 {
    let k = table.n_points.min(400);
    let mut largest = 0.0f64;
    for a in 0..k {
        for b in 0..=a {
            let square: f64 = points.point(a).iter().zip(points.point(b)).map(|(x, y)| (x - y) * (x - y)).sum();
            let kernel = libm::exp(-0.5 * square / (lengthscale * lengthscale));
            largest = largest.max((dot(table.row(a), table.row(b)) - kernel).abs());
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_numerics::rng::{Purpose, Streams};

    #[test]
    fn features_reproduce_the_kernel() {
        let mut stream = Streams::new(1, "qff").shared(Purpose::Domain);
        let points = Points::random_in(&[(0.0, 1.0); 2], 60, &mut stream);
        // Measured errors: 2e-4, 1e-8 and rounding.
        for (q, lengthscale, bound) in [(4, 0.5, 0.05), (8, 0.5, 2e-4), (12, 0.5, 1e-7), (12, 1.0, 1e-13)] {
            let table = quadrature_fourier(&points, q, lengthscale);
            assert_eq!(table.n_features, q * q);
            assert!(table.kernel_error < bound, "q {q}: {}", table.kernel_error);
        }
    }
}
