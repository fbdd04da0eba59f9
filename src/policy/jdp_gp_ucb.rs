//! Registers `jdp-gp-ucb` [Dubey2021, algorithms 1 and 2].
//!
//! It is GP-UCB over features, computed from the running sums of a trusted privatizer.

use super::sums_policy::{SumsPolicyKind, sums_plan};
use super::{FeaturesPlan, PolicyPlan};
use privateer_config::params::Args;
use privateer_gp::features::exact::Exact;
use std::sync::Arc;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> PolicyPlan {
    parse_over(args, Arc::new(Exact::default()))
}

/// Reads the policy's keys; `features` serves where the spec names none.
pub fn parse_over(args: &Args<'_>, features: Arc<dyn FeaturesPlan>) -> PolicyPlan {
    let kind = SumsPolicyKind { name: "jdp-gp-ucb", local: false, linear: false };
    sums_plan(args, kind, features)
}
