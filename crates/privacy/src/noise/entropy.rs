//! Provides random bits: ChaCha20 with a fresh key from the operating system for every release.

use super::ReleaseError;
use crate::planted::{self, PlantedFault};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fmt;

/// Provides independent uniform words.
/// Implemented by [`Entropy`], and in tests by a seeded generator.
pub(crate) trait Words {
    /// Returns 64 bits.
    fn word(&mut self) -> u64;

    /// Returns 32 bits.
    fn half(&mut self) -> u32;
}

/// Holds the randomness of one release; it cannot be cloned, seeded or printed.
pub struct Entropy(ChaCha20Rng);

impl Entropy {
    /// Draws a fresh key from the operating system.
    pub(crate) fn key() -> Result<[u8; 32], ReleaseError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| ReleaseError::NoEntropy(error.to_string()))?;
        if planted::is(PlantedFault::KeyReuse) {
            key.fill(1);
        }
        Ok(key)
    }

    /// Returns the randomness of a key, which is used for one release alone.
    pub(crate) fn of(key: [u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(key))
    }

    /// Returns the randomness of a fresh key.
    pub(crate) fn fresh() -> Result<Self, ReleaseError> {
        Self::key().map(Self::of)
    }
}

#[cfg(test)]
impl Entropy {
    /// Makes randomness from a seed, for tests only.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy(secret)")
    }
}

impl Words for Entropy {
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn half(&mut self) -> u32 {
        self.0.next_u32()
    }
}
