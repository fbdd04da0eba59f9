//! Defines the interface of online convex problems.

use super::Score;
use crate::oco::learner::Setting;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_numerics::rng::Streams;
use privateer_privacy::Raw;
use privateer_privacy::gradients::Sample;

/// Builds what all trials of a problem share, as read from a spec: the set and the evaluation data.
///
/// It fails if keys do not suit each other, or tables would be too large.
pub type ProblemPlan = dyn Fn(&ProblemContext<'_>) -> Result<Problem, Error> + Send + Sync;

#[derive(Debug)]
pub struct ProblemContext<'a> {
    pub streams: &'a Streams,
    /// Number of samples of a trial.
    pub rounds: u64,
    /// Largest size of one shared table, in bytes.
    pub memory_bytes: f64,
}

pub struct Problem {
    pub setting: Setting,
    pub facts: Facts,
    /// Makes one trial: its truth and its samples.
    pub trial: Box<dyn Fn(u64) -> Trial + Send + Sync>,
}

type DrawSample = dyn FnMut(&mut [f64]) -> f64 + Send;

/// Holds one trial of a problem: samples without end, and the evaluation of an answer.
pub struct Trial {
    x: Vec<f64>,
    draw: Box<DrawSample>,
    pub score: Score,
}

impl Trial {
    /// Creates a trial.
    ///
    /// * `dimension` — number of features
    /// * `draw` — writes the features of the next sample and returns its response
    pub fn new(dimension: usize, score: Score, draw: impl FnMut(&mut [f64]) -> f64 + Send + 'static) -> Self {
        Self { x: vec![0.0; dimension], draw: Box::new(draw), score }
    }

    pub fn next_sample(&mut self) -> Raw<Sample<'_>> {
        let y = (self.draw)(&mut self.x);
        Raw::seal(Sample { x: &self.x, y })
    }
}
