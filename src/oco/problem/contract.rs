//! What a problem is.

use super::Score;
use crate::oco::learner::Setting;
use crate::oco::loss::Loss;
use crate::oco::set::SetPlan;
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::rng::Streams;
use privateer_privacy::Raw;
use privateer_privacy::gradients::Sample;
use std::sync::Arc;

/// A problem as read from a spec.
pub trait ProblemPlan: Send + Sync {
    /// Builds what all trials share: the set, the data that answers are judged on.
    ///
    /// # Errors
    /// Keys that do not suit each other, tables that would be too large.
    fn build(&self, context: &ProblemContext<'_>) -> Result<Arc<dyn Problem>, Error>;
}

/// What a problem may use while it is built.
#[derive(Debug)]
pub struct ProblemContext<'a> {
    /// The problem's streams.
    pub streams: &'a Streams,
    /// Samples of a trial.
    pub rounds: u64,
    /// Most bytes that one shared table may take.
    pub memory_bytes: f64,
}

/// What all trials share.
pub trait Problem: Send + Sync {
    /// The problem as learners see it.
    fn setting(&self) -> &Setting;

    /// One trial: its truth and its samples.
    fn trial(&self, trial: u64) -> Trial;

    /// Facts for the manifest and the report, as (name, value).
    fn facts(&self) -> Vec<(String, serde_json::Value)>;
}

/// One trial.
pub struct Trial {
    /// Samples, in order.
    pub stream: Box<dyn Stream>,
    /// How an answer is judged.
    pub score: Score,
}

/// Samples of one trial, without end.
pub trait Stream: Send {
    /// The next sample, sealed.
    fn next(&mut self) -> Raw<Sample<'_>>;
}

/// What a problem's parser may ask of the registry.
pub trait ProblemRegistry {
    /// Reads a constraint set under `key`; `None` if wrong (the sink then knows).
    fn set(&self, args: &Args<'_>, key: &'static str) -> Option<Box<dyn SetPlan>>;

    /// Reads a loss under `key`, with this kind when absent; `None` if wrong.
    fn loss(&self, args: &Args<'_>, key: &'static str, default: &'static str) -> Option<Arc<dyn Loss>>;
}
