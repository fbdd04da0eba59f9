//! Runs a sweep without a folder: the rows stay in memory, and nothing is written.

use super::observer::RunObserver;
use super::threads::thread_pool_with;
use super::{RunOptions, notices};
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_engine::engine::{self, CellInfo, Observer, Options, Preparation, Stop, Trace, Unit};
use privateer_engine::spec::Sweep;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// The results of a run that wrote nothing.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct MemoryRun {
    /// The cells in canonical order, each with its parameters, ledger and facts.
    pub cells: Vec<CellInfo>,
    /// The recorded rows of each cell, ordered by trial, then round: the numbers that a folder would hold.
    pub traces: Vec<Trace>,
    /// Counters of the screens.
    pub counters: Counters,
}

/// Runs a sweep and keeps its rows in memory.
///
/// # Errors
/// [`Error::Input`] if settings mislead and the options are strict, [`Error::Incomplete`] after a request to `stop`, and the first failure of the simulation: nothing is kept then.
pub fn run_in_memory(sweep: &Sweep, options: &RunOptions, stop: &Stop, observer: &dyn RunObserver) -> Result<MemoryRun, Error> {
    let pool = thread_pool_with(options.threads, &options.thread_setup)?;
    let preparation = Preparation::new(sweep, &options.data, options.backend.as_ref());
    let cells = pool.install(|| preparation.cell_infos(&|factors| observer.tuned(factors)))?;
    notices::before(sweep, &cells, options, observer)?;
    let collector = Collector { observer, units: Mutex::default() };
    let engine_options = Options { batch: options.batch, verify: options.verify, share: options.share.clone() };
    let tally = pool.install(|| engine::run(sweep, &preparation, engine_options, &BTreeSet::new(), stop, &collector))?;
    if tally.stopped {
        return Err(Error::Incomplete {
            done: tally.finished,
            total: options.share.of(engine::units(sweep))?.iter().map(|unit| sweep.cells_of_part(unit.cell).len()).sum(),
            reason: "the run was stopped".to_owned(),
            hint: "a run without a folder cannot be resumed: state one".to_owned(),
        });
    }
    notices::after(&tally.counters, options.backend.adapter().is_some(), observer);
    let mut traces = vec![Trace::default(); cells.len()];
    // Units are ordered by cell, then block.
    for (unit, rows) in collector.units.into_inner().unwrap_or_else(PoisonError::into_inner) {
        traces[unit.cell as usize].extend(rows);
    }
    Ok(MemoryRun { cells, traces, counters: tally.counters })
}

struct Collector<'a> {
    observer: &'a dyn RunObserver,
    units: Mutex<BTreeMap<Unit, Trace>>,
}

impl Observer for Collector<'_> {
    fn progressed(&self, trial_rounds: u64) {
        self.observer.progressed(trial_rounds);
    }

    fn finished(&self, unit: Unit, rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner).insert(unit, rows);
        Ok(())
    }
}
