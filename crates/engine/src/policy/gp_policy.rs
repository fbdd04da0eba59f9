//! Provides the common part of GP-UCB, IGP-UCB and TGP-UCB: a posterior and starting rounds.
//!
//! A [`Rule`] supplies what differs: the exploration factor of a round, and the transformation of a released reward before it
//! enters the posterior.

use super::noise_scale::NoiseScale;
use super::posterior_plan::PreparedPosterior;
use super::{
    Initial, Policy, PolicyMaker, PolicyModel, PolicyPlan, PolicyStreams, PosteriorPlan, Problem, Proposal, RandomSource, Setting,
};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::{Fact, Facts};
use privateer_config::params::Args;
use privateer_gp::posterior::Posterior;
use privateer_gp::score::{AxisFeatures, Basis, FactorGrowth};
use privateer_privacy::{Released, Signal};
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
pub struct RoundFacts {
    /// The coming round, 1-based.
    pub round: u64,
    /// Realised information gain of the rounds before the coming one, in nats.
    pub gain: f64,
    /// Number of starting rounds among the rounds before the coming one.
    pub started: u64,
    pub n_points: usize,
    /// Number of features of the model; 0 for an exact posterior.
    pub n_features: usize,
    /// Kernel error that the features state; 0 for an exact posterior.
    pub feature_error: f64,
}

type Beta = dyn Fn(&RoundFacts) -> f64 + Send + Sync;

type Admit = dyn Fn(f64, u64) -> f64 + Send + Sync;

/// Holds the part in which one GP-UCB algorithm differs from another, for one trial.
pub struct Rule {
    beta: Box<Beta>,
    admit: Option<Box<Admit>>,
    /// What the factor adds to the information gain, of whose root it is an affine function.
    offset: f64,
    pub facts: Facts,
}

impl Rule {
    /// Creates a rule. Its factor is `a + b sqrt(gain + offset)` with a and b of at least 0, where a may follow from the round;
    /// one that transforms rewards may have any factor.
    pub fn new(offset: f64, beta: impl Fn(&RoundFacts) -> f64 + Send + Sync + 'static) -> Self {
        Self { beta: Box::new(beta), admit: None, offset, facts: Facts::default() }
    }

    /// Transforms the reward of a round (1-based) before the posterior observes it.
    pub fn admitting(self, admit: impl Fn(f64, u64) -> f64 + Send + Sync + 'static) -> Self {
        Self { admit: Some(Box::new(admit)), ..self }
    }

    #[must_use]
    pub fn stating(mut self, facts: impl IntoIterator<Item = Fact>) -> Self {
        self.facts.extend(facts);
        self
    }
}

/// Makes a trial's rule from its public constants and the ridge.
type MakeRule = dyn Fn(&Setting, f64) -> Result<Rule, Diagnostic> + Send + Sync;

/// States the regularizer, the noise variance that the posterior assumes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ridge {
    Stated(f64),
    /// The variance of the observation noise and of the mechanism.
    Mechanism,
}

impl Ridge {
    pub(super) fn parse(args: &Args<'_>, default: Self) -> Self {
        let doc = "regularizer: the noise variance the posterior assumes, beside the kernel's prior variance; `mechanism`: that of the observation noise and of the mechanism";
        let meaning = if default == Self::Mechanism { "`mechanism`" } else { "1" };
        match args.number("ridge", doc).above(0.0).at_most(LARGEST_RIDGE).or_word("mechanism", meaning) {
            None => default,
            Some(Ok(ridge)) => Self::Stated(ridge),
            Some(Err(_)) => Self::Mechanism,
        }
    }

    pub(super) fn value(self, setting: &Setting) -> Result<f64, Diagnostic> {
        let Self::Stated(ridge) = self else {
            let variance = NoiseScale::deviation(setting).map(|deviation| deviation.value * deviation.value);
            let within = variance.filter(|variance| 0.0 < *variance && *variance <= LARGEST_RIDGE);
            return within.ok_or_else(|| {
                let found = variance.map_or("unknown".to_owned(), |variance| format!("{variance:e}"));
                Diagnostic::new(format!("`ridge = \"mechanism\"` takes the variance of a released reward, which is {found}"))
                    .expected(format!("a variance above 0 and at most {LARGEST_RIDGE:e}"))
                    .hint("state a number: `ridge = 1.0`")
            });
        };
        Ok(ridge)
    }

    pub(super) fn fact(self, setting: &Setting) -> Option<Fact> {
        let ridge = self.value(setting).ok().filter(|_| self == Self::Mechanism)?;
        Some(("ridge", format!("{ridge:.6}: variance of noise and mechanism").into()))
    }
}

const LARGEST_RIDGE: f64 = 1e12;

/// Reads the keys that all GP-UCB algorithms share, with this ridge unless stated; those of the rule were read before.
pub fn gp_plan(
    args: &Args<'_>,
    ridge: Ridge,
    posterior: impl FnOnce(&Args<'_>) -> PosteriorPlan,
    rule: impl Fn(&Setting, f64) -> Result<Rule, Diagnostic> + Send + Sync + 'static,
) -> PolicyPlan {
    let (ridge, posterior, initial) = (Ridge::parse(args, ridge), posterior(args), Initial::parse(args));
    let rule: Arc<MakeRule> = Arc::new(rule);
    let prepare = move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        let (posterior, rule) = (posterior.prepare(problem)?, Arc::clone(&rule));
        Ok(Box::new(GpMaker { posterior, n_points: problem.n_points(), ridge, initial, rule }))
    };
    PolicyPlan { plays_sets: true, ..PolicyPlan::new(prepare) }
}

