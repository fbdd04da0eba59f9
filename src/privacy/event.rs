//! What was done to one reward, or to a data set of inputs, apart from what it costs (`accountant`) and from what was claimed (`ledger`).

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

/// `mu` of sums for one person who takes part so often; infinite where nothing is bounded.
pub(super) fn mu_of_sums(
    factor: Factor,
    releases: u64,
    sigmas: (f64, f64),
    reward: Option<f64>,
    participation: Participation,
) -> f64 {
    let Some(reward) = reward else { return f64::INFINITY };
    let once = libm::sqrt(gram_and_reward_mu_squared(reward, sigmas.0, sigmas.1, Relation::Replace));
    // Items on their own are independent releases; in one stream the columns of one person's rounds add up.
    let columns = match factor {
        Factor::Own => libm::sqrt(participation.count as f64),
        _ => factor.factorisation(releases).sensitivity(participation),
    };
    once * columns
}
