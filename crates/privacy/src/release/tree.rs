//! Releases prefix sums by the binary tree, on integers.
//!
//! Leaves are rounded to the grid once, sums are exact, and every node gets exact noise. A factorised stream would round after
//! the transformation, where one item changes every later round. Proof: `docs/proofs/discrete.md`.

use super::{Release, ReleaseError, ReleaseLedger};
use crate::accounting::sensitivity::{self, Participation, Relation};
use crate::accounting::{Composition, Loss};
use crate::noise::{self, Entropy, Grid, SamplerLaw, Words, clipped};
use crate::planted::{self, PlantedFault};
use crate::streams::Factorisation;
use crate::streams::tree::Tree;
use crate::{Adversary, Delta, Epsilon, Growth, Participations, Provenance, Raw, ThreatModel, Unit, gdp_mu};

/// Releases every prefix sum of a stream of vectors.
#[derive(Debug)]
pub struct TreeRelease {
    grid: Grid,
    radius: f64,
    rounds: u64,
    round: u64,
    sum: Vec<i64>,
    /// Noise of the latest prefix at each level, the position of the prefix's lowest one bit.
    levels: Vec<Vec<i64>>,
    ledger: ReleaseLedger,
}

impl TreeRelease {
    /// Calibrates for at most `rounds >= 1` vectors of `dimension >= 1` entries.
    ///
    /// Each vector is clipped to L2 norm `radius > 0`.
    ///
    /// # Errors
    /// Sizes beyond exact arithmetic.
    pub fn calibrated(
        budget: (Epsilon, Delta),
        radius: f64,
        dimension: usize,
        rounds: u64,
        (relation, participation): (Relation, Participation),
    ) -> Result<Self, ReleaseError> {
        let (mu, tree) = (gdp_mu(budget.0, budget.1), Tree::new(rounds));
        let per_unit = tree.sensitivity(participation) / mu;
        let rounding = libm::sqrt(dimension as f64);
        let grid = Grid::new(sensitivity::vector(radius, relation), per_unit, rounding, 19)?;
        // Sums stay below 2^53 steps.
        let far = rounds as f64 * (radius / grid.step + 1.0) + 100.0 * 64.0 * grid.noise as f64;
        if dimension == 0 || 1e6 < dimension as f64 || noise::GREATEST_SIGMA < grid.noise || 9e15 < far {
            return Err(ReleaseError::Range(format!("a stream of {rounds} rounds of {dimension} entries")));
        }
        let ledger = ReleaseLedger {
            mechanism: "discrete-gaussian-tree".to_owned(),
            threat_model: ThreatModel {
                adversary: Adversary::Observer,
                neighbours: relation.into(),
                unit: Unit::Vector { norm: radius },
                participations: Participations { covered: participation.count, growth: Growth::OneStream },
            },
            epsilon: budget.0.get(),
            delta: budget.1.get(),
            noise: format!("discrete Gaussian of {} steps in each of {} nodes of one round", grid.noise, tree.nodes()),
            grid: Some(grid.step),
            composition: Composition::of(Loss::Gaussian { mu }),
            provenance: Provenance::Released,
        };
        let levels = vec![vec![0; dimension]; tree.nodes() as usize];
        Ok(Self { grid, radius, rounds: tree.rounds(), round: 0, sum: vec![0; dimension], levels, ledger })
    }

    /// Returns what the exact sampler is given.
    #[must_use]
    pub fn laws(&self) -> Vec<SamplerLaw> {
        vec![self.grid.gaussian_law()]
    }

    /// Adds one vector and releases the sum so far.
    ///
    /// An error spends no budget.
    ///
    /// # Errors
    /// A call after the last round; an input of another length or with an entry that is not finite; no entropy.
    pub fn add(&mut self, vector: Raw<Vec<f64>>) -> Result<Release<Vec<f64>>, ReleaseError> {
        if self.round == self.rounds {
            return Err(ReleaseError::Exhausted { rounds: self.rounds });
        }
        let vector = clipped(vector.open(), self.sum.len(), self.radius)?;
        let value = self.noised(&vector, &mut Entropy::fresh()?);
        Ok(Release::new(value, self.ledger.clone()))
    }

    pub(super) fn noised(&mut self, clipped: &[f64], words: &mut impl Words) -> Vec<f64> {
        self.round += 1;
        let (grid, parent) = (self.grid, self.round & (self.round - 1));
        let (lower, upper) = self.levels.split_at_mut(self.round.trailing_zeros() as usize + 1);
        let at = lower.len() - 1;
        let before = (parent != 0).then(|| &upper[parent.trailing_zeros() as usize - at - 1]);
        for (i, (sum, &entry)) in self.sum.iter_mut().zip(clipped).enumerate() {
            *sum += grid.steps(entry);
            if at != 0 || parent == 0 || !planted::is(PlantedFault::ReleasedTreeReuse) {
                lower[at][i] = before.map_or(0, |before| before[i]) + noise::gaussian(grid.gaussian_sigma(), words);
            }
        }
        self.sum.iter().zip(&lower[at]).map(|(sum, noise)| grid.value(sum + noise)).collect()
    }
}

#[cfg(test)]
impl TreeRelease {
    /// Returns the standard deviation of a node's noise, in steps.
    pub(super) fn ledger_noise(&self) -> u64 {
        self.grid.noise
    }
}
