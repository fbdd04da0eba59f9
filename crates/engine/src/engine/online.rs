//! Runs the online loop: one learner on one stream of samples in each trial.
//!
//! Trials share the calibration and the evaluation data, and run in batches, in parallel on all threads. Each has its own
//! state and streams, so that nothing recorded depends on threads or batches.

use super::cell_info::{CellFacts, CellLedger};
use super::environment_cache::EnvironmentCache;
use super::lock::{MOST_PROBLEMS, lock, made};
use super::observer::{Observer, Place, Stop};
use super::prepare::Preparation;
use super::rounds::{BatchResult, Recorded, Rounds, Trials};
use super::warnings::delta_warning;
use super::{Measures, Quantity};
use crate::oco::learner::{LearnerBatch, LearnerStreams, PreparedLearner, Rates};
use crate::oco::problem::{Problem, ProblemContext, Trial};
use crate::spec::{CellPlan, OnlinePlan, Task};
use privateer_config::error::Error;
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::Ledger;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Largest number of trials in a batch: the norms of eight rows fill the SIMD lanes.
const MOST_TOGETHER: u64 = 8;

/// Returns the size of batches in which `n_trials` trials occupy all threads.
pub(super) fn batch_size(n_trials: u64) -> u64 {
    n_trials.div_ceil(rayon::current_num_threads() as u64).clamp(1, MOST_TOGETHER)
}

pub(super) struct OnlineCell {
    problem: Arc<Problem>,
    learner: PreparedLearner,
    streams: Streams,
    label: String,
    cell: u32,
    rounds: u64,
}

impl Preparation<'_> {
    /// Whether a cell of the sweep has a learning rate that validation data choose.
    pub fn tunes_rates(&self) -> bool {
        let tunes =
            |plan: &CellPlan| matches!(&plan.task, Task::Online(online) if matches!(online.rates, Rates::Validated { .. }));
        self.sweep.cells.iter().any(tunes)
    }

    /// Returns the learning rates that validation data have chosen so far, by cell.
    pub fn tuned_rates(&self) -> BTreeMap<u32, f64> {
        lock(&self.rates).iter().filter_map(|(&cell, rate)| Some((cell, (*lock(rate))?))).collect()
    }

    /// Takes the learning rates of an earlier run of the same sweep by the same version, which chose them on the same data.
    ///
    /// A rate that is no candidate of its cell is left out.
    pub fn set_tuned_rates(&self, rates: &BTreeMap<u32, f64>) {
        for (&cell, &rate) in rates {
            if let Some(Task::Online(online)) = self.sweep.cells.get(cell as usize).map(|plan| &plan.task)
                && let Rates::Validated { grid, .. } = &online.rates
                && grid.contains(&rate)
            {
                *lock(lock(&self.rates).entry(cell).or_default()) = Some(rate);
            }
        }
    }

    fn problem(&self, plan: &CellPlan, online: &OnlinePlan, label: &str) -> Result<(Arc<Problem>, Streams), Error> {
        let key = format!("{label} {}", plan.environment.key).into();
        let kept = self.caches.of(key, MOST_PROBLEMS, || EnvironmentCache::new(self.sweep.seed, label));
        let context = ProblemContext { streams: &kept.streams, rounds: plan.rounds, memory_bytes: self.sweep.memory_bytes };
        let problem = made(&kept.problem, || Ok(Arc::new((online.problem)(&context)?)))?;
        Ok((problem, kept.streams.clone()))
    }

    fn at_rate(&self, plan: &CellPlan, online: &OnlinePlan, label: &str, rate: f64) -> Result<OnlineCell, Error> {
        let (problem, streams) = self.problem(plan, online, label)?;
        let learner = online.learner.prepare(&problem.setting, &online.request, rate).map_err(|refusal| online.place(refusal))?;
        Ok(OnlineCell { problem, learner, streams, label: plan.policy.to_string(), cell: plan.index, rounds: plan.rounds })
    }

    /// Returns the learning rate: the stated one, or the best on validation data.
    ///
    /// The best has the least mean final risk (the lowest index among equals). Validation has its own streams, samples and
    /// evaluation data.
    fn rate(&self, plan: &CellPlan, online: &OnlinePlan) -> Result<f64, Error> {
        let (grid, trials) = match &online.rates {
            Rates::Fixed(rate) => return Ok(*rate),
            Rates::Validated { grid, trials } => (grid, *trials),
        };
        let slot = Arc::clone(lock(&self.rates).entry(plan.index).or_default());
        made(&slot, || self.best_rate(plan, online, grid, trials))
    }

    fn best_rate(&self, plan: &CellPlan, online: &OnlinePlan, grid: &[f64], trials: u64) -> Result<f64, Error> {
        let label = format!("{}/validation", plan.environment.label);
        let cells =
            grid.iter().map(|&rate| self.at_rate(plan, online, &label, rate)).collect::<Result<Vec<OnlineCell>, Error>>()?;
        let together = batch_size(trials * grid.len() as u64);
        let runs: Vec<(usize, Range<u64>)> = (0..grid.len())
            .flat_map(|i| (0..trials).step_by(together as usize).map(move |first| (i, first..(first + together).min(trials))))
            .collect();
        let (never, last) = (Stop::new(), [plan.rounds]);
        let validation = Rounds { recorded: &last, verify: false, stop: &never, observer: &() };
        let risks = runs
            .into_par_iter()
            .map(|(i, numbers)| {
                let done = cells[i].batch(numbers.clone(), &validation)?;
                Ok(done.map_or(vec![f64::INFINITY; numbers.count()], |done| done.rows[Quantity::Risk].clone()))
            })
            .collect::<Result<Vec<Vec<f64>>, Error>>()?
            .concat();
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let means: Vec<f64> = risks.chunks(trials as usize).map(mean).collect();
        let least = (1..means.len()).fold(0, |best, i| if means[i] < means[best] || means[best].is_nan() { i } else { best });
        Ok(grid[least])
    }

    pub(super) fn online_cell(&self, plan: &CellPlan, online: &OnlinePlan) -> Result<OnlineCell, Error> {
        let rate = self.rate(plan, online)?;
        self.at_rate(plan, online, &plan.environment.label, rate)
    }

    /// Returns the ledger and the facts of a cell.
    ///
    /// Without `choosing`, the first candidate replaces a learning rate that validation data would choose.
    pub(super) fn online_facts(&self, plan: &CellPlan, online: &OnlinePlan, choosing: bool) -> Result<CellFacts, Error> {
        let rate = match &online.rates {
            Rates::Validated { grid, .. } if !choosing => grid.first().copied().unwrap_or(1.0),
            _ => self.rate(plan, online)?,
        };
        let cell = self.at_rate(plan, online, &plan.environment.label, rate)?;
        let mut claim = cell.learner.claim.clone();
        let mut facts = cell.problem.facts.clone();
        facts.extend(cell.learner.facts.clone());
        if let Rates::Validated { .. } = &online.rates {
            facts.push("learning rate is", online.rates.to_string());
            claim.notes.push(
                "the learning rate was chosen on validation data of its own, which this ledger does not protect".to_owned(),
            );
        }
        let ledger = Ledger::of(claim);
        let warnings = delta_warning(&ledger, plan.rounds, "samples").into_iter().collect();
        Ok(CellFacts { ledger: CellLedger { reward: ledger, inputs: None }, facts, warnings })
    }
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
