//! Releases for real data what a policy learns from: single rewards, or sums over users.

use super::{ReleaseError, SamplerLaw};
use crate::noise::{Entropy, Noise};
use crate::sums::Spectrum;
use crate::{Channel, Guarantee, Ledger, Privatizer, Query, Raw, Released, Signal};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// What must be kept of one release, so that it is never drawn again: the mechanism gives the same signal from it.
#[derive(Clone, PartialEq)]
pub enum KeptRelease {
    /// The released reward.
    Reward(f64),
    /// The numbers of the user's own released item.
    Item(Vec<f64>),
    /// What enters sums that are released later: the reward as it was observed, and the key of the round's noise. It is as secret
    /// as the reward.
    Raw {
        /// The reward.
        reward: f64,
        /// The key.
        key: [u8; 32],
    },
}

impl fmt::Debug for KeptRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reward(reward) => f.debug_tuple("Reward").field(reward).finish(),
            Self::Item(numbers) => f.debug_tuple("Item").field(numbers).finish(),
            Self::Raw { .. } => f.write_str("Raw(secret)"),
        }
    }
}

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

    /// Returns what is promised to a user whose reward is released: the exact mechanism's ledger.
    pub fn ledger(&self) -> Ledger {
        self.channel.ledger()
    }

    /// Takes one user's reward and releases the signal of the round.
    ///
    /// The signal must be stored: a second draw for the same reward would spend the budget again. An error leaves the state
    /// unchanged.
    ///
    /// # Errors
    /// A reward that is not finite; no entropy.
    pub fn release(&mut self, query: &Query<'_>, reward: Raw<f64>) -> Result<Released<Signal>, ReleaseError> {
        self.release_to_keep(query, reward).map(|(signal, _)| signal)
    }

    /// As [`ChannelRelease::release`], with what must be kept of the round.
    ///
    /// # Errors
    /// As [`ChannelRelease::release`].
    pub fn release_to_keep(
        &mut self,
        query: &Query<'_>,
        reward: Raw<f64>,
    ) -> Result<(Released<Signal>, KeptRelease), ReleaseError> {
        let observed = *reward.look();
        if !observed.is_finite() {
            return Err(ReleaseError::NotFinite);
        }
        let key = Entropy::key()?;
        let signal = self.privatizer.release(query, reward, Noise::Exact(&mut Entropy::of(key)));
        let kept = match signal.value() {
            Signal::Reward(reward) if self.channel.rewards().is_some() => KeptRelease::Reward(*reward),
            Signal::Item(item) if !self.holds_raw() => KeptRelease::Item(item.entries.clone()),
            _ => KeptRelease::Raw { reward: observed, key },
        };
        Ok((signal, kept))
    }

    /// Returns the signal of a round that was released before; the rounds before it were given back already.
    ///
    /// # Errors
    /// What another mechanism kept.
    pub fn again(&mut self, query: &Query<'_>, kept: &KeptRelease) -> Result<Released<Signal>, ReleaseError> {
        let other = || Err(ReleaseError::Range("what was kept of another mechanism".to_owned()));
        match kept {
            KeptRelease::Reward(reward) if self.channel.rewards().is_some() => Ok(Released::mark(Signal::Reward(*reward))),
            KeptRelease::Item(numbers) if self.channel.sums().is_some() && !self.holds_raw() => {
                // Everything but the numbers is public.
                let released = self.privatizer.release(query, Raw::seal(0.0), Noise::Replayed(&mut VecDeque::new()));
                let Signal::Item(item) = released.value() else { return other() };
                if item.entries.len() != numbers.len() {
                    return other();
                }
                let mut item = item.as_ref().clone();
                item.entries.clone_from(numbers);
                Ok(Released::mark(Signal::Item(Arc::new(item))))
            }
            KeptRelease::Raw { reward, key } if self.holds_raw() => {
                Ok(self.privatizer.release(query, Raw::seal(*reward), Noise::Exact(&mut Entropy::of(*key))))
            }
            _ => other(),
        }
    }

    /// Returns what the exact samplers are given; empty without noise.
    pub fn laws(&self) -> &[SamplerLaw] {
        &self.laws
    }

    /// Says whether raw rewards are kept, from which sums over users are released.
    pub fn holds_raw(&self) -> bool {
        self.channel.sums().is_some_and(|sums| !matches!(sums.facts().spectrum, Spectrum::Local { .. }))
    }

    /// Says whether rewards are released one by one.
    pub fn releases_rewards(&self) -> bool {
        self.channel.rewards().is_some()
    }
}
