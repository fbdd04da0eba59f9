//! Implements `tgp-ucb`: GP-UCB that replaces rewards beyond a slowly growing level by zero.
//!
//! Sources: [Zhou2021, Algorithm 2 (LDP-TGP-UCB); Chowdhury2019, Algorithm 1 (TGP-UCB)]. A play with a truncated reward still
//! counts. The level `b_t` follows from what is assumed of the observation noise (`tails`, the same with and without privacy)
//! and from the law of the mechanism:
//! - A bounded mechanism, or sub-Gaussian noise without a mechanism: nothing is truncated, and there is no bias term.
//! - Laplace noise of scale L on a reward within B + R: `b_t = B + R + L ln t`, with the bias term `sqrt(K (ln t + 1))`,
//!   `K = B² + R² + 2 L²`. For other unbounded mechanisms L is the scale of the Laplace noise of their variance; for
//!   sub-Gaussian noise that is neither bounded nor clipped, its scale replaces R.
//! - Sub-Weibull noise without a mechanism [Zhou2021, eq. (5) and (6)]: `b_t = B + L (ln t)^theta`, with the same bias term.
//! - A bounded moment alone: `b_t = v^(1/(1+a)) t^(1/(2(1+a)))`, `v` a bound on the moment of order 1 + a of a reward.

use super::exploration_factor::{ExplorationFactor, NoiseMeasure};
use super::gp_policy::{Ridge, Rule, failure_prob, gp_plan};
use super::noise_scale::NoiseScale;
use super::tail_moments::{TailKeys, Tails, power, unknown_moment};
use super::{PolicyPlan, PosteriorPlan, RoundFacts, Setting};
use privateer_config::error::Diagnostic;
use privateer_config::params::Args;
use privateer_gp::TrainReadings;
use std::f64::consts::SQRT_2;

pub fn parse(args: &Args<'_>) -> PolicyPlan {
    let (beta, failure_prob, tails) = (ExplorationFactor::parse_measuring(args), failure_prob(args), TailKeys::parse(args));
    let doc = "theta of sub-Weibull observation noise, which takes the place of `tails`: without a mechanism rewards beyond B + tail_scale (ln t)^theta are truncated, and under one those of a clipped reward";
    let theta = args.number("tail_parameter", doc).at_least(0.1).at_most(10.0).optional("`tails` decides");
    let doc = "the noise exceeds x in magnitude with probability at most exp(-(x/tail_scale)^(1/theta))";
    let sub_weibull = theta.zip(Some(args.number("tail_scale", doc).above(0.0).or(1.0)));
    gp_plan(args, Ridge::Stated(1.0), PosteriorPlan::parse, move |setting, ridge| {
        let (tail, bound, root) = (Tail::of(setting, tails, sub_weibull)?, setting.facts.bound, libm::sqrt(ridge));
        let noise = noise_of(beta, setting, tail)?;
        let factor = move |round: &RoundFacts| {
            let s = round.round - 1;
            let deviation = libm::sqrt(round.gain - libm::log(failure_prob));
            beta.value(
                || match noise {
                    // B + R sqrt(2 (gain + ln(1/failure))) / sqrt(ridge), the self-normalised bound for sub-Gaussian noise.
                    Some(noise) => bound + SQRT_2 * noise.value * deviation / root,
                    // B + [2 sqrt(2) b_{t-1} sqrt(gain + ln(1/failure)) + bias] / sqrt(ridge) [Zhou2021, Algorithm 2, line 5]
                    None => bound + (2.0 * SQRT_2 * tail.level(s) * deviation + tail.bias(s)) / root,
                },
                || {
                    let noise = noise.map_or_else(|| tail.level(s), |noise| noise.value);
                    (bound + noise * libm::sqrt(round.gain)) / root
                },
            )
        };
        // The other levels do not use the moment bound.
        let moment = match tail {
            Tail::Heavy { moment, .. } => tails.moment.fact("v, the policy's moment bound", moment, setting),
            Tail::Light | Tail::Exponential { .. } => None,
        };
        let assumed = match sub_weibull {
            Some((theta, scale)) => {
                ("tails of the noise, assumed", format!("sub-Weibull of theta {theta} and scale {scale}: stated").into())
            }
            None => tails.fact(setting),
        };
        let facts = [assumed].into_iter().chain(moment).chain(noise.and_then(NoiseScale::fact));
        let admit = move |reward: f64, round: u64| if tail.level(round) < reward.abs() { 0.0 } else { reward };
        Ok(Rule::new(0.0, factor).admitting(admit).stating(facts))
    })
}

