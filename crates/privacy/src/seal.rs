//! Seals raw values: anyone can make a [`Raw`] value, only this crate can open it.

use super::sums::Sums;
use std::sync::Arc;

/// Holds a value that must not be seen: an observation before its privacy mechanism.
#[derive(Debug)]
pub struct Raw<T>(T);

impl<T> Raw<T> {
    /// Seals a value.
    pub fn seal(value: T) -> Self {
        Self(value)
    }

    /// Returns a reference to the raw value; private to this crate.
    pub(crate) fn look(&self) -> &T {
        &self.0
    }

    /// Returns the raw value; private to this crate.
    pub(crate) fn open(self) -> T {
        self.0
    }
}

/// Holds a value that has passed a mechanism; policies receive nothing else.
/// The mechanism may be `none`, and then the ledger says so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Released<T>(T);

impl<T> Released<T> {
    /// Marks a value as released; private to this crate.
    pub(crate) fn mark(value: T) -> Self {
        Self(value)
    }

    /// Applies a function to the released value: post-processing spends nothing.
    pub(crate) fn map<U>(self, f: impl FnOnce(T) -> U) -> Released<U> {
        Released(f(self.0))
    }

    /// Returns the released value.
    pub fn value(&self) -> &T {
        &self.0
    }

    /// Returns the released value itself.
    pub fn into_value(self) -> T {
        self.0
    }
}

/// Holds what a privatizer sends to a policy after one round.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// One reward, or the mean of a batch of rewards; unbiased for the clipped rewards.
    Reward(f64),
    /// Running sums, which replace the earlier ones.
    Sums(Arc<Sums>),
    /// One user's own item, which the policy adds to its sums.
    Item(Arc<Sums>),
    /// The index of one candidate, chosen from all rewards so far.
    Choice(usize),
    /// Nothing this round.
    Nothing,
}

impl Released<Signal> {
    /// Returns the reward; `None` for any other signal.
    pub fn reward(&self) -> Option<f64> {
        match self.0 {
            Signal::Reward(reward) => Some(reward),
            _ => None,
        }
    }
}
