//! Observation noise: from the mean reward of a point to one reward. One file per noise, each reading its own keys.
//!
//! Every draw takes a fixed number of stream words, so that the noise of a round does not depend on what was played
//! before. No privacy here: that noise is a mechanism's.

mod bernoulli;
mod contract;
mod gaussian;
mod pareto;
mod resampled;
mod silent;
mod student_t;
mod uniform;

pub use contract::{NOISES, Noise, NoiseEntry, noise_kinds, parse_noise};
pub use resampled::Resampled;
