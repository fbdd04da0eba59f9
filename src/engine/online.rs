//! Runs the online loop: one learner on one stream of samples, trial by trial.
//!
//! Trials share the calibration and the evaluation data, and run in parallel on all threads. Each has its own state for all
//! rounds, so that nothing recorded depends on threads or batches.

use super::observer::{Observer, Place, Stop};
use super::prepare::{CellFacts, lock};
use super::warnings::delta_warning;
use super::{Measures, Quantity, Trace};
use crate::oco::learner::{LearnerStreams, PreparedLearner, Rates};
use crate::oco::problem::{Problem, ProblemContext};
use crate::spec::{CellPlan, OnlinePlan, Sweep};
use privateer_config::error::Error;
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::Ledger;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Largest number of cached problems.
const KEPT: usize = 8;
/// Number of rounds between two checks of the stop flag.
const STOP_EVERY: u64 = 64;

/// Prepares online cells.
#[derive(Default)]
pub(super) struct OnlinePreparation {
    problems: Mutex<Vec<(String, Arc<OnlineProblem>)>>,
    rates: Mutex<BTreeMap<u32, Arc<Mutex<Option<f64>>>>>,
}

/// Holds a problem with its streams; the first thread that needs it builds it.
struct OnlineProblem {
    streams: Streams,
    problem: Mutex<Option<Arc<dyn Problem>>>,
}

/// Holds an online cell prepared for its trials.
pub(super) struct OnlineCell {
    problem: Arc<dyn Problem>,
    learner: PreparedLearner,
    streams: Streams,
    label: String,
    cell: u32,
    rounds: u64,
}

impl OnlinePreparation {
    fn problem(
        &self,
        sweep: &Sweep,
        plan: &CellPlan,
        online: &OnlinePlan,
        label: &str,
    ) -> Result<(Arc<dyn Problem>, Streams), Error> {
        let key = format!("{label} {}", plan.environment_key);
        let ready = {
            let mut kept = lock(&self.problems);
            match kept.iter().find(|(known, _)| *known == key) {
                Some((_, ready)) => Arc::clone(ready),
                None => {
                    if KEPT <= kept.len() {
                        kept.remove(0);
                    }
                    let ready = Arc::new(OnlineProblem { streams: Streams::new(sweep.seed, label), problem: Mutex::new(None) });
                    kept.push((key, Arc::clone(&ready)));
                    ready
                }
            }
        };
        let mut slot = lock(&ready.problem);
        let problem = match slot.as_ref() {
            Some(problem) => Arc::clone(problem),
            None => {
                let context = ProblemContext { streams: &ready.streams, rounds: plan.rounds, memory_bytes: sweep.memory_bytes };
                Arc::clone(slot.insert(online.problem.build(&context)?))
            }
        };
        Ok((problem, ready.streams.clone()))
    }

    fn at_rate(&self, sweep: &Sweep, plan: &CellPlan, online: &OnlinePlan, label: &str, rate: f64) -> Result<OnlineCell, Error> {
        let (problem, streams) = self.problem(sweep, plan, online, label)?;
        let learner =
            online.learner.prepare(problem.setting(), &online.request, rate).map_err(|refusal| online.place(refusal))?;
        Ok(OnlineCell { problem, learner, streams, label: plan.policy.clone(), cell: plan.index, rounds: plan.rounds })
    }

    /// Returns the learning rates that validation data have chosen, by cell.
    pub(super) fn rates(&self) -> BTreeMap<u32, f64> {
        lock(&self.rates).iter().filter_map(|(&cell, rate)| Some((cell, (*lock(rate))?))).collect()
    }

    /// Takes a learning rate as chosen if it is a candidate of the cell.
    pub(super) fn set_rate(&self, cell: u32, online: &OnlinePlan, rate: f64) {
        if let Rates::Validated { grid, .. } = &online.rates
            && grid.contains(&rate)
        {
            *lock(lock(&self.rates).entry(cell).or_default()) = Some(rate);
        }
    }

