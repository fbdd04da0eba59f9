//! Privatizers of gradients: samples go in, noisy sums, noisy choices or noisy gradients come out.
//!
//! A learner hands over plain queries (its iterates) and sees what is released; the samples stay here. In reading order: what a
//! privatizer asks of a loss ([`Gradient`]), the noise on vectors ([`VectorNoise`]), what one sample contributes (`leaf`), the privatizers
//! ([`PrefixGradients`], [`VertexChoice`], [`BatchGradients`], [`SampleGradients`], [`StoredSamples`]) and their calibration ([`Terms`]).
//!
//! **Invariant:** a sample that is not finite, or of the wrong length, counts as one without a gradient. Under a clip the privacy
//! rests on the clip alone and not on the constants that a loss states.

mod batch;
mod contract;
mod leaf;
mod noise;
mod prefix;
mod sample;
mod stored;
mod terms;
mod vertex;

#[cfg(test)]
mod sampler_tests;

pub use batch::{BatchGradients, BatchPlan};
pub use contract::{Clip, Gradient, Query, Sample, SampleClip, Start, VectorNoise, Vertices};
pub use noise::{GeneralizedGaussian, IsotropicGaussian, LaplaceVector, NoNoise};
pub use prefix::PrefixGradients;
pub use sample::SampleGradients;
pub use stored::StoredSamples;
pub use terms::{BatchNoise, ChoiceNoise, Constants, Priced, StepNoise, SumNoise, Terms, VectorLaw};
pub use vertex::{Choice, VertexChoice};
