//! Rounds values to a grid, the multiples of a power of two, before noise is added.
//!
//! Rounding moves each of two neighbours by at most half a step in every coordinate; the sensitivity is raised by that amount.

use super::{ReleaseError, SamplerLaw};
use crate::planted::{self, PlantedFault};

/// A step `2^k`, and the noise as a whole number of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grid {
    pub(crate) step: f64,
    /// Standard deviation or scale of the noise in steps.
    pub(crate) noise: u64,
}

/// Relative margin for rounding errors and for the discrete Gaussian.
/// It covers the rounding of sums of squares and of the calibration, and the difference between the deltas of the discrete and
/// the continuous Gaussian at more than 2^10 steps.
const ROOM: f64 = 1.0 + 1e-6;

impl Grid {
    /// Makes a grid on which the noise has between `2^bits` and `2^(bits + 1)` steps.
    ///
    /// The noise is `distance · per_unit`, after raising the sensitivity `distance` by `rounding` steps.
    ///
    /// # Errors
    /// Sizes that are not normal f64 numbers, or too far from 1 for exact arithmetic.
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

    /// Returns the law of discrete Laplace noise on this grid.
    pub(crate) fn laplace_law(self) -> SamplerLaw {
        SamplerLaw::Laplace { scale: self.laplace_scale(), step: self.step }
    }

    /// Returns the law of discrete Gaussian noise on this grid.
    pub(crate) fn gaussian_law(self) -> SamplerLaw {
        SamplerLaw::Gaussian { sigma: self.gaussian_sigma(), step: self.step }
    }

    /// Returns the scale that the Laplace sampler is given, in steps.
    pub(crate) fn laplace_scale(self) -> u64 {
        self.drawn(PlantedFault::ReleasedLaplaceNoise, PlantedFault::ReleasedLaplaceSmall)
    }

    /// Returns the standard deviation that the Gaussian sampler is given, in steps.
    pub(crate) fn gaussian_sigma(self) -> u64 {
        self.drawn(PlantedFault::ReleasedGaussianNoise, PlantedFault::ReleasedGaussianSmall)
    }

    /// Returns the noise in steps; the planted faults leave half of it, or 97 %.
    fn drawn(self, half: PlantedFault, small: PlantedFault) -> u64 {
        let share = if planted::is(small) { 0.97 } else { planted::noise_share(half) };
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

/// Clips a vector to L2 norm `radius`.
///
/// # Errors
/// A wrong length, or an entry that is not finite: refused before the clip, because a clip would pass NaN on.
pub(crate) fn clipped(mut vector: Vec<f64>, dimension: usize, radius: f64) -> Result<Vec<f64>, ReleaseError> {
    if vector.len() != dimension {
        return Err(ReleaseError::Length { expected: dimension });
    }
    if vector.iter().any(|entry| !entry.is_finite()) {
        return Err(ReleaseError::NotFinite);
    }
    // Divides by the largest entry first, so that no square overflows.
    let largest = vector.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    if 0.0 < largest {
        let shape: f64 = vector.iter().map(|entry| (entry / largest) * (entry / largest)).sum();
        let shrink = radius / largest / libm::sqrt(shape);
        if shrink < 1.0 && !planted::is(PlantedFault::ReleasedVectorClip) {
            vector.iter_mut().for_each(|entry| *entry *= shrink);
        }
    }
    Ok(vector)
}
