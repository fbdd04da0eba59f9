//! Rounds values to a grid, the multiples of a power of two, before noise is added.
//!
//! Rounding moves each of two neighbours by at most half a step in every coordinate; the sensitivity is raised by that amount.

use super::{Entropy, GREATEST_SCALE, GREATEST_SIGMA, ReleaseError, SamplerLaw, discrete};
use crate::planted::{self, PlantedFault};
use serde::{Deserialize, Serialize};

/// A step `2^k`, and the noise as a whole number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Grid {
    pub(crate) step: f64,
    /// Standard deviation or scale of the noise in steps.
    pub(crate) noise: u64,
}

/// Number of steps up to which f64 holds integers exactly, with a margin.
pub(crate) const MOST_STEPS: f64 = 9e15;

/// Relative margin for rounding errors and for the discrete Gaussian.
/// It covers the rounding of sums of squares and of the calibration, and the difference between the deltas of the discrete and
/// the continuous Gaussian at more than 2^10 steps.
const ROOM: f64 = 1.0 + 1e-6;

impl Grid {
    /// Makes a grid on which the noise has between `2^bits` and `2^(bits + 1)` steps.
    ///
    /// The noise is `distance · per_unit`, after raising the sensitivity `distance` by `rounding` steps.
    pub(crate) fn new(distance: f64, per_unit: f64, rounding: f64, bits: i32) -> Result<Self, ReleaseError> {
        let plain = distance * per_unit;
        if !(1e-150..1e150).contains(&plain) || !(1e-150..1e150).contains(&distance) {
            return Err(ReleaseError::Range(format!("noise of size {plain:e} at distance {distance:e}")));
        }
        let step = libm::exp2(libm::floor(libm::log2(plain)) - f64::from(bits));
        let rounding = if planted::is(PlantedFault::GridRounding) { 0.0 } else { rounding };
        let noise = (distance + rounding * step) * per_unit * ROOM / step;
        // The conversion is exact: the number is far below 2^53.
        Ok(Self { step, noise: noise.ceil() as u64 })
    }

    /// Makes the grid for Laplace noise of this scale on a number within [lo, hi]; any two such numbers are neighbours.
    pub(crate) fn laplace((lo, hi): (f64, f64), scale: f64) -> Result<Self, ReleaseError> {
        // scale + g scale/(hi - lo): rounding moves each of two neighbours by at most g/2.
        let grid = Self::new(hi - lo, scale / (hi - lo), 1.0, 24)?;
        let far = lo.abs().max(hi.abs()) / grid.step;
        if GREATEST_SCALE < grid.noise || MOST_STEPS < far {
            return Err(ReleaseError::Range(format!("Laplace noise of scale {scale} on the clip range [{lo}, {hi}]")));
        }
        Ok(grid)
    }

    /// Makes the grid for Gaussian noise of this size on a number that moves by at most `distance`.
    pub(crate) fn gaussian(distance: f64, sigma: f64) -> Result<Self, ReleaseError> {
        let grid = Self::new(distance, sigma / distance, 1.0, 19)?;
        if GREATEST_SIGMA < grid.noise {
            return Err(ReleaseError::Range(format!("Gaussian noise of size {sigma} at distance {distance}")));
        }
        Ok(grid)
    }

    /// Returns the size of the noise in units of the value: standard deviation or scale.
    pub(crate) fn size(self) -> f64 {
        self.noise as f64 * self.step
    }

    /// Rounds a value and adds discrete Laplace noise.
    pub(crate) fn add_laplace(self, value: f64, entropy: &mut Entropy) -> f64 {
        self.value(self.steps(value) + discrete::laplace(self.laplace_scale(), entropy))
    }

    /// Rounds a value and adds discrete Gaussian noise.
    pub(crate) fn add_gaussian(self, value: f64, entropy: &mut Entropy) -> f64 {
        self.value(self.steps(value) + self.gaussian_steps(entropy))
    }

    /// Draws discrete Gaussian noise, in steps.
    pub(crate) fn gaussian_steps(self, entropy: &mut Entropy) -> i64 {
        discrete::gaussian(self.gaussian_sigma(), entropy)
    }

    pub(crate) fn laplace_law(self) -> SamplerLaw {
        SamplerLaw::Laplace { scale: self.laplace_scale(), step: self.step }
    }

    pub(crate) fn gaussian_law(self) -> SamplerLaw {
        SamplerLaw::Gaussian { sigma: self.gaussian_sigma(), step: self.step }
    }

    /// Returns the scale that the Laplace sampler is given, in steps.
    pub(crate) fn laplace_scale(self) -> u64 {
        self.drawn(1.0)
    }

    /// Returns the standard deviation that the Gaussian sampler is given, in steps.
    pub(crate) fn gaussian_sigma(self) -> u64 {
        self.drawn(planted::noise_share(PlantedFault::ExactGaussianNoise))
    }

    /// Returns a share of the noise in steps; a planted fault leaves 97 % of it.
    fn drawn(self, share: f64) -> u64 {
        let share = if planted::is(PlantedFault::SmallNoise) { 0.97 * share } else { share };
        // Exact without a fault: the number is far below 2^53.
        (self.noise as f64 * share) as u64
    }

    /// Returns the nearest multiple of the step, in steps.
    pub(crate) fn steps(self, value: f64) -> i64 {
        // Division by a power of two is exact.
        (value / self.step).round() as i64
    }

    /// Converts steps to units of the value.
    pub(crate) fn value(self, steps: i64) -> f64 {
        steps as f64 * self.step
    }
}
