//! Noise for running sums released after every round, as factorisations: with raw prefixes `A x`, release `A x + B z` for iid
//! Gaussian z, where `A = B C`. Changing one user's rows of x by at most `D` moves `C x` by at most `D` times the norm of the
//! columns of `C`, so the releases are one Gaussian mechanism, also when rows are chosen after seeing earlier releases
//! [Denisov2022, theorem 2.1].
//!
//! In reading order: the contract ([`Factorisation`]), the binary [`tree`], its weighted form ([`honaker`]), buffered linear Toeplitz ([`blt`],
//! fitted in `blt_fit`), fresh noise in every item ([`own`]), the square-root Toeplitz matrix for short streams ([`toeplitz`]), and [`PrefixSums`], which adds
//! noise to sealed sums. [`RowTransform`] has `C x` itself, for exact releases.

pub mod blt;
mod blt_fit;
mod contract;
pub mod honaker;
pub mod own;
mod prefix;
mod state;
pub mod toeplitz;
mod transform;
pub mod tree;

#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod reference_tests;

pub use contract::{Factorisation, PrefixNoise, Shape};
pub use prefix::{Exhausted, PrefixState, PrefixSums, Stated};
pub use state::NoiseState;
pub use transform::RowTransform;
