//! Implements `gp-sample`: functions drawn from the Gaussian process through exact features.
//!
//! On a grid, a squared-exponential kernel factorizes over the axes, so that a million points need no large table.

use super::domain::{GridShape, Place};
use super::function::{FunctionDomain, FunctionPlan};
use super::{BuildContext, Environment, EnvironmentPlan};
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::features::exact;
use privateer_gp::sample::{GridSampler, sample_gp};

pub fn parse(args: &Args<'_>) -> EnvironmentPlan {
    let tolerance =
        args.number("tolerance", "prior variance that a draw may leave out, as a share").above(0.0).below(1.0).or(1e-10);
    let plan = GpSample { tolerance, function: FunctionPlan::parse(args, Place::Anywhere) };
    EnvironmentPlan::new(move |context| plan.build(context))
}

struct GpSample {
    tolerance: f64,
    function: FunctionPlan,
}

impl GpSample {
    fn build(&self, context: &BuildContext<'_>) -> Result<Environment, Error> {
        let domain = self.function.build(context)?;
        Ok(match self.kronecker(&domain)? {
            Some(sampler) => {
                self.function.environment(domain, context, Facts::default(), move |_, stream| sampler.sample(stream))
            }
            None => {
                let n = domain.points.n_points() as f64;
                // Largest number of features whose table fits the allowed memory.
                let most = (context.memory_bytes / (8.0 * n)).min(n).max(1.0) as usize;
                let table = exact::exact(domain.gram.as_ref(), self.tolerance, most)?;
                self.function.environment(domain, context, Facts::default(), move |_, stream| sample_gp(&table, stream))
            }
        })
    }

    fn kronecker(&self, domain: &FunctionDomain) -> Result<Option<GridSampler>, Error> {
        match self.function.domain.grid() {
            Some(GridShape { dimension, points_per_axis, lo, hi }) if 1 < dimension => {
                GridSampler::new(domain.kernel.as_ref(), dimension, points_per_axis, lo, hi, self.tolerance)
            }
            _ => Ok(None),
        }
    }
}
