//! The Matern kernel of any smoothness.

use super::radial::{self, BLOCK, Radial};
use super::{Kernel, Lengthscales};
use crate::Points;
use crate::score::{KernelFamily, KernelForm};
use crate::special::{BesselK, gauss_gegenbauer};
use privateer_config::params::Args;
use privateer_numerics::linalg::exp_of_block;
use privateer_numerics::rng::Stream;
use std::ops::Range;
use std::sync::Arc;

/// The Matern kernel [Rasmussen & Williams 2006, eq. 4.14].
///
/// `k(a, b) = variance · 2^(1-nu)/Gamma(nu) · z^nu · K_nu(z)`, `z = sqrt(2 nu) r`, `r² = Σ_i ((a_i - b_i) / l_i)²`. As nu
/// grows it tends to the squared exponential of the same length-scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Matern {
    nu: f64,
    form: MaternForm,
    lengthscales: Lengthscales,
    variance: f64,
}

/// The formula of the correlation.
#[derive(Debug, Clone, PartialEq)]
enum MaternForm {
    /// nu = 1/2: exp(-z)
    Half,
    /// nu = 3/2: (1 + z) exp(-z)
    ThreeHalves,
    /// nu = 5/2: (1 + z + z²/3) exp(-z)
    FiveHalves,
    General(BesselK),
}

impl Matern {
    /// Creates the kernel, with smoothness `0 < nu <= 1000` and `k(x, x) = variance` > 0.
    pub fn new(nu: f64, lengthscales: Lengthscales, variance: f64) -> Self {
        let form = if nu == 0.5 {
            MaternForm::Half
        } else if nu == 1.5 {
            MaternForm::ThreeHalves
        } else if nu == 2.5 {
            MaternForm::FiveHalves
        } else {
            MaternForm::General(BesselK::new(nu))
        };
        Self { nu, form, lengthscales, variance }
    }
}

/// Reads `nu`, `lengthscale` or `lengthscales`, and `variance`.
pub fn parse(args: &Args<'_>) -> Arc<dyn Kernel> {
    let nu = args
        .number("nu", "smoothness: samples are differentiable less than `nu` times")
        .above(0.0)
        .at_most(BesselK::HIGHEST_ORDER)
        .or(2.5);
    let lengthscales = Lengthscales::parse(args);
    let variance = args.number("variance", "prior variance k(x, x) of the function").above(0.0).or(1.0);
    args.finish();
    Arc::new(Matern::new(nu, lengthscales, variance))
}

/// Returns `sqrt(2 nu) r` of `r²`, at most 10⁶.
///
/// For far points `exp(-z)` is zero; the cap keeps the polynomial from giving infinity times zero.
#[inline(always)]
fn distance(nu: f64, square: f64) -> f64 {
    (2.0 * nu * square).sqrt().min(1e6)
}

impl Radial for Matern {
    #[inline(always)]
    fn of_block(&self, block: &mut [f64]) {
        block.iter_mut().for_each(|square| *square = distance(self.nu, *square));
        if let MaternForm::General(bessel) = &self.form {
            return block.iter_mut().for_each(|z| *z = self.variance * bessel.matern(*z));
        }
        let mut decay = [0.0; BLOCK];
        let decay = &mut decay[..block.len()];
        decay.iter_mut().zip(&*block).for_each(|(decay, z)| *decay = -z);
        exp_of_block(decay);
        match &self.form {
            MaternForm::Half | MaternForm::General(_) => block.fill(1.0),
            MaternForm::ThreeHalves => block.iter_mut().for_each(|z| *z += 1.0),
            MaternForm::FiveHalves => block.iter_mut().for_each(|z| *z = 1.0 + *z + *z * *z / 3.0),
        }
        block.iter_mut().zip(&*decay).for_each(|(value, decay)| *value = self.variance * (*value * decay));
    }
}

