//! Releases for real data what a policy learns from: single rewards, or sums over users.

use super::{ReleaseError, SamplerLaw};
use crate::noise::{Entropy, Noise};
use crate::sums::Spectrum;
use crate::{Channel, Guarantee, Privatizer, Query, Raw, Released, Signal};
use std::fmt;

/// Takes rewards and releases signals with noise from the operating system's entropy.
///
/// The mechanism is the one that is simulated: it clips and draws here as there, from another source of noise.
pub struct ChannelRelease {
    channel: Channel,
    privatizer: Box<dyn Privatizer>,
    laws: Vec<SamplerLaw>,
}

impl fmt::Debug for ChannelRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelRelease").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl ChannelRelease {
    /// Takes a calibrated mechanism, to draw exact noise in it.
    ///
    /// # Errors
    /// A mechanism whose claim does not hold or that has no exact form, or parameters beyond its range.
    pub fn of(channel: &Channel) -> Result<Self, ReleaseError> {
        let ledger = channel.ledger();
        if !matches!(ledger.guarantee, Guarantee::Holds | Guarantee::NotPrivate) {
            return Err(ReleaseError::Range(format!("mechanism `{}` ({})", ledger.mechanism, ledger.guarantee)));
        }
        let (channel, laws) = match channel {
            Channel::Rewards(mechanism) => (channel.clone(), mechanism.exact()?),
            Channel::Sums(mechanism) => {
                let mechanism = mechanism.exact()?;
                let laws = mechanism.laws();
                (Channel::Sums(mechanism), laws)
            }
        };
        Ok(Self { privatizer: channel.privatizer(), channel, laws })
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
        Ok(self.privatizer.release(query, reward, Noise::Exact(&mut Entropy::fresh()?)))
    }

    /// Returns what the exact samplers are given; empty without noise.
    #[must_use]
    pub fn laws(&self) -> &[SamplerLaw] {
        &self.laws
    }

    /// Says whether raw sums are held between users, and so stored by [`ChannelRelease::save`].
    #[must_use]
    pub fn holds_raw(&self) -> bool {
        self.channel.sums().is_some_and(|sums| !matches!(sums.facts().spectrum, Spectrum::Local { .. }))
    }

    /// Returns the number of users so far; `None` for reward mechanisms, which do not count them.
    #[must_use]
    pub fn users(&self) -> Option<u64> {
        self.channel.sums().map(|_| self.privatizer.counts().rewards)
    }

    /// Returns the state kept across rounds; null for mechanisms without state.
    #[must_use]
    pub fn save(&self) -> serde_json::Value {
        self.privatizer.save()
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// A description of the fault in the state.
    pub fn load(&mut self, state: serde_json::Value) -> Result<(), String> {
        self.privatizer = self.channel.restore(state)?;
        Ok(())
    }
}