    /// Returns the learning rate: the stated one, or the best on validation data.
    ///
    /// The best has the least mean final risk (the lowest index among equals). Validation has its own streams, samples and
    /// evaluation data.
    fn rate(&self, sweep: &Sweep, plan: &CellPlan, online: &OnlinePlan) -> Result<f64, Error> {
        let (grid, trials) = match &online.rates {
            Rates::Fixed(rate) => return Ok(*rate),
            Rates::Validated { grid, trials } => (grid, *trials),
        };
        let slot = Arc::clone(lock(&self.rates).entry(plan.index).or_default());
        let mut slot = lock(&slot);
        if let Some(rate) = *slot {
            return Ok(rate);
        }
        let label = format!("{}/validation", plan.environment);
        let cells = grid
            .iter()
            .map(|&rate| self.at_rate(sweep, plan, online, &label, rate))
            .collect::<Result<Vec<OnlineCell>, Error>>()?;
        let runs: Vec<(usize, u64)> = (0..grid.len()).flat_map(|i| (0..trials).map(move |trial| (i, trial))).collect();
        let never = Stop::new();
        let risks = runs
            .into_par_iter()
            .map(|(i, trial)| {
                let rows = cells[i].trial(trial, &[plan.rounds], &never, &|_| {}, None)?;
                Ok(rows.and_then(|rows| rows[Quantity::Risk].last().copied()).unwrap_or(f64::INFINITY))
            })
            .collect::<Result<Vec<f64>, Error>>()?;
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let means: Vec<f64> = risks.chunks(trials as usize).map(mean).collect();
        let least = (1..means.len()).fold(0, |best, i| if means[i] < means[best] || means[best].is_nan() { i } else { best });
        Ok(*slot.insert(grid[least]))
    }

    /// Prepares a cell.
    ///
    /// # Errors
    /// If the problem or the learner refuses the cell.
    pub(super) fn cell(&self, sweep: &Sweep, plan: &CellPlan, online: &OnlinePlan) -> Result<OnlineCell, Error> {
        let rate = self.rate(sweep, plan, online)?;
        self.at_rate(sweep, plan, online, &plan.environment, rate)
    }

    /// Returns the ledger and the facts of a cell.
    ///
    /// Without `choosing`, the first candidate replaces a learning rate that validation data would choose.
    ///
    /// # Errors
    /// As [`OnlinePreparation::cell`].
    pub(super) fn facts(&self, sweep: &Sweep, plan: &CellPlan, online: &OnlinePlan, choosing: bool) -> Result<CellFacts, Error> {
        let rate = match &online.rates {
            Rates::Validated { grid, .. } if !choosing => grid.first().copied().unwrap_or(1.0),
            _ => self.rate(sweep, plan, online)?,
        };
        let cell = self.at_rate(sweep, plan, online, &plan.environment, rate)?;
        let mut claim = cell.learner.claim.clone();
        let mut facts = cell.problem.facts();
        facts.extend(cell.learner.facts.clone());
        if let Rates::Validated { .. } = &online.rates {
            facts.push(("learning rate is".to_owned(), online.rates.to_string().into()));
            claim.notes.push(
                "the learning rate was chosen on validation data of its own, which this ledger does not protect".to_owned(),
            );
        }
        let ledger = Ledger::of(claim);
        let warnings = delta_warning(&ledger, plan.rounds, "samples").into_iter().collect();
        Ok(CellFacts { ledger, inputs: None, facts, warnings })
    }
}

impl OnlineCell {
    /// Runs one trial to its end; returns `None` if stopped before.
    ///
    /// # Errors
    /// If the learner fails, or an answer is not finite.
    pub(super) fn trial(
        &self,
        number: u64,
        recorded: &[u64],
        stop: &Stop,
        progressed: &(dyn Fn(u64) + Sync),
        observer: Option<&dyn Observer>,
    ) -> Result<Option<Trace>, Error> {
        let mut trial = self.problem.trial(number);
        let mut learner = (self.learner.make)();
        let of = |purpose| self.streams.of(number, purpose);
        let mut streams = LearnerStreams::new(of(Purpose::Mechanism(&self.label)), of(Purpose::Policy(&self.label)));
        let listener = observer.filter(|observer| observer.keeps_transcripts());
        streams.transcript = listener.map(|_| Vec::new());
        let mut rows = Trace::new(Measures::Risk);
        let mut next_recorded = recorded.iter().copied().peekable();
        for round in 1..=self.rounds {
            if round % STOP_EVERY == 0 {
                if stop.asked() {
                    return Ok(None);
                }
                progressed(STOP_EVERY);
            }
            learner.observe(trial.stream.next(), &mut streams)?;
            if let (Some(listener), Some(transcript)) = (listener, &mut streams.transcript) {
                listener.learned(Place { cell: self.cell, trial: number, round }, transcript, learner.iterate());
                transcript.clear();
            }
            if next_recorded.next_if_eq(&round).is_some() {
                let risk = trial.score.risk(learner.iterate());
                rows.push(number, round, None, [risk, trial.score.suboptimality(risk)]);
            }
        }
        progressed(self.rounds % STOP_EVERY);
        Ok(Some(rows))
    }
}
