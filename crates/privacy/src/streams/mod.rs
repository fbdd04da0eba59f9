//! Generates noise for running sums that are released after every round.
//!
//! A factorisation `A = B C` of the matrix A of prefix sums releases `A x + B z` for iid Gaussian z, where `A x` are the raw
//! sums. If one user's rows of x change by at most `D`, `C x` changes by at most `D` times the norm of the columns of `C`. So
//! the releases are one Gaussian mechanism, also when rows are chosen after seeing earlier releases [Denisov2022, theorem 2.1].
//!
//! In reading order: the interface ([`Factorisation`]), the binary [`tree`], the tree with weighted nodes ([`honaker`]),
//! buffered linear Toeplitz matrices ([`blt`], fitted in `blt_fit`), fresh noise in every item ([`own`]), the square-root
//! Toeplitz matrix ([`toeplitz`], summed in `online`), the same cut off after a band ([`banded`]), both with columns of one
//! norm ([`normalised`]), and [`PrefixSums`], which adds noise to sealed sums. [`RowTransform`]
//! computes `C x` itself, for exact releases.

pub mod banded;
pub mod blt;
mod blt_fit;
mod contract;
pub mod honaker;
mod minimise;
pub mod normalised;
mod online;
pub mod own;
mod prefix;
pub mod toeplitz;
mod transform;
pub mod tree;
mod tree_norm;
mod vectors;

#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod reference_tests;

pub(crate) use contract::columns;
pub use contract::{Factorisation, PrefixNoise, Shape};
pub use prefix::{Exhausted, PrefixSums};
pub use transform::RowTransform;
