//! Bounds how large a released reward may be, for the policies with heavy-tailed rewards.
//!
//! v bounds the moment of order `1 + a` of a reward, and c the second moment of its noise. Both are stated, or estimated on
//! train readings. What a policy assumes of the observation noise does not depend on the mechanism, so that the reference
//! without privacy makes the same assumptions.

use super::Setting;
use privateer_config::error::Diagnostic;
use privateer_config::facts::Fact;
use privateer_config::params::Args;
use privateer_gp::TrainReadings;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Moment {
    /// Derived from the known facts of noise and mechanism.
    #[default]
    Known,
    Stated(f64),
    /// Estimated on the environment's train readings.
    Train,
}

impl Moment {
    /// Reads the key `noise_moment` (c).
    pub fn parse_noise(args: &Args<'_>) -> Self {
        let doc = "c: bound on the second moment of a released reward's noise, or `train`: its mean over the train readings";
        Self::parse(args, "noise_moment", doc, "that of noise and mechanism")
    }

    fn parse(args: &Args<'_>, key: &'static str, doc: &'static str, absent: &str) -> Self {
        match args.number(key, doc).above(0.0).or_word("train", absent) {
            None => Self::Known,
            Some(Ok(value)) => Self::Stated(value),
            Some(Err(_)) => Self::Train,
        }
    }

    /// Returns the stated or estimated bound; `None` where it follows from known facts.
    ///
    /// * `of` — returns the moment of order `order` of the train readings
    pub fn given(
        self,
        policy: &str,
        key: &str,
        setting: &Setting,
        order: f64,
        of: fn(&TrainReadings, f64) -> f64,
    ) -> Result<Option<f64>, Diagnostic> {
        match (self, &setting.train) {
            (Self::Known, _) => Ok(None),
            (Self::Stated(value), _) => Ok(Some(value)),
            // E|y + z|^p <= E|y|^p + E|z|^p for symmetric z and p <= 2, and E|z|^p <= (E z²)^(p/2).
            (Self::Train, Some(train)) => Ok(Some(of(train, order) + power(setting.released.mechanism_variance, 0.5 * order))),
            (Self::Train, None) => Err(Diagnostic::new(format!(
                "`{policy}` is to estimate `{key}` on train readings, and this environment has none"
            ))
            .hint(format!("state a number, `{key} = …`, or use the environment `arms-table` with a `train` file"))),
        }
    }

