//! Implements `tgp-ucb`: GP-UCB that replaces rewards beyond a slowly growing level by zero.
//!
//! Sources: [Zhou2021, Algorithm 2 (LDP-TGP-UCB); Chowdhury2019, Algorithm 1 (TGP-UCB)]. A play with a truncated reward still
//! counts. The level and the exploration factor follow from public facts of a released reward:
//! - Laplace noise of scale L: `b_t = B + R + L ln t`, with the bias term `sqrt(K (ln t + 1))`, `K = B² + R² + 2 L²`.
//! - A bounded mechanism, or bounded noise without one: `b_t` is the bound, so nothing is truncated and there is no bias term.
//! - Other unbounded mechanisms: as Laplace, with `L = sqrt(variance / 2)`, the scale of the Laplace noise of that variance.
//! - Unbounded noise without a mechanism: `b_t = v^(1/(1+a)) t^(1/(2(1+a)))`, `v` a bound on the moment of order 1 + a of a
//!   reward, a = 1 unless `moment_order` states another. A stated `moment` selects this level without a mechanism even where
//!   rewards are bounded.

use super::gp_policy::failure_prob;
use super::tail_moments::{Moment, parse_order, power};
use super::{ExplorationFactor, GpPlan, PolicyPlan, RoundFacts, Rule, RuleMaker, Setting};
use privateer_config::error::Diagnostic;
use privateer_config::params::Args;
use privateer_gp::TrainReadings;
use std::f64::consts::SQRT_2;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> Box<dyn PolicyPlan> {
    let maker = TgpUcb {
        beta: ExplorationFactor::parse(args),
        failure_prob: failure_prob(args),
        moment: Moment::parse_reward(args),
        order: parse_order(args),
    };
    GpPlan::parse(args, maker)
}

struct TgpUcb {
    beta: ExplorationFactor,
    failure_prob: f64,
    moment: Moment,
    /// Order 1 + a of the bounded moment.
    order: f64,
}

/// Describes the tail of a released reward.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tail {
    /// Rewards never exceed the bound.
    Bounded { bound: f64 },
    /// `reward_bound` before noise with the tail of a Laplace law of this scale; `moment` is K.
    Exponential { reward_bound: f64, scale: f64, moment: f64 },
    /// `moment` is v, a bound on the moment of this order.
    Heavy { moment: f64, order: f64 },
}

impl Tail {
    fn of(setting: &Setting, moment: Moment, order: f64) -> Result<Self, Diagnostic> {
        let given = moment.given("tgp-ucb", "moment", setting, order, TrainReadings::reward_moment)?;
        let (facts, released) = (&setting.facts, &setting.released);
        let second_moment = || {
            let second =
                || facts.noise_variance.map(|variance| facts.bound * facts.bound + variance + released.mechanism_variance);
            // E|y|^p <= (E y²)^(p/2).
            given.or_else(|| second().map(|second| power(second, 0.5 * order))).ok_or_else(|| {
                Diagnostic::new(
                    "`tgp-ucb` needs a bound on the second moment of a reward, and the environment's noise has no known variance",
                )
                .hint("give `moment = …` in the policy")
            })
        };
        if let Some(bound) = released.output_bound {
            return Ok(Self::Bounded { bound });
        }
        let Some(reward_bound) = released.clipped_bound else { return Ok(Self::Heavy { moment: second_moment()?, order }) };
        if released.mechanism_variance == 0.0 {
            return Ok(given.map_or(Self::Bounded { bound: reward_bound }, |moment| Self::Heavy { moment, order }));
        }
        let scale = released.laplace_scale.unwrap_or_else(|| libm::sqrt(0.5 * released.mechanism_variance));
        // K = B² + R² + 2 L²; a clip bound above B replaces B + R.
        let noise_bound = (reward_bound - facts.bound).max(0.0);
        let moment = facts.bound * facts.bound + noise_bound * noise_bound + 2.0 * scale * scale;
        Ok(Self::Exponential { reward_bound, scale, moment })
    }

    /// Returns the level of round `t`: larger rewards are replaced by zero.
    ///
    /// t is at least 1 in `ln t` and its powers.
    fn level(self, t: u64) -> f64 {
        let t = t.max(1) as f64;
        match self {
            Self::Bounded { bound } => bound,
            Self::Exponential { reward_bound, scale, .. } => reward_bound + scale * libm::log(t),
            Self::Heavy { moment, order } => power(moment, 1.0 / order) * power(libm::sqrt(t), 1.0 / order),
        }
    }

    /// Returns the theorems' bound on the bias of truncation over rounds 1..=s.
    fn bias(self, s: u64) -> f64 {
        let s = s.max(1) as f64;
        match self {
            Self::Bounded { .. } => 0.0,
            Self::Exponential { moment, .. } => libm::sqrt(moment * (libm::log(s) + 1.0)),
            // The mean of what round t truncates is at most v / b_t^a. The norm over all rounds is
            // sqrt(sum of (v / b_t^a)²) <= sqrt(1+a) v^(1/(1+a)) s^(1/(2(1+a))).
            Self::Heavy { moment, order: 2.0 } => libm::sqrt(2.0 * moment) * libm::sqrt(libm::sqrt(s)),
            Self::Heavy { moment, order } => libm::sqrt(order) * power(moment, 1.0 / order) * power(libm::sqrt(s), 1.0 / order),
        }
    }
}

impl RuleMaker for TgpUcb {
    fn name(&self) -> &'static str {
        "tgp-ucb"
    }

    fn rule(&self, setting: &Setting, ridge: f64) -> Result<Box<dyn Rule>, Diagnostic> {
        let tail = Tail::of(setting, self.moment, self.order)?;
        Ok(Box::new(TgpUcbRule { beta: self.beta, failure_prob: self.failure_prob, ridge, bound: setting.facts.bound, tail }))
    }

    fn facts(&self, setting: &Setting) -> Vec<(String, serde_json::Value)> {
        match Tail::of(setting, self.moment, self.order) {
            Ok(Tail::Heavy { moment, .. }) => {
                self.moment.fact("v, the policy's moment bound", moment, setting).into_iter().collect()
            }
            // The other levels do not use the moment bound.
            _ => Vec::new(),
        }
    }
}

struct TgpUcbRule {
    beta: ExplorationFactor,
    failure_prob: f64,
    ridge: f64,
    bound: f64,
    tail: Tail,
}

impl Rule for TgpUcbRule {
    fn beta(&self, round: &RoundFacts) -> f64 {
        let s = round.round - 1;
        let level = self.tail.level(s);
        self.beta.value(
            // B + [2 sqrt(2) b_{t-1} sqrt(gain + ln(1/failure)) + bias] / sqrt(ridge) [Zhou2021, Algorithm 2, line 5]
            || {
                let deviation = 2.0 * SQRT_2 * level * libm::sqrt(round.gain - libm::log(self.failure_prob));
                self.bound + (deviation + self.tail.bias(s)) / libm::sqrt(self.ridge)
            },
            || (self.bound + level * libm::sqrt(round.gain)) / libm::sqrt(self.ridge),
        )
    }

    fn admit(&self, reward: f64, round: u64) -> f64 {
        if self.tail.level(round) < reward.abs() { 0.0 } else { reward }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
