//! Defines the kinds of servers over private sums, their saved state and its publishable part.

use privateer_privacy::sums::Sums;
use serde::{Deserialize, Serialize};

/// States the properties in which the policies over private sums differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumsPolicyKind {
    /// Registered name of the policy.
    pub name: &'static str,
    /// Whether users add their own noise.
    pub local: bool,
    /// Whether the model is linear in the coordinates.
    pub linear: bool,
}

/// Holds the saved state of a server over sums.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SumsPolicyState {
    /// Registered name of the policy.
    pub policy: String,
    /// The coming round, 1-based.
    pub round: u64,
    /// The sums that the model is computed from.
    pub released: SumsParameters,
    /// The sum of all items, where users add their own noise.
    ///
    /// The model takes it over on its schedule.
    pub items: Option<SumsParameters>,
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
    pub fn fault(&self, n_points: usize) -> Option<&'static str> {
        let ascending = self.played.is_sorted_by(|a, b| a < b);
        if !ascending || self.played.iter().any(|&point| n_points <= point as usize) {
            return Some("the points played are not an ascending list of points of the domain");
        }
        let counts = [self.releases, self.next_release, self.repaired];
        let possible = (1..=1 << 53).contains(&self.round) && counts.iter().all(|count| *count <= 1 << 53);
        (!possible).then_some("its rounds are not possible")
    }
}

/// Holds released sums as plain data, enough to evaluate a model [Dubey2021, remark 1].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SumsParameters {
    users: u64,
    horizon: u64,
    gram_std: f64,
    moment_std: f64,
    /// Packed upper triangle of the Gram matrix, then the moment vector.
    ///
    /// Features are scaled by `1/norm`, and rewards are centred.
    entries: Vec<f64>,
}

impl SumsParameters {
    /// Copies the parameters from a release.
    pub fn of(sums: &Sums) -> Self {
        let Sums { users, gram_std, moment_std, horizon, ref entries } = *sums;
        Self { users, horizon, gram_std, moment_std, entries: entries.clone() }
    }

    /// Returns the release if it has `n_features` features and valid values; else `None`.
    pub fn sums(self, n_features: usize) -> Option<Sums> {
        let Self { users, horizon, gram_std, moment_std, entries } = self;
        let fits = entries.len() == Sums::empty(n_features, 1).entries.len()
            && entries.iter().all(|x| x.is_finite())
            && [gram_std, moment_std].iter().all(|std| std.is_finite() && 0.0 <= *std)
            && (1..=1 << 53).contains(&horizon)
            && users <= 1 << 53;
        fits.then_some(Sums { entries, users, gram_std, moment_std, horizon })
    }
}
