//! Implements private GIGA (JainKothariThakurta2012), our reading: a hidden descent, every iterate released.
//!
//! Step t is `theta - eta_t (gradient + alpha (theta - centre))`, projected, with `eta_t = 1/(alpha t + beta/2)`. A replaced sample
//! moves every later iterate by at most `2 L eta_t`; its release has Gaussian noise of standard deviation `sigma eta_t`.
//! Derivation: `docs/derivations/phased-sgd.md`.

use super::phased_sgd::Hidden;
use super::{GradientRequest, PreparedLearner, Setting};
use privateer_config::facts::Facts;
use privateer_privacy::Refusal;
use privateer_privacy::gradients::{HiddenRelease, HiddenStep, HiddenSteps};
use std::sync::Arc;

/// Returns `alpha = sqrt((1 + ln n) L (L + 2 b)/n)/(lr R)`, which minimises the bound on the regret at `lr = 1`.
///
/// * `noise` — b: root mean square length of the noise after a step of length 1
pub fn curvature(learning_rate: f64, radius: f64, lipschitz: f64, noise: f64, n: u64) -> f64 {
    let n = n as f64;
    libm::sqrt((1.0 + libm::log(n)) * lipschitz * (lipschitz + 2.0 * noise) / n) / (learning_rate * radius)
}

/// Returns the steps over n samples; `longest` is `2/beta`.
pub fn steps(n: u64, alpha: f64, longest: f64, sigma: f64) -> Arc<HiddenSteps> {
    Arc::new(move |at| {
        let eta = 1.0 / (alpha * (at as f64 + 1.0) + 1.0 / longest);
        let release = Some(HiddenRelease::NoisyIterate(eta * sigma));
        (at < n).then_some(HiddenStep { batch: 1, eta, shrink: eta * alpha, noise: 0.0, release })
    })
}

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let hidden = Hidden::of(setting, request)?;
    let priced = hidden.terms.iterate_noise()?;
    let (sigma, _) = hidden.unit_and_mu(priced.noise);
    let (n, length) = (setting.rounds, priced.noise.length(hidden.terms.dimension));
    let alpha = curvature(learning_rate, hidden.radius, hidden.lipschitz, length, n);
    let steps = steps(n, alpha, hidden.longest_step, sigma);
    let notes = ["every iterate is released, and one sample moves all that follow it", Hidden::NOTE];
    let name = GradientRequest::vector_name(false, hidden.terms.budget.is_some());
    let (claim, _) = request.claim(&hidden.terms, name, priced, false, &notes);
    let facts = Facts::from([
        ("learning rate", learning_rate.into()),
        ("step", steps(0).map_or(0.0, |step| step.eta).into()),
        ("curvature", alpha.into()),
    ]);
    Ok(PreparedLearner { make: hidden.make(setting, request, steps), claim, facts })
}
