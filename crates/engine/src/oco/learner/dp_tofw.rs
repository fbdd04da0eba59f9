//! Implements DP-TOFW: Frank-Wolfe on private prefix sums of gradients [Han2022, algorithm 1].
//!
//! It is for 1 < p <= infinity. `d_t = (noisy sum of g_1 … g_t)/(t + 1)` with recursive gradients g, and `theta += lr/(t + 1)
//! (v_t - theta)` with v_t the minimizer along d_t. It supports any p and any set with linear minimization; on polytopes,
//! `dp-pofw` pays only a logarithm of the dimension.

use super::{FrankWolfe, GradientRequest, LearnerBatch, LearnerStreams, PreparedLearner, Setting, step_size};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_numerics::rng::Stream;
use privateer_privacy::gradients::{PrefixGradients, Sample, Start};
use privateer_privacy::{Raw, Refusal};
use std::sync::Arc;

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let (terms, generalized) = (request.terms(setting)?, request.generalized()?);
    let factorisation = request.factorisation(setting.rounds, request.spec.budget.participation)?;
    let priced = terms.sum_noise(generalized, factorisation.as_ref(), learning_rate)?;
    let mut facts = Facts::from([("learning rate", learning_rate.into())]);
    if terms.budget.is_some() {
        facts.push("prefix sums", factorisation.name());
    }
    let name = GradientRequest::vector_name(generalized, terms.budget.is_some());
    let (claim, law) = request.claim(&terms, name, priced, false, &[]);
    let (set, gradient, clip) = (Arc::clone(&setting.set), request.gradient(setting), terms.bounds(learning_rate));
    let make = move |n_trials| {
        let noise = law.sampler().map(|law| (factorisation.as_ref(), law));
        let (gradient, d) = (Arc::clone(&gradient), set.dimension());
        let privatizer = PrefixGradients::new(n_trials, gradient, d, Start::Half, clip, noise);
        let server = FrankWolfe::new(Arc::clone(&set), n_trials);
        Box::new(Tofw { privatizer, server, learning_rate, round: 0 }) as Box<dyn LearnerBatch>
    };
    Ok(PreparedLearner { make: Box::new(make), claim, facts })
}

/// Runs the privatizer and the server of one trial, or of several together.
#[derive(Debug)]
pub struct Tofw {
    privatizer: PrefixGradients,
    pub server: FrankWolfe,
    learning_rate: f64,
    round: u64,
}

impl Tofw {
    /// Creates a run of one trial before its first sample.
    pub fn new(privatizer: PrefixGradients, set: Arc<dyn ConstraintSet>, learning_rate: f64) -> Self {
        Self { privatizer, server: FrankWolfe::new(set, 1), learning_rate, round: 0 }
    }
}

impl LearnerBatch for Tofw {
    fn observe_all(&mut self, samples: Vec<Raw<Sample<'_>>>, streams: &mut [LearnerStreams]) -> Result<(), Error> {
        let d = self.server.set.dimension();
        let mut noises: Vec<&mut Stream> = streams.iter_mut().map(|streams| &mut streams.mechanism).collect();
        let sums = self.privatizer.release(self.server.query(), samples, &mut noises);
        let sums =
            sums.map_err(|exhausted| Error::Failed { problem: exhausted.to_string(), hint: "raise `rounds`".to_owned() })?;
        self.round += 1;
        streams.iter_mut().zip(sums.value().chunks_exact(d)).for_each(|(streams, sum)| streams.heard(sum));
        self.server.follow(sums.value(), 1.0 / (self.round as f64 + 1.0), step_size(self.learning_rate, self.round));
        Ok(())
    }

    fn iterate_of(&self, trial: usize) -> &[f64] {
        let d = self.server.set.dimension();
        &self.server.iterate()[trial * d..(trial + 1) * d]
    }
}
