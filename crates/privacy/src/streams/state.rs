//! Holds the state of a noise generator between rounds, as plain data.

use serde::{Deserialize, Serialize};

/// The round, and the vectors of the state, each with one entry per entry of the shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NoiseState {
    /// Number of past rounds.
    pub round: u64,
    /// Vectors, in an order defined by the factorisation.
    pub vectors: Vec<Vec<f64>>,
}

impl NoiseState {
    /// Returns whether there are `count` vectors of this length, all finite.
    #[must_use]
    pub fn is_of(&self, count: usize, length: usize) -> bool {
        self.vectors.len() == count && self.vectors.iter().all(|v| v.len() == length && v.iter().all(|x| x.is_finite()))
    }
}
