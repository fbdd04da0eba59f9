//! Releases private sums of `phi phi^T` and `y phi` over a stream of users \[Dubey2021\].
//!
//! Under joint differential privacy a trusted privatizer releases noisy running sums; in the local version every user adds
//! noise to their own item. The corner `sum y²` is never released (erratum E7, `docs/privacy.md`).
//!
//! In reading order: what a server asks for and receives (`contract`), the mechanisms ([`joint`], [`local`], [`privunit`], [`batch`],
//! [`shuffle`], [`exponential`]), and their list. Statement and proof: `docs/proofs/sums.md`.

pub mod batch;
mod contract;
pub mod exponential;
pub mod joint;
mod list;
pub mod local;
pub mod none;
pub mod privunit;
mod running;
pub mod shuffle;

#[cfg(test)]
mod exact_tests;
#[cfg(test)]
mod tests;

pub use contract::{Epochs, Spectrum, SumsEntry, SumsFacts, SumsMechanism, SumsNeed};
pub use list::SUMS;
pub use running::Sums;
