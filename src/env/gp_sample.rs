//! `gp-sample`: functions drawn from the Gaussian process itself, through exact features of the domain; on a grid, a
//! squared-exponential kernel factorizes over the axes, so that a million points need no large table.

use super::domain::GridShape;
use super::function::{FunctionDomain, FunctionPlan};
use super::{BuildContext, Environment, EnvironmentPlan, Instance, Parts};
use crate::error::Error;
use crate::gp::Points;
use crate::gp::features::exact;
use crate::gp::kernel::Kernel;
use crate::gp::sample::{GridSampler, sample_gp};
use crate::params::Args;
use crate::rng::{Purpose, Streams};
use crate::score::{FeatureTable, GramSource};
use std::sync::Arc;

/// Reads the environment's keys.
pub fn parse(args: &Args<'_>, parts: &dyn Parts) -> Box<dyn EnvironmentPlan> {
    let tolerance =
        args.number("tolerance", "prior variance that a draw may leave out, as a share").above(0.0).below(1.0).or(1e-10);
    Box::new(GpSample { tolerance, function: FunctionPlan::parse(args, parts) })
}

struct GpSample {
    tolerance: f64,
    function: FunctionPlan,
}

enum Sampler {
    Features(FeatureTable),
    Kronecker(GridSampler),
}

impl EnvironmentPlan for GpSample {
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Environment>, Error> {
        let domain = self.function.build(context)?;
        let sampler = match self.kronecker(&domain)? {
            Some(sampler) => Sampler::Kronecker(sampler),
            None => {
                let n = domain.points.n_points() as f64;
                // Most features that the allowed memory holds as a table.
                let most = (context.memory_bytes / (8.0 * n)).min(n).max(1.0) as usize;
                Sampler::Features(exact::exact(domain.gram.as_ref(), self.tolerance, most)?)
            }
        };
        Ok(Arc::new(GpSampleEnvironment {
            function: self.function.clone(),
            domain,
            sampler,
            streams: context.streams.clone(),
            rounds: context.rounds,
        }))
    }
}

impl GpSample {
    fn kronecker(&self, domain: &FunctionDomain) -> Result<Option<GridSampler>, Error> {
        match self.function.domain.grid() {
            Some(GridShape { dimension, points_per_axis, lo, hi }) if 1 < dimension => {
                GridSampler::new(domain.kernel.as_ref(), dimension, points_per_axis, lo, hi, self.tolerance)
            }
            _ => Ok(None),
        }
    }
}

struct GpSampleEnvironment {
    function: FunctionPlan,
    domain: FunctionDomain,
    sampler: Sampler,
    streams: Streams,
    rounds: u64,
}

impl Environment for GpSampleEnvironment {
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
        let values = match &self.sampler {
            Sampler::Features(table) => sample_gp(table, &mut stream),
            Sampler::Kronecker(sampler) => sampler.sample(&mut stream),
        };
        self.function.instance(values, self.rounds)
    }

    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        vec![
            ("points".into(), self.domain.points.n_points().into()),
            ("dimension".into(), self.domain.points.dimension().into()),
            self.function.regret_fact(),
        ]
    }
}
