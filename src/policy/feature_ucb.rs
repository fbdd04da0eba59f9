//! Computes the exploration factor of the GP-UCB policies over approximate features.
//!
//! Source: [Dubey2021, Theorem 1], without privacy noise.

use super::gp_policy::failure_prob;
use super::noise_scale::NoiseScale;
use super::{ExplorationFactor, RoundFacts, Rule, RuleMaker, Setting};
use privateer_config::error::Diagnostic;
use privateer_config::params::Args;

/// Makes GP-UCB rules whose exploration factor accounts for the error of the features.
pub struct FeatureUcb {
    name: &'static str,
    beta: ExplorationFactor,
    failure_prob: f64,
}

impl FeatureUcb {
    /// Reads `beta` and `failure_prob` for the policy of this name.
    pub fn parse(name: &'static str, args: &Args<'_>) -> Self {
        Self { name, beta: ExplorationFactor::parse_measuring(args), failure_prob: failure_prob(args) }
    }
}

impl RuleMaker for FeatureUcb {
    fn name(&self) -> &'static str {
        self.name
    }

    fn rule(&self, setting: &Setting, ridge: f64) -> Result<Box<dyn Rule>, Diagnostic> {
        let noise_scale = NoiseScale::of(self.beta, setting)?.value;
        let (beta, failure_prob, bound) = (self.beta, self.failure_prob, setting.facts.bound);
        Ok(Box::new(FeatureRule { beta, failure_prob, ridge, bound, noise_scale }))
    }

    fn facts(&self, setting: &Setting) -> Vec<(String, serde_json::Value)> {
        NoiseScale::of(self.beta, setting).ok().and_then(NoiseScale::fact).into_iter().collect()
    }
}

struct FeatureRule {
    beta: ExplorationFactor,
    failure_prob: f64,
    ridge: f64,
    bound: f64,
    noise_scale: f64,
}

impl Rule for FeatureRule {
    fn beta(&self, round: &RoundFacts) -> f64 {
        let root = libm::sqrt(self.ridge);
        self.beta.value(
            // Bounds |mean(x) - g(x)|, for the function g of the features nearest to f, in units of the posterior standard
            // deviation
            // sqrt(ridge) |phi|_{V^-1}. The bound is the sum of three terms:
            // - B, from the ridge;
            // - R sqrt(ln det(V/ridge) + 2 ln(1/failure)) / sqrt(ridge), from the noise, with ln det(V/ridge) = 2 gain;
            // - |sum_s phi_s (f - g)(x_s)|_{V^-1} / sqrt(ridge), with |f - g| <= B e for the kernel error e [Dubey2021, Lemma
            //   1].
            //   The theorem bounds the norm by t B e / sqrt(ridge); sum_s |phi_s|²_{V^-1} <= m gives B e sqrt(t m) as well.
            || {
                let noise = self.noise_scale * libm::sqrt(2.0 * (round.gain - libm::log(self.failure_prob)));
                let past = (round.round - 1) as f64;
                let misfit = (past / root).min(libm::sqrt(past * round.n_features as f64));
                self.bound + (noise + self.bound * round.feature_error * misfit) / root
            },
            || (self.bound + self.noise_scale * libm::sqrt(round.gain)) / root,
        )
    }
}
