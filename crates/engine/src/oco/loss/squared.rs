//! Implements `(y - z)²` with a clipped slope: Huber's loss.

use super::Loss;
use privateer_config::params::Args;
use std::sync::Arc;

/// Computes `r²` for `|r| <= clip/2`, beyond it `clip |r| - clip²/4`, with r = z - y.
///
/// The slope is `2 r` clipped to `[-clip, clip]`.
#[derive(Debug, Clone, Copy)]
pub struct Squared {
    /// Bound on the slope, > 0; infinite for the square itself.
    pub clip: f64,
}

pub(super) fn parse(args: &Args<'_>) -> Arc<dyn Loss> {
    let clip = args
        .number("clip", "bound on the slope 2 (z - y): beyond it the square is continued by its tangent (Huber)")
        .above(0.0)
        .at_most(1e12)
        .or_word("none", "1");
    let clip = match clip {
        Some(Err(_)) => f64::INFINITY,
        Some(Ok(clip)) => clip,
        None => 1.0,
    };
    Arc::new(Squared { clip })
}

impl Loss for Squared {
    fn value(&self, z: f64, y: f64) -> f64 {
        let size = (z - y).abs();
        if 2.0 * size <= self.clip { size * size } else { self.clip * size - 0.25 * self.clip * self.clip }
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        (2.0 * (z - y)).clamp(-self.clip, self.clip)
    }

    fn lipschitz(&self) -> f64 {
        self.clip
    }

    fn smoothness(&self) -> f64 {
        2.0
    }

    fn unclipped(&self) -> Option<Arc<dyn Loss>> {
        Some(Arc::new(Self { clip: f64::INFINITY }))
    }

    fn is_square(&self) -> bool {
        true
    }

    fn words(&self) -> String {
        if self.clip.is_infinite() {
            "squared, unclipped".to_owned()
        } else {
            format!("squared, slope clipped to {} (Huber)", self.clip)
        }
    }
}
