//! Holds the stated range of mean rewards.

use super::noise::Noise;
use privateer_config::params::Args;
use privateer_privacy::RewardFacts;

/// The public range in which mean rewards lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanRange {
    pub low: f64,
    pub high: f64,
}

impl From<f64> for MeanRange {
    /// Returns the range of means of at most this magnitude.
    fn from(bound: f64) -> Self {
        Self { low: -bound, high: bound }
    }
}

impl MeanRange {
    /// Reads the key `bound`: a magnitude, or both ends; `absent` documents a missing key.
    pub(super) fn parse(args: &Args<'_>, absent: &str) -> Option<Self> {
        let number = args.number("bound", "B: public bound on |f|, or the public range of f").above(0.0);
        number.or_interval(absent).map(|(low, high)| Self { low, high })
    }

    /// Returns `B`, the largest magnitude of a mean reward.
    pub(super) fn bound(self) -> f64 {
        self.high.abs().max(self.low.abs())
    }

    pub(super) fn facts(self, noise: &dyn Noise, rounds: u64) -> RewardFacts {
        // [-(B + R), B + R] follows from a bound alone, and needs no range of its own.
        let own = (self.low != -self.high).then(|| noise.bound().map(|most| (self.low - most, self.high + most))).flatten();
        RewardFacts {
            bound: self.bound(),
            noise_bound: noise.bound(),
            range: noise.range().or(own),
            noise_variance: noise.variance(),
            rounds,
        }
    }
}
