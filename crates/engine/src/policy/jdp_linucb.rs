//! Registers `jdp-linucb` (ShariffSheffet2018): linear UCB over the coordinates.
//!
//! It uses the running sums of a trusted privatizer. The model is linear without an offset, whatever the environment's kernel.

use super::sums_policy::{SumsPolicyKind, sums_plan};
use super::{FeaturesPlan, PolicyPlan, Problem};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_gp::Points;
use privateer_gp::score::FeatureTable;
use std::sync::Arc;

pub fn parse(args: &Args<'_>) -> PolicyPlan {
    let kind = SumsPolicyKind { name: "jdp-linucb", local: false, linear: true };
    sums_plan(args, kind, Arc::new(CoordinateFeatures))
}

#[derive(Debug)]
struct CoordinateFeatures;

impl FeaturesPlan for CoordinateFeatures {
    fn build(&self, problem: &Problem) -> Result<FeatureTable, Error> {
        let Some(points) = &problem.shared()?.points else {
            let diagnostic = Diagnostic::new("`jdp-linucb` needs points with coordinates, and this domain has none");
            return diagnostic.hint("use `jdp-gp-ucb`, whose features come from the covariance").refuse();
        };
        Ok(coordinates(points))
    }

    fn at(&self, _problem: &Problem, points: &Points) -> Result<Option<FeatureTable>, Error> {
        Ok(Some(coordinates(points)))
    }
}

fn coordinates(points: &Points) -> FeatureTable {
    let n_points = points.n_points();
    FeatureTable {
        n_points,
        n_features: points.dimension(),
        values: (0..n_points).flat_map(|point| points.point(point).iter().copied()).collect(),
        residual: vec![0.0; n_points],
        // Error relative to the linear kernel, which is exact.
        kernel_error: 0.0,
        form: None,
    }
}
