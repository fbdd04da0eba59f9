//! Exact and numerical accounting: what releases cost together, and the least noise for a budget.
//!
//! In reading order: how much one user can move what is released ([`sensitivity`]), what one release costs ([`Loss`]),
//! concentrated and Rényi privacy ([`zcdp`], [`renyi`]), the distribution of the privacy loss on a grid ([`pld`]) and many
//! releases together ([`Composition`]). No randomness, no data: numbers to numbers.

mod composition;
mod loss;
pub mod pld;
pub mod renyi;
pub mod sensitivity;
pub mod subsampled;
pub mod zcdp;

#[cfg(test)]
mod reference_tests;

pub use composition::{Bracket, Composition, PriceMethod, Solver, least_noise};
pub use loss::Loss;