    /// Returns the manifest's entry for a bound; `None` where it follows from known facts.
    pub fn fact(self, name: &'static str, value: f64, setting: &Setting) -> Option<Fact> {
        let train = setting.train.as_deref();
        let private = 0.0 < setting.released.mechanism_variance;
        let source = match self {
            Self::Known => return None,
            Self::Stated(_) => "stated in the spec",
            Self::Train if train.is_some_and(|train| train.also_test) => {
                "estimated on the train readings, which rewards are drawn from"
            }
            Self::Train => "estimated on the train readings",
        };
        let mechanism = if private && self == Self::Train { ", and the mechanism's noise" } else { "" };
        Some((name, format!("{value:.6}: {source}{mechanism}").into()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tails {
    /// Sub-Gaussian noise, which needs no truncation; what a mechanism adds may need it.
    SubGaussian,
    /// A bounded moment alone: rewards are truncated wherever releases are unbounded.
    Moment,
}

#[derive(Debug, Clone, Copy)]
pub struct TailKeys {
    /// `None` for `auto`.
    pub stated: Option<Tails>,
    /// v: bound on the moment of a released reward.
    pub moment: Moment,
    /// Order 1 + a of the bounded moment.
    pub order: f64,
}

impl TailKeys {
    pub fn parse(args: &Args<'_>) -> Self {
        let doc = "what is assumed of the observation noise, with and without privacy: light tails, so that only noise of an unbounded mechanism is truncated, or a bounded moment alone; `auto`: `moment` where `moment` is stated or the noise has heavy tails, else `sub-gaussian`";
        let options = [("auto", None), ("sub-gaussian", Some(Tails::SubGaussian)), ("moment", Some(Tails::Moment))];
        let stated = args.choice("tails", doc, &options, "auto");
        let doc = "v: bound on the moment of a released reward, or `train`: its mean over the train readings";
        let moment = Moment::parse(args, "moment", doc, "B² + variance of noise and mechanism");
        let doc = "1 + a: the order of the moment that v bounds, for rewards without a second moment";
        let order = args.number("moment_order", doc).above(1.0).at_most(2.0).or(2.0);
        Self { stated, moment, order }
    }

    /// Returns the assumption in this setting; the mechanism has no part in it.
    pub fn tails(self, setting: &Setting) -> Tails {
        let is_light = self.moment == Moment::Known && setting.noise_scale.is_some();
        self.stated.unwrap_or(if is_light { Tails::SubGaussian } else { Tails::Moment })
    }

    pub fn fact(self, setting: &Setting) -> Fact {
        let tails = match self.tails(setting) {
            Tails::SubGaussian => "sub-gaussian",
            Tails::Moment => "moment",
        };
        let source = if self.stated.is_some() { "stated" } else { "from the noise and `moment`" };
        ("tails of the noise, assumed", format!("{tails}: {source}").into())
    }
}

/// Returns `x^y`, with correct rounding for `y` = 1/2 and 1.
pub fn power(x: f64, y: f64) -> f64 {
    if y == 1.0 {
        x
    } else if y == 0.5 {
        libm::sqrt(x)
    } else {
        libm::pow(x, y)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailMoments {
    /// v: bound on the moment of a released reward.
    pub reward: f64,
    /// c: bound on the second moment of its noise.
    pub noise: f64,
}

impl TailMoments {
    /// Computes the bounds v and c of one trial.
    ///
    /// * `c = R² + variance of the mechanism` [Zhou2021, Theorem 2 and Corollary 1, with the mechanism's own variance instead of
    ///   Laplace's 8 (B+R)²/epsilon², which is 0 without a mechanism].
    /// * `v = B² + c`, to the power `order / 2` for moments of a lower order.
    /// * Where R is unknown, the variance of the noise replaces R²; where that is unknown, the part of the clip range beyond B
    ///   replaces R.
    pub fn of(policy: &str, setting: &Setting, reward: Moment, noise: Moment, order: f64) -> Result<Self, Diagnostic> {
        let (facts, released) = (&setting.facts, &setting.released);
        let square = |noise: f64| noise * noise;
        let beyond = released.clipped_bound.map(|bound| square((bound - facts.bound).max(0.0)));
        let own = facts.noise_bound.map(square).or(facts.noise_variance).or(beyond);
        let stated_noise = noise.given(policy, "noise_moment", setting, 2.0, TrainReadings::noise_moment)?;
        let stated_reward = reward.given(policy, "moment", setting, order, TrainReadings::reward_moment)?;
        let noise = stated_noise.or(own.map(|own| own + released.mechanism_variance));
        let reward = stated_reward.or(noise.map(|noise| power(facts.bound * facts.bound + noise, 0.5 * order)));
        let (Some(reward), Some(noise)) = (reward, noise.or(stated_reward)) else {
            return Err(unknown_moment(policy, if policy == "moma-gp-ucb" { "noise_moment" } else { "moment" }));
        };
        Ok(Self { reward, noise })
    }
}

/// Returns the error of a policy that needs a moment bound, which its spec can state under a key.
pub fn unknown_moment(policy: &str, key: &str) -> Diagnostic {
    Diagnostic::new(format!(
        "`{policy}` needs a bound on the second moment of a reward, and the environment's noise has no known variance"
    ))
    .hint(format!("give `{key} = …` in the policy"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ReleasedFacts;
    use privateer_privacy::RewardFacts;
    use std::sync::Arc;

    fn setting(mechanism_variance: f64, train: Option<TrainReadings>) -> Setting {
        let facts = RewardFacts { bound: 3.0, noise_bound: None, range: None, noise_variance: Some(16.0), rounds: 10 };
        let released = ReleasedFacts { mechanism_variance, mechanism_scale: None, ..ReleasedFacts::unchanged(None) };
        Setting { facts, released, sums: None, noise_scale: None, train: train.map(Arc::new), released_inputs: None }
    }

    #[test]
    fn known_stated_and_estimated_moments() {
        // Means 2 and -3, deviations 1: v = 7.5, c = 1.
        let train = || Some(TrainReadings::new(&[1.0, -4.0, 3.0, -2.0], 2, false));
        let of = |reward, noise, order, setting: &Setting| {
            let moments = TailMoments::of("ata-gp-ucb", setting, reward, noise, order);
            moments.map(|moments| (moments.reward, moments.noise))
        };
        use Moment::{Known, Stated, Train};
        assert_eq!(of(Known, Known, 2.0, &setting(0.0, train())), Ok((25.0, 16.0)));
        assert_eq!(of(Known, Known, 1.5, &setting(0.0, None)), Ok((libm::pow(25.0, 0.75), 16.0)));
        assert_eq!(of(Stated(9.0), Known, 2.0, &setting(2.0, train())), Ok((9.0, 18.0)));
        assert_eq!(of(Train, Train, 2.0, &setting(0.0, train())), Ok((7.5, 1.0)));
        // The mechanism's variance is added.
        assert_eq!(of(Train, Train, 2.0, &setting(2.0, train())), Ok((9.5, 3.0)));
        let error = of(Train, Known, 2.0, &setting(0.0, None)).expect_err("no readings");
        assert!(format!("{error:?}").contains("`moment`"), "{error:?}");
    }

    /// A policy and its reference assume the same of the noise, whatever the mechanism adds.
    #[test]
    fn tails_follow_noise_and_keys_alone() {
        use Tails::{Moment as Bounded, SubGaussian};
        let known = TailKeys { stated: None, moment: Moment::Known, order: 2.0 };
        let with_moment = TailKeys { moment: Moment::Stated(9.0), ..known };
        for mechanism_variance in [0.0, 8.0] {
            let heavy = setting(mechanism_variance, None);
            let light = Setting { noise_scale: Some(4.0), ..heavy.clone() };
            assert_eq!((known.tails(&light), known.tails(&heavy)), (SubGaussian, Bounded));
            assert_eq!(with_moment.tails(&light), Bounded);
            for stated in [Bounded, SubGaussian] {
                let keys = TailKeys { stated: Some(stated), ..with_moment };
                assert_eq!((keys.tails(&light), keys.tails(&heavy)), (stated, stated));
            }
        }
    }

    #[test]
    fn facts_tell_statements_from_estimates() {
        let text = |moment: Moment, also_test, variance| {
            let train = TrainReadings::new(&[1.0, 2.0], 1, also_test);
            moment.fact("v", 2.5, &setting(variance, Some(train))).map(|(_, value)| value.as_str().unwrap_or("").to_owned())
        };
        assert_eq!(text(Moment::Known, false, 0.0), None);
        assert_eq!(text(Moment::Stated(2.5), true, 1.0).as_deref(), Some("2.500000: stated in the spec"));
        assert_eq!(text(Moment::Train, false, 0.0).as_deref(), Some("2.500000: estimated on the train readings"));
        let both = text(Moment::Train, true, 1.0);
        let expected = "2.500000: estimated on the train readings, which rewards are drawn from, and the mechanism's noise";
        assert_eq!(both.as_deref(), Some(expected));
    }
}
