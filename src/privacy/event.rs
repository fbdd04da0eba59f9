//! What was done to one reward, to a stream of samples or to a data set of inputs, apart from what it costs (`accountant`) and from what was
//! claimed (`ledger`).

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
    /// Generalised Gaussian noise on vectors, one mechanism in all.
    GeneralizedGaussian {
        /// Its scale: the squared norm is Gamma(n/2, scale 2 sigma²).
        sigma: f64,
        /// Smoothness of the squared norm of the noise; `None` where it is not smooth, or no norm.
        kappa: Option<f64>,
        /// Largest distance between two inputs in the norm that is regular with `kappa`; `None` if unbounded.
        sensitivity: Option<f64>,
    },
    /// Noisy choices, one a round.
    Choices {
        /// Whether Gumbel noise made them (the exponential mechanism), and not Laplace noise.
        gumbel: bool,
        /// Sum over rounds of (range of the scores' change over scale of the noise)²; `None` if unbounded.
        squares: Option<f64>,
    },
    /// Gaussian noise on the gradients of samples drawn at random, many times.
    Subsampled {
        /// Standard deviation of the noise.
        sigma: f64,
        /// Largest distance between two gradients; `None` if unbounded.
        sensitivity: Option<f64>,
        /// Samples, of which each step draws one.
        n_samples: u64,
        /// Steps.
        steps: u64,
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
