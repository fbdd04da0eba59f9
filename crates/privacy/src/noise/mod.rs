//! Provides the draws of every mechanism, from one of three sources ([`Noise`]).
//!
//! In reading order: the sources (`source`), random bits for real people (`entropy`), exact coins and integer laws (`bernoulli`,
//! `discrete`), the grid to which values are rounded before exact noise (`grid`), and the integers that exact samplers are given
//! ([`SamplerLaw`]).

mod bernoulli;
mod discrete;
mod entropy;
mod error;
mod grid;
mod law;
mod source;

#[cfg(test)]
mod sampler_tests;

pub(crate) use bernoulli::{below, bernoulli_exp};
pub(crate) use discrete::{GREATEST_SCALE, GREATEST_SIGMA};
pub use entropy::Entropy;
pub(crate) use entropy::Words;
pub use error::ReleaseError;
pub(crate) use grid::{Grid, MOST_STEPS};
pub use law::SamplerLaw;
#[cfg(test)]
pub(crate) use sampler_tests::fits;
pub use source::Noise;
