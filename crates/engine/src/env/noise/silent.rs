//! Implements rewards without noise: the mean itself, without a draw.

use super::Noise;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use std::sync::Arc;

#[derive(Debug)]
pub(in crate::env) struct Silent;

pub(super) fn parse(_args: &Args<'_>) -> Arc<dyn Noise> {
    Arc::new(Silent)
}

impl Noise for Silent {
    fn reward(&self, mean: f64, _point: usize, _stream: &mut Stream) -> f64 {
        mean
    }

    fn added(&self, _stream: &mut Stream, out: &mut [f64]) -> bool {
        out.fill(0.0);
        true
    }

    fn bound(&self) -> Option<f64> {
        Some(0.0)
    }

    fn variance(&self) -> Option<f64> {
        Some(0.0)
    }
}
