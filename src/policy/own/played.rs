//! Keeps what one trial of an algorithm from outside has played, and asks its privatizer for releases.

use super::SumsFeatures;
use crate::policy::{Policy, PolicyStreams, Proposal};
use privateer_gp::posterior::Visits;
use privateer_privacy::{Query, Released, Signal};

/// The plays of one trial; its group proposes for it.
pub(super) struct PlayedPolicy {
    /// When running sums are released; `None` where rewards or a choice are.
    pub(super) schedule: Option<Schedule>,
    /// The coming round, from 1.
    pub(super) round: u64,
    /// The point that was played last.
    pub(super) last: Option<usize>,
    /// The released rewards of the points that were played.
    pub(super) visits: Visits,
}

/// Says what enters running sums, and after which rounds they are released: the first, each `every` rounds later, and the last.
pub(super) struct Schedule {
    pub(super) features: SumsFeatures,
    /// Rounds between two releases.
    pub(super) every: u64,
    /// Horizon.
    pub(super) rounds: u64,
}

impl Policy for PlayedPolicy {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        Proposal::Refused("a policy from outside is asked together with the trials of its group")
    }

    fn query(&self, point: usize) -> Query<'_> {
        let Some(Schedule { features, every, rounds }) = &self.schedule else { return Query::default() };
        let release = (self.round - 1).is_multiple_of(*every) || self.round == *rounds;
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

    fn told(&self) -> u64 {
        self.round - 1
    }

    fn save(&self) -> serde_json::Value {
        serde_json::json!({ "policy": "from outside", "visits": self.visits })
    }
}
