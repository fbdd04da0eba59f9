//! Adds fresh noise to every item, as in the local model.
//! No user's item relies on another user's noise, and prefix t carries t draws.

use super::{Factorisation, PrefixNoise, Shape};
use crate::accounting::sensitivity::Participation;

/// The factorisation `C = I`, `B = A`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    rounds: u64,
}

impl Own {
    /// Makes the factorisation for `rounds >= 1` (0 counts as 1).
    pub fn new(rounds: u64) -> Self {
        Self { rounds: rounds.max(1) }
    }
}

impl Factorisation for Own {
    fn name(&self) -> &'static str {
        "own"
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        libm::sqrt(participation.covered().clamp(1, self.rounds) as f64)
    }

    fn variance(&self, round: u64) -> f64 {
        round as f64
    }

    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise> {
        Box::new(OwnNoise { fresh: vec![0.0; shape.len()], prefix: vec![0.0; shape.len()] })
    }
}

#[derive(Debug)]
struct OwnNoise {
    fresh: Vec<f64>,
    prefix: Vec<f64>,
}

impl PrefixNoise for OwnNoise {
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64] {
        draw(&mut self.fresh);
        self.prefix.iter_mut().zip(&self.fresh).for_each(|(prefix, fresh)| *prefix += fresh);
        &self.prefix
    }

    fn state(&self) -> usize {
        self.prefix.len()
    }
}
