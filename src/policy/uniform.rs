//! Implements `uniform`: a uniformly random point, the baseline that a private policy must beat.

use super::{Policy, PolicyMaker, PolicyPlan, PolicyStreams, Problem, Proposal, RandomSource, SavedState, Setting};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_gp::posterior::Visits;
use privateer_privacy::{Released, Signal};

const NAME: &str = "uniform";

/// Reads the policy's keys; there are none.
pub fn parse(_args: &Args<'_>) -> PolicyPlan {
    let prepare = |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        Ok(Box::new(UniformMaker { n_points: problem.n_points() }))
    };
    PolicyPlan { plays_sets: true, ..PolicyPlan::new(prepare) }
}

struct UniformMaker {
    n_points: usize,
}

impl PolicyMaker for UniformMaker {
    fn policy(&self, _setting: &Setting, saved: Option<serde_json::Value>) -> Result<Box<dyn Policy>, Error> {
        let saved = SavedState::of(NAME, saved)?.map(|mut saved| saved.visits(self.n_points));
        let visits = saved.transpose()?.unwrap_or_default();
        Ok(Box::new(UniformPolicy { n_points: self.n_points, visits }))
    }
}

struct UniformPolicy {
    n_points: usize,
    visits: Visits,
}

impl Policy for UniformPolicy {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        Proposal::Random { source: RandomSource::Policy, n_points: self.n_points }
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        let Some(reward) = signal.reward() else { return };
        self.visits.add(point, reward);
    }

    /// Returns the point with the highest average released reward, because there is no model.
    fn recommend(&self) -> Option<usize> {
        self.visits.best_average()
    }

    fn save(&self) -> serde_json::Value {
        serde_json::json!({ "policy": NAME, "visits": self.visits })
    }
}
