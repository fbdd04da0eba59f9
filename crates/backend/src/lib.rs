//! Screens scores: finds, for each trial, a superset of the points that may maximise the UCB.
//!
//! The engine decides among these candidates in f64. A backend's contract is to return every point whose f64 score
//! ([`privateer_gp::score::ScoreModel::exact`]) could tie with the largest, on whatever path, so results have the same bits
//! on every backend. **Invariant:** this crate knows no policy and no randomness; it uses `score` and `linalg`
//! only.

mod ahead;
mod batched;
mod contract;
mod cpu;
pub mod device;
mod error;
mod fallback;
mod playable;
pub mod precision;
#[cfg(any(test, feature = "reference-device"))]
pub mod reference;
mod scale;
mod slot;

pub use ahead::Ahead;
pub use batched::Batched;
pub use contract::{Backend, Band, Counters, Domain, Screen, SumEnds, Together, UpdateKind};
pub use cpu::Cpu;
pub use device::whole::{LaneAnswer, LaneJob, LaneRound, MOST_ROUNDS};
pub use error::{BackendError, hidden_card};
pub use fallback::Fallback;
