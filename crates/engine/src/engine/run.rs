//! Runs units in canonical order, distributed over shards and threads.

use super::lock::lock;
use super::observer::{Observer, Stop, Unit, guarded};
use super::prepare::Preparation;
use super::rounds::{BatchResult, Rounds};
use super::unit_job::{Options, UnitJob};
use super::wide::{Groups, block, group};
use crate::spec::{CellPlan, Sweep};
use privateer_backend::Counters;
use privateer_config::error::Error;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Summarises a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Number of blocks of trials of a cell that are finished in this run.
    pub finished: usize,
    /// Number of those that an earlier run had finished.
    pub skipped: usize,
    /// Whether the run was stopped before the end.
    pub stopped: bool,
    /// Counters of the screens.
    pub counters: Counters,
}

impl Tally {
    fn count(&mut self, counters: &Counters) {
        self.finished += 1;
        self.counters.add(counters);
    }
}

/// Returns all units of a sweep in canonical order: cells in order, blocks inside. Cells that share a part file are the unit of their
/// first one.
pub fn units(sweep: &Sweep) -> Vec<Unit> {
    let blocks = sweep.trials.div_ceil(sweep.block) as u32;
    parts(sweep.cells.len(), blocks, sweep.cells_a_part).map(|(cell, block)| Unit { cell, block }).collect()
}

/// Returns the first cell and the block of each part file of a sweep: cells in order, blocks inside.
pub fn parts(n_cells: usize, n_blocks: u32, cells_a_part: u32) -> impl ExactSizeIterator<Item = (u32, u32)> {
    let n_parts = (n_cells as u32).div_ceil(cells_a_part.max(1)).saturating_mul(n_blocks);
    (0..n_parts).map(move |number| (number / n_blocks * cells_a_part.max(1), number % n_blocks))
}

/// Runs every unit that is not in `done`, on the current rayon pool.
///
/// # Errors
/// A list of units that the sweep does not have, and the first failure; what was finished before it has been passed to the observer,
/// which is told of each cell of a unit.
pub fn run(
    sweep: &Sweep,
    preparation: &Preparation<'_>,
    options: Options,
    done: &BTreeSet<Unit>,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Tally, Error> {
    let (skipped, mut open): (Vec<Unit>, Vec<Unit>) =
        options.share.of(units(sweep))?.into_iter().partition(|unit| done.contains(unit));
    // Cells over one environment play a block of trials one after the other: its functions are drawn once.
    open.sort_by_key(|unit| (preparation.first_alike(unit.cell), unit.block, unit.cell));
    let of_cells = |unit: Unit| sweep.cells_of_part(unit.cell).iter().map(move |cell| Unit { cell: cell.index, ..unit });
    let open: Vec<Unit> = open.into_iter().flat_map(of_cells).collect();
    let n_open = open.len();
    let tally = Mutex::new(Tally { skipped: skipped.into_iter().flat_map(of_cells).count(), ..Tally::default() });
    let job = UnitJob { sweep, preparation, options, stop, observer };
    let open = if preparation.has_device() { job.on_device(open, &tally)? } else { open };
    // One part at a time from the front of the list: what is under way when a run is killed is what is lost.
    let part = |unit: &Unit| Unit { cell: sweep.first_of_part(unit.cell), ..*unit };
    let parts: Vec<&[Unit]> = open.chunk_by(|left, right| part(left) == part(right)).collect();
    parts.into_par_iter().with_max_len(1).flat_map_iter(|part| part.iter().copied()).try_for_each(|unit| {
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
    tally.stopped = tally.finished < n_open;
    Ok(tally)
}

impl UnitJob<'_> {
    /// Runs one unit and reports its rows; returns `None` if stopped.
    ///
    /// If a device returns wrong results, the error says so, and the caller withdraws what the run has finished on it.
    fn finish(&self, unit: Unit) -> Result<Option<Counters>, Error> {
        let started = Instant::now();
        let plan = &self.sweep.cells[unit.cell as usize];
        let Some(done) = guarded(plan, unit, || self.unit(plan, unit))? else { return Ok(None) };
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
        let mut groups = Groups::new(self, open);
        while let Some(units) = groups.next()? {
            if self.stop.asked() {
                return Ok(Vec::new());
            }
            let Some(results) = group(self, &units)? else { return Ok(Vec::new()) };
            for ((unit, _), (done, seconds)) in units.into_iter().zip(results) {
                let counters = self.report(unit, done, seconds)?;
                lock(tally).count(&counters);
            }
        }
        Ok(groups.apart)
    }

    /// Runs one unit; returns `None` if stopped.
    fn unit(&self, plan: &CellPlan, unit: Unit) -> Result<Option<BatchResult>, Error> {
        let cell = self.preparation.any(plan)?;
        let recorded = self.sweep.recorded.rounds(plan.rounds);
        let rounds = Rounds { recorded: &recorded, verify: self.options.verify, stop: self.stop, observer: self.observer };
        let Range { start: first, end } = block(self.sweep, unit);
        let size = cell.batch_size(end - first, self.options.batch);
        let results = (first..end)
            .step_by(size as usize)
            .collect::<Vec<u64>>()
            .into_par_iter()
            .with_max_len(1)
            .map(|start| cell.batch(start..(start + size).min(end), &rounds))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut done = BatchResult::default();
        for result in results {
            let Some(result) = result else { return Ok(None) };
            done.append(result);
        }
        Ok(Some(done))
    }
}
