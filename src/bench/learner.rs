//! What the workloads of the screens ask of a trial.

use super::full_rank::FullRank;
use crate::error::Error;
use crate::gp::posterior::Posterior;
use crate::score::{Change, ScoreModel};

/// One trial's model as the loop sees it.
pub trait Learner: Send + Sync {
    /// The model that is scored.
    fn model(&self) -> &dyn ScoreModel;

    /// What a backend has not yet taken.
    fn change(&self) -> Change<'_>;

    /// A backend has taken it.
    fn screened(&mut self);

    /// Adds an observation.
    ///
    /// # Errors
    /// If the model cannot go on.
    fn observe(&mut self, point: usize, reward: f64) -> Result<(), Error>;
}

impl<P: Posterior + Send + Sync> Learner for P {
    fn model(&self) -> &dyn ScoreModel {
        self
    }

    fn change(&self) -> Change<'_> {
        Posterior::change(self)
    }

    fn screened(&mut self) {
        Posterior::screened(self);
    }

    fn observe(&mut self, point: usize, reward: f64) -> Result<(), Error> {
        Posterior::observe(self, point, reward);
        Ok(())
    }
}

impl Learner for FullRank {
    fn model(&self) -> &dyn ScoreModel {
        self
    }

    fn change(&self) -> Change<'_> {
        Change::Factor
    }

    fn screened(&mut self) {}

    fn observe(&mut self, point: usize, reward: f64) -> Result<(), Error> {
        Self::observe(self, point, reward)
    }
}
