//! Named random streams, the only source of generators for simulation.
//!
//! There is one Pcg64 stream per (sweep seed, environment label, trial, purpose). Mechanism and policy streams also carry
//! the policy's label, never epsilon, so that policies and budgets are compared on the same random draws. A draw for one
//! purpose does not advance any other stream. Every sampler is our own code over `libm`, so the bits do not depend on the
//! platform.
//!
//! **Invariant:** no clock and no entropy of the operating system; nothing else in the crate constructs a simulation
//! generator.

#[cfg(target_arch = "x86_64")]
mod compressed;
mod laplace;
mod logarithm;
mod normals;
mod quantile;
mod sample;
mod streams;

pub use quantile::normal_quantile;
pub use streams::{Purpose, Stream, Streams};
