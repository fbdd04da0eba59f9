//! Implements `gp-ucb` [Srinivas2010, Algorithm 1, Theorem 1], for a finite domain.

use super::exploration_factor::ExplorationFactor;
use super::gp_policy::{Ridge, Rule, failure_prob, gp_plan};
use super::noise_scale::NoiseScale;
use super::{PolicyPlan, PosteriorPlan, RoundFacts};
use privateer_config::params::Args;
use std::f64::consts::PI;

pub fn parse(args: &Args<'_>) -> PolicyPlan {
    plan(args, Ridge::Stated(1.0))
}

/// Reads the keys of a policy that is GP-UCB on what it observes, with this ridge unless stated.
pub fn plan(args: &Args<'_>, ridge: Ridge) -> PolicyPlan {
    let doc = "whether starting rounds count in the t of beta; [Kharkovskii2020] counts queries after the first point";
    let (beta, failure_prob) = (ExplorationFactor::parse_measuring(args), failure_prob(args));
    let count_start = args.flag("count_start", doc, true);
    gp_plan(args, ridge, PosteriorPlan::parse, move |setting, ridge| {
        // An order-wise factor has a noise scale; the other factors have none.
        let is_order = matches!(beta, ExplorationFactor::Order { .. });
        let noise = is_order.then(|| NoiseScale::of(beta, setting)).transpose()?;
        let (noise_scale, bound) = (noise.map_or(0.0, |scale| scale.value), setting.facts.bound);
        let factor = move |round: &RoundFacts| {
            let t = if count_start { round.round } else { (round.round - round.started).max(1) } as f64;
            beta.value(
                // The squared factor is 2 ln(|D| t² pi² / (6 failure)) [Srinivas2010, Theorem 1].
                || libm::sqrt(2.0 * libm::log(round.n_points as f64 * t * t * PI * PI / (6.0 * failure_prob)).max(0.0)),
                || (bound + noise_scale * libm::sqrt(round.gain)) / libm::sqrt(ridge),
            )
        };
        Ok(Rule::new(0.0, factor).stating(noise.and_then(NoiseScale::fact)))
    })
}
