//! One file per mechanism for one locally private reward, each with its registry entry and its `build`.
//!
//! Every bounded mechanism clips the reward to a stated range, centres and scales it to [-1, 1], randomises it, and scales
//! back: the release is unbiased for the *clipped* reward. Each release consumes a fixed number of stream words, whatever
//! it draws, so that the draws of two budgets stay aligned: laplace 1, duchi 1, piecewise 2, hybrid 3, gaussian 1, none 0.
//!
//! A reward is finite at the environment's boundary. Should a NaN arrive all the same, a private mechanism answers as if
//! it were the centre of the clip range, so that no NaN leaves and none of it is visible in the output.
//!
//! Statements and proofs are in `docs/proofs`; a test ties each to the text of its file.

mod contract;
pub mod duchi;
pub mod gaussian;
pub mod hybrid;
pub mod laplace;
pub mod none;
mod on_window;
pub mod piecewise;
pub(super) mod window;

#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod law;

pub use contract::{MechanismEntry, RewardMechanism, resolve_auto};
