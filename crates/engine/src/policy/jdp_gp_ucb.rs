//! Registers `jdp-gp-ucb` and `local-jdp-gp-ucb` [Dubey2021, algorithms 1 to 3].
//!
//! Both are GP-UCB over features: computed from the running sums of a trusted privatizer, or from items to which every user has
//! added their own noise.

use super::sums_policy::{SumsPolicyKind, sums_plan};
use super::{FeaturesPlan, PolicyPlan};
use privateer_config::params::Args;
use privateer_gp::features::exact::Exact;
use std::sync::Arc;

/// Reads the keys of `local-jdp-gp-ucb`, or of `jdp-gp-ucb`.
pub fn parse(args: &Args<'_>, local: bool) -> PolicyPlan {
    parse_over(args, local, Arc::new(Exact::default()))
}

/// Reads the same; `features` serves where the spec names none.
pub fn parse_over(args: &Args<'_>, local: bool, features: Arc<dyn FeaturesPlan>) -> PolicyPlan {
    let name = if local { "local-jdp-gp-ucb" } else { "jdp-gp-ucb" };
    sums_plan(args, SumsPolicyKind { name, local, linear: false }, features)
}
