//! Adds Gaussian noise to one vector.
//! Proof: `docs/proofs/discrete.md`.

use super::{Release, ReleaseError, ReleaseLedger};
use crate::accounting::sensitivity::{self, Relation};
use crate::accounting::{Composition, Loss};
use crate::noise::{self, Entropy, Grid, SamplerLaw, Words, clipped};
use crate::{Adversary, Delta, Epsilon, Growth, Provenance, Raw, ThreatModel, Unit, gdp_mu};

/// Holds a calibrated release of one vector.
/// The release consumes it, so that a budget is spent once.
#[derive(Debug)]
pub struct VectorRelease {
    grid: Grid,
    radius: f64,
    dimension: usize,
    ledger: ReleaseLedger,
}

impl VectorRelease {
    /// Calibrates for vectors of `dimension >= 1` entries, clipped to L2 norm `radius > 0`.
    ///
    /// # Errors
    /// Sizes beyond exact arithmetic.
    pub fn calibrated(
        epsilon: Epsilon,
        delta: Delta,
        radius: f64,
        dimension: usize,
        relation: Relation,
    ) -> Result<Self, ReleaseError> {
        let mu = gdp_mu(epsilon, delta);
        let distance = sensitivity::vector(radius, relation);
        // sigma = (D + g sqrt(dimension)) sigma_AG: rounding moves each of two neighbours by at most g/2 in every entry.
        let rounding = libm::sqrt(dimension as f64);
        let grid = Grid::new(distance, 1.0 / mu, rounding, 19)?;
        if dimension == 0 || 1e6 < dimension as f64 || noise::GREATEST_SIGMA < grid.noise {
            return Err(ReleaseError::Range(format!("a vector of {dimension} entries")));
        }
        let ledger = ReleaseLedger {
            mechanism: "discrete-gaussian-vector".to_owned(),
            threat_model: ThreatModel {
                neighbours: relation.into(),
                ..ThreatModel::replaced(Adversary::Observer, Unit::Vector { norm: radius }, Growth::SeparateReleases)
            },
            epsilon: epsilon.get(),
            delta: delta.get(),
            noise: format!("discrete Gaussian of {} steps", grid.noise),
            grid: Some(grid.step),
            composition: Composition::of(Loss::Gaussian { mu }),
            provenance: Provenance::Released,
        };
        Ok(Self { grid, radius, dimension, ledger })
    }

    /// Returns what the exact sampler is given.
    #[must_use]
    pub fn laws(&self) -> Vec<SamplerLaw> {
        vec![self.grid.gaussian_law()]
    }

    /// Clips and rounds the vector, and adds exact noise.
    ///
    /// # Errors
    /// An input of another length or with an entry that is not finite; no entropy.
    pub fn release(self, vector: Raw<Vec<f64>>) -> Result<Release<Vec<f64>>, ReleaseError> {
        let vector = clipped(vector.open(), self.dimension, self.radius)?;
        let value = self.noised(&vector, &mut Entropy::fresh()?);
        Ok(Release::new(value, self.ledger))
    }

    pub(super) fn noised(&self, clipped: &[f64], words: &mut impl Words) -> Vec<f64> {
        let Self { grid, .. } = self;
        clipped.iter().map(|&entry| grid.value(grid.steps(entry) + noise::gaussian(grid.gaussian_sigma(), words))).collect()
    }
}
