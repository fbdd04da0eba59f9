//! `rkhs`: functions `f = sum a_i k(x_i, ·)` with random weights and centres [Zhou2021, section 6].

use super::function::{FunctionDomain, FunctionPlan};
use super::{BuildContext, Environment, EnvironmentPlan, Instance, Parts};
use crate::error::Error;
use crate::gp::Points;
use crate::gp::kernel::Kernel;
use crate::gp::sample::rkhs_function;
use crate::params::Args;
use crate::rng::{Purpose, Streams};
use crate::score::GramSource;
use std::sync::Arc;

/// Reads the environment's keys.
pub fn parse(args: &Args<'_>, parts: &dyn Parts) -> Box<dyn EnvironmentPlan> {
    let centres = args
        .count("centres", "p: terms of the sum; weights uniform on [-1, 1], centres uniform on the domain")
        .between(1, 1_000_000)
        .or(100);
    Box::new(Rkhs { centres: centres as usize, function: FunctionPlan::parse(args, parts) })
}

struct Rkhs {
    centres: usize,
    function: FunctionPlan,
}

impl EnvironmentPlan for Rkhs {
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Environment>, Error> {
        Ok(Arc::new(RkhsEnvironment {
            centres: self.centres,
            function: self.function.clone(),
            domain: self.function.build(context)?,
            streams: context.streams.clone(),
            rounds: context.rounds,
        }))
    }
}

struct RkhsEnvironment {
    centres: usize,
    function: FunctionPlan,
    domain: FunctionDomain,
    streams: Streams,
    rounds: u64,
}

impl Environment for RkhsEnvironment {
    fn gram(&self) -> &Arc<dyn GramSource> {
        &self.domain.gram
    }

    fn points(&self) -> Option<&Points> {
        Some(&self.domain.points)
    }

    fn kernel(&self) -> Option<&Arc<dyn Kernel>> {
        Some(&self.domain.kernel)
    }

    fn draw(&self, trial: u64) -> Result<Instance, Error> {
        let mut stream = self.streams.of(trial, Purpose::Function);
        let function = rkhs_function(self.domain.gram.as_ref(), self.centres, &mut stream);
        self.function.instance(function.values, self.rounds)
    }

    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        vec![
            ("points".into(), self.domain.points.n_points().into()),
            ("dimension".into(), self.domain.points.dimension().into()),
            ("centres".into(), self.centres.into()),
            self.function.regret_fact(),
        ]
    }
}
