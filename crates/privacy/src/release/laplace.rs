//! Adds discrete Laplace noise to one clipped number, for pure privacy.
//! Proof: `docs/proofs/discrete.md`.

use super::{Release, ReleaseError, ReleaseLedger};
use crate::accounting::{Composition, Loss};
use crate::noise::{self, Entropy, Grid, SamplerLaw, Words};
use crate::planted::{self, PlantedFault};
use crate::{Epsilon, Provenance, Raw, ThreatModel};

/// Holds a calibrated release of one number; the release consumes it.
#[derive(Debug)]
pub struct LaplaceRelease {
    grid: Grid,
    clip: (f64, f64),
    ledger: ReleaseLedger,
}

impl LaplaceRelease {
    /// Calibrates for a number clipped to [lo, hi]; any two clipped numbers are neighbours.
    ///
    /// # Errors
    /// An empty range, or sizes beyond exact arithmetic.
    pub fn calibrated(epsilon: Epsilon, lo: f64, hi: f64) -> Result<Self, ReleaseError> {
        if !(lo < hi && (hi - lo).is_finite()) {
            return Err(ReleaseError::Range(format!("the clip range [{lo}, {hi}]")));
        }
        // scale = (hi - lo + g)/epsilon: rounding moves each of two neighbours by at most g/2.
        let grid = Grid::new(hi - lo, 1.0 / epsilon.get(), 1.0, 24)?;
        let far = lo.abs().max(hi.abs()) / grid.step;
        if noise::GREATEST_SCALE < grid.noise || 9e15 < far {
            return Err(ReleaseError::Range(format!("epsilon {} on the clip range [{lo}, {hi}]", epsilon.get())));
        }
        let ledger = ReleaseLedger {
            mechanism: "discrete-laplace".to_owned(),
            threat_model: ThreatModel::released_number(lo, hi),
            epsilon: epsilon.get(),
            delta: 0.0,
            noise: format!("discrete Laplace of {} steps", grid.noise),
            grid: Some(grid.step),
            composition: Composition::of(Loss::Laplace { epsilon: epsilon.get() }),
            provenance: Provenance::Released,
        };
        Ok(Self { grid, clip: (lo, hi), ledger })
    }

    /// Returns what the exact sampler is given.
    #[must_use]
    pub fn laws(&self) -> Vec<SamplerLaw> {
        vec![self.grid.laplace_law()]
    }

    /// Clips and rounds the number, and adds exact noise.
    ///
    /// # Errors
    /// A number that is not finite; no entropy.
    pub fn release(self, number: Raw<f64>) -> Result<Release<f64>, ReleaseError> {
        let number = number.open();
        if !number.is_finite() {
            return Err(ReleaseError::NotFinite);
        }
        let clipped =
            if planted::is(PlantedFault::ReleasedLaplaceClip) { number } else { number.clamp(self.clip.0, self.clip.1) };
        let value = self.noised(clipped, &mut Entropy::fresh()?);
        Ok(Release::new(value, self.ledger))
    }

    pub(super) fn noised(&self, clipped: f64, words: &mut impl Words) -> f64 {
        self.grid.value(self.grid.steps(clipped) + noise::laplace(self.grid.laplace_scale(), words))
    }
}
