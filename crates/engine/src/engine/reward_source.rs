//! Simulates where the rewards of one trial come from: function, noise and mechanism; knows no policy.

use super::ready_cell::{ReadyCell, ReadyTrial};
use super::{Measures, Trace};
use crate::env::Instance;
use crate::policy::{Policy, Setting};
use privateer_config::error::Error;
use privateer_numerics::rng::{Purpose, Stream};
use privateer_privacy::{Channel, Privatizer, Query, Raw, Released, Signal};

/// Holds the function of one trial, the mechanism that its rewards pass, and its regret so far.
pub(super) struct RewardSource {
    pub(super) instance: Instance,
    pub(super) channel: Channel,
    /// The public constants that the policy knows.
    pub(super) setting: Setting,
    pub(super) privatizer: Box<dyn Privatizer>,
    noise: Stream,
    pub(super) mechanism: Stream,
    pub(super) sets: Stream,
    cumulative: f64,
    simple: f64,
    pub(super) rows: Trace,
}

impl RewardSource {
    /// Makes a trial before its first round; returns its policy too.
    pub(super) fn start(cell: &ReadyCell, number: u64) -> Result<(Self, Box<dyn Policy>), Error> {
        let ReadyTrial { instance, mechanism, setting, policy } = cell.trial(number)?;
        let of = |purpose| cell.streams.of(number, purpose);
        let source = Self {
            instance,
            privatizer: mechanism.privatizer(),
            channel: mechanism,
            setting,
            noise: of(Purpose::Noise),
            mechanism: of(Purpose::Mechanism(&cell.plan.policy)),
            sets: of(Purpose::Sets),
            cumulative: 0.0,
            simple: f64::INFINITY,
            rows: Trace::new(Measures::Regret),
        };
        Ok((source, policy))
    }

    /// Returns the place of a round's decision set; `None` where the whole domain is allowed.
    pub(super) fn empty_set(&self) -> Option<Vec<u32>> {
        self.instance.sets().is_some().then(Vec::new)
    }

    pub(super) fn draw_set(&mut self, set: &mut Option<Vec<u32>>) {
        self.instance.draw_set(&mut self.sets, set);
    }

    /// Returns the reward of a play of `point`, sealed.
    pub(super) fn observe(&mut self, point: usize) -> Raw<f64> {
        self.instance.observe(point, &mut self.noise)
    }

    pub(super) fn release(&mut self, query: &Query<'_>, raw: Raw<f64>) -> Released<Signal> {
        self.privatizer.release(query, raw, (&mut self.mechanism).into())
    }

    /// Returns what noise and mechanism will add to the next rewards, before and after they are clipped.
    ///
    /// `None` where that depends on the reward.
    pub(super) fn ahead(&self, n_rounds: usize) -> Option<Vec<(f64, f64)>> {
        let (rewards, mut noise, mut mechanism) = (self.channel.rewards()?, self.noise.clone(), self.mechanism.clone());
        // One more round shows whether noise and mechanism are additive.
        let rounds = (0..=n_rounds).map(|_| Some((self.instance.noise().added(&mut noise)?, rewards.added(&mut mechanism)?)));
        rounds.collect::<Option<Vec<(f64, f64)>>>().map(|mut rounds| {
            rounds.truncate(n_rounds);
            rounds
        })
    }

    /// Returns the range to which rewards are clipped; `None` where sums are released.
    pub(super) fn clip(&self) -> Option<(f64, f64)> {
        Some(self.channel.rewards()?.clip().unwrap_or((f64::NEG_INFINITY, f64::INFINITY)))
    }

    /// Counts the regret of a play among the allowed points; returns that of the round, so far, and of the best play.
    pub(super) fn count(&mut self, point: usize, set: Option<&[u32]>) -> [f64; 3] {
        let regret = self.instance.regret_among(point, set);
        self.cumulative += regret;
        self.simple = self.simple.min(self.instance.regret(point));
        [regret, self.cumulative, self.simple]
    }
}
