//! Posteriors of a Gaussian process as linear models, in f64, with repeated visits collapsed.
//!
//! [`WeightModel`] is the mathematics in coordinates; [`ExactPosterior`] takes its coordinates in the span of the points
//! visited (Gram columns, any kernel, any domain size), [`FeaturePosterior`] from a shared feature table.

mod change;
mod contract;
mod exact;
mod features;
#[cfg(test)]
mod tests;
mod visits;
mod weights;

pub use contract::Posterior;
pub use exact::{ExactPosterior, SPAN_TOLERANCE};
pub use features::FeaturePosterior;
pub use visits::Visits;
pub use weights::{Observed, REBUILD_EVERY, WeightModel};
