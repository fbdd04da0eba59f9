//! Releases real data: exact integer samplers over ChaCha20, keyed by the operating system.
//!
//! In reading order: what a policy learns from ([`ChannelRelease`], and [`HolderRelease`] on its way there), rows of a table
//! ([`RowsRelease`]), and their result ([`Release`]). Every release has a fresh key, no seed is accepted, and nothing secret is
//! printed.
//!
//! Mechanisms are shared with the simulation; the source of noise ([`crate::noise::Noise::Exact`]) and the types are not. A
//! simulated value is not a [`Release`]: the examples of [`publish`] and [`Release`] show what does not compile.
//!
//! Out of scope: timing (the time of a draw depends on the draw; buffer noise before the data arrives), exceptions that depend
//! on the data, and releases repeated because an interrupted experiment was resumed.

mod channel;
mod identity;
mod outcome;
mod received;
mod rows;

#[cfg(test)]
mod mechanism_tests;

pub use crate::noise::{ReleaseError, SamplerLaw};
pub use channel::{ChannelRelease, KeptRelease};
pub use identity::random_name;
pub use outcome::{Release, ReleaseLedger, publish};
pub use received::HolderRelease;
pub use rows::{MOST_BOUND, PublicProjection, ReleasedRows, RowsRelease};
