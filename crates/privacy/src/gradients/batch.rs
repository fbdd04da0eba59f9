//! Releases noisy mean gradients over batches, with each sample in one batch.
//! Source: [BassilyGuzmanNandi2021, algorithm 3].

use super::leaf::Leaf;
use super::{Clip, Gradient, GradientQuery, Sample, VectorNoise};
use crate::planted::{self, PlantedFault};
use crate::{Raw, Released};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Divides the samples into a first batch and equal later batches.
/// The remaining samples are unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPlan {
    /// Number of samples in the first batch, at least 1.
    pub first: u64,
    /// Number of samples in each later batch, at least 1.
    pub batch: u64,
    /// Number of later batches.
    pub steps: u64,
}

/// Holds the stream of batches.
/// The first batch releases its mean gradient, each later batch its mean difference of two gradients.
#[derive(Debug)]
pub struct BatchGradients {
    leaf: Leaf,
    plan: BatchPlan,
    first_noise: Box<dyn VectorNoise>,
    later_noise: Box<dyn VectorNoise>,
    /// Bound on one sample's difference of two gradients, enforced if there is a clip.
    difference: f64,
    sum: Vec<f64>,
    noise: Vec<f64>,
    released: Vec<f64>,
    n_in_batch: u64,
    n_batches: u64,
}

impl BatchGradients {
    /// Makes a stream before its first sample.
    /// `difference` bounds one sample's difference of two gradients; it is enforced if there is a clip.
    pub fn new(
        gradient: Arc<dyn Gradient>,
        dimension: usize,
        clip: Option<Clip>,
        plan: BatchPlan,
        difference: f64,
        noises: (Box<dyn VectorNoise>, Box<dyn VectorNoise>),
    ) -> Self {
        let zeros = || vec![0.0; dimension];
        Self {
            leaf: Leaf::new(gradient, dimension, clip),
            plan,
            first_noise: noises.0,
            later_noise: noises.1,
            difference,
            sum: zeros(),
            noise: zeros(),
            released: zeros(),
            n_in_batch: 0,
            n_batches: 0,
        }
    }

    /// Takes one sample; returns a release if the sample completes a batch.
    pub fn release(
        &mut self,
        query: GradientQuery<'_>,
        sample: Raw<Sample<'_>>,
        stream: &mut Stream,
    ) -> Option<Released<&[f64]>> {
        if self.plan.steps < self.n_batches {
            return None;
        }
        let is_first = self.n_batches == 0;
        let leaf = if is_first {
            self.leaf.plain(query.now, sample.open())
        } else {
            self.leaf.difference(query, sample.open(), self.difference)
        };
        self.sum.iter_mut().zip(leaf).for_each(|(sum, leaf)| *sum += leaf);
        self.n_in_batch += 1;
        if self.n_in_batch < if is_first { self.plan.first } else { self.plan.batch } {
            return None;
        }
        let law = if is_first { &mut self.first_noise } else { &mut self.later_noise };
        law.draw(stream, &mut self.noise);
        for ((out, sum), noise) in self.released.iter_mut().zip(&self.sum).zip(&self.noise) {
            *out = sum / self.n_in_batch as f64 + noise;
        }
        if !planted::is(PlantedFault::BatchSum) {
            self.sum.fill(0.0);
        }
        self.n_in_batch = 0;
        self.n_batches += 1;
        Some(Released::mark(self.released.as_slice()))
    }
}
