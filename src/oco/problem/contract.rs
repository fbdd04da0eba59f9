//! Defines the interface of online convex problems.

use super::Score;
use crate::oco::learner::Setting;
use privateer_config::error::Error;
use privateer_numerics::rng::Streams;
use privateer_privacy::Raw;
use privateer_privacy::gradients::Sample;
use std::sync::Arc;

/// Builds what all trials of a problem share, as read from a spec: the set and the evaluation data.
///
/// It fails if keys do not suit each other, or tables would be too large.
pub type ProblemPlan = dyn Fn(&ProblemContext<'_>) -> Result<Arc<dyn Problem>, Error> + Send + Sync;

/// Holds what a problem may use while it is built.
#[derive(Debug)]
pub struct ProblemContext<'a> {
    /// The problem's random streams.
    pub streams: &'a Streams,
    /// Number of samples of a trial.
    pub rounds: u64,
    /// Largest size of one shared table, in bytes.
    pub memory_bytes: f64,
}

/// Represents a problem, shared by all trials.
pub trait Problem: Send + Sync {
    /// Returns the problem as learners see it.
    fn setting(&self) -> &Setting;

    /// Makes one trial: its truth and its samples.
    fn trial(&self, trial: u64) -> Trial;

    /// Returns facts for the manifest and the report, as (name, value).
    fn facts(&self) -> Vec<(String, serde_json::Value)>;
}

/// Holds one trial of a problem.
pub struct Trial {
    /// The samples, in order.
    pub stream: Box<dyn Stream>,
    /// The evaluation of an answer.
    pub score: Score,
}

/// Yields the samples of one trial, without end.
pub trait Stream: Send {
    /// Returns the next sample, sealed.
    fn next(&mut self) -> Raw<Sample<'_>>;
}
