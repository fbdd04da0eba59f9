//! Implements `gp-ucb` [Srinivas2010, Algorithm 1, Theorem 1], for a finite domain.

use super::gp_policy::failure_prob;
use super::noise_scale::NoiseScale;
use super::{ExplorationFactor, GpPlan, PolicyPlan, RoundFacts, Rule, RuleMaker, Setting};
use privateer_config::error::Diagnostic;
use privateer_config::params::Args;
use std::f64::consts::PI;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> Box<dyn PolicyPlan> {
    let doc = "whether starting rounds count in the t of beta; [Kharkovskii2020] counts queries after the first point";
    let maker = GpUcb {
        beta: ExplorationFactor::parse_measuring(args),
        failure_prob: failure_prob(args),
        count_start: args.flag("count_start", doc, true),
    };
    GpPlan::parse(args, maker)
}

struct GpUcb {
    beta: ExplorationFactor,
    failure_prob: f64,
    count_start: bool,
}

impl GpUcb {
    /// Returns the noise scale of an order-wise factor; the other factors have none.
    fn noise_scale(&self, setting: &Setting) -> Result<Option<NoiseScale>, Diagnostic> {
        let is_order = matches!(self.beta, ExplorationFactor::Order { .. });
        is_order.then(|| NoiseScale::of(self.beta, setting)).transpose()
    }
}

impl RuleMaker for GpUcb {
    fn name(&self) -> &'static str {
        "gp-ucb"
    }

    fn rule(&self, setting: &Setting, ridge: f64) -> Result<Box<dyn Rule>, Diagnostic> {
        let noise_scale = self.noise_scale(setting)?.map_or(0.0, |scale| scale.value);
        Ok(Box::new(GpUcbRule {
            beta: self.beta,
            failure_prob: self.failure_prob,
            count_start: self.count_start,
            ridge,
            bound: setting.facts.bound,
            noise_scale,
        }))
    }

    fn facts(&self, setting: &Setting) -> Vec<(String, serde_json::Value)> {
        self.noise_scale(setting).ok().flatten().and_then(NoiseScale::fact).into_iter().collect()
    }
}

struct GpUcbRule {
    beta: ExplorationFactor,
    failure_prob: f64,
    count_start: bool,
    ridge: f64,
    bound: f64,
    noise_scale: f64,
}

impl Rule for GpUcbRule {
    fn beta(&self, round: &RoundFacts) -> f64 {
        let t = if self.count_start { round.round } else { (round.round - round.started).max(1) } as f64;
        self.beta.value(
            // The squared factor is 2 ln(|D| t² pi² / (6 failure)) [Srinivas2010, Theorem 1].
            || libm::sqrt(2.0 * libm::log(round.n_points as f64 * t * t * PI * PI / (6.0 * self.failure_prob)).max(0.0)),
            || (self.bound + self.noise_scale * libm::sqrt(round.gain)) / libm::sqrt(self.ridge),
        )
    }
}
