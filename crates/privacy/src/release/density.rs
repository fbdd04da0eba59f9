//! Releases the piecewise density (Wang2019), and its mixture with one bit, on a finite grid.
//!
//! Integer weights with a checked ratio replace a continuous law on floating-point numbers. Proof: `docs/proofs/discrete.md`.

use super::choice::{BitRelease, WHOLE, checked, proper, to_unit};
use super::{Release, ReleaseError, ReleaseLedger};
use crate::accounting::{Composition, Loss};
use crate::noise::{Entropy, SamplerLaw, Words, below};
use crate::planted::{self, PlantedFault};
use crate::{Epsilon, Provenance, Raw, ThreatModel};

/// Number of cells of the output.
const CELLS: u64 = 4096;
/// Returns the weight of a cell of the lower level.
/// It is large at small epsilon, where the weight of the higher level is hardly larger, so that their quotient stays near
/// e^epsilon; and small at large epsilon, where the sum of all weights would exceed 64 bits.
fn low(epsilon: f64) -> u64 {
    if epsilon < 1.0 { 1 << 40 } else { 1 << 20 }
}

/// Releases one answer of the hybrid mechanism on a grid: the density or one bit, by a public coin.
#[derive(Debug)]
pub struct DensityRelease {
    /// Weight of a cell of the lower level.
    pub(super) low: u64,
    /// Weight of a cell of the higher level.
    pub(super) high: u64,
    /// Number of cells of the higher level.
    pub(super) window: u64,
    /// `2^53` times the probability of the density.
    share: u64,
    bit: BitRelease,
    clip: (f64, f64),
    ledger: ReleaseLedger,
}

impl DensityRelease {
    /// Calibrates for a number clipped to [lo, hi] and an epsilon from 1e-6 to 20.
    ///
    /// The release is unbiased for the clipped number.
    ///
    /// # Errors
    /// An empty range, or an epsilon outside these limits.
    pub fn calibrated(epsilon: Epsilon, lo: f64, hi: f64) -> Result<Self, ReleaseError> {
        let (value, clip) = (checked(epsilon)?, proper(lo, hi)?);
        // Rounded down by more than the error of exp: high/low <= e^epsilon.
        let low = low(value);
        let twice = if planted::is(PlantedFault::ReleasedDensityNoise) { 2.0 } else { 1.0 };
        let high = (low as f64 * libm::exp(twice * value) * (1.0 - 1e-14)).floor() as u64;
        let window = ((CELLS as f64 / (1.0 + libm::exp(0.5 * value))).round() as u64).max(1);
        // One bit alone up to 0.6094, as in the simulation; privacy holds for any share.
        let share = if value <= 0.6094 { 0 } else { (-libm::expm1(-0.5 * value) * 2.0 * WHOLE as f64) as u64 };
        let ledger = ReleaseLedger {
            mechanism: "hybrid-on-a-grid".to_owned(),
            threat_model: ThreatModel::released_number(lo, hi),
            epsilon: value,
            delta: 0.0,
            noise: format!("one of {CELLS} values with integer weights, or one of two, by a public coin"),
            grid: None,
            composition: Composition::of(Loss::Response { epsilon: value }),
            provenance: Provenance::Released,
        };
        Ok(Self { low, high, window, share, bit: BitRelease::calibrated(epsilon, lo, hi)?, clip, ledger })
    }

    /// Calibrates the density alone, at any epsilon from 1e-6 to 20: the piecewise mechanism.
    ///
    /// # Errors
    /// Those of [`DensityRelease::calibrated`].
    pub fn dense(epsilon: Epsilon, lo: f64, hi: f64) -> Result<Self, ReleaseError> {
        let mut made = Self::calibrated(epsilon, lo, hi)?;
        // A coin that always chooses the density.
        made.share = 2 * WHOLE;
        made.ledger.mechanism = "piecewise-on-a-grid".to_owned();
        made.ledger.noise = format!("one of {CELLS} values with integer weights");
        Ok(made)
    }

    /// Returns what the exact samplers are given: of the density, and of the bit where the coin may choose it.
    #[must_use]
    pub fn laws(&self) -> Vec<SamplerLaw> {
        let density = SamplerLaw::Levels { high: self.high, low: self.low };
        let bit = if self.share < 2 * WHOLE { self.bit.laws() } else { Vec::new() };
        [vec![density], bit].concat()
    }

    /// Clips the number and answers.
    ///
    /// # Errors
    /// A number that is not finite; no entropy.
    pub fn release(self, number: Raw<f64>) -> Result<Release<f64>, ReleaseError> {
        let unit = to_unit(number.open(), self.clip)?;
        let words = &mut Entropy::fresh()?;
        let dense = (words.word() >> 11) < self.share;
        let value = if dense { self.value(self.cell(unit, words)) } else { self.bit.answer(unit, words) };
        let (centre, half) = (0.5 * self.clip.0 + 0.5 * self.clip.1, 0.5 * (self.clip.1 - self.clip.0));
        Ok(Release::new(centre + half * value, self.ledger))
    }

    /// Returns the sum of all weights.
    pub(super) fn total(&self) -> u64 {
        self.window * self.high + (CELLS - self.window) * self.low
    }

    /// Returns the cell released for an input on [-1, 1].
    /// The input is first rounded at random to one of the window's positions, so that the mean is kept.
    pub(super) fn cell(&self, unit: f64, words: &mut impl Words) -> u64 {
        let place = (0.5 * (unit + 1.0) * (CELLS - self.window) as f64).clamp(0.0, (CELLS - self.window) as f64);
        let rest = ((place - place.floor()) * (2 * WHOLE) as f64) as u64;
        let first = (place.floor() as u64 + u64::from((words.word() >> 11) < rest)).min(CELLS - self.window);
        // The weights of the higher level first, then those of the lower level in order.
        let drawn = below(self.total(), words);
        if drawn < self.window * self.high {
            return first + drawn / self.high;
        }
        let other = (drawn - self.window * self.high) / self.low;
        if other < first { other } else { other + self.window }
    }

    /// Returns the value of a cell, scaled so that the mean over the cells is the input.
    pub(super) fn value(&self, cell: u64) -> f64 {
        let raised = (self.high - self.low) as f64 * self.window as f64 / self.total() as f64;
        let along = cell as f64 - 0.5 * (CELLS - 1) as f64;
        along / (raised * 0.5 * (CELLS - self.window) as f64)
    }
}
