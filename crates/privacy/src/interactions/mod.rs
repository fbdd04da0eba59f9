//! Privatizers of interactions: a user comes with a context, is shown an arm and gives a reward. Joint differential privacy (Shariff2018):
//! what is shown to everybody else hardly changes when one user's context and reward are replaced by any other's; the arm that is
//! shown to that user follows their own context in the clear.
//!
//! In reading order: an interaction and what leaves of it ([`Interaction`], [`InteractionSignal`]), what a spec asks for ([`InteractionRequest`]), interactions
//! passed on as they are ([`no_privacy`]), noisy running sums over the interactions of all arms ([`sums`]), noisy choices
//! along the gradients of every arm ([`choices`]).
//!
//! **Invariant:** a context that is not finite, or of the wrong length, counts as zeros, a reward that is not finite as the centre of
//! its range.

pub mod choices;
mod contract;
mod facts;
mod link;
pub mod no_privacy;
mod request;
mod statement;
pub mod sums;

#[cfg(test)]
mod tests;

pub use contract::{Interaction, InteractionPrivatizer, InteractionSignal, seal};
pub use facts::ContextFacts;
pub use link::Link;
pub use request::InteractionRequest;
pub use statement::{InteractionStatement, interaction_ledger};
