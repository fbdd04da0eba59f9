//! Guards the calls of an algorithm from outside: what it returns is checked, and what it throws ends the run with a message.

use super::{BatchPolicy, PolicyFailure, ToldReward, TrialView};
use privateer_config::error::Error;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Trials that one algorithm from outside runs together.
pub struct PolicyGroup {
    batch: Box<dyn BatchPolicy>,
    n_points: usize,
    /// The policy's label, for messages.
    label: String,
}

impl PolicyGroup {
    pub(super) fn new(batch: Box<dyn BatchPolicy>, n_points: usize) -> Self {
        Self { batch, n_points, label: "from outside".to_owned() }
    }

    /// Sets the policy's label, for messages.
    #[must_use]
    pub fn named(self, label: &str) -> Self {
        Self { label: label.to_owned(), ..self }
    }

    /// Returns the next point of each trial.
    ///
    /// # Errors
    /// If the algorithm fails or panics, or returns a wrong number of points, or a point that may not be played.
    pub fn ask(&mut self, trials: &mut [TrialView<'_>]) -> Result<Vec<usize>, Error> {
        let round = trials.first().map_or(0, |trial| trial.round);
        let Self { batch, label, .. } = self;
        let failed = |why: String| failure(label, &format!("round {round}"), why);
        let points = guarded(|| batch.ask(trials)).map_err(failed)?;
        if points.len() != trials.len() {
            return Err(failed(format!("it returned {} points for {} trials", points.len(), trials.len())));
        }
        for (trial, &point) in trials.iter().zip(&points) {
            let number = trial.trial;
            if self.n_points <= point {
                return Err(failed(format!("in trial {number} it chose point {point}, and the last is {}", self.n_points - 1)));
            }
            if trial.allowed.is_some_and(|allowed| allowed.binary_search(&(point as u32)).is_err()) {
                return Err(failed(format!("in trial {number} it chose point {point}, which is not allowed in this round")));
            }
        }
        Ok(points)
    }

    /// Tells the released reward of each trial.
    pub fn tell(&mut self, round: u64, told: &[ToldReward]) -> Result<(), Error> {
        guarded(|| self.batch.tell(told)).map_err(|why| failure(&self.label, &format!("round {round}"), why))
    }

    /// Returns the point that the trial at this place recommends, if the algorithm says one.
    ///
    /// # Errors
    /// If the algorithm panics, or recommends a point that does not exist.
    pub fn recommend(&self, place: usize) -> Result<Option<usize>, Error> {
        let failed = |why: String| failure(&self.label, "its recommendation", why);
        let point = guarded(|| self.batch.recommend(place)).map_err(failed)?;
        match point {
            Some(point) if self.n_points <= point => Err(failed(format!("there is no point {point}"))),
            point => Ok(point),
        }
    }

    /// Returns what the trial at this place keeps of its model, if the algorithm says it.
    pub fn state(&self, place: usize) -> Result<Option<serde_json::Value>, Error> {
        guarded(|| self.batch.state(place)).map_err(|why| failure(&self.label, "its state", why))
    }
}

/// Makes the error of an algorithm that failed.
pub(super) fn failure(label: &str, at: &str, why: String) -> Error {
    Error::Failed {
        problem: format!("policy `{label}` failed in {at}: {why}"),
        hint: "finished blocks are kept; mend the policy, and the same run resumes".to_owned(),
    }
}

/// Calls foreign code; a panic becomes a message.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T, PolicyFailure>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(format!("it panicked: {}", panic_message(panic.as_ref()))),
    }
}

/// Returns what a panic says.
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message")
}
