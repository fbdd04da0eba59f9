//! Releases noisy prefix sums of gradients, recursive or plain, by any factorisation.
//! Source: [Han2022, algorithm 1, lines 3 and 4; algorithm 5]; for plain gradients (Kairouz2021).

use super::leaf::Leaf;
use super::{Clip, Gradient, GradientQuery, Sample, Start, VectorNoise};
use crate::streams::{Exhausted, Factorisation, PrefixNoise, Shape};
use crate::{Raw, Released};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Holds one stream of samples, or several independent ones; sums and noise stay inside.
/// Memory of a stream: a few vectors, and the state of the factorisation.
#[derive(Debug)]
pub struct PrefixGradients {
    leaf: Leaf,
    start: Start,
    /// The sum of each stream, one after another, as all vectors here.
    sum: Vec<f64>,
    noise: Option<(Box<dyn PrefixNoise>, Box<dyn VectorNoise>)>,
    released: Vec<f64>,
    round: u64,
    rounds: u64,
}

impl PrefixGradients {
    /// Makes streams before their first sample, which share the law of their noise and no draw.
    /// `noise` is the factorisation and the law of its draws; `None` releases the sums without noise.
    #[must_use]
    pub fn new(
        n_streams: usize,
        gradient: Arc<dyn Gradient>,
        dimension: usize,
        start: Start,
        clip: Option<Clip>,
        noise: Option<(&dyn Factorisation, Box<dyn VectorNoise>)>,
    ) -> Self {
        let length = n_streams * dimension;
        Self {
            leaf: Leaf::of_rows(n_streams, gradient, dimension, clip),
            start,
            sum: vec![0.0; length],
            rounds: noise.as_ref().map_or(u64::MAX, |(factorisation, _)| factorisation.rounds()),
            // The noise treats every entry alike, so that streams are more entries.
            noise: noise.map(|(factorisation, law)| (factorisation.noise(Shape::Vector(length)), law)),
            released: vec![0.0; length],
            round: 0,
        }
    }

    /// Adds the contribution of one sample of each stream at its queried iterates and releases its sum so far.
    ///
    /// # Errors
    /// A call after the last round that the noise was made for.
    pub fn release<'s>(
        &mut self,
        query: GradientQuery<'_>,
        samples: impl IntoIterator<Item = Raw<Sample<'s>>>,
        streams: &mut [&mut Stream],
    ) -> Result<Released<&[f64]>, Exhausted> {
        if self.round == self.rounds {
            return Err(Exhausted { rounds: self.rounds });
        }
        self.round += 1;
        let leaf = self.leaf.recursive(query, samples.into_iter().map(Raw::open), self.round, self.start);
        self.sum.iter_mut().zip(leaf).for_each(|(sum, leaf)| *sum += leaf);
        match &mut self.noise {
            None => self.released.copy_from_slice(&self.sum),
            Some((prefix, law)) => {
                let noise = prefix.next(&mut |out| law.draw_rows(streams, out));
                for ((out, sum), noise) in self.released.iter_mut().zip(&self.sum).zip(noise) {
                    *out = sum + noise;
                }
            }
        }
        Ok(Released::mark(self.released.as_slice()))
    }
}
