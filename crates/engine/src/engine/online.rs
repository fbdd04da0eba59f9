//! Runs the online loop: one learner on one stream of samples in each trial.
//!
//! Trials share the calibration and the evaluation data, and run in batches, in parallel on all threads. Each has its own
//! state and streams, so that nothing recorded depends on threads or batches.

use super::Measures;
use super::observer::{Observer, Place};
use super::rounds::{BatchResult, Recorded, Rounds, Trials};
use crate::oco::learner::{LearnerBatch, LearnerStreams, PreparedLearner};
use crate::oco::problem::{Problem, Trial};
use privateer_config::error::Error;
use privateer_numerics::rng::{Purpose, Streams};
use std::ops::Range;
use std::sync::Arc;

/// Largest number of trials in a batch: the norms of eight rows fill the SIMD lanes.
const MOST_TOGETHER: u64 = 8;

/// Returns the size of batches in which `n_trials` trials occupy all threads.
pub(super) fn batch_size(n_trials: u64) -> u64 {
    n_trials.div_ceil(rayon::current_num_threads() as u64).clamp(1, MOST_TOGETHER)
}

pub(super) struct OnlineCell {
    pub(super) problem: Arc<Problem>,
    pub(super) learner: PreparedLearner,
    pub(super) streams: Streams,
    pub(super) label: String,
    pub(super) cell: u32,
    pub(super) rounds: u64,
}

impl OnlineCell {
    /// Runs trials together, round by round, to their end; returns `None` if stopped before.
    pub(super) fn batch(&self, numbers: Range<u64>, rounds: &Rounds<'_>) -> Result<Option<BatchResult>, Error> {
        let listens = rounds.observer.keeps_transcripts();
        let trials = OnlineTrials {
            cell: self.cell,
            learners: (self.learner.make)((numbers.end - numbers.start) as usize),
            trials: numbers.clone().map(|number| (self.problem.trial)(number)).collect(),
            streams: numbers.clone().map(|number| self.streams(number, listens)).collect(),
            numbers: numbers.clone(),
        };
        rounds.play(self.rounds, vec![Recorded::new(trials, numbers, Measures::Risk)])
    }

    fn streams(&self, trial: u64, keeps_transcript: bool) -> LearnerStreams {
        let of = |purpose| self.streams.of(trial, purpose);
        let mut streams = LearnerStreams::new(of(Purpose::Mechanism(&self.label)), of(Purpose::Policy(&self.label)));
        streams.transcript = keeps_transcript.then(Vec::new);
        streams
    }
}

/// Holds the learners of some trials between their rounds.
struct OnlineTrials {
    cell: u32,
    numbers: Range<u64>,
    learners: Box<dyn LearnerBatch>,
    trials: Vec<Trial>,
    streams: Vec<LearnerStreams>,
}

impl Trials for OnlineTrials {
    type Row = [f64; 2];

    fn learn(&mut self, round: u64, observer: &dyn Observer) -> Result<(), Error> {
        let samples = self.trials.iter_mut().map(|trial| trial.next_sample()).collect();
        self.learners.observe_all(samples, &mut self.streams)?;
        for (at, (trial, streams)) in self.numbers.clone().zip(&mut self.streams).enumerate() {
            let Some(transcript) = &mut streams.transcript else { continue };
            observer.learned(Place { cell: self.cell, trial, round }, transcript, self.learners.iterate_of(at));
            transcript.clear();
        }
        Ok(())
    }

    fn row(&mut self, place: usize) -> Result<(Option<usize>, [f64; 2]), Error> {
        let score = &self.trials[place].score;
        let risk = score.risk(self.learners.iterate_of(place));
        Ok((None, [risk, score.suboptimality(risk)]))
    }
}
