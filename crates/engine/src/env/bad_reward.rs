//! A reward that is not a finite number, which the function of an environment returned in a run.

use privateer_config::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BadReward {
    pub(super) reward: f64,
    pub(super) point: usize,
    pub(super) coordinates: Vec<f64>,
}

impl BadReward {
    /// Ends the round, as [`super::noise::Noise::reward`] returns no error; [`catch_bad_reward`] makes it one.
    pub(super) fn end_round(self) -> ! {
        resume_unwind(Box::new(self))
    }

    pub(crate) fn in_round(&self, cell: &str, trial: u64, round: u64) -> Error {
        Error::Failed {
            problem: format!("{self}, in round {round} of trial {trial} of `{cell}`"),
            hint: "return a finite number for every point and draw".to_owned(),
        }
    }
}

impl fmt::Display for BadReward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reward, point, coordinates } = self;
        write!(f, "the function of the environment returned the reward {reward} at point {point}, {coordinates:?}")
    }
}

/// Runs a part of a round; returns the first reward that is not finite, and lets any other panic go on.
pub(crate) fn catch_bad_reward<T>(work: impl FnOnce() -> T) -> Result<T, BadReward> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast::<BadReward>() {
        Ok(bad) => *bad,
        Err(other) => resume_unwind(other),
    })
}
