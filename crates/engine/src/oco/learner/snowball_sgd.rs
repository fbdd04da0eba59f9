//! Implements snowball SGD (FeldmanKorenTalwar2020), our reading: noisy projected descent on growing batches, last iterate.
//!
//! The step with k steps to go follows the mean gradient of `max(1, ceil(2 sqrt(d)/(mu sqrt(k))))` fresh samples, with Gaussian
//! noise; steps are of one length. Only the last iterate is released: noise of later steps hides earlier samples.
//! Derivation: `docs/derivations/phased-sgd.md`.

use super::phased_sgd::Hidden;
use super::{GradientRequest, PreparedLearner, Setting};
use privateer_config::facts::Facts;
use privateer_privacy::Refusal;
use privateer_privacy::gradients::{HiddenRelease, HiddenStep, HiddenSteps};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Snowball {
    pub n_steps: u64,
    /// Sizes of batches: the step with k steps to go has `ceil(size/sqrt(k))` samples, at least one and at most all.
    size: f64,
    n: u64,
}

impl Snowball {
    /// Divides n samples; the last ones may stay unused.
    pub fn of(n: u64, size: f64) -> Self {
        let mut plan = Self { n_steps: 0, size, n };
        let mut used = plan.batch(1);
        while used <= n {
            plan.n_steps += 1;
            let next = plan.batch(plan.n_steps + 1);
            if next == 1 {
                plan.n_steps += n - used;
                return plan;
            }
            used += next;
        }
        plan
    }

    /// Returns the number of samples of the step with `k >= 1` steps to go.
    pub fn batch(&self, k: u64) -> u64 {
        ((self.size / libm::sqrt(k as f64)).ceil() as u64).clamp(1, self.n)
    }

    /// Returns the largest `1/(batch sqrt(k))`: what noise hides least.
    pub fn exposure(&self) -> f64 {
        let of = |k: u64| 1.0 / (self.batch(k) as f64 * libm::sqrt(k as f64));
        // From the first batch of one sample on it falls.
        let mut largest = 0.0_f64;
        for k in 1..=self.n_steps {
            largest = largest.max(of(k));
            if self.batch(k) == 1 {
                break;
            }
        }
        largest
    }

    /// Returns the steps, of length `eta` with noise `eta sigma`.
    pub fn steps(self, eta: f64, sigma: f64) -> Arc<HiddenSteps> {
        Arc::new(move |at| {
            let k = self.n_steps.checked_sub(at).filter(|k| 0 < *k)?;
            let release = (k == 1).then_some(HiddenRelease::Iterate);
            Some(HiddenStep { batch: self.batch(k), eta, shrink: 0.0, noise: eta * sigma, release })
        })
    }
}

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let hidden = Hidden::of(setting, request)?;
    let d = hidden.terms.dimension as f64;
    let (_, mu) = hidden.unit_and_mu(hidden.terms.hidden_noise(1.0)?.noise);
    let plan = Snowball::of(setting.rounds, 2.0 * libm::sqrt(d) / mu);
    let priced = hidden.terms.hidden_noise(plan.exposure())?;
    let (sigma, _) = hidden.unit_and_mu(priced.noise);
    // R/sqrt(T (L² + d sigma²)) balances the distance to the start and the noise of gradients.
    let size = libm::sqrt(plan.n_steps as f64 * (hidden.lipschitz * hidden.lipschitz + d * sigma * sigma));
    let eta = (learning_rate * hidden.radius / size).min(hidden.longest_step);
    let notes = ["each sample is in one batch, and the last iterate alone is released", Hidden::NOTE];
    let name = GradientRequest::vector_name(false, hidden.terms.budget.is_some());
    let (claim, _) = request.claim(&hidden.terms, name, priced, false, &notes);
    let facts = Facts::from([
        ("learning rate", learning_rate.into()),
        ("step", eta.into()),
        ("steps", plan.n_steps.into()),
        ("last batch", plan.batch(1).into()),
    ]);
    Ok(PreparedLearner { make: hidden.make(setting, request, plan.steps(eta, sigma)), claim, facts })
}
