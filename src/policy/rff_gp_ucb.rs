//! Registers `rff-gp-ucb`: GP-UCB over random Fourier features [Rahimi2007; Dubey2021, Remark 4].

use super::PolicyPlan;
use super::feature_ucb::feature_plan;
use super::features::random_fourier;
use privateer_config::params::Args;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> PolicyPlan {
    feature_plan(args, "rff-gp-ucb", "random-fourier", random_fourier)
}
