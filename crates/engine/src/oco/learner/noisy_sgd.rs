//! Implements NoisySGD [Bassily2020, algorithm 2]: n² - 1 noisy projected steps on stored samples.
//!
//! It averages the iterates and answers once, after the last sample; until then its answer is the starting point.

use super::{GradientRequest, Learner, LearnerStreams, PreparedLearner, Setting, each};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_privacy::gradients::{NoNoise, Sample, StoredSamples, VectorNoise};
use privateer_privacy::{Raw, Refusal};
use std::sync::Arc;

/// Returns the step `lr R/(L n max(sqrt(n), sqrt(d ln(1/delta))/epsilon))`.
///
/// R is half of the diameter; the second term of the maximum is 0 without a budget.
pub fn step(learning_rate: f64, radius: f64, lipschitz: f64, n: u64, dimension: usize, budget: Option<(f64, f64)>) -> f64 {
    let n = n as f64;
    let noise = budget.map_or(0.0, |(epsilon, delta)| libm::sqrt(dimension as f64 * libm::log(1.0 / delta)) / epsilon);
    learning_rate * radius / (lipschitz * n * libm::sqrt(n).max(noise))
}

/// Returns `n² - 1`, at least 1.
fn n_steps(n: u64) -> u64 {
    n.saturating_mul(n).saturating_sub(1).max(1)
}

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    if !["auto", "gaussian", "none"].contains(&request.spec.mechanism) {
        let message = format!("`{}` is not noise of this learner", request.spec.mechanism);
        return Err(Refusal::new("mechanism", message, "`auto`, `gaussian` or `none`"));
    }
    let (terms, rounds) = (request.terms(setting)?, setting.rounds);
    let steps = n_steps(rounds);
    let priced = terms.stored_noise(steps)?;
    let budget = terms.budget.map(|(epsilon, delta)| (epsilon.get(), delta.get()));
    let eta = step(learning_rate, 0.5 * terms.actual.diameter, terms.lipschitz(), rounds, terms.dimension, budget);
    let name = GradientRequest::vector_name(false, terms.budget.is_some());
    let notes = ["keeps all samples, and releases once, after the last; which samples it drew stays secret"];
    let (claim, law) = request.claim(&terms, name, priced, false, &notes);
    let (set, gradient, clip) = (Arc::clone(&setting.set), request.gradient(setting), terms.bounds(learning_rate));
    let make = move || {
        let noise = law.sampler().unwrap_or_else(|| Box::new(NoNoise) as Box<dyn VectorNoise>);
        let stored = StoredSamples::new(Arc::clone(&gradient), set.dimension(), clip, noise);
        Box::new(NoisySgd { stored, server: Descent::new(Arc::clone(&set), eta), rounds }) as Box<dyn Learner>
    };
    let facts = Facts::from([("learning rate", learning_rate.into()), ("steps", steps.into())]);
    Ok(PreparedLearner { make: each(make), claim, facts })
}

struct NoisySgd {
    stored: StoredSamples,
    server: Descent,
    rounds: u64,
}

impl Learner for NoisySgd {
    fn observe(&mut self, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams) -> Result<(), Error> {
        self.stored.samples.keep(sample);
        if self.stored.samples.count() as u64 == self.rounds {
            for _ in 0..n_steps(self.rounds) {
                let Some(gradient) = self.stored.gradient(self.server.theta(), &mut streams.mechanism) else { break };
                streams.heard(gradient.value());
                self.server.step(gradient.value());
            }
            self.server.finish();
        }
        Ok(())
    }

    fn iterate(&self) -> &[f64] {
        self.server.answer()
    }
}

/// Runs the server: projected steps, and the mean of the iterates after each step.
#[derive(Debug)]
pub struct Descent {
    set: Arc<dyn ConstraintSet>,
    theta: Vec<f64>,
    sum: Vec<f64>,
    answer: Vec<f64>,
    eta: f64,
    n_steps: u64,
}

impl Descent {
    pub fn new(set: Arc<dyn ConstraintSet>, eta: f64) -> Self {
        let theta = set.centre();
        Self { sum: vec![0.0; theta.len()], answer: theta.clone(), theta, set, eta, n_steps: 0 }
    }

    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    pub fn step(&mut self, gradient: &[f64]) {
        self.theta.iter_mut().zip(gradient).for_each(|(theta, g)| *theta -= self.eta * g);
        self.set.project(&mut self.theta);
        self.sum.iter_mut().zip(&self.theta).for_each(|(sum, theta)| *sum += theta);
        self.n_steps += 1;
    }

    pub fn finish(&mut self) {
        if 0 < self.n_steps {
            let n = self.n_steps as f64;
            self.answer.iter_mut().zip(&self.sum).for_each(|(answer, sum)| *answer = sum / n);
        }
    }

    /// Returns the mean of the iterates once finished, the starting point before.
    pub fn answer(&self) -> &[f64] {
        &self.answer
    }
}
