//! What tells servers over private sums apart, what one saves, and what of it may be given out.

use privateer_privacy::sums::Sums;
use serde::{Deserialize, Serialize};

/// What tells one of these policies from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumsPolicyKind {
    /// Its registered name.
    pub name: &'static str,
    /// Whether users add their own noise.
    pub local: bool,
    /// Whether the model is linear in the coordinates.
    pub linear: bool,
}

/// Version of the saved state.
pub const STATE_VERSION: u64 = 1;

/// What is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SumsPolicyState {
    /// Registered name.
    pub policy: String,
    /// Of this form.
    pub version: u64,
    /// The coming round, 1-based.
    pub round: u64,
    /// The sums that the model stands on.
    pub released: SumsParameters,
    /// The sum of all items, where users add their own noise: the model follows on its schedule.
    pub items: Option<SumsParameters>,
    /// Releases taken in.
    pub releases: u64,
    /// The round after which the next one is asked for; 0: none is.
    pub next_release: u64,
    /// Rounds in which eigenvalues had to be raised.
    pub repaired: u64,
    /// Points played, ascending.
    pub played: Vec<u32>,
}

impl SumsPolicyState {
    /// What of plays and rounds no run over so many points can have saved; `None` if all is possible.
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

/// Released sums as plain data: what a model can be evaluated from anywhere [Dubey2021, remark 1].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SumsParameters {
    users: u64,
    horizon: u64,
    gram_std: f64,
    moment_std: f64,
    /// Packed upper triangle of the Gram matrix of features scaled by `1/norm`, then the vector, rewards less the centre.
    entries: Vec<f64>,
}

impl SumsParameters {
    /// Of a release.
    pub fn of(sums: &Sums) -> Self {
        let Sums { users, gram_std, moment_std, horizon, ref entries } = *sums;
        Self { users, horizon, gram_std, moment_std, entries: entries.clone() }
    }

    /// The release, if it is one over so many features.
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
