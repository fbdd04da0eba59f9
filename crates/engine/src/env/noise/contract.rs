//! Defines the interface of noises.

use privateer_numerics::rng::Stream;
use std::fmt;

/// Defines observation noise; all quantities are in units of the reward.
pub trait Noise: Send + Sync + fmt::Debug {
    /// Draws one reward at `point` (an index into the domain) with mean reward `mean`.
    ///
    /// Consumes a fixed number of words.
    fn reward(&self, mean: f64, point: usize, stream: &mut Stream) -> f64;

    /// Draws what is added to mean rewards in the coming rounds, whatever is played; false unless a reward is that sum.
    fn added(&self, _stream: &mut Stream, _out: &mut [f64]) -> bool {
        false
    }

    /// Returns `R`, the largest |reward - mean|; `None` if it is unbounded.
    fn bound(&self) -> Option<f64> {
        None
    }

    /// Returns R of unbounded noise: private rewards are clipped at B + R where the spec states no clip range.
    ///
    /// What lies beyond is bias and never a loss of privacy (E3, `docs/privacy.md`).
    fn clip_bound(&self, _rounds: u64) -> Option<f64> {
        None
    }

    /// Returns the variance of the reward at the worst mean; `None` if it is infinite.
    fn variance(&self) -> Option<f64>;

    /// Returns a scale s for which the noise is sub-Gaussian; `None` if none is known.
    ///
    /// `E exp(x (reward - mean)) <= exp(x² s²/2)` for every x, which bounded noise meets with its bound (Hoeffding's lemma).
    /// For unbounded noise it also holds for clipped rewards around their mean.
    fn sub_gaussian_scale(&self) -> Option<f64> {
        self.bound()
    }

    /// Returns the mean reward at `point` after clipping, as far as it does not come from symmetric noise.
    fn clipped_mean(&self, mean: f64, _point: usize, low: f64, high: f64) -> f64 {
        mean.clamp(low, high)
    }

    /// Returns the hard range of the reward; `None` if the range depends on the mean.
    fn range(&self) -> Option<(f64, f64)> {
        None
    }
}
