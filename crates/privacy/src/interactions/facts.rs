//! What is publicly known of a contextual problem.

use super::Link;

/// What is publicly known of a contextual problem.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextFacts {
    /// Arms K, at least 2.
    pub n_arms: usize,
    /// Features d of a context, at least 1.
    pub dimension: usize,
    /// M: no entry of a context is larger.
    pub largest_entry: f64,
    /// Bound on the Euclidean length of a context.
    pub length: f64,
    /// Bound on the l1 norm of an arm's parameters.
    pub parameter_l1: f64,
    /// Bound on their Euclidean norm.
    pub parameter_length: f64,
    /// Range of a mean reward.
    pub mean_range: (f64, f64),
    /// Range of a reward; `None` if unbounded.
    pub range: Option<(f64, f64)>,
    /// Standard deviation of a reward around its mean; `None` if infinite or unknown.
    pub noise_sd: Option<f64>,
    /// How rewards follow products.
    pub link: Link,
    /// The best mean reward is ahead of the second by at least this; 0 where nothing is stated.
    pub margin: f64,
    /// Horizon.
    pub rounds: u64,
}