/// Returns the noise scale of beta; `None` where the truncation level takes its place.
fn noise_of(beta: ExplorationFactor, setting: &Setting, tail: Tail) -> Result<Option<NoiseScale>, Diagnostic> {
    let by_level = match (beta, tail) {
        (_, Tail::Light) | (ExplorationFactor::Constant { .. }, _) => false,
        (ExplorationFactor::Order { noise: NoiseMeasure::Deviation, .. }, _) => NoiseScale::deviation(setting).is_none(),
        _ => true,
    };
    if by_level {
        return Ok(None);
    }
    // The papers' order-wise factor counts a bounded reward by its own bound.
    match (beta, setting.released.output_bound().or(setting.released.clipped_bound)) {
        (ExplorationFactor::Order { noise: NoiseMeasure::Range, .. }, Some(bound)) => Ok(Some(NoiseScale::of_range(bound))),
        _ => NoiseScale::of(beta, setting).map(Some),
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Tail {
    /// Nothing is truncated.
    Light,
    /// `reward_bound` before noise with a sub-Weibull tail of this scale, `theta` = 1 for a Laplace law; `moment` is K.
    Exponential { reward_bound: f64, scale: f64, theta: f64, moment: f64 },
    /// `moment` is v, a bound on the moment of this order.
    Heavy { moment: f64, order: f64 },
}

impl Tail {
    fn of(setting: &Setting, keys: TailKeys, sub_weibull: Option<(f64, f64)>) -> Result<Self, Diagnostic> {
        let (facts, released) = (&setting.facts, &setting.released);
        if released.output_range.is_some() {
            return Ok(Self::Light);
        }
        let unknown = || unknown_moment("tgp-ucb", "moment");
        if let Some((theta, scale)) = sub_weibull
            && released.mechanism_variance == 0.0
        {
            let moment = facts.bound * facts.bound + scale * scale * libm::tgamma(1.0 + 2.0 * theta);
            return Ok(Self::Exponential { reward_bound: facts.bound, scale, theta, moment });
        }
        if sub_weibull.is_none() && keys.tails(setting) == Tails::Moment {
            let order = keys.order;
            let given = keys.moment.given("tgp-ucb", "moment", setting, order, TrainReadings::reward_moment)?;
            let second =
                || facts.noise_variance.map(|variance| facts.bound * facts.bound + variance + released.mechanism_variance);
            // E|y|^p <= (E y²)^(p/2).
            let moment = given.or_else(|| second().map(|second| power(second, 0.5 * order))).ok_or_else(unknown)?;
            return Ok(Self::Heavy { moment, order });
        }
        if released.mechanism_variance == 0.0 {
            return Ok(Self::Light);
        }
        let reward_bound = released.clipped_bound.or(setting.noise_scale.map(|scale| facts.bound + scale)).ok_or_else(unknown)?;
        let scale = released.laplace_scale.unwrap_or_else(|| libm::sqrt(0.5 * released.mechanism_variance));
        // K = B² + R² + 2 L²; a clip bound above B replaces B + R.
        let noise_bound = (reward_bound - facts.bound).max(0.0);
        let moment = facts.bound * facts.bound + noise_bound * noise_bound + 2.0 * scale * scale;
        Ok(Self::Exponential { reward_bound, scale, theta: 1.0, moment })
    }

    /// Returns the level of round `t`: larger rewards are replaced by zero.
    ///
    /// t is at least 1 in `ln t` and its powers.
    fn level(self, t: u64) -> f64 {
        let t = t.max(1) as f64;
        match self {
            Self::Light => f64::INFINITY,
            Self::Exponential { reward_bound, scale, theta, .. } => reward_bound + scale * power(libm::log(t), theta),
            Self::Heavy { moment, order } => power(moment, 1.0 / order) * power(libm::sqrt(t), 1.0 / order),
        }
    }

    /// Returns the theorems' bound on the bias of truncation over rounds 1..=s.
    fn bias(self, s: u64) -> f64 {
        let s = s.max(1) as f64;
        match self {
            Self::Light => 0.0,
            Self::Exponential { moment, .. } => libm::sqrt(moment * (libm::log(s) + 1.0)),
            // The mean of what round t truncates is at most v / b_t^a. The norm over all rounds is
            // sqrt(sum of (v / b_t^a)²) <= sqrt(1+a) v^(1/(1+a)) s^(1/(2(1+a))).
            Self::Heavy { moment, order: 2.0 } => libm::sqrt(2.0 * moment) * libm::sqrt(libm::sqrt(s)),
            Self::Heavy { moment, order } => libm::sqrt(order) * power(moment, 1.0 / order) * power(libm::sqrt(s), 1.0 / order),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReleasedFacts;
    use super::super::tail_moments::Moment;
    use super::*;
    use privateer_privacy::RewardFacts;

    /// Normal noise of deviation 2 on |f| <= 3, and Laplace noise of scale 5 where `private`.
    fn setting(private: bool, noise_scale: Option<f64>) -> Setting {
        let facts = RewardFacts { bound: 3.0, noise_bound: None, range: None, noise_variance: Some(4.0), rounds: 10 };
        let laplace = ReleasedFacts {
            mechanism_variance: 50.0,
            mechanism_scale: None,
            laplace_scale: Some(5.0),
            clip: Some((-7.0, 7.0)),
            ..ReleasedFacts::unchanged(Some(7.0))
        };
        let released = if private { laplace } else { ReleasedFacts::unchanged(None) };
        Setting { facts, released, sums: None, noise_scale, train: None, released_inputs: None }
    }

    /// Under sub-Gaussian noise only what a mechanism adds is truncated; else both forms truncate.
    #[test]
    fn truncation_follows_the_stated_tails() {
        let auto = TailKeys { stated: None, moment: Moment::Known, order: 2.0 };
        let of = |private, scale, keys| Tail::of(&setting(private, scale), keys, None).expect("known moments");
        assert_eq!(of(false, Some(2.0), auto), Tail::Light);
        let exponential = Tail::Exponential { reward_bound: 7.0, scale: 5.0, theta: 1.0, moment: 9.0 + 16.0 + 50.0 };
        assert_eq!(of(true, Some(2.0), auto), exponential);
        let moment = TailKeys { stated: Some(Tails::Moment), ..auto };
        for (scale, keys) in [(None, auto), (Some(2.0), moment)] {
            assert_eq!(of(false, scale, keys), Tail::Heavy { moment: 13.0, order: 2.0 });
            assert_eq!(of(true, scale, keys), Tail::Heavy { moment: 63.0, order: 2.0 });
        }
        let mut bounded = setting(true, None);
        bounded.released.output_range = Some((-9.0, 9.0));
        assert_eq!(Tail::of(&bounded, moment, None).expect("bounded"), Tail::Light);
        // Printed Laplace noise on a reward that is not clipped.
        let mut unclipped = setting(true, Some(2.0));
        (unclipped.released.clip, unclipped.released.clipped_bound) = (None, None);
        let unclipped = Tail::of(&unclipped, auto, None).expect("a level");
        assert_eq!(unclipped, Tail::Exponential { reward_bound: 5.0, scale: 5.0, theta: 1.0, moment: 9.0 + 4.0 + 50.0 });
    }

    /// Checks that Weibull noise passes the level of round t with probability 1/t, and that a mechanism takes its place.
    #[test]
    fn levels_of_sub_weibull_noise() {
        let auto = TailKeys { stated: None, moment: Moment::Known, order: 2.0 };
        for theta in [0.5, 1.0, 2.0] {
            let of = |private| Tail::of(&setting(private, None), auto, Some((theta, 0.3))).expect("known");
            let beyond = |t: u64| libm::exp(-libm::pow((of(false).level(t) - 3.0) / 0.3, 1.0 / theta));
            assert!([2u64, 50, 3000].iter().all(|&t| (beyond(t) * t as f64 - 1.0).abs() < 1e-9), "{theta}");
            assert_eq!(of(true), Tail::Exponential { reward_bound: 7.0, scale: 5.0, theta: 1.0, moment: 9.0 + 16.0 + 50.0 });
        }
    }

    /// Checks [Chowdhury2019, Algorithm 1], and the bias term against the sum that it bounds.
    #[test]
    fn levels_and_bias_of_moments_of_any_order() {
        let v = 7.0;
        for a in [0.25, 0.5, 0.9, 1.0] {
            let tail = Tail::Heavy { moment: v, order: 1.0 + a };
            for t in [1u64, 2, 50, 3000] {
                let level = libm::pow(v, 1.0 / (1.0 + a)) * libm::pow(t as f64, 1.0 / (2.0 * (1.0 + a)));
                assert!((tail.level(t) - level).abs() < 1e-13 * level, "{a}, {t}");
                let cut = |round: u64| libm::pow(v / libm::pow(tail.level(round), a), 2.0);
                let literal = libm::sqrt((1..=t).map(cut).sum::<f64>());
                assert!(literal <= tail.bias(t) * (1.0 + 1e-12), "{a}, {t}: {literal}");
                assert!(t < 3000 || tail.bias(t) < 1.01 * literal, "{a}: {} is far above {literal}", tail.bias(t));
            }
        }
    }
}
