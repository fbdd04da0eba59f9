//! Keeps what one trial of an algorithm from outside has played.

use crate::policy::{Policy, PolicyStreams, Proposal};
use privateer_gp::posterior::Visits;
use privateer_privacy::{Released, Signal};

/// One trial of a group; the group proposes for it and is told what was released.
#[derive(Debug, Default)]
pub(super) struct OwnTrial {
    visits: Visits,
}

impl Policy for OwnTrial {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        Proposal::Refused("a policy from outside is asked together with the trials of its group")
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        let Some(reward) = signal.reward() else { return };
        self.visits.add(point, reward);
    }

    /// Returns the point with the highest average released reward; an algorithm may recommend another one.
    fn recommend(&self) -> Option<usize> {
        self.visits.best_average()
    }

    fn told(&self) -> u64 {
        self.visits.n_observations()
    }

    fn save(&self) -> serde_json::Value {
        serde_json::json!({ "policy": "from outside", "version": 1, "visits": self.visits })
    }
}