impl Kernel for Matern {
    fn value(&self, a: &[f64], b: &[f64]) -> f64 {
        let z = distance(self.nu, self.lengthscales.squared_distance(a, b));
        let correlation = match &self.form {
            MaternForm::Half => libm::exp(-z),
            MaternForm::ThreeHalves => (1.0 + z) * libm::exp(-z),
            MaternForm::FiveHalves => (1.0 + z + z * z / 3.0) * libm::exp(-z),
            MaternForm::General(bessel) => bessel.matern(z),
        };
        self.variance * correlation
    }

    fn values(&self, a: &[f64], many: &[f64], out: &mut [f64]) {
        radial::values(self, &self.lengthscales, a, many, out);
    }

    fn dimension(&self) -> Option<usize> {
        self.lengthscales.dimension()
    }

    fn variance(&self) -> Option<f64> {
        Some(self.variance)
    }

    fn form(&self, points: &Points) -> Option<KernelForm> {
        let family = match self.form {
            MaternForm::Half => KernelFamily::MaternHalf,
            MaternForm::ThreeHalves => KernelFamily::MaternThreeHalves,
            MaternForm::FiveHalves => KernelFamily::MaternFiveHalves,
            MaternForm::General(_) => return None,
        };
        Some(KernelForm {
            family,
            scale: self.variance,
            offset: 0.0,
            row_term: 0.0,
            dimension: points.dimension(),
            points: self.lengthscales.scaled(points),
        })
    }

    /// Draws multivariate Student's t with `2 nu` degrees of freedom, divided by `l_i`.
    ///
    /// The spectral density is proportional to `(2 nu + |l w|²)^-(nu + d/2)` [Rasmussen & Williams 2006, eq. 4.15]. The
    /// chi-square is drawn last and uses a varying number of words.
    fn sample_frequency(&self, dimension: usize, stream: &mut Stream) -> Option<Vec<f64>> {
        let mut frequency: Vec<f64> = (0..dimension).map(|i| stream.normal() / self.lengthscales.of(i)).collect();
        // chi²_{2 nu} = 2 Gamma(nu), so sqrt(2 nu / chi²) = sqrt(nu / Gamma(nu)).
        let stretch = libm::sqrt(self.nu / stream.gamma(self.nu));
        frequency.iter_mut().for_each(|w| *w *= stretch);
        Some(frequency)
    }

    /// Returns one-dimensional Matern kernels; the first carries the variance.
    ///
    /// Their product is the modified form, whose spectral density is the product over coordinates. In one dimension it is
    /// this kernel; in more dimensions it has the same smoothness along every axis.
    fn spectral_factors(&self, dimension: usize) -> Option<Vec<Arc<dyn Kernel>>> {
        let factor = |i: usize| -> Arc<dyn Kernel> {
            let variance = if i == 0 { self.variance } else { 1.0 };
            Arc::new(Self { lengthscales: Lengthscales::Isotropic(self.lengthscales.of(i)), variance, ..self.clone() })
        };
        Some((0..dimension).map(factor).collect())
    }

    /// Returns the Gauss rule of the weight `(1 - s²)^(nu - 1)` on (-1, 1).
    ///
    /// With `f = sqrt(2 nu)/l · s/sqrt(1 - s²)` the spectral density, Student's t, becomes this weight. The heavy tails
    /// of the density make the error fall like a power of the number of nodes.
    fn spectral_rule(&self, nodes: usize) -> Option<Vec<(f64, f64)>> {
        let scale = libm::sqrt(2.0 * self.nu) / self.lengthscales.of(0);
        let frequency = |s: f64| scale * s / libm::sqrt((1.0 - s) * (1.0 + s));
        Some(gauss_gegenbauer(self.nu, nodes).into_iter().map(|(s, weight)| (frequency(s), weight)).collect())
    }

    fn axis_factors(&self, dimension: usize) -> Option<Vec<Arc<dyn Kernel>>> {
        if dimension == 1 { self.spectral_factors(1) } else { None }
    }

    fn on_coordinates(&self, coordinates: Range<usize>) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { lengthscales: self.lengthscales.of_range(coordinates), ..self.clone() }))
    }
}
