//! Describes what a mechanism did to one reward, a stream of samples or a data set of inputs.
//!
//! The price of an event is in `accountant`, the mechanism's claim in `ledger`.

use super::accounting::sensitivity::{Participation, Relation, gram_and_reward_mu_squared};
use super::streams::banded::Banded;
use super::streams::blt::Blt;
use super::streams::honaker::Honaker;
use super::streams::normalised::Normalised;
use super::streams::toeplitz::SquareRoot;
use super::streams::tree::Tree;
use super::streams::{Factorisation, columns};
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;
use std::sync::Arc;

/// Describes one release of one user's reward, or of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// The reward was passed on unchanged.
    NonPrivate,
    /// Foreign code released something of it: no loss is known.
    Unverified,
    /// Laplace noise was added.
    Laplace {
        /// Scale of the noise (its variance is 2 scale²), in units of the reward.
        scale: f64,
        /// Largest distance between two inputs, in units of the reward; `None` if unbounded.
        sensitivity: Option<f64>,
    },
    /// One of two values was released at random.
    TwoPoint {
        /// Probability of the less likely value when the input is at either end of its range.
        rare: f64,
    },
    /// Each user's one of several values was released at random, and only how many users released each is seen.
    Shuffled {
        /// Probability of each other value than the input's own.
        rare: f64,
        /// Number of values.
        levels: u64,
        /// Least number of users whose values are mixed.
        users: u64,
    },
    /// A value was drawn from a density with two levels.
    /// The interval of the higher level moves with the input.
    TwoLevel {
        /// Density on the interval of the higher level, for inputs scaled to [-1, 1].
        high: f64,
        /// Density elsewhere.
        low: f64,
    },
    /// One of several values was released at random, most likely that of the input.
    Response {
        /// Probability of the input's own value.
        right: f64,
        /// Probability of each other value.
        wrong: f64,
    },
    /// A vector was drawn from a density with two levels on a sphere: in a cap around the input, and outside of it.
    Cap {
        /// Dimension of the sphere, at least 3.
        dimension: u64,
        /// Height of the cap over the sphere's radius, at most 1.
        gap: f64,
        /// Probability of a vector outside of the cap.
        rare: f64,
        /// Radius of the sphere, in units of the vector.
        length: f64,
    },
    /// One of several vectors of a sphere, drawn without the input, was chosen by the rank of its distance to the input.
    Ranks {
        /// Number of vectors.
        draws: u64,
        /// Number of nearest vectors that are likelier than the others.
        favoured: u64,
        /// How many times as likely, at least 1.
        odds: f64,
        /// Radius of the sphere, in units of the vector.
        length: f64,
    },
    /// A public coin chose between [`Event::TwoPoint`] and [`Event::TwoLevel`].
    Mixture {
        /// As in [`Event::TwoPoint`].
        rare: f64,
        /// As in [`Event::TwoLevel`].
        high: f64,
        /// As in [`Event::TwoLevel`].
        low: f64,
        /// Probability of the two-level density; independent of the input.
        two_level_share: f64,
    },
    /// Gaussian noise was added.
    Gaussian {
        /// Standard deviation of the noise, in units of the reward.
        sigma: f64,
        /// Largest distance between two inputs, in units of the reward.
        sensitivity: f64,
    },
    /// Generalised Gaussian noise was added to vectors, by one mechanism over the whole run.
    GeneralizedGaussian {
        /// Scale of the noise: its squared norm is Gamma(n/2, scale 2 sigma²).
        sigma: f64,
        /// Smoothness of the squared norm of the noise.
        /// `None` if it is not smooth, or if its exponent gives no norm.
        kappa: Option<f64>,
        /// Largest distance between two inputs in the `kappa`-regular norm; `None` if unbounded.
        sensitivity: Option<f64>,
    },
    /// One candidate was chosen by the exponential mechanism.
    Choice {
        /// A score that is larger by this number is e times as likely, in units of the reward.
        scale: f64,
        /// Largest change of the range of the scores between two inputs, in units of the reward.
        sensitivity: f64,
    },
    /// One noisy choice was made in each round.
    Choices {
        /// True for Gumbel noise (the exponential mechanism), false for Laplace noise.
        gumbel: bool,
        /// Sum over rounds of (change of the scores' range / noise scale)²; `None` if unbounded.
        squares: Option<f64>,
        /// Number of rounds t, over which that change is proportional to `sqrt(t)/(t + 1)`; 0 if only the sum is known.
        #[serde(default, skip_serializing_if = "is_zero")]
        rounds: u64,
    },
    /// Gaussian noise was added to the gradients of samples drawn at random, in many steps.
    Subsampled {
        /// Standard deviation of the noise.
        sigma: f64,
        /// Largest distance between two gradients; `None` if unbounded.
        sensitivity: Option<f64>,
        /// Number of samples, of which each step draws one.
        n_samples: u64,
        /// Number of steps.
        steps: u64,
    },
    /// Gaussian noise was added to running sums of `phi phi^T` and `y phi`.
    /// `|phi| <= 1`; the corner `y²` is not released.
    Sums {
        /// How the noise of successive releases is correlated.
        factor: Factor,
        /// Number of releases that the noise is calibrated for.
        releases: u64,
        /// Standard deviation of a draw for an off-diagonal entry of the matrix.
        /// On the diagonal it is `sqrt(2)` times as large, unless `equal_diagonal`.
        gram_sigma: f64,
        /// True if draws on the diagonal have the standard deviation of the other entries.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        equal_diagonal: bool,
        /// Standard deviation of a draw for the vector.
        moment_sigma: f64,
        /// Bound on `|y|` after subtracting the public centre; `None` if unbounded.
        reward: Option<f64>,
        /// How often one user takes part, in releases.
        #[serde(default, skip_serializing_if = "Participation::is_once")]
        participation: Participation,
    },
    /// A data set was multiplied from the right by a secret matrix of normal entries.
    Projection {
        /// Number of rows of the data set.
        rows: u64,
        /// Number of columns of the data set.
        dimension: u64,
        /// Number of columns of the released matrix.
        columns: u64,
    },
}

