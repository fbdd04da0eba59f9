//! Implements the laws of noise vectors.

use super::VectorNoise;
use crate::planted::{self, PlantedFault};
use privateer_numerics::linalg::{Norm, Power};
use privateer_numerics::rng::Stream;

/// Adds no noise and draws nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoNoise;

impl VectorNoise for NoNoise {
    fn draw(&mut self, _stream: &mut Stream, out: &mut [f64]) {
        out.fill(0.0);
    }
}

/// Draws independent normals of standard deviation `sigma`.
#[derive(Debug, Clone, Copy)]
pub struct IsotropicGaussian {
    /// Standard deviation of every entry.
    pub sigma: f64,
}

impl VectorNoise for IsotropicGaussian {
    fn draw(&mut self, stream: &mut Stream, out: &mut [f64]) {
        self.draw_rows(&mut [stream], out);
    }

    fn draw_rows(&mut self, streams: &mut [&mut Stream], out: &mut [f64]) {
        Stream::normals_of_each(streams, out);
        let sigma = self.sigma * planted::noise_share(PlantedFault::GradientGaussianNoise);
        out.iter_mut().for_each(|entry| *entry *= sigma);
    }
}

/// Draws independent Laplace entries.
#[derive(Debug, Clone, Copy)]
pub struct LaplaceVector {
    /// Scale of every entry; the variance is twice its square.
    pub scale: f64,
}

impl VectorNoise for LaplaceVector {
    fn draw(&mut self, stream: &mut Stream, out: &mut [f64]) {
        let scale = self.scale * planted::noise_share(PlantedFault::VertexLaplaceNoise);
        stream.laplaces(scale, out);
    }
}

/// Draws generalised Gaussian noise, of density proportional to `exp(-|z|_+² / (2 sigma²))`.
/// `|z|_+ = multiplier |z|_e`. The squared radius is Gamma(n/2, scale 2 sigma²); the direction is uniform under the cone
/// measure of the l_e sphere: independent `+-g^(1/e)` with g of Gamma(1/e, 1), normalised [Han2022, algorithm 4, lemma 3.1 with
/// its scale corrected, erratum E23, `docs/privacy.md`]. For e = 2 the entries are drawn as normals.
#[derive(Debug, Clone, Copy)]
pub struct GeneralizedGaussian {
    exponent: f64,
    multiplier: f64,
    sigma: f64,
}

impl GeneralizedGaussian {
    /// Makes the law; `exponent > 0` (a norm from 1 on), `multiplier > 0`, `sigma >= 0`.
    pub fn new(exponent: f64, multiplier: f64, sigma: f64) -> Self {
        Self { exponent, multiplier, sigma }
    }

    /// Scales a direction to `|out|_+ = radius`; a zero direction stays zero.
    pub fn scale(&self, radius: f64, out: &mut [f64]) {
        let size = self.multiplier * self.size(out);
        if 0.0 < size {
            out.iter_mut().for_each(|entry| *entry *= radius / size);
        }
    }

    /// Returns `(sum |z_i|^e)^(1/e)`, also for exponents below 1, where it is not a norm.
    fn size(&self, z: &[f64]) -> f64 {
        match Norm::of(self.exponent) {
            Some(norm) => norm.size(z),
            None => {
                let power = Power::of(self.exponent);
                libm::pow(z.iter().map(|z| power.apply(z.abs())).sum(), 1.0 / self.exponent)
            }
        }
    }
}

impl VectorNoise for GeneralizedGaussian {
    fn draw(&mut self, stream: &mut Stream, out: &mut [f64]) {
        if self.exponent == 2.0 {
            return IsotropicGaussian { sigma: self.sigma / self.multiplier }.draw(stream, out);
        }
        stream.generalized_normals(self.exponent, out);
        let sigma = self.sigma * planted::noise_share(PlantedFault::GradientGeneralizedNoise);
        let radius = sigma * libm::sqrt(2.0 * stream.gamma(0.5 * out.len() as f64));
        self.scale(radius, out);
    }
}
