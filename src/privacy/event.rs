//! What was done to one reward, or to a data set of inputs, apart from what it costs (`accountant`) and from what was claimed (`ledger`).

use serde::{Deserialize, Serialize};

/// One release of one user's reward, or of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// The reward was passed on as it was.
    NonPrivate,
    /// Laplace noise was added.
    Laplace {
        /// Scale of the noise (its variance is 2 scale²), in units of the reward.
        scale: f64,
        /// Largest distance between two inputs; `None` if unbounded.
        sensitivity: Option<f64>,
    },
    /// One of two values was released.
    TwoPoint {
        /// Probability of the less likely value at either end of the input range.
        rare: f64,
    },
    /// A value was released from a density with two levels, whose raised stretch moves with the input.
    TwoLevel {
        /// Density on the raised stretch, inputs scaled to [-1, 1].
        high: f64,
        /// Density elsewhere.
        low: f64,
    },
    /// One of the two above, by a public coin.
    Mixture {
        /// As in [`Event::TwoPoint`].
        rare: f64,
        /// As in [`Event::TwoLevel`].
        high: f64,
        /// As in [`Event::TwoLevel`].
        low: f64,
        /// Probability of the two-level density, whatever the input.
        two_level_share: f64,
    },
    /// Gaussian noise was added.
    Gaussian {
        /// Standard deviation of the noise, in units of the reward.
        sigma: f64,
        /// Largest distance between two inputs.
        sensitivity: f64,
    },
    /// A data set was multiplied by a secret normal matrix from the right.
    Projection {
        /// Rows of the data set.
        rows: u64,
        /// Its columns.
        dimension: u64,
        /// Columns of the result.
        columns: u64,
    },
}
