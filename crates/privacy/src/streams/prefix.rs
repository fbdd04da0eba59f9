//! Running sums of sealed items, released with noise after every round.

use super::{Factorisation, NoiseState, PrefixNoise, Shape};
use crate::accounting::sensitivity::{Participation, Relation};
use crate::planted::{self, PlantedFault};
use crate::{Delta, Epsilon, Raw, Released, gdp_mu};
use privateer_numerics::rng::Stream;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What a release of prefix sums promises: everything here is an argument, nothing is assumed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stated {
    /// The least privacy loss to keep.
    pub epsilon: Epsilon,
    /// At this failure probability.
    pub delta: Delta,
    /// How far one user's item moves in the norm that the noise is isotropic in (see `accounting::sensitivity`).
    pub distance: f64,
    /// What a neighbouring stream is; `distance` must be for this relation.
    pub relation: Relation,
    /// How often one user takes part.
    pub participation: Participation,
}

impl Stated {
    /// The standard deviation of a draw: `distance · sensitivity / mu(epsilon, delta)`.
    #[must_use]
    pub fn sigma(&self, factorisation: &dyn Factorisation) -> f64 {
        self.distance * factorisation.sensitivity(self.participation) / gdp_mu(self.epsilon, self.delta)
    }
}

/// The stream is longer than its noise was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted {
    /// Rounds that it was made for.
    pub rounds: u64,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the noise was calibrated for {} rounds and all are released; calibrate for more (fewer are free)", self.rounds)
    }
}

impl std::error::Error for Exhausted {}

/// One stream: raw sum and noise stay inside.
#[derive(Debug)]
pub struct PrefixSums {
    shape: Shape,
    sigma: f64,
    rounds: u64,
    round: u64,
    sum: Vec<f64>,
    noise: Box<dyn PrefixNoise>,
    released: Vec<f64>,
}

impl PrefixSums {
    /// A stream with draws of standard deviation `sigma`, from [`Stated::sigma`].
    #[must_use]
    pub fn new(factorisation: &Arc<dyn Factorisation>, shape: Shape, sigma: f64) -> Self {
        Self {
            shape,
            sigma,
            rounds: factorisation.rounds(),
            round: 0,
            sum: vec![0.0; shape.len()],
            noise: factorisation.noise(shape),
            released: vec![0.0; shape.len()],
        }
    }

    /// Adds one item, in the packed form of the shape, and releases the sum so far. An item of the wrong length or with an entry
    /// that is not finite counts as zero, so that nothing of it is visible.
    ///
    /// # Errors
    /// Past the last round.
    pub fn release(&mut self, item: Raw<&[f64]>, stream: &mut Stream) -> Result<Released<&[f64]>, Exhausted> {
        if self.round == self.rounds {
            return Err(Exhausted { rounds: self.rounds });
        }
        self.add(item);
        let (shape, sigma) = (self.shape, self.sigma);
        self.next(&mut |out| shape.draw(sigma, stream, out))
    }

    /// Adds one item to the row that the next release ends: several users may share a row, each in one row only.
    pub fn add(&mut self, item: Raw<&[f64]>) {
        let item = item.open();
        let finite = planted::is(PlantedFault::StreamFinite) || item.iter().all(|entry| entry.is_finite());
        if item.len() == self.sum.len() && finite {
            self.sum.iter_mut().zip(item).for_each(|(sum, entry)| *sum += entry);
        }
    }

    /// Releases the sum so far, with draws from `draw` (of the stated standard deviation; stored ones in reference cases).
    ///
    /// # Errors
    /// Past the last round.
    pub fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> Result<Released<&[f64]>, Exhausted> {
        if self.round == self.rounds {
            return Err(Exhausted { rounds: self.rounds });
        }
        self.round += 1;
        let noise = self.noise.next(draw);
        for ((out, sum), noise) in self.released.iter_mut().zip(&self.sum).zip(noise) {
            *out = sum + noise;
        }
        Ok(Released::mark(self.released.as_slice()))
    }

    /// Rows released.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The state: the raw sum is in it, so it is as secret as the data.
    #[must_use]
    pub fn save(&self) -> PrefixState {
        PrefixState { round: self.round, sum: self.sum.clone(), noise: self.noise.save() }
    }

    /// Takes up a saved state of the same factorisation, shape and standard deviation; false, changing nothing, where it is not
    /// of its form.
    pub fn load(&mut self, state: PrefixState) -> bool {
        let fits = state.round <= self.rounds
            && state.noise.round == state.round
            && state.sum.len() == self.sum.len()
            && state.sum.iter().all(|x| x.is_finite())
            && self.noise.load(state.noise);
        if fits {
            (self.round, self.sum) = (state.round, state.sum);
        }
        fits
    }
}

/// What [`PrefixSums::save`] gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrefixState {
    round: u64,
    sum: Vec<f64>,
    noise: NoiseState,
}
