//! What a noise keeps between rounds, as plain data.

use serde::{Deserialize, Serialize};

/// Rounds gone by and the vectors held, each as long as the shape's entries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NoiseState {
    /// Rounds gone by.
    pub round: u64,
    /// Vectors, in an order of the factorisation's own.
    pub vectors: Vec<Vec<f64>>,
}

impl NoiseState {
    /// Whether there are so many vectors of this length, all finite.
    #[must_use]
    pub fn is_of(&self, count: usize, length: usize) -> bool {
        self.vectors.len() == count && self.vectors.iter().all(|v| v.len() == length && v.iter().all(|x| x.is_finite()))
    }
}