pub fn failure_prob(args: &Args<'_>) -> f64 {
    args.number("failure_prob", "probability that the confidence bound fails").above(0.0).below(1.0).or(0.1)
}

struct GpMaker {
    posterior: PreparedPosterior,
    n_points: usize,
    ridge: Ridge,
    initial: Initial,
    rule: Arc<MakeRule>,
}

impl GpMaker {
    fn ridge(&self, setting: &Setting) -> Result<f64, Error> {
        self.ridge.value(setting).map_err(Error::input)
    }

    fn rule(&self, setting: &Setting) -> Result<Rule, Error> {
        (self.rule)(setting, self.ridge(setting)?).map_err(Error::input)
    }
}

impl PolicyMaker for GpMaker {
    fn basis(&self) -> Option<Basis> {
        Some(self.posterior.basis())
    }

    fn axes(&self) -> Option<Arc<[AxisFeatures]>> {
        self.posterior.axes()
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let (n_points, features) = (self.n_points, self.posterior.feature_error());
        let posterior = self.posterior.prior(setting, self.ridge(setting)?)?;
        let (initial, rule) = (self.initial, self.rule(setting)?);
        Ok(Box::new(GpPolicy { posterior, initial, rule, round: 1, n_points, features }))
    }

    fn least_factor(&self, setting: &Setting, round: u64) -> Option<f64> {
        let (n_features, feature_error) = self.posterior.feature_error();
        let n_points = self.n_points;
        // All factors grow with the round and with the information gain, which is at least zero.
        let facts =
            RoundFacts { round, gain: 0.0, started: self.initial.rounds().min(round), n_points, n_features, feature_error };
        Some((self.rule(setting).ok()?.beta)(&facts))
    }

    fn facts(&self, setting: &Setting) -> Facts {
        let mut facts = self.rule(setting).map_or_else(|_| Facts::default(), |rule| rule.facts);
        facts.extend(self.ridge.fact(setting));
        facts.extend(self.posterior.facts());
        facts
    }
}

struct GpPolicy {
    posterior: Box<dyn Posterior>,
    initial: Initial,
    rule: Rule,
    /// The coming round, 1-based.
    round: u64,
    n_points: usize,
    /// Number of features and their stated kernel error.
    features: (usize, f64),
}

impl GpPolicy {
    fn factor(&self, round: u64, gain: f64) -> f64 {
        let (n_features, feature_error) = self.features;
        let (started, n_points) = (self.initial.rounds(), self.n_points);
        (self.rule.beta)(&RoundFacts { round, gain, started, n_points, n_features, feature_error })
    }
}

impl Policy for GpPolicy {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        if self.initial.is_random(self.round) {
            return Proposal::Random { source: RandomSource::Design, n_points: self.n_points };
        }
        let beta = self.factor(self.round, self.posterior.information_gain());
        self.posterior.expect(beta);
        Proposal::Score { beta }
    }

    fn factors_ahead(&self, rounds: Range<u64>) -> Option<(Vec<f64>, FactorGrowth)> {
        if self.initial.is_random(rounds.start) || self.rule.admit.is_some() {
            return None;
        }
        let most = self.factor(rounds.start, FactorGrowth::MOST_GAIN);
        let least: Vec<f64> = rounds.map(|round| self.factor(round, 0.0)).collect();
        let growth = FactorGrowth::between(*least.first()?, most, self.rule.offset);
        Some((least, growth))
    }

    fn model(&mut self) -> Option<&mut dyn PolicyModel> {
        Some(&mut self.posterior)
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        let Some(reward) = signal.reward() else { return };
        let admitted = self.rule.admit.as_ref().map_or(reward, |admit| admit(reward, self.round));
        self.posterior.observe(point, admitted);
        self.round += 1;
    }

    fn recommend(&self) -> Option<usize> {
        self.posterior.recommend()
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReleasedFacts;
    use super::*;
    use privateer_privacy::RewardFacts;

    #[test]
    fn the_ridge_follows_the_mechanism_where_it_is_asked_to() {
        let of = |noise_variance, mechanism_variance| {
            let facts = RewardFacts { bound: 3.0, noise_bound: None, range: None, noise_variance, rounds: 10 };
            let released = ReleasedFacts { mechanism_variance, ..ReleasedFacts::unchanged(None) };
            Setting { facts, released, sums: None, noise_scale: None, train: None, released_inputs: None }
        };
        for (noise, mechanism) in [(0.25, 0.0), (0.25, 6.0)] {
            let found = Ridge::Mechanism.value(&of(Some(noise), mechanism)).expect("a variance");
            assert!((found - (noise + mechanism)).abs() < 1e-14, "{found}");
            assert_eq!(Ridge::Stated(2.0).value(&of(Some(noise), mechanism)), Ok(2.0));
        }
        for (noise, said) in [(Some(0.0), "0e0"), (None, "unknown"), (Some(1e13), "e13")] {
            let refused = Ridge::Mechanism.value(&of(noise, 0.0)).expect_err("no ridge");
            assert!(format!("{refused:?}").contains(said), "{refused:?}");
        }
        let (_, fact) = Ridge::Mechanism.fact(&of(Some(0.25), 6.0)).expect("a fact");
        assert_eq!(fact.as_str(), Some("6.250000: variance of noise and mechanism"));
        assert_eq!(Ridge::Stated(2.0).fact(&of(Some(0.25), 6.0)), None);
    }
}
