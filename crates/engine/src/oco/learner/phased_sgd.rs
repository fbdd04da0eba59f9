//! Implements phased SGD (FeldmanKorenTalwar2020): projected descent in phases, of which only noisy means are released.
//!
//! Phase i descends over `n/2^i` fresh samples with steps `eta/4^(i - 1)`, from the last release; the mean of its iterates is
//! released with Gaussian noise for a change of `2 L eta_i`. Derivation and step: `docs/derivations/phased-sgd.md`.

use super::{GradientRequest, Learner, LearnerStreams, MakeLearners, PreparedLearner, Setting, each};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_privacy::accounting::sensitivity::from_lq;
use privateer_privacy::gradients::{
    HiddenDescent, HiddenRelease, HiddenStep, HiddenSteps, NoNoise, Projection, Sample, Terms, VectorLaw, VectorNoise,
};
use privateer_privacy::{Raw, Refusal};
use std::sync::Arc;

/// Returns the first step `lr R/(L sqrt(2 n/3 + 64 d/mu²))` of a descent over n samples.
///
/// It minimises the bound on the risk at `lr = 1`. `mu` is infinite without a budget.
pub fn step(learning_rate: f64, radius: f64, lipschitz: f64, n: u64, dimension: usize, mu: f64) -> f64 {
    learning_rate * radius / (lipschitz * libm::sqrt(2.0 / 3.0 * n as f64 + 64.0 * dimension as f64 / (mu * mu)))
}

/// Returns the steps of the phases over n samples: half of the samples left in each, the noise `unit` times the step.
pub fn phases(n: u64, eta: f64, unit: f64) -> Arc<HiddenSteps> {
    let (mut ends, mut end) = (Vec::new(), 0);
    while end < n {
        end += (n - end).div_ceil(2);
        ends.push(end);
    }
    Arc::new(move |at| {
        let phase = ends.iter().position(|&end| at < end)?;
        let eta = eta * libm::pow(0.25, phase as f64);
        let release = (at + 1 == ends[phase]).then_some(HiddenRelease::Mean(unit * eta));
        Some(HiddenStep { batch: 1, eta, shrink: 0.0, noise: 0.0, release })
    })
}

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let hidden = Hidden::of(setting, request)?;
    let priced = hidden.terms.hidden_noise(1.0)?;
    let (unit, mu) = hidden.unit_and_mu(priced.noise);
    let eta = step(learning_rate, hidden.radius, hidden.lipschitz, setting.rounds, hidden.terms.dimension, mu);
    let eta = eta.min(hidden.longest_step);
    let notes = ["each sample is in one phase, and one noisy mean a phase is released", Hidden::NOTE];
    let name = GradientRequest::vector_name(false, hidden.terms.budget.is_some());
    let (claim, _) = request.claim(&hidden.terms, name, priced, false, &notes);
    let facts = Facts::from([("learning rate", learning_rate.into()), ("step", eta.into())]);
    Ok(PreparedLearner { make: hidden.make(setting, request, phases(setting.rounds, eta, unit)), claim, facts })
}

/// Holds what learners that descend in secret have in common: constants in the Euclidean norm.
pub(super) struct Hidden {
    pub(super) terms: Terms,
    pub(super) radius: f64,
    /// Bound on a gradient.
    pub(super) lipschitz: f64,
    /// The longest step that does not increase distances, `2/beta`.
    pub(super) longest_step: f64,
}

impl Hidden {
    /// What the price rests on, beyond the clip.
    pub(super) const NOTE: &str = "the price rests on a convex loss of the stated smoothness, and on the set's projection";

    pub(super) fn of(setting: &Setting, request: &GradientRequest) -> Result<Self, Refusal> {
        if !["auto", "gaussian", "none"].contains(&request.spec.mechanism) {
            let message = format!("`{}` is not noise of this learner", request.spec.mechanism);
            return Err(Refusal::new("mechanism", message, "`auto`, `gaussian` or `none`"));
        }
        let terms = request.terms(setting)?;
        if terms.budget.is_some() && !terms.calibration.redesigns() {
            let message = format!("this learner has no {} noise: its noise is our own", terms.calibration);
            return Err(Refusal::new("calibration", message, "`calibration = \"tight\"`"));
        }
        let (d, p, q) = (terms.dimension, terms.norm.exponent(), terms.norm.dual().exponent());
        let stretch = from_lq(1.0, q, d);
        Ok(Self {
            radius: from_lq(0.5 * terms.actual.diameter, p, d),
            lipschitz: stretch * terms.lipschitz(),
            longest_step: 2.0 / (stretch * stretch * terms.actual.smoothness),
            terms,
        })
    }

    /// Returns the standard deviation of noise for a step of length 1, and mu; 0 and infinity without a budget.
    pub(super) fn unit_and_mu(&self, law: VectorLaw) -> (f64, f64) {
        match law {
            VectorLaw::Gaussian { sigma } => (sigma, 2.0 * self.lipschitz / sigma),
            _ => (0.0, f64::INFINITY),
        }
    }

    pub(super) fn make(&self, setting: &Setting, request: &GradientRequest, steps: Arc<HiddenSteps>) -> MakeLearners {
        let (set, gradient, clip) = (Arc::clone(&setting.set), request.gradient(setting), self.terms.bounds(1.0));
        let is_private = self.terms.budget.is_some();
        each(move || {
            let noise = if is_private { VectorLaw::Gaussian { sigma: 1.0 }.sampler() } else { None };
            let noise = noise.unwrap_or_else(|| Box::new(NoNoise) as Box<dyn VectorNoise>);
            let answer = set.centre();
            let projection = Arc::new(OnSet(Arc::clone(&set)));
            let descent = HiddenDescent::new(Arc::clone(&gradient), answer.clone(), clip, projection, Arc::clone(&steps), noise);
            Box::new(HiddenLearner { descent, set: Arc::clone(&set), answer })
        })
    }
}

#[derive(Debug)]
struct OnSet(Arc<dyn ConstraintSet>);

impl Projection for OnSet {
    fn project(&self, theta: &mut [f64]) {
        self.0.project(theta);
    }
}

#[derive(Debug)]
struct HiddenLearner {
    descent: HiddenDescent,
    set: Arc<dyn ConstraintSet>,
    answer: Vec<f64>,
}

impl Learner for HiddenLearner {
    fn observe(&mut self, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams) -> Result<(), Error> {
        if let Some(released) = self.descent.release(sample, &mut streams.mechanism) {
            self.answer.copy_from_slice(released.value());
            streams.heard(&self.answer);
            self.set.project(&mut self.answer);
        }
        Ok(())
    }

    fn iterate(&self) -> &[f64] {
        &self.answer
    }
}
