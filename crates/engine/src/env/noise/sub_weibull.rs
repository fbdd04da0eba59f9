//! Implements symmetric Weibull noise around the mean: sub-Weibull rewards [Zhou2021, eq. (6); Vladimirova2019].

use super::Noise;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use std::sync::Arc;

#[derive(Debug)]
struct SubWeibull {
    tail_parameter: f64,
    scale: f64,
    clip_failure: Option<f64>,
}

pub(super) fn parse(args: &Args<'_>) -> Arc<dyn Noise> {
    // Up to 10 the largest draw, about 37^10, is far below the f64 overflow.
    let doc = "theta: 1/2 for tails as of a normal law, 1 as of an exponential one, more for heavier ones";
    let tail_parameter = args.number("tail_parameter", doc).at_least(0.1).at_most(10.0).required();
    let scale =
        args.number("scale", "the noise exceeds x in magnitude with probability exp(-(x/scale)^(1/theta))").above(0.0).or(1.0);
    let doc = "probability that a reward of the run lies beyond [-(B + R), B + R], R = scale ln(rounds/clip_failure)^theta: the clip range of private rewards where `privacy.clip` is not stated";
    let clip_failure = args.number("clip_failure", doc).above(0.0).below(1.0).optional("no clip range");
    Arc::new(SubWeibull { tail_parameter, scale, clip_failure })
}

impl Noise for SubWeibull {
    /// Draws a magnitude `scale (-ln U)^theta` with a fair sign; takes two words.
    fn reward(&self, mean: f64, _point: usize, stream: &mut Stream) -> f64 {
        let magnitude = self.scale * libm::pow(-libm::log(stream.open_uniform()), self.tail_parameter);
        if stream.uniform() < 0.5 { mean - magnitude } else { mean + magnitude }
    }

    fn clip_bound(&self, rounds: u64) -> Option<f64> {
        self.clip_failure.map(|failure| self.scale * libm::pow(libm::log(rounds as f64 / failure), self.tail_parameter))
    }

    fn variance(&self) -> Option<f64> {
        Some(self.scale * self.scale * libm::tgamma(1.0 + 2.0 * self.tail_parameter))
    }
}
