//! Implements `uniform`: a uniformly random point, the baseline that a private policy must beat.

use super::{Policy, PolicyMaker, PolicyPlan, PolicyStreams, Problem, Proposal, RandomSource, Setting};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_gp::posterior::Visits;
use privateer_privacy::{Released, Signal};

pub fn parse(_args: &Args<'_>) -> PolicyPlan {
    let prepare = |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        let n_points = problem.n_points();
        let make = move |_: &Setting| -> Result<Box<dyn Policy>, Error> {
            Ok(Box::new(UniformPolicy { n_points, visits: Visits::default() }))
        };
        Ok(Box::new(make))
    };
    PolicyPlan { plays_sets: true, ..PolicyPlan::new(prepare) }
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
}
