//! Posteriors of a Gaussian process as linear models, in f64; repeated plays are collapsed.
//!
//! - [`ExactPosterior`]: over the distinct visited points, through Gram columns; any kernel and domain size. Its
//!   mathematics is in [`DualModel`].
//! - [`CovariancePosterior`]: over all points of a small domain.
//! - [`FeaturePosterior`]: over a shared feature table, through [`SpanModel`] and, after many visited points,
//!   [`WeightModel`].
//! - [`SketchedPosterior`]: over a Nystrom dictionary of the trial.
//! - [`SumsPosterior`]: over a feature table, from sums computed elsewhere.

mod change;
mod contract;
mod covariance;
#[cfg(test)]
mod covariance_tests;
mod dual;
mod exact;
mod explained;
mod features;
mod linear;
#[cfg(test)]
mod linear_tests;
mod rotation;
mod run;
mod sketched;
mod sketched_change;
mod sketched_state;
#[cfg(test)]
mod sketched_tests;
mod span;
mod sums;
#[cfg(test)]
mod tests;
mod visits;
mod waiting;
mod weights;

pub use contract::Posterior;
pub use covariance::CovariancePosterior;
pub use dual::DualModel;
pub use exact::ExactPosterior;
pub use features::FeaturePosterior;
pub use run::Observed;
pub use sketched::SketchedPosterior;
pub use span::SpanModel;
pub use sums::{Repair, SumsPosterior, Unusable};
pub use visits::Visits;
pub use weights::{REBUILD_EVERY, WeightModel};
