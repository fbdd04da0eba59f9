//! Runs units in canonical order, distributed over shards and threads.

use super::Trace;
use super::lock::lock;
use super::lockstep::{BatchResult, batch};
use super::observer::{Observer, Stop, TrialEnd, Unit, panicked};
use super::online::batch_size;
use super::options::Options;
use super::prepare::{Preparation, Ready};
use super::wide::{Groups, block, group};
use crate::policy::contextual::ContextPolicy;
use crate::spec::{CellPlan, Sweep};
use privateer_backend::Counters;
use privateer_config::error::Error;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Summarises a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Number of units finished in this run.
    pub finished: usize,
    /// Number of units that an earlier run had finished.
    pub skipped: usize,
    /// Whether the run was stopped before the end.
    pub stopped: bool,
    /// Counters of the screens.
    pub counters: Counters,
}

impl Tally {
    /// Counts a finished unit.
    fn count(&mut self, counters: &Counters) {
        self.finished += 1;
        self.counters.add(counters);
    }
}

/// Returns all units of a sweep in canonical order: cells in order, blocks inside.
#[must_use]
pub fn units(sweep: &Sweep) -> Vec<Unit> {
    let blocks = sweep.trials.div_ceil(sweep.block) as u32;
    sweep.cells.iter().flat_map(|cell| (0..blocks).map(|block| Unit { cell: cell.index, block })).collect()
}

/// Runs every unit that is not in `done`, on the current rayon pool.
///
/// # Errors
/// A list of units that the sweep does not have, and the first failure; the units finished before it have been passed to the observer.
pub fn run(
    sweep: &Sweep,
    preparation: &Preparation<'_>,
    options: Options,
    done: &BTreeSet<Unit>,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Tally, Error> {
    let all = options.share.of(units(sweep))?;
    let mut open: Vec<Unit> = all.iter().copied().filter(|unit| !done.contains(unit)).collect();
    // Cells over one environment play a block of trials one after the other: its functions are drawn once.
    open.sort_by_key(|unit| (preparation.first_alike(unit.cell), unit.block, unit.cell));
    let tally = Mutex::new(Tally { skipped: all.len() - open.len(), ..Tally::default() });
    let job = UnitJob { sweep, preparation, options, stop, observer };
    let open = if preparation.has_device() { job.on_device(open, &tally)? } else { open };
    // One unit at a time from the front of the list: what is under way when a run is killed is what is lost.
    open.into_par_iter().with_max_len(1).try_for_each(|unit| {
        if stop.asked() {
            return Ok(());
        }
        let finished = job.finish(unit).map_err(|error| {
            stop.ask();
            sweep.cells[unit.cell as usize].placed(error)
        })?;
        if let Some(counters) = finished {
            lock(&tally).count(&counters);
        }
        Ok(())
    })?;
    let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.stopped = tally.finished + tally.skipped < all.len();
    Ok(tally)
}

struct UnitJob<'a> {
    sweep: &'a Sweep,
    preparation: &'a Preparation<'a>,
    options: Options,
    stop: &'a Stop,
    observer: &'a dyn Observer,
}

/// Rows of a trial, and what its policy keeps of its model.
type KeptTrial = (Trace, Option<serde_json::Value>);

