//! Implements `qff-gp-ucb` and `rff-gp-ucb`: GP-UCB over quadrature and random Fourier features.
//!
//! Sources: [Dubey2021, Algorithm 1 without a privatizer, Theorem 1 without privacy noise, Remark 4; Mutny2018; Rahimi2007]. The
//! exploration factor accounts for the error of the features.

use super::exploration_factor::ExplorationFactor;
use super::feature_list::parse_one_map;
use super::gp_policy::{Ridge, Rule, failure_prob, gp_plan};
use super::noise_scale::NoiseScale;
use super::{InputNoiseModel, PolicyPlan, PosteriorPlan, RoundFacts};
use privateer_config::params::Args;

pub fn parse(args: &Args<'_>, kind: &'static str) -> PolicyPlan {
    let (beta, failure_prob) = (ExplorationFactor::parse_measuring(args), failure_prob(args));
    let posterior = |args: &Args<'_>| {
        parse_one_map(args, kind).map_or(PosteriorPlan::Exact(InputNoiseModel::Modelled), PosteriorPlan::Features)
    };
    gp_plan(args, Ridge::Stated(1.0), posterior, move |setting, ridge| {
        let (noise_scale, bound, root) = (NoiseScale::of(beta, setting)?, setting.facts.bound, libm::sqrt(ridge));
        let factor = move |round: &RoundFacts| {
            beta.value(
                // Bounds |mean(x) - g(x)|, for the function g of the features nearest to f, in units of the posterior standard
                // deviation sqrt(ridge) |phi|_{V^-1}. The bound is the sum of three terms:
                // - B, from the ridge;
                // - R sqrt(ln det(V/ridge) + 2 ln(1/failure)) / sqrt(ridge), from the noise, with ln det(V/ridge) = 2 gain;
                // - |sum_s phi_s (f - g)(x_s)|_{V^-1} / sqrt(ridge), with |f - g| <= B e for the kernel error e [Dubey2021, Lemma
                //   1]. The theorem bounds the norm by t B e / sqrt(ridge); sum_s |phi_s|²_{V^-1} <= m gives B e sqrt(t m) too.
                || {
                    let noise = noise_scale.value * libm::sqrt(2.0 * (round.gain - libm::log(failure_prob)));
                    let past = (round.round - 1) as f64;
                    let misfit = (past / root).min(libm::sqrt(past * round.n_features as f64));
                    bound + (noise + bound * round.feature_error * misfit) / root
                },
                || (bound + noise_scale.value * libm::sqrt(round.gain)) / root,
            )
        };
        Ok(Rule::new(beta.offset(-libm::log(failure_prob)), factor).stating(noise_scale.fact()))
    })
}
