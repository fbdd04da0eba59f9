//! Releases for real data what a policy learns from: single rewards, or sums over users.

use super::{ReleaseError, RewardRelease, SamplerLaw, SumsRelease};
use crate::sums::SumsMechanism;
use crate::{Channel, Guarantee, Privatizer, Query, Raw, Released, Signal};
use privateer_numerics::rng::{Purpose, Streams};
use std::fmt;
use std::sync::Arc;

/// Takes rewards and releases signals with noise from the operating system's entropy.
pub struct ChannelRelease {
    kind: ChannelKind,
}

enum ChannelKind {
    Rewards(RewardRelease),
    Sums(Box<SumsRelease>),
    /// Sums without noise: the ledger says that nothing is protected.
    Open(Arc<dyn SumsMechanism>, Box<dyn Privatizer>),
}

impl fmt::Debug for ChannelRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ChannelKind::Rewards(_) => "rewards",
            ChannelKind::Sums(_) => "sums",
            ChannelKind::Open(..) => "sums without noise",
        })
    }
}

impl ChannelRelease {
    /// Builds the exact form of a calibrated mechanism.
    ///
    /// # Errors
    /// A mechanism without an exact form, or parameters beyond its range.
    pub fn of(channel: &Channel) -> Result<Self, ReleaseError> {
        let kind = match channel {
            Channel::Rewards(mechanism) => ChannelKind::Rewards(RewardRelease::of(&mechanism.ledger())?),
            Channel::Sums(mechanism) if mechanism.ledger().guarantee == Guarantee::NotPrivate => {
                ChannelKind::Open(Arc::clone(mechanism), mechanism.privatizer())
            }
            Channel::Sums(mechanism) => {
                let ledger = mechanism.ledger();
                let plan = mechanism
                    .exact()
                    .ok_or_else(|| ReleaseError::Range(format!("mechanism `{}` ({})", ledger.mechanism, ledger.noise_formula)))?;
                ChannelKind::Sums(Box::new(SumsRelease::new(plan)?))
            }
        };
        Ok(Self { kind })
    }

    /// Takes one user's reward and releases the signal of the round.
    ///
    /// The signal must be stored: a second draw for the same reward would spend the budget again. An error leaves the state
    /// unchanged.
    ///
    /// # Errors
    /// A reward that is not finite; no entropy.
    pub fn release(&mut self, query: &Query<'_>, reward: Raw<f64>) -> Result<Released<Signal>, ReleaseError> {
        match &mut self.kind {
            ChannelKind::Rewards(release) => release.release(reward),
            ChannelKind::Sums(release) => release.release(query, reward),
            ChannelKind::Open(_, privatizer) => {
                if !reward.look().is_finite() {
                    return Err(ReleaseError::NotFinite);
                }
                // The mechanism draws nothing from this stream.
                Ok(privatizer.release(query, reward, (&mut Streams::new(0, "no noise").shared(Purpose::Domain)).into()))
            }
        }
    }

    /// Returns what the exact samplers are given; empty without noise.
    ///
    /// # Errors
    /// Parameters beyond the samplers' range.
    pub fn laws(&self) -> Result<Vec<SamplerLaw>, ReleaseError> {
        match &self.kind {
            ChannelKind::Rewards(release) => release.laws(),
            ChannelKind::Sums(release) => Ok(release.laws()),
            ChannelKind::Open(..) => Ok(Vec::new()),
        }
    }

    /// Says whether raw sums are held between users, and so stored by [`ChannelRelease::save`].
    #[must_use]
    pub fn holds_raw(&self) -> bool {
        match &self.kind {
            ChannelKind::Rewards(_) => false,
            ChannelKind::Sums(release) => release.holds_raw(),
            ChannelKind::Open(..) => true,
        }
    }

    /// Returns the number of users so far; `None` for reward mechanisms, which do not count them.
    #[must_use]
    pub fn users(&self) -> Option<u64> {
        match &self.kind {
            ChannelKind::Rewards(_) => None,
            ChannelKind::Sums(release) => Some(release.users()),
            ChannelKind::Open(_, privatizer) => Some(privatizer.counts().rewards),
        }
    }

    /// Returns the state kept across rounds; null for mechanisms without state.
    #[must_use]
    pub fn save(&self) -> serde_json::Value {
        match &self.kind {
            ChannelKind::Rewards(_) => serde_json::Value::Null,
            ChannelKind::Sums(release) => release.save(),
            ChannelKind::Open(_, privatizer) => privatizer.save(),
        }
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// A description of the fault in the state.
    pub fn load(&mut self, state: serde_json::Value) -> Result<(), String> {
        match &mut self.kind {
            ChannelKind::Rewards(_) if state.is_null() => Ok(()),
            ChannelKind::Rewards(_) => Err("a reward mechanism keeps no state, and one was given".to_owned()),
            ChannelKind::Sums(release) => release.load(state),
            ChannelKind::Open(mechanism, privatizer) => {
                *privatizer = mechanism.restore(state)?;
                Ok(())
            }
        }
    }
}
