//! Implements NoisySFW [BassilyGuzmanNandi2021, algorithm 3]: Frank-Wolfe on batches.
//!
//! The gradients are recursive and noisy. The first half of the samples gives the first gradient, and `sqrt(n) - 1` batches of
//! `sqrt(n)/2` correct it; the step is `lr ln(n)/(2 sqrt(n))`. Each sample is in one batch. The iterate is constant while a
//! batch is filled.

use super::{FrankWolfe, GradientRequest, Learner, LearnerStreams, PreparedLearner, Setting, each};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_privacy::gradients::{BatchGradients, BatchPlan, NoNoise, Sample, VectorLaw, VectorNoise};
use privateer_privacy::{Raw, Refusal};
use std::sync::Arc;

/// Returns the division of n samples into batches, and the step.
pub fn plan(n: u64, learning_rate: f64) -> (BatchPlan, f64) {
    let root = libm::sqrt(n as f64);
    let batches = BatchPlan {
        first: (n / 2).max(1),
        batch: ((root / 2.0).floor() as u64).max(1),
        steps: (root.floor() as u64).saturating_sub(1),
    };
    (batches, learning_rate * libm::log(n as f64) / (2.0 * root))
}

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let (terms, generalized) = (request.terms(setting)?, request.generalized()?);
    let (plan, eta) = plan(setting.rounds, learning_rate);
    // A step above 1 would leave the set.
    let eta = eta.min(1.0);
    let priced = terms.batch_noise(generalized, plan, eta)?;
    let name = GradientRequest::vector_name(generalized, terms.budget.is_some());
    let notes = ["each sample is in one batch; releases after a batch is full"];
    let (claim, laws) = request.claim(&terms, name, priced, false, &notes);
    let (set, gradient, clip) = (Arc::clone(&setting.set), request.gradient(setting), terms.bounds(learning_rate));
    let difference = terms.actual.smoothness * eta * terms.actual.diameter;
    let make = move || {
        let sampler = |law: VectorLaw| law.sampler().unwrap_or_else(|| Box::new(NoNoise) as Box<dyn VectorNoise>);
        let noises = (sampler(laws.0), sampler(laws.1));
        let batches = BatchGradients::new(Arc::clone(&gradient), set.dimension(), clip, plan, difference, noises);
        Box::new(NoisySfw::new(batches, Arc::clone(&set), eta)) as Box<dyn Learner>
    };
    let facts = Facts::from([("learning rate", learning_rate.into()), ("step", eta.into())]);
    Ok(PreparedLearner { make: each(make), claim, facts })
}

#[derive(Debug)]
pub struct NoisySfw {
    privatizer: BatchGradients,
    server: FrankWolfe,
    estimate: Vec<f64>,
    eta: f64,
}

impl NoisySfw {
    pub fn new(privatizer: BatchGradients, set: Arc<dyn ConstraintSet>, eta: f64) -> Self {
        let estimate = vec![0.0; set.dimension()];
        Self { privatizer, server: FrankWolfe::new(set, 1), estimate, eta }
    }
}

impl Learner for NoisySfw {
    fn observe(&mut self, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams) -> Result<(), Error> {
        if let Some(change) = self.privatizer.release(self.server.query(), sample, &mut streams.mechanism) {
            streams.heard(change.value());
            self.estimate.iter_mut().zip(*change.value()).for_each(|(estimate, change)| *estimate += change);
            self.server.follow(&self.estimate, 1.0, self.eta);
        }
        Ok(())
    }

    fn iterate(&self) -> &[f64] {
        self.server.iterate()
    }
}
