//! Registers `local-jdp-gp-ucb` [Dubey2021, algorithm 3].
//!
//! It is GP-UCB over features, computed from items to which every user has added their own noise.

use super::sums_policy::{SumsPlan, SumsPolicyKind};
use super::{FeatureRegistry, PolicyPlan};
use privateer_config::params::Args;
use privateer_gp::features::exact::Exact;
use std::sync::Arc;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>, registry: &dyn FeatureRegistry) -> Box<dyn PolicyPlan> {
    let kind = SumsPolicyKind { name: "local-jdp-gp-ucb", local: true, linear: false };
    SumsPlan::parse(args, registry, kind, Arc::new(Exact::default()))
}
