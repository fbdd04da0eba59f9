//! The seal: a raw value can be made by anyone and opened by this room alone.

use super::sums::Sums;
use std::sync::Arc;

/// A value that must not be seen: an observation before its privacy mechanism.
#[derive(Debug)]
pub struct Raw<T>(T);

impl<T> Raw<T> {
    /// Seals a value.
    pub fn seal(value: T) -> Self {
        Self(value)
    }

    /// Looks through the seal; only mechanisms can.
    pub(crate) fn look(&self) -> &T {
        &self.0
    }

    /// Opens the seal; only mechanisms can.
    pub(crate) fn open(self) -> T {
        self.0
    }
}

/// A value that has passed a mechanism (possibly `none`, which the ledger then says). Policies hold nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Released<T>(T);

impl<T> Released<T> {
    /// Marks a value as released; only mechanisms can.
    pub(crate) fn mark(value: T) -> Self {
        Self(value)
    }

    /// The released value.
    pub fn value(&self) -> &T {
        &self.0
    }
}

/// What a privatizer sends to a policy after one round.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// One reward, unbiased for the clipped reward.
    Reward(f64),
    /// Running sums that take the place of those before.
    Sums(Arc<Sums>),
    /// One user's own item, to be added to what is known.
    Item(Arc<Sums>),
    /// Nothing this round.
    Nothing,
}

impl Released<Signal> {
    /// The reward, where one was released.
    #[must_use]
    pub fn reward(&self) -> Option<f64> {
        match self.0 {
            Signal::Reward(reward) => Some(reward),
            _ => None,
        }
    }
}
