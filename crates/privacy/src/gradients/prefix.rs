//! Releases noisy prefix sums of recursive gradients, by any factorisation.
//! Source: [Han2022, algorithm 1, lines 3 and 4; algorithm 5].

use super::leaf::Leaf;
use super::{Clip, Gradient, GradientQuery, Sample, Start, VectorNoise};
use crate::streams::{Exhausted, Factorisation, PrefixNoise, Shape};
use crate::{Raw, Released};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Holds one stream; sum and noise stay inside.
/// Memory: a few vectors, and the state of the factorisation.
#[derive(Debug)]
pub struct PrefixGradients {
    leaf: Leaf,
    start: Start,
    sum: Vec<f64>,
    noise: Option<(Box<dyn PrefixNoise>, Box<dyn VectorNoise>)>,
    released: Vec<f64>,
    round: u64,
    rounds: u64,
}

impl PrefixGradients {
    /// Makes a stream before its first sample.
    /// `noise` is the factorisation and the law of its draws; `None` releases the sums without noise.
    #[must_use]
    pub fn new(
        gradient: Arc<dyn Gradient>,
        dimension: usize,
        start: Start,
        clip: Option<Clip>,
        noise: Option<(&dyn Factorisation, Box<dyn VectorNoise>)>,
    ) -> Self {
        Self {
            leaf: Leaf::new(gradient, dimension, clip),
            start,
            sum: vec![0.0; dimension],
            rounds: noise.as_ref().map_or(u64::MAX, |(factorisation, _)| factorisation.rounds()),
            noise: noise.map(|(factorisation, law)| (factorisation.noise(Shape::Vector(dimension)), law)),
            released: vec![0.0; dimension],
            round: 0,
        }
    }

    /// Adds one sample's contribution at the queried iterates and releases the sum so far.
    ///
    /// # Errors
    /// A call after the last round that the noise was made for.
    pub fn release(
        &mut self,
        query: GradientQuery<'_>,
        sample: Raw<Sample<'_>>,
        stream: &mut Stream,
    ) -> Result<Released<&[f64]>, Exhausted> {
        if self.round == self.rounds {
            return Err(Exhausted { rounds: self.rounds });
        }
        self.round += 1;
        let leaf = self.leaf.recursive(query, sample.open(), self.round, self.start);
        self.sum.iter_mut().zip(leaf).for_each(|(sum, leaf)| *sum += leaf);
        match &mut self.noise {
            None => self.released.copy_from_slice(&self.sum),
            Some((prefix, law)) => {
                let noise = prefix.next(&mut |out| law.draw(stream, out));
                for ((out, sum), noise) in self.released.iter_mut().zip(&self.sum).zip(noise) {
                    *out = sum + noise;
                }
            }
        }
        Ok(Released::mark(self.released.as_slice()))
    }
}
