//! Registers `jdp-gp-ucb` [Dubey2021, algorithms 1 and 2].
//!
//! It is GP-UCB over features, computed from the running sums of a trusted privatizer.

use super::sums_policy::{SumsPlan, SumsPolicyKind};
use super::{FeatureRegistry, PolicyPlan};
use privateer_config::params::Args;
use privateer_gp::features::exact::Exact;
use std::sync::Arc;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>, registry: &dyn FeatureRegistry) -> Box<dyn PolicyPlan> {
    let kind = SumsPolicyKind { name: "jdp-gp-ucb", local: false, linear: false };
    SumsPlan::parse(args, registry, kind, Arc::new(Exact::default()))
}
