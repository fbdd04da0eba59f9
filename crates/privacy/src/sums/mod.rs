//! Private sums of `phi phi^T` and `y phi` over a stream of users: joint differential privacy, where a trusted privatizer releases
//! noisy running sums, and its local version, where everybody adds noise to an item of their own \[Dubey2021\]. The corner
//! `sum y²` is never released (E7).
//!
//! In reading order: what a server asks for and what it is given (`contract`), the calibrations of the three readings ([`joint`],
//! [`local`]), what the ledger says (`statement`). Statement and proof: `docs/proofs/sums.md`.

mod contract;
pub mod joint;
pub mod local;
pub mod none;
mod statement;
mod user;

#[cfg(test)]
mod tests;

pub(crate) use contract::ExactEpoch;
pub use contract::{Epochs, ExactSums, Spectrum, Sums, SumsEntry, SumsFacts, SumsMechanism, SumsNeed, SumsRequest, resolve_auto};
