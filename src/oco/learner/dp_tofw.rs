//! Implements DP-TOFW: Frank-Wolfe on private prefix sums of gradients [Han2022, algorithm 1].
//!
//! It is for 1 < p <= infinity. `d_t = (noisy sum of g_1 … g_t)/(t + 1)` with recursive gradients g, and `theta += lr/(t + 1)
//! (v_t - theta)` with v_t the minimizer along d_t. It supports any p and any set with linear minimization; on polytopes,
//! `dp-pofw` pays only a logarithm of the dimension.

use super::{
    FrankWolfe, GradientRequest, Learner, LearnerPlan, LearnerStreams, PlainLearner, PreparedLearner, Setting, step_size,
};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_privacy::gradients::{PrefixGradients, Sample, Start};
use privateer_privacy::{Protects, Raw, Refusal, automatic, quote};
use std::sync::Arc;

/// Reads no keys of its own.
pub fn parse(_args: &Args<'_>) -> Box<dyn LearnerPlan> {
    Box::new(PlainLearner { is_private: true, prepare })
}

/// As [`super::LearnerPlan::prepare`].
pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let (terms, generalized) = (request.terms(setting)?, request.generalized()?);
    let name = automatic(request.factorisation, Protects::PrefixSums, request.spec.calibration);
    let Some(factorisation) = quote::factorisation(name, setting.rounds) else {
        let expected = quote::FACTORISATIONS.map(|name| format!("`{name}`")).join(", ");
        return Err(Refusal::new("factorisation", format!("`{name}` is no factorisation"), expected));
    };
    let priced = terms.sum_noise(generalized, factorisation.as_ref(), learning_rate)?;
    let mut facts = vec![("learning rate".to_owned(), learning_rate.into())];
    if terms.budget.is_some() {
        facts.push(("prefix sums".to_owned(), factorisation.name().into()));
    }
    let name = GradientRequest::vector_name(generalized, terms.budget.is_some());
    let (claim, law) = request.claim(&terms, name, priced, false, &[]);
    let (set, gradient, clip) = (Arc::clone(&setting.set), request.gradient(setting), terms.bounds(learning_rate));
    let make = move || {
        let noise = law.sampler().map(|law| (factorisation.as_ref(), law));
        let privatizer = PrefixGradients::new(Arc::clone(&gradient), set.dimension(), Start::Half, clip, noise);
        Box::new(Tofw::new(privatizer, Arc::clone(&set), learning_rate)) as Box<dyn Learner>
    };
    Ok(PreparedLearner { make: Box::new(make), claim, facts })
}

/// Runs the privatizer and the server of one trial.
#[derive(Debug)]
pub struct Tofw {
    privatizer: PrefixGradients,
    server: FrankWolfe,
    learning_rate: f64,
    round: u64,
}

impl Tofw {
    /// Creates a run before its first sample.
    #[must_use]
    pub fn new(privatizer: PrefixGradients, set: Arc<dyn ConstraintSet>, learning_rate: f64) -> Self {
        Self { privatizer, server: FrankWolfe::new(set), learning_rate, round: 0 }
    }

    /// Returns the server.
    #[must_use]
    pub fn server(&self) -> &FrankWolfe {
        &self.server
    }
}

impl Learner for Tofw {
    fn observe(&mut self, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams) -> Result<(), Error> {
        let sum = self.privatizer.release(self.server.query(), sample, &mut streams.mechanism);
        let sum = sum.map_err(|exhausted| Error::Failed { problem: exhausted.to_string(), hint: "raise `rounds`".to_owned() })?;
        self.round += 1;
        streams.heard(sum.value());
        self.server.follow(sum.value(), 1.0 / (self.round as f64 + 1.0), step_size(self.learning_rate, self.round));
        Ok(())
    }

    fn iterate(&self) -> &[f64] {
        self.server.iterate()
    }
}
