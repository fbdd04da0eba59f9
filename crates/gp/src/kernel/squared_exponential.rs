//! The squared exponential kernel.

use super::radial::{self, Radial};
use super::{Kernel, Lengthscales, PlaneSums};
use crate::Points;
use crate::score::{KernelFamily, KernelForm};
use crate::special::gauss_hermite;
use privateer_config::params::Args;
use privateer_numerics::linalg::exp_of_block;
use privateer_numerics::rng::Stream;
use std::f64::consts::FRAC_PI_2;
use std::ops::Range;
use std::sync::Arc;

/// The kernel `k(a, b) = variance · exp(-r²/2)`, `r² = Σ_i ((a_i - b_i) / l_i)²`.
#[derive(Debug, Clone, PartialEq)]
pub struct SquaredExponential {
    lengthscales: Lengthscales,
    variance: f64,
}

impl SquaredExponential {
    /// Creates the kernel with these length-scales and `k(x, x) = variance` > 0.
    pub fn new(lengthscales: Lengthscales, variance: f64) -> Self {
        Self { lengthscales, variance }
    }
}

/// Reads `lengthscale` or `lengthscales`, and `variance`.
pub fn parse(args: &Args<'_>) -> Arc<dyn Kernel> {
    let lengthscales = Lengthscales::parse(args);
    let variance = args.number("variance", "prior variance k(x, x) of the function").above(0.0).or(1.0);
    args.finish();
    Arc::new(SquaredExponential::new(lengthscales, variance))
}

impl Kernel for SquaredExponential {
    fn value(&self, a: &[f64], b: &[f64]) -> f64 {
        self.variance * libm::exp(-0.5 * self.lengthscales.squared_distance(a, b))
    }

    fn values(&self, a: &[f64], many: &[f64], out: &mut [f64]) {
        radial::values(self, &self.lengthscales, a, many, out);
    }

    fn plane_sums(&self, points: &Points) -> Option<PlaneSums> {
        PlaneSums::over(&self.lengthscales, self.variance, points)
    }

    fn dimension(&self) -> Option<usize> {
        self.lengthscales.dimension()
    }

    fn variance(&self) -> Option<f64> {
        Some(self.variance)
    }

    fn form(&self, points: &Points) -> Option<KernelForm> {
        Some(KernelForm {
            family: KernelFamily::SquaredExponential,
            scale: self.variance,
            offset: 0.0,
            row_term: 0.0,
            dimension: points.dimension(),
            points: self.lengthscales.scaled(points),
        })
    }

    /// Returns `E exp(-|u - v|²/2l²)` over `u - v = (z_a - z_b) + N(0, 2 sigma²)`.
    ///
    /// It has length-scale² `l² + 2 sigma²` and a factor `(1 + 2 sigma²/l²)^{-1/2}` per coordinate [replaces the formula
    /// of Kharkovskii2020; Girard 2003 for noisy inputs].
    fn under_input_noise(&self, noise_variance: f64, dimension: usize) -> Option<Arc<dyn Kernel>> {
        let wide = |l: f64| libm::sqrt(l * l + 2.0 * noise_variance);
        let shrink = (0..dimension).map(|i| self.lengthscales.of(i)).map(|l| l / wide(l)).product::<f64>();
        let lengthscales = match &self.lengthscales {
            Lengthscales::Isotropic(l) => Lengthscales::Isotropic(wide(*l)),
            Lengthscales::PerDimension(scales) => Lengthscales::PerDimension(scales.iter().map(|&l| wide(l)).collect()),
        };
        Some(Arc::new(Self::new(lengthscales, self.variance * shrink)))
    }

    /// Draws normal frequencies of standard deviation `1/l_i`, one word per coordinate.
    fn sample_frequency(&self, dimension: usize, stream: &mut Stream) -> Option<Vec<f64>> {
        Some((0..dimension).map(|i| stream.normal() / self.lengthscales.of(i)).collect())
    }

    /// Returns one factor per coordinate; the first carries the variance.
    fn axis_factors(&self, dimension: usize) -> Option<Vec<Arc<dyn Kernel>>> {
        let factor = |i: usize| -> Arc<dyn Kernel> {
            let variance = if i == 0 { self.variance } else { 1.0 };
            Arc::new(Self::new(Lengthscales::Isotropic(self.lengthscales.of(i)), variance))
        };
        Some((0..dimension).map(factor).collect())
    }

    /// Returns the Gauss–Hermite rule of the normal density of standard deviation `1/l`.
    ///
    /// Frequencies are `sqrt(2) t / l`, weights `w / sqrt(pi)`.
    fn spectral_rule(&self, nodes: usize) -> Option<Vec<(f64, f64)>> {
        let scale = libm::sqrt(2.0) / self.lengthscales.of(0);
        Some(gauss_hermite(nodes).into_iter().map(|(t, weight)| (scale * t, weight)).collect())
    }

    /// Returns `sqrt(pi/2) (e / (4 n v²))^n` for n nodes, `v = l / extent`.
    ///
    /// Source: [Dubey2021, Theorem 2, d = 1].
    fn spectral_bound(&self, nodes: usize, extent: f64) -> Option<f64> {
        let (n, v) = (nodes as f64, self.lengthscales.of(0) / extent);
        Some(libm::sqrt(FRAC_PI_2) * libm::exp(n * (1.0 - libm::log(4.0 * n * v * v))))
    }

    fn on_coordinates(&self, coordinates: Range<usize>) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self::new(self.lengthscales.of_range(coordinates), self.variance)))
    }
}

impl Radial for SquaredExponential {
    #[inline(always)]
    fn of_block(&self, block: &mut [f64]) {
        block.iter_mut().for_each(|square| *square *= -0.5);
        exp_of_block(block);
        block.iter_mut().for_each(|value| *value *= self.variance);
    }
}
