//! Keeps what one trial of an algorithm from outside has played, and asks its privatizer for releases.

use super::SumsFeatures;
use crate::policy::{Policy, PolicyStreams, Proposal};
use privateer_gp::posterior::Visits;
use privateer_privacy::{Query, Released, Signal};

pub(super) struct PlayedPolicy {
    /// What enters running sums; `None` where rewards or a choice are released.
    pub(super) features: Option<SumsFeatures>,
    /// Running sums are released after the first round, each `every` rounds later, and after the last of `rounds`.
    pub(super) every: u64,
    pub(super) rounds: u64,
    /// The coming round, from 1.
    pub(super) round: u64,
    pub(super) last: Option<usize>,
    /// The released rewards of the points that were played.
    pub(super) visits: Visits,
}

impl Policy for PlayedPolicy {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        Proposal::Refused("a policy from outside is asked together with the trials of its group")
    }

    fn query(&self, point: usize) -> Query<'_> {
        let Some(features) = &self.features else { return Query::default() };
        let release = (self.round - 1).is_multiple_of(self.every) || self.round == self.rounds;
        Query { features: features.row(point).into(), release }
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        self.round += 1;
        self.last = Some(point);
        if let Some(reward) = signal.reward() {
            self.visits.add(point, reward);
        }
    }

    /// Returns the point with the highest average released reward, because there is no model; without rewards, the last one.
    fn recommend(&self) -> Option<usize> {
        self.visits.best_average().or(self.last)
    }
}
