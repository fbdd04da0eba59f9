//! Implements uniform noise around the mean: the bounded noise of [Zhou2021, experiments].

use super::Noise;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use std::sync::Arc;

#[derive(Debug)]
struct UniformNoise {
    bound: f64,
}

pub(super) fn parse(args: &Args<'_>) -> Arc<dyn Noise> {
    let bound = args.number("bound", "largest distance of a reward from its mean").above(0.0).required();
    Arc::new(UniformNoise { bound })
}

impl Noise for UniformNoise {
    fn reward(&self, mean: f64, _point: usize, stream: &mut Stream) -> f64 {
        mean + self.bound * (2.0 * stream.open_uniform() - 1.0)
    }

    fn added(&self, stream: &mut Stream, out: &mut [f64]) -> bool {
        out.fill_with(|| self.bound * (2.0 * stream.open_uniform() - 1.0));
        true
    }

    fn bound(&self) -> Option<f64> {
        Some(self.bound)
    }

    fn variance(&self) -> Option<f64> {
        // (2 bound)²/12.
        Some(self.bound * self.bound / 3.0)
    }

    fn sub_gaussian_scale(&self) -> Option<f64> {
        // The series of sinh(x)/x is at most that of exp(x²/6), term by term.
        Some(libm::sqrt(self.bound * self.bound / 3.0))
    }
}
