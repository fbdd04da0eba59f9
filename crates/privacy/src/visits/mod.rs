//! Privatizers of visits: a person comes with a context, is shown an arm and gives a reward. Joint differential privacy (Shariff2018):
//! what is shown to everybody else hardly changes when one person's context and reward are replaced by any other's; the arm that is
//! shown to that person follows their own context in the clear.
//!
//! In reading order: a visit and what leaves of it ([`Visit`], [`VisitSignal`]), what a spec asks for ([`VisitRequest`]), visits
//! passed on as they are ([`open`]), noisy running sums over the visits of all arms ([`sums`]), noisy choices
//! along the gradients of every arm ([`choices`]).
//!
//! **Invariant:** a context that is not finite, or of the wrong length, counts as zeros, a reward that is not finite as the centre of
//! its range.

pub mod choices;
mod contract;
mod facts;
mod link;
pub mod open;
mod request;
mod statement;
pub mod sums;

#[cfg(test)]
mod tests;

pub use contract::{Visit, VisitPrivatizer, VisitSignal, seal};
pub use facts::ContextFacts;
pub use link::Link;
pub use request::VisitRequest;
pub use statement::{VisitStatement, visit_ledger};
