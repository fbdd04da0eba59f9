//! The private side of one trial, whatever it releases: rewards one by one, or sums over users.

use super::sums::SumsMechanism;
use super::{Ledger, Raw, Released, RewardMechanism, Signal};
use privateer_numerics::rng::Stream;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// What a server asks for in a round, in the plain.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query<'a> {
    /// Features of the point played, `|phi| <= 1`; empty where rewards alone are released.
    pub features: Cow<'a, [f64]>,
    /// Whether sums are to be released after this round. A server decides it from released values alone.
    pub release: bool,
}

/// The private side of one trial: receives sealed rewards and releases signals. May hold raw state across rounds.
pub trait Privatizer: Send {
    /// Takes one user's reward, and releases what the round gives out. Consumes a number of stream words that does not depend
    /// on the reward.
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, stream: &mut Stream) -> Released<Signal>;

    /// What happened so far. Counts are of raw data: for whoever simulates, and for nobody else.
    fn counts(&self) -> ReleaseCounts {
        ReleaseCounts::default()
    }

    /// The state as plain data with a version, raw sums among it: as secret as the data. Null for who keeps nothing.
    fn save(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

/// What a privatizer of sums has met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseCounts {
    /// Rewards taken.
    pub rewards: u64,
    /// Rewards outside of the clip range, or not a number.
    pub clipped: u64,
    /// Features longer than 1 that were shortened: the server's scaling is wrong.
    pub shortened: u64,
    /// Releases of sums.
    pub releases: u64,
}

impl ReleaseCounts {
    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        self.rewards += other.rewards;
        self.clipped += other.clipped;
        self.shortened += other.shortened;
        self.releases += other.releases;
    }
}

/// What a policy's signals may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protection {
    /// One reward at a time, by a mechanism for rewards.
    #[default]
    Rewards,
    /// Running sums by a trusted privatizer.
    Sums,
    /// Every user's own noisy item.
    LocalSums,
}

/// A calibrated mechanism of either kind.
#[derive(Debug, Clone)]
pub enum Channel {
    /// For one reward at a time.
    Rewards(Arc<dyn RewardMechanism>),
    /// For sums.
    Sums(Arc<dyn SumsMechanism>),
}

impl Channel {
    /// A fresh privatizer for one trial.
    #[must_use]
    pub fn privatizer(&self) -> Box<dyn Privatizer> {
        match self {
            Self::Rewards(mechanism) => mechanism.privatizer(),
            Self::Sums(mechanism) => mechanism.privatizer(),
        }
    }

    /// The privatizer whose state was saved.
    ///
    /// # Errors
    /// What is wrong with the state, in words.
    pub fn restore(&self, state: serde_json::Value) -> Result<Box<dyn Privatizer>, String> {
        match self {
            Self::Rewards(mechanism) if state.is_null() => Ok(mechanism.privatizer()),
            Self::Rewards(_) => Err("a reward mechanism keeps no state, and one was given".to_owned()),
            Self::Sums(mechanism) => mechanism.restore(state),
        }
    }

    /// What is claimed and what is delivered.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        match self {
            Self::Rewards(mechanism) => mechanism.ledger(),
            Self::Sums(mechanism) => mechanism.ledger(),
        }
    }

    /// The mechanism for one reward, if it is one.
    #[must_use]
    pub fn rewards(&self) -> Option<&dyn RewardMechanism> {
        match self {
            Self::Rewards(mechanism) => Some(mechanism.as_ref()),
            Self::Sums(_) => None,
        }
    }

    /// The mechanism for sums, if it is one.
    #[must_use]
    pub fn sums(&self) -> Option<&dyn SumsMechanism> {
        match self {
            Self::Rewards(_) => None,
            Self::Sums(mechanism) => Some(mechanism.as_ref()),
        }
    }
}
