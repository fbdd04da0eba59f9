//! Releases running sums of sealed items, with noise after every round.

use super::contract::as_planted;
use super::vectors::{add_to, are_finite};
use super::{Factorisation, PrefixNoise, RowTransform, Shape};
use crate::noise::{Grid, Noise};
use crate::planted::{self, PlantedFault};
use crate::{Raw, Released};
use privateer_numerics::rng::Stream;
use std::collections::VecDeque;
use std::f64::consts::SQRT_2;
use std::fmt;
use std::sync::Arc;

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
    /// The sum so far; the row under way where the noise is exact, in steps.
    sum: Vec<f64>,
    noise: Box<dyn PrefixNoise>,
    released: Vec<f64>,
    exact: Option<ExactRows>,
}

/// Computes `C x` of rows on a grid, to which exact noise is added.
#[derive(Debug)]
struct ExactRows {
    grid: Grid,
    /// Computes `C x`; holds raw data. `None` for a factorisation that has no exact form and releases NaN.
    transform: Option<Box<dyn RowTransform>>,
}

impl PrefixSums {
    /// Makes a stream with draws of standard deviation `sigma`, as from [`crate::quote::least_sigma`].
    pub fn new(factorisation: &Arc<dyn Factorisation>, shape: Shape, sigma: f64) -> Self {
        Self {
            shape,
            sigma,
            rounds: factorisation.rounds(),
            round: 0,
            sum: vec![0.0; shape.len()],
            noise: factorisation.noise(shape),
            released: Vec::new(),
            exact: None,
        }
    }

    /// Makes a stream before its first row take exact noise on a grid.
    pub(crate) fn on(self, grid: Grid, transform: Option<Box<dyn RowTransform>>) -> Self {
        Self { exact: Some(ExactRows { grid, transform }), ..self }
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
            self.add_by(|sum| add_to(sum, item));
        }
    }

    /// Adds to the row that the next release ends by a function on the raw sum; exact noise sees what it adds to zeros.
    /// What it adds must be finite.
    pub(crate) fn add_by(&mut self, add: impl FnOnce(&mut [f64])) {
        let Some(exact) = &self.exact else { return add(&mut self.sum) };
        self.released.clear();
        self.released.resize(self.sum.len(), 0.0);
        add(&mut self.released);
        // In coordinates in which the noise is isotropic.
        self.shape.scale_diagonal(&mut self.released, 1.0 / SQRT_2);
        self.sum.iter_mut().zip(&self.released).for_each(|(sum, &x)| *sum += exact.grid.steps(x) as f64);
    }

    /// Releases the sum so far.
    ///
    /// # Errors
    /// A call after the last round.
    pub fn next(&mut self, noise: &mut Noise<'_>) -> Result<Released<&[f64]>, Exhausted> {
        self.next_of(self.sigma, noise)
    }

    /// Releases the sum so far, on doubles with draws of this standard deviation.
    pub(crate) fn next_of(&mut self, sigma: f64, noise: &mut Noise<'_>) -> Result<Released<&[f64]>, Exhausted> {
        if self.round == self.rounds {
            return Err(Exhausted { rounds: self.rounds });
        }
        self.round += 1;
        self.released.clear();
        if self.exact.is_some() {
            self.add_exact(noise);
        } else {
            let shape = self.shape;
            let prefix = self.noise.next(&mut |out| noise.fill(out, |stream, out| shape.draw(sigma, stream, out)));
            self.released.extend(self.sum.iter().zip(prefix).map(|(sum, noise)| sum + noise));
        }
        Ok(Released::mark(self.released.as_slice()))
    }

    /// Writes `B (C x + z)` of the rows, with exact draws z on the integers `C x`.
    fn add_exact(&mut self, noise: &mut Noise<'_>) {
        let (Some(ExactRows { grid, transform: Some(transform) }), Noise::Exact(entropy)) = (&mut self.exact, noise) else {
            // Another law or source is never given out instead of exact noise.
            return self.released.resize(self.sum.len(), f64::NAN);
        };
        let mut noisy = VecDeque::new();
        transform.next(&self.sum, &mut |row| {
            let mut draws: Vec<f64> = row.iter().map(|_| grid.gaussian_steps(entropy) as f64).collect();
            as_planted(&mut draws);
            // Exact: integers far below 2^53.
            draws.iter_mut().zip(row).for_each(|(draw, x)| *draw += x.round());
            noisy.push_back(draws);
        });
        if !planted::is(PlantedFault::RowSum) {
            self.sum.fill(0.0);
        }
        let prefix = self.noise.next(&mut |out| {
            if let Some(row) = noisy.pop_front() {
                out.copy_from_slice(&row);
            }
        });
        self.released.extend(prefix.iter().map(|steps| steps * grid.step));
        self.shape.scale_diagonal(&mut self.released, SQRT_2);
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
    pub fn round(&self) -> u64 {
        self.round
    }
}
