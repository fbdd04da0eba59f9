//! Prepares the cells of learners, with the learning rates that validation data choose.

use super::Quantity;
use super::cell_info::{CellFacts, CellLedger};
use super::environment_cache::EnvironmentCache;
use super::lock::{lock, made};
use super::observer::Stop;
use super::online::{OnlineCell, batch_size};
use super::prepare::Preparation;
use super::rounds::Rounds;
use super::warnings::delta_warning;
use crate::oco::learner::Rates;
use crate::oco::problem::{Problem, ProblemContext};
use crate::spec::{CellPlan, MOST_PROBLEMS, OnlinePlan, Task};
use privateer_config::error::Error;
use privateer_numerics::rng::Streams;
use privateer_privacy::Ledger;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

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
        let learner = (online.learner.prepare)(&problem.setting, &online.privacy.request, rate)
            .map_err(|refusal| online.privacy.place(refusal))?;
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
