//! Implements `igp-ucb` [Chowdhury2017, Algorithm 1, Theorem 2] with the realised gain.

use super::gp_policy::failure_prob;
use super::{ExplorationFactor, GpPlan, PolicyPlan, RoundFacts, Rule, RuleMaker, Setting};
use privateer_config::error::Diagnostic;
use privateer_config::params::Args;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> Box<dyn PolicyPlan> {
    let maker = IgpUcb { beta: ExplorationFactor::parse(args), failure_prob: failure_prob(args) };
    GpPlan::parse(args, maker)
}

/// Returns R, the noise scale of the sub-Gaussian exploration factors.
///
/// It is the bound of the released reward where one exists, or the bound of the noise without a mechanism. Otherwise it is the
/// total standard deviation of a reward, a heuristic, because that noise need not be sub-Gaussian.
///
/// # Errors
/// If the noise has neither a bound nor a known variance.
pub fn noise_scale(setting: &Setting) -> Result<f64, Diagnostic> {
    let released = &setting.released;
    if let Some(bound) = released.output_bound {
        return Ok(bound);
    }
    let facts = &setting.facts;
    if let (Some(noise_bound), 0.0) = (facts.noise_bound, released.mechanism_variance) {
        return Ok(noise_bound);
    }
    // The variance of bounded noise is at most its squared bound; that of a clipped reward, the squared end of its range.
    let bounded = facts.noise_bound.or(released.clipped_bound.filter(|_| 0.0 < released.mechanism_variance));
    match facts.noise_variance.or(bounded.map(|bound| bound * bound)) {
        Some(variance) => Ok(libm::sqrt(variance + released.mechanism_variance)),
        None => Err(Diagnostic::new("beta needs a noise scale, but the environment's noise has neither a bound nor a variance")
            .hint("use `gp-ucb` with `beta = \"theory\"`, `tgp-ucb` with `moment`, a `constant` beta, or noise with more than 2 degrees of freedom")),
    }
}

struct IgpUcb {
    beta: ExplorationFactor,
    failure_prob: f64,
}

impl RuleMaker for IgpUcb {
    fn name(&self) -> &'static str {
        "igp-ucb"
    }

    fn rule(&self, setting: &Setting, ridge: f64) -> Result<Box<dyn Rule>, Diagnostic> {
        let noise_scale = match self.beta {
            ExplorationFactor::Constant { .. } => 0.0,
            _ => noise_scale(setting)?,
        };
        Ok(Box::new(IgpUcbRule {
            beta: self.beta,
            log_failure: libm::log(self.failure_prob),
            ridge,
            bound: setting.facts.bound,
            noise_scale,
        }))
    }
}

struct IgpUcbRule {
    beta: ExplorationFactor,
    log_failure: f64,
    ridge: f64,
    bound: f64,
    noise_scale: f64,
}

impl Rule for IgpUcbRule {
    fn beta(&self, round: &RoundFacts) -> f64 {
        self.beta.value(
            // B + R sqrt(2 (gain + 1 + ln(1/failure))) [Chowdhury2017, Theorem 2], which is stated for a ridge just above 1. A
            // smaller
            // ridge divides the noise term by its root, as in the general self-normalised bound.
            || {
                let deviation = libm::sqrt(2.0 * (round.gain + 1.0 - self.log_failure));
                self.bound + self.noise_scale * deviation / libm::sqrt(self.ridge.min(1.0))
            },
            || (self.bound + self.noise_scale * libm::sqrt(round.gain)) / libm::sqrt(self.ridge),
        )
    }
}
