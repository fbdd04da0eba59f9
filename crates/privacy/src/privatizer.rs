//! Defines the private side of one trial: it receives sealed rewards and releases signals.
//! A signal is one reward, or sums over users.

use super::noise::Noise;
use super::{Raw, Released, Signal};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Closes the traits of mechanisms to other crates.
pub(crate) mod sealed {
    /// Marks the mechanisms of this crate.
    pub trait Sealed {}
}

/// Holds the public part of a server's request in one round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query<'a> {
    /// Features of the point played, `|phi| <= 1`; empty where only rewards are released.
    pub features: Cow<'a, [f64]>,
    /// True if sums are to be released after this round.
    /// The server decides this from released values only.
    pub release: bool,
}

/// Receives the sealed rewards of one trial and releases signals.
/// An implementation may hold raw data across rounds.
pub trait Privatizer: Send {
    /// Takes one user's reward and returns the signal of the round.
    /// From a simulated stream it takes a number of words that does not depend on the reward.
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, noise: Noise<'_>) -> Released<Signal>;

    /// Returns counts of the raw data seen so far.
    /// They are for the simulation only, and must not be published.
    fn counts(&self) -> ReleaseCounts {
        ReleaseCounts::default()
    }
}

/// Counts what a privatizer of sums has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseCounts {
    /// Rewards received.
    pub rewards: u64,
    /// Rewards outside the clip range, or NaN.
    pub clipped: u64,
    /// Feature vectors longer than 1 that were shortened: the server's scaling is wrong.
    pub shortened: u64,
    /// Releases of sums.
    pub releases: u64,
}

impl ReleaseCounts {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.rewards += other.rewards;
        self.clipped += other.clipped;
        self.shortened += other.shortened;
        self.releases += other.releases;
    }
}

/// Says what a policy's signals contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protection {
    /// One reward at a time, by a reward mechanism.
    #[default]
    Rewards,
    /// Running sums by a trusted privatizer (joint model).
    Sums,
    /// Every user's own noisy item (local model).
    LocalSums,
    /// Sums over batches of rewards at one point, by a trusted server (central model).
    Batches,
    /// One candidate of several, by a trusted server that releases nothing else (central model).
    Answer,
}
