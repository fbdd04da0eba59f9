//! Holds running sums over users.

use serde::{Deserialize, Serialize};

/// Holds one release: noisy sums over `users` rounds.
/// Entries are of features scaled to `|phi| <= 1` and of rewards minus the mechanism's centre. The names of the fields are those
/// in published parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// The `m (m + 1) / 2` entries of `sum phi phi^T`, then the `m` entries of `sum y phi`.
    /// The matrix is its upper triangle, packed row by row.
    pub entries: Vec<f64>,
    /// Number of rounds in the sums.
    pub users: u64,
    /// Standard deviation of the noise on an entry of the matrix, off its diagonal.
    pub gram_std: f64,
    /// Standard deviation of the noise on an entry of the vector.
    pub moment_std: f64,
    /// Horizon that the noise was made for: `rounds`, or the end of the epoch.
    pub horizon: u64,
}

impl Sums {
    /// Returns sums of no rounds, without noise.
    pub fn empty(n_features: usize, horizon: u64) -> Self {
        let entries = vec![0.0; n_features * (n_features + 1) / 2 + n_features];
        Self { entries, users: 0, gram_std: 0.0, moment_std: 0.0, horizon }
    }

    /// Returns the packed matrix and the vector.
    pub fn parts(&self, n_features: usize) -> (&[f64], &[f64]) {
        self.entries.split_at(n_features * (n_features + 1) / 2)
    }
}