/// Names the factorisation that correlates the noise on running sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Independent noise on every item.
    Own,
    /// Binary tree.
    Tree,
    /// Binary tree with weighted nodes.
    Honaker,
    /// Buffered linear Toeplitz matrix.
    Blt,
    /// Square root of the Toeplitz matrix of prefix sums.
    SqrtToeplitz,
    /// The square root, cut off after a band that fits the participation.
    BandedToeplitz,
    /// A buffered or banded Toeplitz matrix with columns of one norm.
    NormalisedToeplitz,
}

impl Factor {
    /// The factorisations of running sums.
    pub const STREAMS: [Self; 6] =
        [Self::Blt, Self::Tree, Self::Honaker, Self::SqrtToeplitz, Self::BandedToeplitz, Self::NormalisedToeplitz];

    /// Returns the factorisation of running sums with this name; `None` for an unknown name.
    pub fn named(name: &str) -> Option<Self> {
        Self::STREAMS.into_iter().find(|factor| factor.name() == name)
    }

    /// Their names in specs, in the order of the variants.
    const NAMES: [&'static str; 7] = ["own", "tree", "honaker", "blt", "sqrt-toeplitz", "banded-toeplitz", "normalised-toeplitz"];

    /// Returns the name that specs use.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the factorisation over `releases` releases, of which one user enters those of `participation`.
    /// For [`Factor::Own`] it has one release, because every item is released on its own.
    pub fn factorisation(self, releases: u64, participation: Participation) -> Arc<dyn Factorisation> {
        match self {
            Self::Own => Arc::new(Tree::new(1)),
            Self::Tree => Arc::new(Tree::new(releases)),
            Self::Honaker => Arc::new(Honaker::new(releases)),
            Self::Blt => Arc::new(Blt::fitted(releases, participation)),
            Self::SqrtToeplitz => Arc::new(SquareRoot::new(releases)),
            Self::BandedToeplitz => Arc::new(Banded::fitted(releases, participation)),
            Self::NormalisedToeplitz => Arc::new(Normalised::fitted(releases, participation)),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Returns `mu` of released sums for all stated participations of one user.
/// Infinite if rewards are unbounded, and for other events.
pub(super) fn mu_of_sums(event: &Event) -> f64 {
    let &Event::Sums { factor, releases, gram_sigma, equal_diagonal, moment_sigma, reward: Some(reward), participation } = event
    else {
        return f64::INFINITY;
    };
    // At the worst pair, equal variance on the diagonal protects like 1/sqrt(2) of isotropic noise (E13).
    let gram_sigma = if equal_diagonal { gram_sigma / SQRT_2 } else { gram_sigma };
    let item = libm::sqrt(gram_and_reward_mu_squared(reward, gram_sigma, moment_sigma, Relation::Replace));
    item * columns(factor.factorisation(releases, participation).as_ref(), participation)
}
