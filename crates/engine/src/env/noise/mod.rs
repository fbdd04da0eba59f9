//! Defines observation noise, from a point's mean reward to one reward; one file per noise.
//!
//! Each noise reads its own keys. Every draw takes a fixed number of stream words, so that the noise of a round does not depend
//! on earlier plays. Privacy noise is not defined here; it belongs to the mechanisms.

mod bernoulli;
mod contract;
mod gaussian;
mod list;
mod pareto;
mod resampled;
pub(in crate::env) mod silent;
mod student_t;
mod sub_weibull;
mod uniform;

pub use contract::Noise;
pub use list::{NOISES, parse_noise};
pub use resampled::Resampled;
