//! Implements `rkhs`: functions `f = sum a_i k(x_i, ·)` [Zhou2021, section 6].
//!
//! Weights and centres are random.

use super::domain::Place;
use super::function::{FunctionEnvironment, FunctionPlan};
use super::{BuildContext, Environment, EnvironmentPlan};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_gp::sample::{Weights, rkhs_function};
use std::sync::Arc;

/// Reads the environment's keys.
pub fn parse(args: &Args<'_>) -> Box<dyn EnvironmentPlan> {
    let centres = args.count("centres", "p: terms of the sum, centres uniform on the domain").between(1, 1_000_000).or(100);
    let doc = "each uniform on [-1, 1], or all uniform on the simplex (not negative, with sum 1)";
    let weights = match args.word("weights", doc, &["uniform", "simplex"], Some("uniform")) {
        "simplex" => Weights::Simplex,
        _ => Weights::Uniform,
    };
    Box::new(Rkhs { weights, centres: centres as usize, function: FunctionPlan::parse(args, Place::Anywhere) })
}

struct Rkhs {
    weights: Weights,
    centres: usize,
    function: FunctionPlan,
}

impl EnvironmentPlan for Rkhs {
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Environment>, Error> {
        let (centres, weights, domain) = (self.centres, self.weights, self.function.build(context)?);
        let facts = vec![("centres".to_owned(), centres.into())];
        Ok(Arc::new(FunctionEnvironment::new(
            self.function.clone(),
            domain,
            context,
            facts,
            Box::new(move |domain, stream| rkhs_function(domain.gram.as_ref(), centres, weights, stream).values),
        )))
    }
}
