//! Implements the locally private mechanisms for one reward, one file per mechanism.
//!
//! Every file holds a registry entry and a `build` function. Statements and proofs are in `docs/proofs`; a test ties each proof
//! to the text of its file.
//!
//! Every bounded mechanism clips the reward to a stated range, centres and scales it to [-1, 1], randomises it, and scales
//! back: the release is unbiased for the *clipped* reward. Each release consumes a fixed number of random-stream words,
//! whatever its draw, so that the draws of two budgets stay aligned: laplace 1, duchi 1, piecewise 2, hybrid 3, randomised-response 2,
//! warped-piecewise 3, gaussian 1, none 0.
//!
//! Environments return finite rewards. If a NaN arrives nevertheless, a private mechanism treats it as the centre of the clip
//! range, so that the output is never NaN and does not show that the input was.

mod contract;
pub mod duchi;
pub mod gaussian;
pub mod hybrid;
pub mod laplace;
mod list;
pub mod none;
pub(crate) mod on_window;
mod outside;
pub mod piecewise;
pub mod response;
mod sub_gaussian;
pub mod warped;
pub(super) mod window;

#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod law;

pub use contract::{MechanismEntry, RewardMechanism};
pub use list::{MECHANISMS, of_least_variance};
pub use outside::{CalibrateOutside, OutsideBudget, OutsideEntry, OutsideMechanism};
