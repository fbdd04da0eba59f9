//! Simulates where the rewards of one trial come from: function, noise and mechanism; knows no policy.

use super::player::Player;
use super::plays::Plays;
use super::ready_cell::{ReadyCell, ReadyTrial};
use crate::env::{BadReward, Instance, catch_bad_reward};
use crate::policy::{Policy, PolicyStreams, Setting};
use privateer_config::error::Error;
use privateer_numerics::rng::{Purpose, Stream};
use privateer_privacy::noise::Noise;
use privateer_privacy::{Channel, Privatizer, Query, Raw, Released, Signal};
use std::collections::VecDeque;

/// Holds the function of one trial, the mechanism that its rewards pass, and its regret so far.
pub(super) struct RewardSource {
    pub(super) instance: Instance,
    pub(super) channel: Channel,
    /// The public constants that the policy knows.
    pub(super) setting: Setting,
    pub(super) privatizer: Box<dyn Privatizer>,
    noise: Stream,
    mechanism: Stream,
    sets: Stream,
    /// What noise and mechanism add to the coming rewards, as far as it was drawn ahead.
    drawn: VecDeque<(f64, f64)>,
    /// A reward that the caller has measured, instead of one that is drawn.
    pub(super) told: Option<f64>,
    /// Regret of the last counted round, of all so far, and of the best play.
    pub(super) counted: [f64; 3],
}

impl RewardSource {
    /// Makes a trial before its first round; returns its policy too.
    ///
    /// * `known` — the trial's function; `None` if it is to be drawn
    pub(super) fn start(cell: &ReadyCell, number: u64, known: Option<&Instance>) -> Result<(Self, Box<dyn Policy>), Error> {
        let trial = known.map_or_else(|| cell.trial(number), |instance| cell.with(instance.clone(), number))?;
        let ReadyTrial { instance, mechanism, setting, policy } = trial;
        let of = |purpose| cell.streams.of(number, purpose);
        let source = Self {
            instance,
            privatizer: mechanism.privatizer(),
            channel: mechanism,
            setting,
            noise: of(Purpose::Noise),
            mechanism: of(Purpose::Mechanism(&cell.plan.policy)),
            sets: of(Purpose::Sets),
            drawn: VecDeque::new(),
            told: None,
            counted: [0.0, 0.0, f64::INFINITY],
        };
        Ok((source, policy))
    }

    /// Returns the player of the trial, with room for decision sets and plays where the function has them.
    pub(super) fn player(&self, cell: &ReadyCell, number: u64, policy: Box<dyn Policy>) -> Player {
        let of = |purpose| cell.streams.of(number, purpose);
        let streams = PolicyStreams { start: of(Purpose::Start), own: of(Purpose::Policy(&cell.plan.policy)) };
        let mut player = Player::new(number, policy, streams);
        player.set = self.instance.sets().is_some().then(Vec::new);
        player.plays = cell.environment.product.as_ref().map(|product| Plays::of(product));
        player
    }

    pub(super) fn draw_set(&mut self, set: &mut Option<Vec<u32>>) {
        self.instance.draw_set(&mut self.sets, set);
    }

    /// Returns what noise and mechanism will add to the next rewards, before and after they are clipped.
    ///
    /// `None` where that depends on the reward.
    pub(super) fn ahead(&mut self, n_rounds: usize) -> Option<impl Iterator<Item = (f64, f64)>> {
        let n_new = n_rounds.saturating_sub(self.drawn.len());
        let (mut noise, mut added) = (vec![0.0; n_new], vec![0.0; n_new]);
        let are_additive = self.instance.noise().added(&mut self.noise, &mut noise)
            && self.channel.rewards()?.added(&mut self.mechanism, &mut added);
        self.drawn.extend(noise.into_iter().zip(added));
        are_additive.then(|| self.drawn.iter().take(n_rounds).copied())
    }

    /// Draws the reward of a play, and releases it.
    #[inline]
    pub(super) fn released(&mut self, query: &Query<'_>, point: usize) -> Result<Released<Signal>, BadReward> {
        if let Some((noise, added)) = self.drawn.pop_front() {
            let reward = Raw::seal(self.instance.mean(point) + noise);
            return Ok(self.privatizer.release(query, reward, Noise::Drawn(added)));
        }
        let reward = match self.told.take() {
            Some(reward) => Raw::seal(reward),
            None => catch_bad_reward(|| self.instance.observe(point, &mut self.noise))?,
        };
        Ok(self.privatizer.release(query, reward, (&mut self.mechanism).into()))
    }

    /// Counts the regret of a play.
    ///
    /// * `set` — the points that were allowed; `None` for all
    pub(super) fn count(&mut self, point: usize, set: Option<&[u32]>) {
        let [_, cumulative, simple] = self.counted;
        let of_point = self.instance.regret(point);
        let regret = if set.is_some() { self.instance.regret_among(point, set) } else { of_point };
        self.counted = [regret, cumulative + regret, simple.min(of_point)];
    }

    /// Returns the range to which rewards are clipped; `None` where sums are released.
    pub(super) fn clip(&self) -> Option<(f64, f64)> {
        Some(self.channel.rewards()?.clip().unwrap_or((f64::NEG_INFINITY, f64::INFINITY)))
    }
}
