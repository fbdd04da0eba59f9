//! What was done to one reward, to a stream of samples or to a data set of inputs, apart from what it costs (`accountant`) and from what was
//! claimed (`ledger`).

use super::accounting::sensitivity::{Participation, Relation, gram_and_reward_mu_squared};
use super::streams::Factorisation;
use super::streams::blt::Blt;
use super::streams::honaker::Honaker;
use super::streams::toeplitz::SquareRoot;
use super::streams::tree::Tree;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    /// Gaussian noise was added to running sums of `phi phi^T` and `y phi`, `|phi| <= 1`, without the corner `y²`.
    Sums {
        /// How the noise of the releases hangs together.
        factor: Factor,
        /// Releases that it is made for.
        releases: u64,
        /// Standard deviation of a draw for the matrix, off its diagonal; on it `sqrt(2)` times as much.
        gram_sigma: f64,
        /// Standard deviation of a draw for the vector.
        moment_sigma: f64,
        /// Bound on |y|, less the centre; `None` if unbounded.
        reward: Option<f64>,
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

/// How the noise on running sums is factorised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Every item on its own.
    Own,
    /// Binary tree.
    Tree,
    /// Tree with weighted nodes.
    Honaker,
    /// Buffered linear Toeplitz.
    Blt,
    /// Square-root Toeplitz.
    SqrtToeplitz,
}

impl Factor {
    /// Its name in specs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Tree => "tree",
            Self::Honaker => "honaker",
            Self::Blt => "blt",
            Self::SqrtToeplitz => "sqrt-toeplitz",
        }
    }

    /// The factorisation over so many releases; one release is an item on its own.
    #[must_use]
    pub fn factorisation(self, releases: u64) -> Arc<dyn Factorisation> {
        match self {
            Self::Own => Arc::new(Tree::new(1)),
            Self::Tree => Arc::new(Tree::new(releases)),
            Self::Honaker => Arc::new(Honaker::new(releases)),
            Self::Blt => Arc::new(Blt::fitted(releases)),
            Self::SqrtToeplitz => Arc::new(SquareRoot::new(releases)),
        }
    }
}

/// `mu` of sums for one participation of one user; infinite where nothing is bounded.
pub(super) fn mu_of_sums(factor: Factor, releases: u64, (gram_sigma, moment_sigma): (f64, f64), reward: Option<f64>) -> f64 {
    let Some(reward) = reward else { return f64::INFINITY };
    let item = libm::sqrt(gram_and_reward_mu_squared(reward, gram_sigma, moment_sigma, Relation::Replace));
    item * factor.factorisation(releases).sensitivity(Participation::ONCE)
}
