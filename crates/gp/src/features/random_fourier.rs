//! Random Fourier features.

use super::measured_error;
use crate::Points;
use crate::kernel::Kernel;
use crate::score::{FeatureTable, FourierForm, GridFeatures};
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;

/// The number of frequencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomFourier {
    /// Number of frequencies: half the number of features.
    pub frequencies: usize,
}

/// Reads `features`, the number of frequencies.
pub fn parse(args: &Args<'_>) -> RandomFourier {
    let count = args.count("features", "number of frequencies; each gives a cosine and a sine").between(1, 65_536).or(200);
    args.finish();
    RandomFourier { frequencies: count as usize }
}

/// Draws `count` frequencies from the kernel's spectral density, `count x dimension` row-major.
///
/// `None` if the kernel has no spectral density.
pub fn draw_frequencies(kernel: &dyn Kernel, dimension: usize, count: usize, stream: &mut Stream) -> Option<Vec<f64>> {
    let mut frequencies = Vec::with_capacity(count * dimension);
    for _ in 0..count {
        frequencies.extend(kernel.sample_frequency(dimension, stream)?);
    }
    Some(frequencies)
}

/// Computes random Fourier features [Rahimi & Recht 2007].
///
/// `phi(x) = sqrt(variance/m) [cos(w_1·x), …, cos(w_m·x), sin(w_1·x), …, sin(w_m·x)]`, so `|phi(x)|² = variance`
/// everywhere and the residual is zero. A large table over a grid is not stored ([`GridFeatures`]).
/// * `frequencies` — `m x d` row-major, `d` the dimension of the points
/// * `kernel` — the approximated kernel: `kernel_error` is the largest error over up to [`super::MEASURED_PAIRS`] pairs
///   of points, which depend only on the number of points; without a kernel it is 0 and has no meaning
pub fn random_fourier(points: &Points, frequencies: &[f64], variance: f64, kernel: Option<&dyn Kernel>) -> FeatureTable {
    let m = frequencies.len() / points.dimension();
    let n_points = points.n_points();
    let amplitude = libm::sqrt(variance / m as f64);
    let mut form = FourierForm {
        dimension: points.dimension(),
        points: points.coordinates().as_slice().into(),
        frequencies: frequencies.to_vec(),
        amplitudes: vec![amplitude; m],
        grid: None,
    };
    form.grid = GridFeatures::of_large(&form);
    let n_stored = if form.grid.is_some() { 0 } else { n_points };
    let mut values = Vec::with_capacity(2 * m * n_stored);
    for point in 0..n_stored {
        let angle = |w: &[f64]| w.iter().zip(points.point(point)).map(|(w, x)| w * x).sum::<f64>();
        let angles: Vec<f64> = frequencies.chunks_exact(points.dimension()).map(angle).collect();
        values.extend(angles.iter().map(|&t| amplitude * libm::cos(t)));
        values.extend(angles.iter().map(|&t| amplitude * libm::sin(t)));
    }
    let mut table =
        FeatureTable { n_points, n_features: 2 * m, values, residual: vec![0.0; n_points], kernel_error: 0.0, form: Some(form) };
    if let Some(kernel) = kernel {
        table.kernel_error = measured_error(&table, points, kernel);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Lengthscales, linear::LinearKernel, matern::Matern, squared_exponential::SquaredExponential};
    use privateer_numerics::linalg::dot;
    use privateer_numerics::rng::{Purpose, Streams};

    fn kernels() -> Vec<Box<dyn Kernel>> {
        vec![
            Box::new(SquaredExponential::new(Lengthscales::Isotropic(0.3), 2.0)),
            Box::new(SquaredExponential::new(Lengthscales::PerDimension(vec![0.3, 1.2]), 1.0)),
            Box::new(Matern::new(0.5, Lengthscales::Isotropic(0.4), 1.0)),
            Box::new(Matern::new(2.5, Lengthscales::PerDimension(vec![0.5, 0.2]), 1.0)),
            Box::new(Matern::new(0.3, Lengthscales::Isotropic(0.4), 1.0)),
        ]
    }

    /// Checks that the error falls with the number of frequencies.
    ///
    /// The error of a pair is a mean of m terms within ±variance. By Hoeffding's inequality, 6 sqrt(2/m) is exceeded with
    /// probability below 2 exp(-36) per pair, and the seed is fixed.
    #[test]
    fn the_error_shrinks_with_the_number_of_frequencies() {
        for kernel in kernels() {
            let variance = kernel.variance().expect("stationary");
            let mut stream = Streams::new(5, "rff").shared(Purpose::Features);
            let points = Points::random_in(&[(0.0, 1.0); 2], 60, &mut stream);
            let mut error = |m: usize| {
                let w = draw_frequencies(&*kernel, 2, m, &mut stream).expect("has a spectral density");
                let table = random_fourier(&points, &w, variance, Some(&*kernel));
                assert!((dot(&table.row(3), &table.row(3)) - variance).abs() < 1e-12 * variance);
                table.kernel_error
            };
            let (few, many) = (error(30), error(10_000));
            assert!(many < 6.0 * variance * libm::sqrt(2.0 / 10_000.0) && many < 0.5 * few, "{kernel:?}: {few} {many}");
        }
    }

    #[test]
    fn frequencies_of_no_spectral_density_and_of_tiny_smoothness() {
        let mut stream = Streams::new(5, "rff").shared(Purpose::Features);
        assert_eq!(draw_frequencies(&LinearKernel::new(1.0, 0.0), 2, 3, &mut stream), None);
        let rough = Matern::new(1e-3, Lengthscales::Isotropic(1.0), 1.0);
        let w = draw_frequencies(&rough, 2, 500, &mut stream).expect("has a spectral density");
        let table = random_fourier(&Points::grid(2, 3, 0.0, 1.0), &w, 1.0, Some(&rough));
        assert!(table.values.iter().all(|v| v.is_finite()));
        assert!(table.kernel_error.is_finite());
    }
}
