//! Registers `qff-gp-ucb`: GP-UCB over quadrature Fourier features.
//!
//! Sources: [Dubey2021, Algorithm 1 without a privatizer; Mutny2018].

use super::PolicyPlan;
use super::feature_ucb::feature_plan;
use super::features::quadrature_fourier;
use privateer_config::params::Args;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> PolicyPlan {
    feature_plan(args, "qff-gp-ucb", "quadrature-fourier", quadrature_fourier)
}
