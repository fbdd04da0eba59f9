//! Who does the N-sized work: from each trial's change to every point that could be its best.
//!
//! A backend never decides. Its contract is to hand back, by whatever path, every point whose f64 score
//! ([`privateer_gp::score::ScoreModel::exact`]) could tie with the largest; the engine decides among them. So results are the
//! same bits on every backend. **Invariant:** knows no policy and no randomness; sees `score`, `linalg`, `error` only.

mod batched;
mod contract;
mod cpu;
pub mod device;
mod fallback;
#[cfg(feature = "gpu")]
pub mod gpu;
mod lane;
mod playable;
pub mod reference;
mod scale;

pub use batched::Batched;
pub use contract::{Backend, Band, Counters, Domain, Screen, UpdateKind};
pub use cpu::Cpu;
pub use fallback::Fallback;