impl UnitJob<'_> {
    /// Runs one unit and reports its rows; returns `None` if stopped.
    ///
    /// If a device returns wrong results, the error says so, and the caller withdraws what the run has finished on it.
    fn finish(&self, unit: Unit) -> Result<Option<Counters>, Error> {
        let started = Instant::now();
        let Some(done) = self.guarded(unit)? else { return Ok(None) };
        self.report(unit, done, started.elapsed().as_secs_f64()).map(Some)
    }

    /// Reports a finished unit; returns its counters.
    fn report(&self, unit: Unit, done: BatchResult, seconds: f64) -> Result<Counters, Error> {
        self.observer.ended(unit, &done.trials)?;
        self.observer.finished(unit, done.rows, seconds, &done.counters)?;
        Ok(done.counters)
    }

    /// Runs the units that are scored on a device, those over one basis together; returns the others.
    fn on_device(&self, open: Vec<Unit>, tally: &Mutex<Tally>) -> Result<Vec<Unit>, Error> {
        let mut groups = Groups::new(self.sweep, self.preparation, open);
        while let Some(units) = groups.next()? {
            if self.stop.asked() {
                return Ok(Vec::new());
            }
            let Some(results) = group(self.sweep, &units, &self.options, self.stop, self.observer)? else {
                return Ok(Vec::new());
            };
            for ((unit, _), (done, seconds)) in units.into_iter().zip(results) {
                let counters = self.report(unit, done, seconds)?;
                lock(tally).count(&counters);
            }
        }
        Ok(groups.apart)
    }

    /// Runs one unit; a panic, of a policy or environment from outside for example, ends the run with a message.
    fn guarded(&self, unit: Unit) -> Result<Option<BatchResult>, Error> {
        catch_unwind(AssertUnwindSafe(|| self.unit(unit)))
            .unwrap_or_else(|panic| Err(panicked(&self.sweep.cells[unit.cell as usize], unit, panic.as_ref())))
    }

    /// Runs one unit; returns `None` if stopped.
    fn unit(&self, unit: Unit) -> Result<Option<BatchResult>, Error> {
        let plan = &self.sweep.cells[unit.cell as usize];
        let keeps = self.sweep.parameters;
        let cell = match self.preparation.any(plan)? {
            Ready::Bandit(cell) => cell,
            Ready::Contextual(cell) => {
                return self.trials(plan, unit, 1, |trials, recorded, progressed| {
                    let done = cell.trial(trials.start, recorded, self.stop, progressed, self.observer)?;
                    let kept = |policy: &dyn ContextPolicy| if keeps { policy.parameters() } else { Ok(None) };
                    done.map(|(rows, policy)| Ok(vec![(rows, kept(policy.as_ref())?)])).transpose()
                });
            }
            Ready::Online(cell) => {
                let Range { start, end } = block(self.sweep, unit);
                let together = self.options.batch.map_or_else(|| batch_size(end - start), |batch| batch.max(1) as u64);
                return self.trials(plan, unit, together, |trials, recorded, progressed| {
                    let done = cell.batch(trials, recorded, self.stop, progressed, Some(self.observer))?;
                    Ok(done.map(|trials| trials.into_iter().map(|rows| (rows, None)).collect()))
                });
            }
        };
        let recorded = self.sweep.recorded.rounds(plan.rounds);
        let Range { start: first, end } = block(self.sweep, unit);
        let n_trials = end - first;
        let size = match self.options.batch {
            Some(batch) => batch.min(cell.domain.as_ref().map_or(usize::MAX, |domain| domain.most_in_batch())) as u64,
            // A block too small for full batches on all threads is split into smaller batches.
            None => {
                let wanted = cell.domain.as_ref().map_or(8, |domain| domain.batch(cell.update_kind())) as u64;
                wanted.min(n_trials.div_ceil(rayon::current_num_threads() as u64))
            }
        };
        let size = if cell.bandit.policy_plan.depends_on_block() { n_trials } else { size };
        // A batch never crosses the end of its block.
        let size = size.clamp(1, n_trials.max(1));
        let starts: Vec<u64> = (first..end).step_by(size as usize).collect();
        let results = starts
            .into_par_iter()
            .with_max_len(1)
            .map(|start| batch(&cell, start..(start + size).min(end), &recorded, self.options.verify, self.stop, self.observer))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut done = BatchResult::default();
        for result in results {
            let Some(result) = result else { return Ok(None) };
            done.append(result);
        }
        Ok(Some(done))
    }

    /// Runs one unit whose trials are independent, in batches of `together`, in parallel on the threads; `None` if stopped.
    ///
    /// * `run` — runs a batch; returns for each trial its rows and what its policy keeps of its model
    fn trials(
        &self,
        plan: &CellPlan,
        unit: Unit,
        together: u64,
        run: impl Fn(Range<u64>, &[u64], &(dyn Fn(u64) + Sync)) -> Result<Option<Vec<KeptTrial>>, Error> + Sync,
    ) -> Result<Option<BatchResult>, Error> {
        let recorded = self.sweep.recorded.rounds(plan.rounds);
        let Range { start: first, end } = block(self.sweep, unit);
        let batches = (first..end)
            .step_by(together as usize)
            .collect::<Vec<u64>>()
            .into_par_iter()
            .with_max_len(1)
            .map(|start| run(start..(start + together).min(end), &recorded, &|rounds| self.observer.progressed(rounds)))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut done = BatchResult::default();
        let mut number = first;
        for batch in batches {
            let Some(batch) = batch else { return Ok(None) };
            for (rows, parameters) in batch {
                done.rows.extend(rows);
                if parameters.is_some() {
                    done.trials.push(TrialEnd { trial: number, counts: Default::default(), repaired: 0, parameters });
                }
                number += 1;
            }
        }
        Ok(Some(done))
    }
}
