//! Implements `igp-ucb` [Chowdhury2017, Algorithm 1, Theorem 2] with the realised gain.

use super::exploration_factor::ExplorationFactor;
use super::gp_policy::{Ridge, Rule, failure_prob, gp_plan};
use super::noise_scale::NoiseScale;
use super::{PolicyPlan, PosteriorPlan, RoundFacts};
use privateer_config::params::Args;

pub fn parse(args: &Args<'_>) -> PolicyPlan {
    let beta = ExplorationFactor::parse_measuring(args);
    let log_failure = libm::log(failure_prob(args));
    gp_plan(args, Ridge::Stated(1.0), PosteriorPlan::parse, move |setting, ridge| {
        let (noise, bound) = (NoiseScale::of(beta, setting)?, setting.facts.bound);
        let factor = move |round: &RoundFacts| {
            beta.value(
                // B + R sqrt(2 (gain + 1 + ln(1/failure))) [Chowdhury2017, Theorem 2], which is stated for a ridge just above 1.
                // A smaller ridge divides the noise term by its root, as in the general self-normalised bound.
                || {
                    let deviation = libm::sqrt(2.0 * (round.gain + 1.0 - log_failure));
                    bound + noise.value * deviation / libm::sqrt(ridge.min(1.0))
                },
                || (bound + noise.value * libm::sqrt(round.gain)) / libm::sqrt(ridge),
            )
        };
        Ok(Rule::new(beta.offset(1.0 - log_failure), factor).stating(noise.fact()))
    })
}
