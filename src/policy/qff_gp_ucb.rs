//! Registers `qff-gp-ucb`: GP-UCB over quadrature Fourier features.
//!
//! Sources: [Dubey2021, Algorithm 1 without a privatizer; Mutny2018].

use super::feature_ucb::FeatureUcb;
use super::features::quadrature_fourier;
use super::{GpPlan, PolicyPlan, PosteriorPlan};
use privateer_config::params::Args;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> Box<dyn PolicyPlan> {
    let beta = FeatureUcb::parse("qff-gp-ucb", args);
    GpPlan::over(args, || PosteriorPlan::parse_of(args, "quadrature-fourier", quadrature_fourier), beta)
}
