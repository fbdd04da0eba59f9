//! Stores all samples, and releases noisy gradients of randomly drawn ones.
//!
//! Source: [Bassily2020, algorithm 2]. The index of a drawn sample stays secret: the accounting depends on it.

use super::{Clip, Gradient, Sample, SampleGradients, VectorNoise};
use crate::{Raw, Released};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Holds samples, sealed; memory: one row per sample.
#[derive(Debug, Clone, Default)]
pub struct SampleStore {
    dimension: usize,
    rows: Vec<f64>,
}

impl SampleStore {
    /// Makes an empty store.
    pub fn new(dimension: usize) -> Self {
        Self { dimension, rows: Vec::new() }
    }

    /// Stores a sample.
    /// A sample of wrong length is stored as one with zero gradient, so that the number of samples reveals nothing.
    pub fn keep(&mut self, sample: Raw<Sample<'_>>) {
        let Sample { x, y } = sample.open();
        let row = self.rows.len();
        self.rows.resize(row + self.dimension + 1, 0.0);
        let fits = x.len() == self.dimension;
        if fits {
            self.rows[row..row + self.dimension].copy_from_slice(x);
        }
        self.rows[row + self.dimension] = if fits { y } else { f64::NAN };
    }

    /// Returns the number of stored samples.
    pub fn count(&self) -> usize {
        self.rows.len() / (self.dimension + 1)
    }

    /// Returns sample `at`, 0-based; `None` if there is no such sample.
    pub fn sample(&self, at: usize) -> Option<Raw<Sample<'_>>> {
        let row = self.rows.get(at * (self.dimension + 1)..(at + 1) * (self.dimension + 1))?;
        let (y, x) = row.split_last()?;
        Some(Raw::seal(Sample { x, y: *y }))
    }
}

/// Holds a data set that answers queries with noisy gradients.
#[derive(Debug)]
pub struct StoredSamples {
    gradients: SampleGradients,
    /// The samples so far.
    pub samples: SampleStore,
}

impl StoredSamples {
    /// Makes an empty data set; `clip.gradient` bounds each gradient.
    pub fn new(gradient: Arc<dyn Gradient>, dimension: usize, clip: Option<Clip>, noise: Box<dyn VectorNoise>) -> Self {
        Self { gradients: SampleGradients::new(gradient, dimension, clip, noise), samples: SampleStore::new(dimension) }
    }

    /// Releases the noisy gradient of a uniformly drawn sample; `None` for an empty data set.
    pub fn gradient(&mut self, theta: &[f64], stream: &mut Stream) -> Option<Released<&[f64]>> {
        let n = self.samples.count();
        if n == 0 {
            return None;
        }
        let at = stream.index(n);
        self.gradient_of(at, theta, stream)
    }

    /// Releases the noisy gradient of sample `at`, 0-based, for reference cases.
    /// `None` if there is no such sample.
    #[doc(hidden)]
    pub fn gradient_of(&mut self, at: usize, theta: &[f64], stream: &mut Stream) -> Option<Released<&[f64]>> {
        Some(self.gradients.release(theta, self.samples.sample(at)?, stream))
    }
}
