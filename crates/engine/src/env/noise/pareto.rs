//! Implements symmetric Pareto noise around the mean, with polynomial tails.

use super::Noise;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use std::sync::Arc;

#[derive(Debug)]
struct Pareto {
    shape: f64,
    scale: f64,
}

pub(super) fn parse(args: &Args<'_>) -> Arc<dyn Noise> {
    // From a shape of one half on, the largest draw, about 2^(53/shape), is far below the f64 overflow.
    let shape = args.number("shape", "tail index; moments below this order are finite").at_least(0.5).at_most(1e6).required();
    let scale = args.number("scale", "factor of the standard draw").above(0.0).or(1.0);
    Arc::new(Pareto { shape, scale })
}

impl Noise for Pareto {
    /// Draws a magnitude `scale (U^(-1/shape) - 1)` with a fair sign; takes two words.
    ///
    /// The magnitude is a Pareto variable shifted to start at 0 (Lomax). So the mean is 0 wherever it exists, and the density
    /// has no gap.
    fn reward(&self, mean: f64, _point: usize, stream: &mut Stream) -> f64 {
        let magnitude = self.scale * libm::expm1(-libm::log(stream.open_uniform()) / self.shape);
        if stream.uniform() < 0.5 { mean - magnitude } else { mean + magnitude }
    }

    fn variance(&self) -> Option<f64> {
        // 2 scale² / ((shape - 1)(shape - 2)), infinite up to a shape of 2.
        (2.0 < self.shape).then(|| 2.0 * self.scale * self.scale / ((self.shape - 1.0) * (self.shape - 2.0)))
    }
}
