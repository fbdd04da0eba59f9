//! Defines the kinds of servers over private sums, and checks their parameters.

use privateer_privacy::sums::Sums;

/// States the properties in which the policies over private sums differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumsPolicyKind {
    pub name: &'static str,
    /// Whether users add their own noise.
    pub local: bool,
    /// Whether the model is linear in the coordinates.
    pub linear: bool,
}

/// Returns whether stored sums, enough to evaluate a model [Dubey2021, remark 1], have this number of features and valid values.
pub fn are_possible(sums: &Sums, n_features: usize) -> bool {
    sums.entries.len() == Sums::empty(n_features, 1).entries.len()
        && sums.entries.iter().all(|x| x.is_finite())
        && [sums.gram_std, sums.moment_std].iter().all(|std| std.is_finite() && 0.0 <= *std)
        && (1..=1 << 53).contains(&sums.horizon)
        && sums.users <= 1 << 53
}
