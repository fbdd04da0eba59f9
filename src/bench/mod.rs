//! Speed of the engine's own paths on standard jobs, beside what the machine can do.
//!
//! * `incremental` — GP-UCB over quadrature Fourier features: the posterior's rank-one updates, the backend's screen, the
//!   engine's decision, as a run does them.
//! * `fullrank` — the same score with the tree mechanism's noise in the precision matrix: every entry is new every round, so
//!   each round brings a whole factor.
//! * `modeler` — GP-UCB over released inputs that a curator gave out: every run has inputs of its own, and its kernel columns.
//! * `exact` — the exact posterior over a small domain: whole runs of the engine on the CPU.
//! * `oco` — learners of online convex optimization, whole runs on one thread.
//!
//! Instances are drawn from named streams or read from NumPy arrays, so that other programs can run the same ones and compare
//! the chosen points by checksum. **Invariant:** nothing here decides; times are measured, never part of an answer.

mod ceiling;
mod columns;
mod exact;
mod formed;
mod full_rank;
mod instance;
mod job;
mod learner;
mod memory;
mod modeler;
mod npy;
mod oco;
mod outcome;
mod run;
mod table;
#[cfg(test)]
mod tests;
mod tree;

pub use ceiling::Ceilings;
pub use exact::{ExactJob, MeasuredExact, measure_exact};
pub use instance::BenchInstance;
pub use job::{Flags, Job, Size, Workload};
pub use modeler::{MeasuredModeler, ModelerJob, measure_modeler};
pub use npy::{Floats, floats, integers};
pub use oco::{Timed, measure_oco};
pub use outcome::{Measured, PEER};
pub use run::{BenchOptions, Machine, measure};
pub use table::table;
