//! Implements `ata-gp-ucb`: GP-UCB with rewards truncated in the space of Nystrom features.
//!
//! Sources: [Zhou2021, Algorithm 1 (LDP-ATA-GP-UCB); Chowdhury2019, Algorithm 2 (ATA-GP-UCB)]. Every round truncates the whole
//! history again, because the features change.
//!
//! The truncation level of round t is `b_t = (v / ln(4 m_t T / failure))^(1/(1+a)) t^((1-a)/(2(1+a)))`. Here `m_t` is the
//! number of features after the round, and v bounds the moment of order 1 + a of a released reward; a = 1 unless `moment_order`
//! states another. Under a bounded mechanism, or without a mechanism where the noise is taken for sub-Gaussian (`tails`), no
//! truncation is needed and the level is infinite.

use super::exploration_factor::NoiseMeasure;
use super::noise_scale::NoiseScale;
use super::nystrom_policy::{PreparedSketch, Sketch, SketchModel};
use super::tail_moments::{Moment, TailKeys, TailMoments, Tails, power};
use super::{ExplorationFactor, Policy, PolicyMaker, PolicyModel, PolicyPlan, PolicyStreams, Proposal, Setting};
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::SortedRewards;
use privateer_gp::score::{Basis, ScoreModel};
use privateer_gp::truncation::truncated;
use privateer_privacy::{Released, Signal};
use std::sync::Arc;

const NAME: &str = "ata-gp-ucb";

pub fn parse(args: &Args<'_>) -> PolicyPlan {
    let (sketch, tails) = (Sketch::parse(args, ExplorationFactor::parse_measuring(args)), TailKeys::parse(args));
    PolicyPlan::new(move |problem| Ok(Box::new(AtaMaker { sketch: sketch.prepare(problem)?.truncating().into(), tails })))
}

struct AtaMaker {
    sketch: Arc<PreparedSketch>,
    tails: TailKeys,
}

impl AtaMaker {
    /// Returns the standard deviation that an order-wise factor uses in place of the root of v.
    fn deviation(&self, setting: &Setting) -> Option<NoiseScale> {
        match self.sketch.keys.beta {
            ExplorationFactor::Order { noise: NoiseMeasure::Deviation, .. } => NoiseScale::deviation(setting),
            _ => None,
        }
    }

    fn moments(&self, setting: &Setting) -> Result<TailMoments, Error> {
        TailMoments::of(NAME, setting, self.tails.moment, Moment::Known, self.tails.order).map_err(Error::input)
    }
}

impl PolicyMaker for AtaMaker {
    fn basis(&self) -> Option<Basis> {
        Some(self.sketch.basis())
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let (model, rewards) = (self.sketch.prior(), Vec::new());
        let bound = setting.facts.bound;
        let light = self.tails.tails(setting) == Tails::SubGaussian && setting.released.mechanism_variance == 0.0;
        let truncates = setting.released.output_range.is_none() && !light;
        let (moments, order) = (self.moments(setting)?, self.tails.order);
        let deviation = self.deviation(setting).map(|scale| scale.value);
        Ok(Box::new(AtaPolicy { model, rewards, bound, moments, truncates, order, deviation }))
    }

    fn facts(&self, setting: &Setting) -> Facts {
        // The theorem's exploration factor uses v even where no reward is truncated.
        let fact = |moments: TailMoments| self.tails.moment.fact("v, the policy's moment bound", moments.reward, setting);
        let moment = self.moments(setting).ok().and_then(fact);
        let noise = self.deviation(setting).and_then(NoiseScale::fact);
        [self.tails.fact(setting)].into_iter().chain(moment).chain(noise).collect()
    }
}

struct AtaPolicy {
    model: SketchModel,
    /// Rewards of each visited point, by slot.
    rewards: Vec<SortedRewards>,
    bound: f64,
    moments: TailMoments,
    truncates: bool,
    /// Order 1 + a of the bounded moment.
    order: f64,
    /// Standard deviation of a released reward, where an order-wise factor uses it.
    deviation: Option<f64>,
}

impl AtaPolicy {
    fn logarithm(&self) -> f64 {
        let PreparedSketch { keys, rounds, .. } = &*self.model.shared;
        libm::log(4.0 * self.model.posterior.m().max(1) as f64 * *rounds as f64 / keys.failure_prob)
    }

    /// Returns the level `b_t` for the current features; infinite where no reward is truncated.
    fn level(&self) -> f64 {
        if !self.truncates {
            return f64::INFINITY;
        }
        // A level of 0 would produce NaN sort keys.
        (power(self.moments.reward / self.logarithm(), 1.0 / self.order) * self.growth()).max(f64::MIN_POSITIVE)
    }

    /// Returns `t^((1-a)/(2(1+a)))`, which is 1 for second moments; t is at least 1.
    fn growth(&self) -> f64 {
        let t = self.model.posterior.n_observations().max(1) as f64;
        if self.order == 2.0 { 1.0 } else { libm::pow(t, (2.0 - self.order) / (2.0 * self.order)) }
    }

    fn beta(&self) -> f64 {
        let (m, PreparedSketch { keys, rounds, .. }) = (self.model.m(), &*self.model.shared);
        // v^(1/(1+a)) ln(…)^(a/(1+a)) t^((1-a)/(2(1+a))) sqrt(m / ridge) [Chowdhury2019, Theorem 3]
        let noise = |logarithm: f64| {
            let squared = if self.order == 2.0 {
                logarithm * self.moments.reward
            } else {
                let tail =
                    power(self.moments.reward, 1.0 / self.order) * power(logarithm, 1.0 - 1.0 / self.order) * self.growth();
                tail * tail
            };
            libm::sqrt(squared * m / keys.ridge)
        };
        keys.beta.value(
            // B (1 + 1/sqrt(1 - accuracy)) + 4 sqrt(ln(4 m T/failure) v m / ridge) [Zhou2021, Theorem 2]
            || keys.bias(self.bound) + 4.0 * noise(self.logarithm()),
            || {
                let logarithm = libm::log(*rounds as f64);
                let known = self.deviation.map(|deviation| deviation * libm::sqrt(logarithm * m / keys.ridge));
                self.bound + known.unwrap_or_else(|| noise(logarithm))
            },
        )
    }

    fn estimate(&mut self) {
        let truncated = truncated(&self.model.posterior, &self.rewards);
        self.model.posterior.set_theta(truncated.theta);
        self.model.wants_symmetric = self.rewards.len() < 2 * truncated.n_beyond_norm;
    }
}

impl Policy for AtaPolicy {
    fn propose(&mut self, streams: &mut PolicyStreams) -> Proposal {
        let beta = self.beta();
        self.model.propose(streams, beta)
    }

    fn model(&mut self) -> Option<&mut dyn PolicyModel> {
        Some(&mut self.model.posterior)
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        let Some(reward) = signal.reward() else { return };
        let slot = self.model.update(point);
        if slot == self.rewards.len() {
            self.rewards.push(SortedRewards::default());
        }
        let level = self.level();
        self.rewards[slot].insert(reward, level);
        self.estimate();
    }

    fn recommend(&self) -> Option<usize> {
        self.model.recommend()
    }
}
