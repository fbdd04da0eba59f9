//! Releases running sums of sealed items, with noise after every round.

use super::vectors::{add_to, are_finite};
use super::{Factorisation, NoiseState, PrefixNoise, Shape};
use crate::accounting::sensitivity::{Participation, Relation};
use crate::noise::Noise;
use crate::planted::{self, PlantedFault};
use crate::{Delta, Epsilon, Raw, Released, gdp_mu};
use privateer_numerics::rng::Stream;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// States the guarantee of a release of prefix sums; every assumption is a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefixStatement {
    /// Privacy loss to keep.
    pub epsilon: Epsilon,
    /// Failure probability.
    pub delta: Delta,
    /// Largest change of one user's item, in the norm in which the noise is isotropic.
    /// See `accounting::sensitivity`.
    pub distance: f64,
    /// Neighbouring relation of streams; `distance` must be for this relation.
    pub relation: Relation,
    /// How often one user takes part.
    pub participation: Participation,
}

impl PrefixStatement {
    /// Returns the standard deviation of a draw: `distance · sensitivity / mu(epsilon, delta)`.
    #[must_use]
    pub fn sigma(&self, factorisation: &dyn Factorisation) -> f64 {
        self.distance * factorisation.sensitivity(self.participation) / gdp_mu(self.epsilon, self.delta)
    }
}

/// Reports a stream that is longer than its noise was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted {
    /// Rounds that the noise was made for.
    pub rounds: u64,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the noise was calibrated for {} rounds and all are released; calibrate for more (fewer are free)", self.rounds)
    }
}

impl std::error::Error for Exhausted {}

/// Holds one stream; raw sum and noise stay inside.
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
    /// Makes a stream with draws of standard deviation `sigma`, from [`PrefixStatement::sigma`].
    #[must_use]
    pub fn new(factorisation: &Arc<dyn Factorisation>, shape: Shape, sigma: f64) -> Self {
        Self {
            shape,
            sigma,
            rounds: factorisation.rounds(),
            round: 0,
            sum: vec![0.0; shape.len()],
            noise: factorisation.noise(shape),
            released: Vec::new(),
        }
    }

    /// Adds one item, in the packed form of the shape, and releases the sum so far.
    ///
    /// An item of wrong length, or with an entry that is not finite, counts as zero, so that the release does not reveal it.
    ///
    /// # Errors
    /// A call after the last round.
    pub fn release(&mut self, item: Raw<&[f64]>, stream: &mut Stream) -> Result<Released<&[f64]>, Exhausted> {
        if self.round == self.rounds {
            return Err(Exhausted { rounds: self.rounds });
        }
        self.add(item);
        self.next(&mut stream.into())
    }

    /// Adds one item to the row that the next release ends.
    /// Several users may share a row, each user in one row only.
    pub fn add(&mut self, item: Raw<&[f64]>) {
        let item = item.open();
        let finite = planted::is(PlantedFault::StreamFinite) || are_finite(item);
        if item.len() == self.sum.len() && finite {
            add_to(&mut self.sum, item);
        }
    }

    /// Adds to the row that the next release ends by a function on the raw sum.
    /// What it adds must be finite.
    pub(crate) fn add_by(&mut self, add: impl FnOnce(&mut [f64])) {
        add(&mut self.sum);
    }

    /// Releases the sum so far.
    ///
    /// # Errors
    /// A call after the last round.
    pub fn next(&mut self, noise: &mut Noise<'_>) -> Result<Released<&[f64]>, Exhausted> {
        let (shape, sigma) = (self.shape, self.sigma);
        self.next_by(&mut |out| noise.fill(out, |stream, out| shape.draw(sigma, stream, out)))
    }

    /// Releases the sum so far, with draws that have another standard deviation.
    pub(crate) fn next_by(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> Result<Released<&[f64]>, Exhausted> {
        if self.round == self.rounds {
            return Err(Exhausted { rounds: self.rounds });
        }
        self.round += 1;
        let noise = self.noise.next(draw);
        self.released.clear();
        self.released.extend(self.sum.iter().zip(noise).map(|(sum, noise)| sum + noise));
        Ok(Released::mark(self.released.as_slice()))
    }

    /// Releases the sum so far as [`PrefixSums::next`] does, in memory of its own.
    ///
    /// # Errors
    /// A call after the last round.
    pub fn next_owned(&mut self, noise: &mut Noise<'_>) -> Result<Released<Vec<f64>>, Exhausted> {
        self.next(noise)?;
        Ok(Released::mark(std::mem::take(&mut self.released)))
    }

    /// Returns the number of rows released.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Returns the state; it contains the raw sum and is as secret as the data.
    #[must_use]
    pub fn save(&self) -> PrefixState {
        PrefixState { round: self.round, sum: self.sum.clone(), noise: self.noise.save() }
    }

    /// Restores a state of the same factorisation, shape and standard deviation.
    /// Returns false, and changes nothing, if the state has another form.
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

/// Holds the state that [`PrefixSums::save`] returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrefixState {
    round: u64,
    sum: Vec<f64>,
    noise: NoiseState,
}
