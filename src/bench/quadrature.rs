//! Quadrature Fourier features of the squared exponential in two dimensions.

use crate::gp::Points;
use crate::linalg::dot;
use crate::score::{FeatureTable, FourierForm};

/// Most nodes of a rule: the orthonormal polynomials of its outermost node stay far from overflow.
pub const MOST_NODES: usize = 128;

/// Nodes (ascending) and weights of the Gauss–Hermite rule with `count` nodes, for the weight `exp(-t²) / sqrt(pi)`: the
/// weights sum to 1. Nodes are the eigenvalues of the rule's tridiagonal matrix [Golub & Welsch 1969, Mathematics of
/// Computation 23], by bisection and two Newton steps; a weight is `1 / sum_k h_k(t)²` over the orthonormal polynomials.
#[must_use]
pub fn gauss_hermite(count: usize) -> Vec<(f64, f64)> {
    let bound = 1.0 + (2.0 * count as f64).sqrt();
    (0..count)
        .map(|index| {
            let (mut low, mut high) = (-bound, bound);
            for _ in 0..64 {
                let middle = 0.5 * (low + high);
                if eigenvalues_below(middle, count) <= index { low = middle } else { high = middle }
            }
            let mut node = 0.5 * (low + high);
            for _ in 0..2 {
                let values = orthonormal(node, count + 1);
                // h_n' = sqrt(2n) h_{n-1}
                node -= values[count] / ((2.0 * count as f64).sqrt() * values[count - 1]);
            }
            let values = orthonormal(node, count);
            (node, 1.0 / dot(&values, &values))
        })
        .collect()
}

/// Eigenvalues below `x` of the symmetric tridiagonal matrix with zero diagonal and off-diagonal `sqrt(k/2)`: the sign
/// changes of its leading minors.
fn eigenvalues_below(x: f64, count: usize) -> usize {
    let mut below = 0;
    let mut ratio = -x;
    for k in 0..count {
        if 0 < k {
            let divisor = if ratio == 0.0 { f64::EPSILON } else { ratio };
            ratio = -x - 0.5 * k as f64 / divisor;
        }
        below += usize::from(ratio < 0.0);
    }
    below
}

/// The first `count` Hermite polynomials at `t`, orthonormal for the weight `exp(-t²) / sqrt(pi)`.
fn orthonormal(t: f64, count: usize) -> Vec<f64> {
    let mut values = vec![1.0; count];
    for k in 1..count {
        let before = if k == 1 { 0.0 } else { values[k - 2] };
        values[k] = (t * values[k - 1] * 2f64.sqrt() - ((k - 1) as f64).sqrt() * before) / (k as f64).sqrt();
    }
    values
}

/// The features of every point: the `q x q` rule (`q` even) over the spectral density `N(0, lengthscale^-2 I)`, half of it by
/// symmetry: `q² / 2` cosines, then as many sines [Mutny & Krause 2018, NeurIPS 31].
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

/// Largest `|phi(x)·phi(x') - exp(-|x - x'|² / (2 lengthscale²))|` over all pairs of the first 400 points.
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
    use crate::rng::{Purpose, Streams};

    /// A rule with n nodes integrates polynomials of degree up to 2n - 1 exactly: E t^(2k) = (2k-1)!! / 2^k.
    #[test]
    fn moments_are_exact() {
        for n in [1usize, 2, 3, 8, 12, 31, 64, MOST_NODES] {
            let rule = gauss_hermite(n);
            assert!(rule.windows(2).all(|pair| pair[0].0 < pair[1].0), "{n}");
            let mut expected = 1.0;
            for k in 0..n.min(20) {
                let moment: f64 = rule.iter().map(|(t, w)| w * (0..2 * k).fold(1.0, |power, _| power * t)).sum();
                assert!((moment - expected).abs() < 1e-11 * expected, "{n} nodes, degree {}: {moment} {expected}", 2 * k);
                expected *= (2 * k + 1) as f64 / 2.0;
            }
        }
        let two = gauss_hermite(2);
        assert!((two[1].0 - 0.5f64.sqrt()).abs() < 1e-15 && (two[1].1 - 0.5).abs() < 1e-15);
    }

    #[test]
    fn features_reproduce_the_kernel() {
        let mut stream = Streams::new(1, "qff").shared(Purpose::Domain);
        let points = Points::random_uniform(2, 60, 0.0, 1.0, &mut stream);
        // Measured errors: 2e-4, 1e-8 and rounding.
        for (q, lengthscale, bound) in [(4, 0.5, 0.05), (8, 0.5, 2e-4), (12, 0.5, 1e-7), (12, 1.0, 1e-13)] {
            let table = quadrature_fourier(&points, q, lengthscale);
            assert_eq!(table.n_features, q * q);
            assert!(table.kernel_error < bound, "q {q}: {}", table.kernel_error);
        }
    }
}
