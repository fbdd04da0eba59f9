//! Implements `igp-ucb` [Chowdhury2017, Algorithm 1, Theorem 2] with the realised gain.

use super::gp_policy::failure_prob;
use super::noise_scale::NoiseScale;
use super::{ExplorationFactor, GpPlan, PolicyPlan, RoundFacts, Rule, RuleMaker, Setting};
use privateer_config::error::Diagnostic;
use privateer_config::params::Args;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> Box<dyn PolicyPlan> {
    let maker = IgpUcb { beta: ExplorationFactor::parse_measuring(args), failure_prob: failure_prob(args) };
    GpPlan::parse(args, maker)
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
        let noise_scale = NoiseScale::of(self.beta, setting)?.value;
        Ok(Box::new(IgpUcbRule {
            beta: self.beta,
            log_failure: libm::log(self.failure_prob),
            ridge,
            bound: setting.facts.bound,
            noise_scale,
        }))
    }

    fn facts(&self, setting: &Setting) -> Vec<(String, serde_json::Value)> {
        NoiseScale::of(self.beta, setting).ok().and_then(NoiseScale::fact).into_iter().collect()
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
