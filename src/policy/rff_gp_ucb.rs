//! Registers `rff-gp-ucb`: GP-UCB over random Fourier features [Rahimi2007; Dubey2021, Remark 4].

use super::feature_ucb::FeatureUcb;
use super::features::random_fourier;
use super::{GpPlan, PolicyPlan, PosteriorPlan};
use privateer_config::params::Args;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> Box<dyn PolicyPlan> {
    let beta = FeatureUcb::parse("rff-gp-ucb", args);
    GpPlan::over(args, || PosteriorPlan::parse_of(args, "random-fourier", random_fourier), beta)
}
