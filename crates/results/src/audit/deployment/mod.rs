//! Compares every epsilon that a deployment states with the exact one of its worst pair of tables.
//!
//! In reading order: what was released, as the files state it ([`Fact`]), its exact loss (`exact`), the comparison ([`check`]).
//! **Invariant:** nothing here calls the accountant: laws, distances and sums are computed again from noise, ranges and counts. How
//! often an item enters a stream is taken from its factorisation, which audits of mechanisms attack.

mod check;
mod exact;
mod fact;

pub use check::{StatedFile, StatedLoss, check};
pub use fact::{Fact, Law, ReadPart};
