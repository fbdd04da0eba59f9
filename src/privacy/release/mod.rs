//! Noise that may leave the building: exact integer samplers over ChaCha20, keyed by the operating system for every release.
//!
//! In reading order: the source of bits (`entropy`), exact coins and integer laws (`bernoulli`, `discrete`), the grid on which
//! values are rounded before noise (`grid`), the mechanisms ([`VectorRelease`], [`RowsRelease`], [`LaplaceRelease`], [`BitRelease`], [`DensityRelease`],
//! [`ChoiceRelease`], [`TreeRelease`], [`SumsRelease`]) and what comes out ([`Release`]). No seed is accepted and nothing secret is printed.
//!
//! Calibration is shared with the simulation; randomness and types are not. A simulated value is no [`Release`]:
//!
//! ```compile_fail,E0308
//! use privateer::privacy::release::{Release, publish};
//! use privateer::privacy::{Released, Signal};
//! fn leave(simulated: &Released<Signal>) -> String {
//!     publish(simulated) // expected `&Release<_>`, found `&Released<Signal>`
//! }
//! ```
//!
//! What is released can be published:
//!
//! ```
//! use privateer::privacy::accounting::sensitivity::Relation;
//! use privateer::privacy::release::{VectorRelease, publish};
//! use privateer::privacy::{Delta, Epsilon, Raw};
//! let (epsilon, delta) = (Epsilon::try_from(1.0)?, Delta::try_from(1e-6)?);
//! let mechanism = VectorRelease::calibrated(epsilon, delta, 1.0, 2, Relation::Replace)?;
//! let release = mechanism.release(Raw::seal(vec![0.3, -0.2]))?;
//! assert!(publish(&release).contains("\"provenance\":\"released\""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nobody can make a release by hand, and no stream of a simulation can be its noise:
//!
//! ```compile_fail,E0423
//! let forged = privateer::privacy::release::Release(1.0);
//! ```
//!
//! Out of scope: timing (the time of a draw depends on the draw; buffer noise before the data is there), exceptions that depend
//! on the data, and releases repeated because a run was resumed.

mod bernoulli;
mod channel;
mod choice;
mod density;
mod discrete;
mod entropy;
mod grid;
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
mod sampler_tests;
#[cfg(test)]
mod sums_tests;

pub use channel::ChannelRelease;
pub use choice::{BitRelease, ChoiceRelease};
pub use density::DensityRelease;
pub use identity::random_name;
pub use laplace::LaplaceRelease;
pub use outcome::{Release, ReleaseError, ReleaseLedger, publish};
pub use received::HolderRelease;
pub use reward::RewardRelease;
pub use rows::{MOST_BOUND, PublicProjection, ReleasedRows, RowsRelease};
pub use sums::SumsRelease;
pub use tree::TreeRelease;
pub use vector::VectorRelease;
