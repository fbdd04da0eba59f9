//! Releases one noisy gradient per sample; each sample is used once.

use super::leaf::Leaf;
use super::{Clip, Gradient, Sample, VectorNoise};
use crate::{Raw, Released};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Releases the gradient of each sample with fresh noise.
#[derive(Debug)]
pub struct SampleGradients {
    leaf: Leaf,
    noise: Box<dyn VectorNoise>,
    drawn: Vec<f64>,
    released: Vec<f64>,
}

impl SampleGradients {
    /// Makes the privatizer; `clip.gradient` bounds each gradient.
    pub fn new(gradient: Arc<dyn Gradient>, dimension: usize, clip: Option<Clip>, noise: Box<dyn VectorNoise>) -> Self {
        let zeros = || vec![0.0; dimension];
        Self { leaf: Leaf::new(gradient, dimension, clip), noise, drawn: zeros(), released: zeros() }
    }

    /// Releases the noisy gradient of one sample at `theta`.
    pub fn release(&mut self, theta: &[f64], sample: Raw<Sample<'_>>, stream: &mut Stream) -> Released<&[f64]> {
        let gradient = self.leaf.plain(theta, sample.open());
        self.released.copy_from_slice(gradient);
        self.noise.add(stream, &mut self.released, &mut self.drawn);
        Released::mark(self.released.as_slice())
    }
}
