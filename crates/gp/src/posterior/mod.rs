//! Posteriors of a Gaussian process as linear models, in f64; repeated plays are collapsed.
//!
//! - [`ExactPosterior`]: over the distinct visited points, through Gram columns; any kernel and domain size.
//! - [`CovariancePosterior`]: over all points of a small domain.
//! - [`MovedMoments`]: the moments of all points, moved along with a posterior.
//! - [`FeaturePosterior`]: over a shared feature table.
//! - [`SketchedPosterior`]: over a Nystrom dictionary of the trial.
//! - [`RootModel`]: over features, with a root of the posterior covariance to draw from.
//! - [`Design`]: over some points, planned ahead of what is observed.
//! - [`SumsPosterior`]: over a feature table, from sums computed elsewhere.

mod change;
mod contract;
mod covariance;
#[cfg(test)]
mod covariance_tests;
mod design;
mod exact;
mod features;
mod linear;
#[cfg(test)]
mod linear_tests;
mod moved;
mod root;
mod rotation;
mod rounding;
#[cfg(test)]
mod rounding_tests;
mod sketched;
mod streak;
mod sums;
#[cfg(test)]
mod tests;
mod together;
mod visited;
mod visits;
mod weights;

pub use contract::Posterior;
pub use covariance::CovariancePosterior;
pub use design::Design;
pub use exact::ExactPosterior;
pub use features::FeaturePosterior;
pub use moved::MovedMoments;
pub use root::RootModel;
pub use sketched::{DomainRoot, SketchedPosterior};
pub use sums::{Repair, SumsPosterior, SumsUpdate, Unusable};
pub use together::{MadeTogether, take_together};
pub use visits::Visits;
pub use weights::REBUILD_EVERY;
