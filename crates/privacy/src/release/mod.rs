//! Releases real data: exact integer samplers over ChaCha20, keyed by the operating system.
//!
//! In reading order: random bits (`entropy`), exact coins and integer laws (`bernoulli`, `discrete`), the grid to which values
//! are rounded before noise (`grid`), the mechanisms ([`VectorRelease`], [`RowsRelease`], [`LaplaceRelease`], [`BitRelease`],
//! [`DensityRelease`], [`ChoiceRelease`], [`TreeRelease`], [`SumsRelease`]) and the result ([`Release`]). Every release has a
//! fresh key, no seed is accepted, and nothing secret is printed.
//!
//! Calibration is shared with the simulation; randomness and types are not. A simulated value is not a [`Release`]: the
//! examples of [`publish`] and [`Release`] show what does not compile.
//!
//! Out of scope: timing (the time of a draw depends on the draw; buffer noise before the data arrives), exceptions that depend
//! on the data, and releases repeated because an interrupted experiment was resumed.

mod channel;
mod choice;
mod density;
mod identity;
mod laplace;
mod outcome;
mod received;
mod reward;
mod rows;
mod sums;
mod tree;
mod vector;

#[cfg(test)]
mod mechanism_tests;
#[cfg(test)]
mod sums_tests;

pub use crate::noise::{ReleaseError, SamplerLaw};
pub use channel::ChannelRelease;
pub use choice::{BitRelease, ChoiceRelease};
pub use density::DensityRelease;
pub use identity::random_name;
pub use laplace::LaplaceRelease;
pub use outcome::{Release, ReleaseLedger, publish};
pub use received::HolderRelease;
pub use reward::RewardRelease;
pub use rows::{MOST_BOUND, PublicProjection, ReleasedRows, RowsRelease};
pub use sums::SumsRelease;
pub use tree::TreeRelease;
pub use vector::VectorRelease;
