//! Releases for real data what a policy learns from: single rewards, or sums over users.

use super::{ReleaseError, SamplerLaw, SumsRelease};
use crate::noise::{Entropy, Noise};
use crate::{Channel, Guarantee, Privatizer, Query, Raw, Released, Signal};
use std::fmt;

/// Takes rewards and releases signals with noise from the operating system's entropy.
///
/// The mechanism is the one that is simulated: it clips and draws here as there, from another source of noise.
pub struct ChannelRelease {
    kind: ChannelKind,
}

enum ChannelKind {
    /// Rewards, or sums without noise: the ledger says that nothing is protected.
    Whole {
        channel: Channel,
        privatizer: Box<dyn Privatizer>,
        laws: Vec<SamplerLaw>,
    },
    Sums(Box<SumsRelease>),
}

impl fmt::Debug for ChannelRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelRelease").field("laws", &self.laws()).finish_non_exhaustive()
    }
}

impl ChannelRelease {
    /// Takes a calibrated mechanism, to draw exact noise in it.
    ///
    /// # Errors
    /// A mechanism whose claim does not hold or that has no exact form, or parameters beyond its range.
    pub fn of(channel: &Channel) -> Result<Self, ReleaseError> {
        let ledger = channel.ledger();
        let named = || format!("mechanism `{}` ({})", ledger.mechanism, ledger.guarantee);
        let is_open = ledger.guarantee == Guarantee::NotPrivate;
        if !is_open && ledger.guarantee != Guarantee::Holds {
            return Err(ReleaseError::Range(named()));
        }
        let laws = match channel {
            Channel::Rewards(mechanism) => mechanism.exact()?,
            Channel::Sums(_) if is_open => Vec::new(),
            Channel::Sums(mechanism) => {
                let plan = mechanism.exact().ok_or_else(|| ReleaseError::Range(named()))?;
                return Ok(Self { kind: ChannelKind::Sums(Box::new(SumsRelease::new(plan)?)) });
            }
        };
        Ok(Self { kind: ChannelKind::Whole { channel: channel.clone(), privatizer: channel.privatizer(), laws } })
    }

    /// Takes one user's reward and releases the signal of the round.
    ///
    /// The signal must be stored: a second draw for the same reward would spend the budget again. An error leaves the state
    /// unchanged.
    ///
    /// # Errors
    /// A reward that is not finite; no entropy.
    pub fn release(&mut self, query: &Query<'_>, reward: Raw<f64>) -> Result<Released<Signal>, ReleaseError> {
        if !reward.look().is_finite() {
            return Err(ReleaseError::NotFinite);
        }
        match &mut self.kind {
            ChannelKind::Sums(release) => release.release(query, reward),
            ChannelKind::Whole { privatizer, .. } => Ok(privatizer.release(query, reward, Noise::Exact(&mut Entropy::fresh()?))),
        }
    }

    /// Returns what the exact samplers are given; empty without noise.
    #[must_use]
    pub fn laws(&self) -> Vec<SamplerLaw> {
        match &self.kind {
            ChannelKind::Whole { laws, .. } => laws.clone(),
            ChannelKind::Sums(release) => release.laws(),
        }
    }

    /// Says whether raw sums are held between users, and so stored by [`ChannelRelease::save`].
    #[must_use]
    pub fn holds_raw(&self) -> bool {
        match &self.kind {
            ChannelKind::Whole { channel, .. } => matches!(channel, Channel::Sums(_)),
            ChannelKind::Sums(release) => release.holds_raw(),
        }
    }

    /// Returns the number of users so far; `None` for reward mechanisms, which do not count them.
    #[must_use]
    pub fn users(&self) -> Option<u64> {
        match &self.kind {
            ChannelKind::Whole { channel, privatizer, .. } => channel.sums().map(|_| privatizer.counts().rewards),
            ChannelKind::Sums(release) => Some(release.users()),
        }
    }

    /// Returns the state kept across rounds; null for mechanisms without state.
    #[must_use]
    pub fn save(&self) -> serde_json::Value {
        match &self.kind {
            ChannelKind::Whole { privatizer, .. } => privatizer.save(),
            ChannelKind::Sums(release) => release.save(),
        }
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// A description of the fault in the state.
    pub fn load(&mut self, state: serde_json::Value) -> Result<(), String> {
        match &mut self.kind {
            ChannelKind::Whole { channel, privatizer, .. } => *privatizer = channel.restore(state)?,
            ChannelKind::Sums(release) => release.load(state)?,
        }
        Ok(())
    }
}
