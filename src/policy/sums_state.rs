//! Defines the kinds of servers over private sums, their state and its check.

use privateer_privacy::sums::Sums;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// States the properties in which the policies over private sums differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumsPolicyKind {
    pub name: &'static str,
    /// Whether users add their own noise.
    pub local: bool,
    /// Whether the model is linear in the coordinates.
    pub linear: bool,
}

/// Holds what a server over sums keeps and saves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SumsPolicyState {
    /// Registered name of the policy.
    pub policy: String,
    /// The coming round, 1-based.
    pub round: u64,
    /// The sums that the model is computed from.
    pub released: Arc<Sums>,
    /// The sum of all items, where users add their own noise.
    ///
    /// The model takes it over on its schedule.
    pub items: Option<Sums>,
    /// Number of releases received.
    pub releases: u64,
    /// The round after which the next release is requested; 0 if there is none.
    pub next_release: u64,
    /// Number of rounds in which eigenvalues had to be raised.
    pub repaired: u64,
    /// Points played, ascending.
    pub played: Vec<u32>,
}

impl SumsPolicyState {
    /// Returns why no run over `n_points` points can have saved this state; `None` if one can.
    ///
    /// * `local` — whether users add their own noise
    pub fn fault(&self, n_points: usize, n_features: usize, local: bool) -> Option<&'static str> {
        let ascending = self.played.is_sorted_by(|a, b| a < b);
        if !ascending || self.played.iter().any(|&point| n_points <= point as usize) {
            return Some("the points played are not an ascending list of points of the domain");
        }
        let counts = [self.releases, self.next_release, self.repaired];
        let possible = (1..=1 << 53).contains(&self.round) && counts.iter().all(|count| *count <= 1 << 53);
        if !possible {
            return Some("its rounds are not possible");
        }
        if !are_possible(&self.released, n_features) {
            return Some("its sums are not possible");
        }
        let with_items = self.items.is_some() == local && self.items.iter().all(|items| are_possible(items, n_features));
        (!with_items).then_some("its items are not possible")
    }
}

/// Returns whether stored sums, enough to evaluate a model [Dubey2021, remark 1], have this number of features and valid values.
pub fn are_possible(sums: &Sums, n_features: usize) -> bool {
    sums.entries.len() == Sums::empty(n_features, 1).entries.len()
        && sums.entries.iter().all(|x| x.is_finite())
        && [sums.gram_std, sums.moment_std].iter().all(|std| std.is_finite() && 0.0 <= *std)
        && (1..=1 << 53).contains(&sums.horizon)
        && sums.users <= 1 << 53
}
