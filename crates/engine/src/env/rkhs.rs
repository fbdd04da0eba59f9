//! Implements `rkhs`: functions `f = sum a_i k(x_i, ·)` [Zhou2021, section 6].
//!
//! Weights and centres are random.

use super::domain::Place;
use super::function::{FunctionDomain, FunctionPlan};
use super::{Environment, EnvironmentPlan};
use privateer_config::params::Args;
use privateer_gp::KernelSum;
use privateer_gp::sample::{Weights, rkhs_centres, rkhs_function};
use privateer_numerics::rng::Stream;

pub fn parse(args: &Args<'_>) -> EnvironmentPlan {
    let centres = args.count("centres", "p: terms of the sum, centres uniform on the domain").between(1, 1_000_000).or(100);
    let doc = "each uniform on [-1, 1], or all uniform on the simplex (not negative, with sum 1)";
    let weights = args.choice("weights", doc, &[("uniform", Weights::Uniform), ("simplex", Weights::Simplex)], "uniform");
    let function = FunctionPlan::parse(args, Place::Anywhere);
    EnvironmentPlan::new(move |context| {
        let (n_centres, facts) = (centres as usize, [("centres", centres.into())].into());
        let draw = move |domain: &FunctionDomain, stream: &mut Stream| {
            rkhs_function(domain.gram.as_ref(), n_centres, weights, stream).values
        };
        let centres =
            move |domain: &FunctionDomain, stream: &mut Stream| rkhs_centres(domain.gram.n_points(), n_centres, weights, stream);
        let domain = function.build(context)?;
        let sums = if n_centres <= KernelSum::MOST_TERMS { function.sums(&domain, context, centres) } else { None };
        Ok(Environment { sums, ..function.environment(domain, context, facts, draw) })
    })
}
