//! Implements `uniform`: a uniformly random point, the baseline that a private policy must beat.

use super::contract::check_saved;
use super::{Policy, PolicyMaker, PolicyPlan, PolicyStreams, Problem, Proposal, RandomSource, Setting};
use privateer_config::error::{Diagnostic, Error};
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
    fn make(&self, _setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(self.policy(Visits::default())))
    }

    fn restore(&self, _setting: &Setting, state: serde_json::Value) -> Result<Box<dyn Policy>, Error> {
        check_saved(&state, NAME)?;
        let unreadable = |why: String| Diagnostic::new(format!("the saved visits of `{NAME}` cannot be read: {why}")).error();
        let visits: Visits = serde_json::from_value(state["visits"].clone()).map_err(|source| unreadable(source.to_string()))?;
        visits.check(self.n_points).map_err(|why| unreadable(why.to_owned()))?;
        Ok(Box::new(self.policy(visits)))
    }
}

impl UniformMaker {
    fn policy(&self, visits: Visits) -> UniformPolicy {
        UniformPolicy { n_points: self.n_points, visits }
    }
}

struct UniformPolicy {
    n_points: usize,
    /// Rewards of the points that were played.
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

    fn told(&self) -> u64 {
        self.visits.n_observations()
    }

    fn save(&self) -> serde_json::Value {
        serde_json::json!({ "policy": NAME, "visits": self.visits })
    }
}
