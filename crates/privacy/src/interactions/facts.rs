//! Holds what is publicly known about a contextual problem.

use super::Link;

/// States what is publicly known about a contextual problem.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextFacts {
    /// Number K of arms, at least 2.
    pub n_arms: usize,
    /// Number d of features of a context, at least 1.
    pub dimension: usize,
    /// Bound M on the magnitude of a context's entries.
    pub largest_entry: f64,
    /// Bound on the Euclidean length of a context.
    pub length: f64,
    /// Bound on the l1 norm of an arm's parameters.
    pub parameter_l1: f64,
    /// Bound on the Euclidean norm of an arm's parameters.
    pub parameter_length: f64,
    /// Range of a mean reward.
    pub mean_range: (f64, f64),
    /// Range of a reward; `None` if unbounded.
    pub range: Option<(f64, f64)>,
    /// Standard deviation of a reward around its mean; `None` if infinite or unknown.
    pub noise_sd: Option<f64>,
    /// How mean rewards depend on products.
    pub link: Link,
    /// Least gap between the best mean reward and the second; 0 if none is stated.
    pub margin: f64,
    /// Number of rounds.
    pub rounds: u64,
}
