//! Implements privatizers of interactions.
//!
//! In an interaction a user brings a context, is shown an arm and gives a reward.
//!
//! The notion is joint differential privacy (Shariff2018): what all other users are shown hardly changes when one user's
//! context and reward are replaced by any other's. The arm shown to that user follows their own context, which is not hidden
//! from them.
//!
//! In reading order: an interaction and its release ([`Interaction`], [`InteractionSignal`]),
//! interactions released unchanged ([`no_privacy`]), noisy running sums over the interactions of all arms ([`sums`]), noisy choices
//! along the gradients of every arm ([`choices`]).
//!
//! **Invariant:** no number that is not finite enters a release. A context that is not finite, or of the wrong length, adds
//! nothing. For sums, a NaN reward counts as the centre and an infinite one as the nearest end of its range; for choices, an
//! interaction whose reward is not finite adds nothing.

mod arm_mechanism;
pub mod choices;
mod contract;
mod facts;
mod link;
mod need;
pub mod no_privacy;
pub mod sums;

#[cfg(test)]
mod tests;

pub use arm_mechanism::{ArmMechanism, ChoicesNeed};
pub use contract::{ArmStep, Interaction, InteractionPrivatizer, InteractionSignal, seal};
pub use facts::ContextFacts;
pub use link::Link;
pub use need::{CalibratedInteractions, InteractionMechanism, InteractionNeed, InteractionSumsNeed};
