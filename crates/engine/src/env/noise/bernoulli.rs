//! Implements rewards 0 and 1, where the mean is the probability of 1.
//!
//! The environments check that means lie in [0, 1].

use super::Noise;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use std::sync::Arc;

#[derive(Debug)]
struct Bernoulli;

pub(super) fn parse(_args: &Args<'_>) -> Arc<dyn Noise> {
    Arc::new(Bernoulli)
}

impl Noise for Bernoulli {
    fn reward(&self, mean: f64, _point: usize, stream: &mut Stream) -> f64 {
        if stream.bernoulli(mean) { 1.0 } else { 0.0 }
    }

    fn bound(&self) -> Option<f64> {
        // max(mean, 1 - mean) over means in [0, 1].
        Some(1.0)
    }

    fn variance(&self) -> Option<f64> {
        // mean (1 - mean) at one half.
        Some(0.25)
    }

    fn sub_gaussian_scale(&self) -> Option<f64> {
        // Hoeffding's lemma on an interval of length 1.
        Some(0.5)
    }

    fn range(&self) -> Option<(f64, f64)> {
        Some((0.0, 1.0))
    }
}
