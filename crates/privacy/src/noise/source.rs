//! Names the sources of a mechanism's draws.

use super::Entropy;
use privateer_numerics::rng::Stream;
use std::collections::VecDeque;

/// Says where the draws of a mechanism come from; clip and event are the same for all sources.
///
/// Only who takes in the data of real people makes exact noise ([`crate::release`]); nobody else can:
///
/// ```compile_fail,E0624
/// use privateer_privacy::noise::{Entropy, Noise};
/// let mut entropy = Entropy::fresh().expect("entropy"); // `fresh` is private to the crate
/// let noise = Noise::Exact(&mut entropy);
/// ```
#[derive(Debug)]
pub enum Noise<'a> {
    /// A reproducible stream, for simulations: numbers on doubles, never for real data.
    Simulated(&'a mut Stream),
    /// The operating system's entropy, for real people: integers by exact samplers.
    Exact(&'a mut Entropy),
    /// Draws as they are added, one after another, for reference cases; what they release is not private.
    Replayed(&'a mut VecDeque<Vec<f64>>),
    /// One number that a simulation has drawn ahead ([`crate::RewardMechanism::added`]); what it releases is not private.
    Drawn(f64),
}

impl<'a> From<&'a mut Stream> for Noise<'a> {
    fn from(stream: &'a mut Stream) -> Self {
        Self::Simulated(stream)
    }
}

impl Noise<'_> {
    /// Fills `out` with draws on doubles: from the stream, or the next replayed ones.
    ///
    /// NaN where no replayed draw of this length is left, and for exact noise: an inexact draw is never given out in its place.
    pub(crate) fn fill(&mut self, out: &mut [f64], draw: impl FnOnce(&mut Stream, &mut [f64])) {
        match self {
            Self::Simulated(stream) => draw(stream, out),
            Self::Exact(_) => out.fill(f64::NAN),
            Self::Replayed(draws) => match draws.pop_front().filter(|next| next.len() == out.len()) {
                Some(next) => out.copy_from_slice(&next),
                None => out.fill(f64::NAN),
            },
            Self::Drawn(drawn) => out.fill(if out.len() == 1 { *drawn } else { f64::NAN }),
        }
    }

    /// Returns one number that is drawn on doubles, as [`Noise::fill`].
    pub(crate) fn number(&mut self, draw: impl FnOnce(&mut Stream) -> f64) -> f64 {
        let mut drawn = [0.0];
        self.fill(&mut drawn, |stream, out| out[0] = draw(stream));
        drawn[0]
    }
}
