//! Implements NoisySFW [BassilyGuzmanNandi2021, algorithm 3]: Frank-Wolfe on batches.
//!
//! The gradients are recursive and noisy. The first half of the samples gives the first gradient, and `sqrt(n) - 1` batches of
//! `sqrt(n)/2` correct it; the step is `lr ln(n)/(2 sqrt(n))`. Each sample is in one batch. The iterate is constant while a
//! batch is filled.

use super::{FrankWolfe, GradientRequest, Learner, LearnerCalibration, LearnerMaker, LearnerPlan, LearnerStreams, Setting};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_privacy::gradients::{
    BatchGradients, BatchNoise, BatchPlan, Clip, Gradient, NoNoise, Sample, VectorLaw, VectorNoise,
};
use privateer_privacy::{Raw, Refusal};
use std::sync::Arc;

#[derive(Debug)]
struct NoisySfwPlan;

/// Reads no keys of its own.
pub fn parse(_args: &Args<'_>) -> Box<dyn LearnerPlan> {
    Box::new(NoisySfwPlan)
}

/// Returns the division of n samples into batches, and the step.
#[must_use]
pub fn plan(n: u64, learning_rate: f64) -> (BatchPlan, f64) {
    let root = libm::sqrt(n as f64);
    let batches = BatchPlan {
        first: (n / 2).max(1),
        batch: ((root / 2.0).floor() as u64).max(1),
        steps: (root.floor() as u64).saturating_sub(1),
    };
    (batches, learning_rate * libm::log(n as f64) / (2.0 * root))
}

struct NoisySfwMaker {
    set: Arc<dyn ConstraintSet>,
    gradient: Arc<dyn Gradient>,
    clip: Option<Clip>,
    plan: BatchPlan,
    eta: f64,
    difference: f64,
    laws: BatchNoise,
    made: LearnerCalibration,
}

impl LearnerPlan for NoisySfwPlan {
    fn is_private(&self) -> bool {
        true
    }

    fn prepare(
        &self,
        setting: &Setting,
        request: &GradientRequest,
        learning_rate: f64,
    ) -> Result<Box<dyn LearnerMaker>, Refusal> {
        let (terms, generalized) = (request.terms(setting)?, request.generalized()?);
        let (plan, eta) = plan(setting.rounds, learning_rate);
        // A step above 1 would leave the set.
        let eta = eta.min(1.0);
        let priced = terms.batch_noise(generalized, plan, eta)?;
        let made = LearnerCalibration {
            mechanism: GradientRequest::vector_name(generalized, terms.budget.is_some()),
            event: priced.event,
            noise_formula: priced.noise_formula,
            clipped: terms.clip.is_some(),
            local: false,
            notes: vec!["each sample is in one batch; releases after a batch is full".to_owned()],
            facts: vec![("learning rate".to_owned(), learning_rate.into()), ("step".to_owned(), eta.into())],
        };
        Ok(Box::new(NoisySfwMaker {
            set: Arc::clone(&setting.set),
            gradient: request.gradient(setting),
            clip: terms.bounds(learning_rate),
            plan,
            eta,
            difference: terms.actual.smoothness * eta * terms.actual.diameter,
            laws: priced.noise,
            made,
        }))
    }
}

impl LearnerMaker for NoisySfwMaker {
    fn make(&self) -> Box<dyn Learner> {
        let sampler = |law: VectorLaw| law.sampler().unwrap_or_else(|| Box::new(NoNoise) as Box<dyn VectorNoise>);
        let noises = (sampler(self.laws.0), sampler(self.laws.1));
        let (gradient, dimension) = (Arc::clone(&self.gradient), self.set.dimension());
        let batches = BatchGradients::new(gradient, dimension, self.clip, self.plan, self.difference, noises);
        Box::new(NoisySfw::new(batches, Arc::clone(&self.set), self.eta))
    }

    fn made(&self) -> &LearnerCalibration {
        &self.made
    }
}

/// Runs the privatizer and the server of one trial.
#[derive(Debug)]
pub struct NoisySfw {
    privatizer: BatchGradients,
    server: FrankWolfe,
    estimate: Vec<f64>,
    eta: f64,
}

impl NoisySfw {
    /// Creates a run before its first sample.
    #[must_use]
    pub fn new(privatizer: BatchGradients, set: Arc<dyn ConstraintSet>, eta: f64) -> Self {
        let estimate = vec![0.0; set.dimension()];
        Self { privatizer, server: FrankWolfe::new(set), estimate, eta }
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
