//! Implements privatizers of gradients.
//! They receive samples and release noisy sums, noisy choices or noisy gradients.
//!
//! A learner passes public queries (its iterates) and receives the releases; the samples stay inside. In reading order: the
//! interface of a loss ([`Gradient`]), noise vectors ([`VectorNoise`]), the contribution of one sample (`leaf`), the
//! privatizers ([`PrefixGradients`], [`VertexChoice`], [`BatchGradients`], [`SampleGradients`], [`StoredSamples`], [`HiddenDescent`]) and their
//! calibration ([`Terms`]). Proof: `docs/proofs/gradients.md`.
//!
//! **Invariant:** a sample that is not finite, or of the wrong length, counts as a sample with zero gradient. With a clip,
//! privacy depends on the clip only, not on the constants that a loss states; [`HiddenDescent`] alone needs a convex and smooth loss.

mod batch;
mod contract;
mod hidden;
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
pub use contract::{ChoiceLaw, Clip, Gradient, GradientQuery, Sample, SampleClip, Start, VectorNoise, Vertices};
pub use hidden::{HiddenDescent, HiddenRelease, HiddenStep, HiddenSteps, Projection};
pub use noise::{GeneralizedGaussian, IsotropicGaussian, LaplaceVector, NoNoise};
pub use prefix::PrefixGradients;
pub use sample::SampleGradients;
pub use stored::{SampleStore, StoredSamples};
pub use terms::{Constants, PricedNoise, Terms, VectorLaw};
pub use vertex::{Choice, VertexChoice};
