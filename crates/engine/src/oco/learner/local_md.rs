//! Implements LocalMD: mirror descent in phases [Asi2021, algorithm 6], 1 < p <= 2, in one pass.
//!
//! Each phase works around the last answer: phase i has `n/2^i` fresh samples, step `eta_i = eta/4^(i - 1)`, and a ball of
//! radius `D/2^(i - 1)` around the answer of phase i - 1. Within a phase, `u_k = argmin <sum of noisy gradients, u> + |u|_p²/(2
//! (p - 1) eta_i)` over the ball; the phase's answer is the mean of its iterates. The paper reuses each phase's samples and
//! composes their privacy loss. This implementation differs: it uses each sample once, so that its noise is that of one
//! release.

use super::{GradientRequest, Learner, LearnerStreams, PreparedLearner, Setting, each};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_numerics::linalg::Norm;
use privateer_privacy::gradients::{NoNoise, Sample, SampleGradients, VectorNoise};
use privateer_privacy::{Raw, Refusal};
use std::sync::Arc;

/// Computes `argmin over |u|_p <= radius of <dual, u> + |u|_p²/(2 (p - 1) eta)`.
///
/// It is the steepest vector of length `min((p - 1) eta |dual|_q, radius)`.
pub fn mirror_step(norm: Norm, eta: f64, radius: f64, dual: &[f64], out: &mut [f64]) {
    norm.steepest(dual, out);
    let length = ((norm.exponent() - 1.0) * eta * norm.dual().size(dual)).min(radius);
    out.iter_mut().for_each(|out| *out *= length);
}

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let p = setting.set.norm().exponent();
    if !(1.0 < p && p <= 2.0) {
        let message = format!("`local-md` is for 1 < p <= 2, and the {} has p = {p}", setting.set.words());
        return Err(
            Refusal::new("kind", message, "a set of such a geometry").hint("`dp-tofw` works for all p > 1, `dp-pofw` for p = 1")
        );
    }
    let terms = request.terms(setting)?;
    let (name, priced) = request.step_noise(&terms)?;
    // D/(L sqrt(n)), times the factor 1/sqrt(p - 1), which gives the regularizer strength 1.
    let rounds = setting.rounds;
    let eta = learning_rate * terms.actual.diameter / (terms.lipschitz() * libm::sqrt((p - 1.0) * rounds as f64));
    let (claim, law) = request.claim(&terms, name, priced, true, &["each sample is used once"]);
    let (set, gradient, clip) = (Arc::clone(&setting.set), request.gradient(setting), terms.bounds(learning_rate));
    let make = move || {
        let d = set.dimension();
        let noise = law.sampler().unwrap_or_else(|| Box::new(NoNoise) as Box<dyn VectorNoise>);
        let centre = set.centre();
        let left = (rounds / 2).max(1);
        Box::new(LocalMd {
            gradients: SampleGradients::new(Arc::clone(&gradient), d, clip, noise),
            answer: centre.clone(),
            theta: centre.clone(),
            centre,
            dual: vec![0.0; d],
            sum: vec![0.0; d],
            radius: set.diameter(),
            set: Arc::clone(&set),
            eta,
            left,
            unused: rounds - left.min(rounds),
            steps: 0,
        }) as Box<dyn Learner>
    };
    let facts = Facts::from([("learning rate", learning_rate.into()), ("step", eta.into())]);
    Ok(PreparedLearner { make: each(make), claim, facts })
}

struct LocalMd {
    gradients: SampleGradients,
    set: Arc<dyn ConstraintSet>,
    centre: Vec<f64>,
    theta: Vec<f64>,
    dual: Vec<f64>,
    sum: Vec<f64>,
    answer: Vec<f64>,
    radius: f64,
    eta: f64,
    /// Number of samples left in this phase (`left`) and after it (`unused`).
    left: u64,
    unused: u64,
    steps: u64,
}

impl LocalMd {
    fn next_phase(&mut self) {
        let n = self.steps as f64;
        self.answer.iter_mut().zip(&self.sum).for_each(|(answer, sum)| *answer = sum / n);
        self.centre.copy_from_slice(&self.answer);
        self.theta.copy_from_slice(&self.answer);
        self.dual.fill(0.0);
        self.sum.fill(0.0);
        self.steps = 0;
        self.radius *= 0.5;
        self.eta *= 0.25;
        self.left = self.unused.div_ceil(2);
        self.unused -= self.left;
    }
}

impl Learner for LocalMd {
    fn observe(&mut self, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams) -> Result<(), Error> {
        if self.left == 0 {
            return Ok(());
        }
        let gradient = self.gradients.release(&self.theta, sample, &mut streams.mechanism);
        streams.heard(gradient.value());
        self.dual.iter_mut().zip(*gradient.value()).for_each(|(dual, g)| *dual += g);
        let norm = self.set.norm();
        mirror_step(norm, self.eta, self.radius, &self.dual, &mut self.theta);
        self.theta.iter_mut().zip(&self.centre).for_each(|(theta, centre)| *theta += centre);
        self.set.project(&mut self.theta);
        self.sum.iter_mut().zip(&self.theta).for_each(|(sum, theta)| *sum += theta);
        self.steps += 1;
        self.left -= 1;
        if self.left == 0 {
            self.next_phase();
        }
        Ok(())
    }

    fn iterate(&self) -> &[f64] {
        &self.answer
    }
}
