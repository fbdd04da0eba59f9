//! What the workloads of the screens ask of trials.

use super::full_rank::{FullRank, Model, TRIALS};
use privateer_config::error::Error;
use privateer_gp::posterior::Posterior;
use privateer_gp::score::{Candidates, Change, ScoreModel, TrialScore};
use rayon::prelude::*;

/// One trial's model as the loop sees it.
pub trait BenchLearner: Send + Sync {
    /// The model that is scored.
    fn model(&self) -> &dyn ScoreModel;

    /// What a backend has not yet taken.
    fn change(&self) -> Change<'_>;

    /// A backend has taken it.
    fn screened(&mut self);

    /// Adds an observation.
    fn observe(&mut self, point: usize, reward: f64);
}

impl<P: Posterior + Send + Sync> BenchLearner for P {
    fn model(&self) -> &dyn ScoreModel {
        self
    }

    fn change(&self) -> Change<'_> {
        Posterior::change(self)
    }

    fn screened(&mut self) {
        Posterior::screened(self);
    }

    fn observe(&mut self, point: usize, reward: f64) {
        Posterior::observe(self, point, reward);
    }
}

/// Trials in a row.
pub enum Team {
    /// Each on its own.
    Each(Vec<Box<dyn BenchLearner>>),
    /// Sixteen at a time.
    Lanes(Vec<FullRank>),
}

/// A trial of a team.
pub enum Player<'a> {
    /// One on its own.
    One(&'a dyn BenchLearner),
    /// One of sixteen.
    Lane(Model<'a>),
}

impl Team {
    /// One a trial, in order.
    pub fn players(&self) -> Vec<Player<'_>> {
        match self {
            Self::Each(learners) => learners.iter().map(|learner| Player::One(learner.as_ref())).collect(),
            Self::Lanes(teams) => {
                teams.iter().flat_map(|team| (0..team.trials()).map(|lane| Player::Lane(team.model(lane)))).collect()
            }
        }
    }

    /// A backend has taken all changes.
    pub fn screened(&mut self) {
        if let Self::Each(learners) = self {
            learners.iter_mut().for_each(|learner| learner.screened());
        }
    }

    /// The answers of a screen, before the decisions.
    pub fn foresee(&self, answers: &[Candidates]) {
        if let Self::Lanes(teams) = self {
            teams.iter().zip(answers.chunks(TRIALS)).for_each(|(team, answers)| team.foresee(answers));
        }
    }

    /// Adds an observation of each trial; `over_threads` over all threads.
    ///
    /// # Errors
    /// If a model cannot go on.
    pub fn observe(&mut self, points: &[usize], rewards: &[f64], over_threads: bool) -> Result<(), Error> {
        match self {
            Self::Each(learners) => {
                let all = learners.iter_mut().zip(points).zip(rewards);
                all.for_each(|((learner, &point), &reward)| learner.observe(point, reward));
                Ok(())
            }
            Self::Lanes(teams) => {
                let observe = |((team, points), rewards): ((&mut FullRank, _), _)| team.observe(points, rewards);
                if over_threads {
                    let all = teams.par_iter_mut().zip(points.par_chunks(TRIALS)).zip(rewards.par_chunks(TRIALS));
                    all.with_max_len(1).try_for_each(observe)
                } else {
                    teams.iter_mut().zip(points.chunks(TRIALS)).zip(rewards.chunks(TRIALS)).try_for_each(observe)
                }
            }
        }
    }
}

impl Player<'_> {
    /// What a screen is asked about it.
    pub fn request(&self, trial: usize, beta: f64) -> TrialScore<'_> {
        match self {
            Self::One(learner) => TrialScore::new(trial, learner.change(), beta, learner.model()),
            Self::Lane(model) => TrialScore::new(trial, Change::Factor, beta, model),
        }
    }
}
