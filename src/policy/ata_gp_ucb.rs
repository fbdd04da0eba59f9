//! `ata-gp-ucb` [Zhou2021, Algorithm 1 (LDP-ATA-GP-UCB); Chowdhury2019, Algorithm 2 (ATA-GP-UCB)]: rewards truncated in the
//! space of Nystrom features, over the whole history in every round.
//!
//! Level of round t: `b_t = sqrt(v / ln(4 m_t T / failure))`, `m_t` the features after it, v a bound on the second moment of a released
//! reward. A bounded mechanism, or bounded noise without one (unless `moment` is stated), needs no truncation: the level is
//! then without end.

use super::nystrom_policy::{PreparedSketch, Sketch, SketchModel, unreadable};
use super::tail_moments::{StatedMoments, TailMoments};
use super::{Parts, Policy, PolicyMaker, PolicyPlan, PolicyStreams, Problem, Proposal, Setting};
use crate::error::Error;
use crate::gp::SortedRewards;
use crate::gp::truncation::truncated_theta;
use crate::params::Args;
use crate::privacy::{Released, Signal};
use crate::score::{Basis, Change, ScoreModel};

const NAME: &str = "ata-gp-ucb";

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>, _parts: &dyn Parts) -> Box<dyn PolicyPlan> {
    Box::new(Ata { sketch: Sketch::parse(args), stated: StatedMoments::parse_reward(args) })
}

struct Ata {
    sketch: Sketch,
    stated: StatedMoments,
}

impl PolicyPlan for Ata {
    fn prepare(&self, problem: &Problem) -> Result<Box<dyn PolicyMaker>, Error> {
        Ok(Box::new(AtaMaker { sketch: self.sketch.prepare(problem)?, stated: self.stated }))
    }
}

struct AtaMaker {
    sketch: PreparedSketch,
    stated: StatedMoments,
}

impl AtaMaker {
    fn assemble(&self, setting: &Setting, model: SketchModel, rewards: Vec<SortedRewards>) -> Result<AtaPolicy, Error> {
        let moments = TailMoments::of(NAME, setting, self.stated).map_err(Error::input)?;
        let rounds = self.sketch.rounds as f64;
        Ok(AtaPolicy { model, rewards, keys: self.sketch.keys.clone(), rounds, bound: setting.facts.bound, moments })
    }
}

impl PolicyMaker for AtaMaker {
    fn basis(&self) -> Option<Basis> {
        Some(self.sketch.basis())
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(self.assemble(setting, self.sketch.prior(), Vec::new())?))
    }

    fn restore(&self, setting: &Setting, state: serde_json::Value) -> Result<Box<dyn Policy>, Error> {
        let model = self.sketch.restore(NAME, &state)?;
        let lists: Vec<SortedRewards> =
            serde_json::from_value(state["rewards"].clone()).map_err(|source| unreadable(NAME, &source.to_string()))?;
        let rewards = lists.into_iter().map(SortedRewards::restored).collect::<Result<Vec<_>, _>>();
        let rewards = rewards.map_err(|why| unreadable(NAME, why))?;
        let visits = model.posterior.visits();
        let counted = rewards.iter().map(|list| list.n() as u64).eq(visits.counts.iter().copied());
        if !counted {
            return Err(unreadable(NAME, "rewards and visits are not equally many"));
        }
        let mut policy = self.assemble(setting, model, rewards)?;
        policy.estimate();
        Ok(Box::new(policy))
    }
}

struct AtaPolicy {
    model: SketchModel,
    /// Of each visited point, by slot.
    rewards: Vec<SortedRewards>,
    keys: Sketch,
    rounds: f64,
    bound: f64,
    moments: TailMoments,
}

impl AtaPolicy {
    /// `ln(4 m T / failure)`.
    fn logarithm(&self) -> f64 {
        libm::log(4.0 * self.model.posterior.m().max(1) as f64 * self.rounds / self.keys.failure_prob)
    }

    /// `b_t` with the features as they are.
    fn level(&self) -> f64 {
        match self.moments.bound {
            Some(_) => f64::INFINITY,
            None => libm::sqrt(self.moments.reward / self.logarithm()),
        }
    }

    fn width(&self) -> f64 {
        let m = self.model.posterior.m() as f64;
        // Before the first observation there are no features yet, whatever the dictionary.
        let m = if self.model.posterior.n_observations() == 0 { 0.0 } else { m };
        let noise = |logarithm: f64| libm::sqrt(logarithm * self.moments.reward * m / self.keys.ridge);
        self.keys.width.value(
            // B (1 + 1/sqrt(1 - accuracy)) + 4 sqrt(ln(4 m T/failure) v m / ridge) [Zhou2021, Theorem 2]
            || self.keys.bias(self.bound) + 4.0 * noise(self.logarithm()),
            || self.bound + noise(libm::log(self.rounds)),
        )
    }

    fn estimate(&mut self) {
        // Where no level was finite, nothing is truncated whatever the leverages.
        let truncates = self.rewards.iter().any(|list| 0.0 < list.largest_key());
        let leverages = if truncates { self.model.leverages().to_vec() } else { vec![0.0; self.rewards.len()] };
        let theta = truncated_theta(&mut self.model.posterior, &self.rewards, &leverages);
        self.model.posterior.set_theta(theta);
    }
}

impl Policy for AtaPolicy {
    fn propose(&mut self, streams: &mut PolicyStreams) -> Proposal {
        self.model.prepare_update(&mut streams.own);
        match self.model.start(self.model.posterior.n_observations() + 1, &mut streams.start) {
            Some(point) => Proposal::Play(point),
            None => Proposal::Score { width: self.width() },
        }
    }

    fn model(&self) -> Option<&dyn ScoreModel> {
        Some(&self.model.posterior)
    }

    fn change(&self) -> Change<'_> {
        self.model.change()
    }

    fn screened(&mut self) {
        self.model.screened();
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        let Signal::Reward(reward) = *signal.value();
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

    fn save(&self) -> serde_json::Value {
        let mut state = self.model.save(NAME);
        state["rewards"] = serde_json::json!(self.rewards);
        state
    }
}
