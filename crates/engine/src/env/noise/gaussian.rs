//! Implements normal noise around the mean.

use super::Noise;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use std::sync::Arc;

#[derive(Debug)]
struct GaussianNoise {
    sd: f64,
}

pub(super) fn parse(args: &Args<'_>) -> Arc<dyn Noise> {
    let sd = args.number("sd", "standard deviation of a reward around its mean").above(0.0).required();
    Arc::new(GaussianNoise { sd })
}

impl Noise for GaussianNoise {
    fn reward(&self, mean: f64, _point: usize, stream: &mut Stream) -> f64 {
        mean + self.sd * stream.normal()
    }

    fn added(&self, stream: &mut Stream, out: &mut [f64]) -> bool {
        stream.normals(out);
        out.iter_mut().for_each(|drawn| *drawn *= self.sd);
        true
    }

    fn variance(&self) -> Option<f64> {
        Some(self.sd * self.sd)
    }

    fn sub_gaussian_scale(&self) -> Option<f64> {
        Some(self.sd)
    }
}
