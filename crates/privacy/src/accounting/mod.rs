//! Computes what several releases cost together, and the least noise for a budget.
//!
//! In reading order: how much one user can change a released value ([`sensitivity`]), what one release costs ([`Loss`]),
//! concentrated and Rényi privacy ([`zcdp`], [`renyi`]), answers that a shuffler mixes ([`shuffled`]), choices that depend on
//! earlier ones ([`choices`]), the distribution of the
//! privacy loss on a grid ([`pld`]) and the composition of many releases ([`Composition`]). Everything here is a function of
//! numbers: no randomness and no data.

pub mod choices;
mod composition;
mod loss;
pub mod pld;
pub mod renyi;
pub(crate) mod search;
pub mod sensitivity;
pub mod shuffled;
pub mod subsampled;
pub mod zcdp;

#[cfg(test)]
mod reference_tests;

pub use composition::{Bracket, Composition, PriceMethod, Solver, least_noise};
pub use loss::Loss;
