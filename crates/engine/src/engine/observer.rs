//! Defines the engine's reports to its caller, and the request to stop.

use super::Trace;
use crate::spec::CellPlan;
use privateer_backend::Counters;
use privateer_config::error::{Error, panic_message};
use privateer_config::facts::FactValue;
use privateer_privacy::interactions::InteractionSignal;
use privateer_privacy::{Query, ReleaseCounts, Released, Signal};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Names one cell and one block of trials, stored as one part of the results; of tiny cells that share a part, the first names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// Cell index.
    pub cell: u32,
    /// Block index: trials `block * block_size ..`.
    pub block: u32,
}

/// Names a round of a trial of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Cell index.
    pub cell: u32,
    /// Trial, 0-based.
    pub trial: u64,
    /// Round, 1-based.
    pub round: u64,
}

/// Holds the results of a trial beyond its rows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TrialEnd {
    /// The trial, 0-based.
    pub trial: u64,
    /// Counts kept by the trial's privatizer.
    pub counts: ReleaseCounts,
    /// Number of rounds in which noise had left the model indefinite.
    pub repaired: u64,
    /// The publishable part of the policy's model, if the spec requests it.
    pub parameters: Option<FactValue>,
}

/// Receives progress reports and finished units.
pub trait Observer: Sync {
    /// Reports that this number of trial-rounds is done.
    fn progressed(&self, _trial_rounds: u64) {}

    /// Reports the signal that a trial's policy is about to receive.
    ///
    /// Called from worker threads, with the rounds of one trial in order, and once more if a unit is run again.
    fn released(&self, _at: Place, _query: &Query<'_>, _signal: &Released<Signal>) {}

    /// Reports the signal that a contextual policy is about to receive after showing this arm.
    ///
    /// Called as [`Observer::released`].
    fn visited(&self, _at: Place, _arm: usize, _signal: &Released<InteractionSignal<'_>>) {}

    /// Returns whether learners must store what is released to them, for [`Observer::learned`].
    fn keeps_transcripts(&self) -> bool {
        false
    }

    /// Reports a round's releases to a learner, one vector after another, and its current answer.
    ///
    /// Called as [`Observer::released`], if transcripts are kept.
    fn learned(&self, _at: Place, _released: &[f64], _answer: &[f64]) {}

    /// Takes a finished unit; called from worker threads, in no particular order.
    ///
    /// # Errors
    /// If the rows could not be stored; the run then stops.
    fn finished(&self, unit: Unit, rows: Trace, seconds: f64, counters: &Counters) -> Result<(), Error>;

    /// Takes the further results of a unit's trials, before [`Observer::finished`] takes the unit.
    fn ended(&self, _unit: Unit, _trials: &[TrialEnd]) -> Result<(), Error> {
        Ok(())
    }
}

/// Observes nothing.
impl Observer for () {
    fn finished(&self, _unit: Unit, _rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        Ok(())
    }
}

/// Carries a request to stop, from a signal handler or after a failed unit.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Creates a flag without a request.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Requests a stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether a stop was requested.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Does a part of the work of a unit; a panic, of a policy or environment from outside for example, becomes an error.
pub(super) fn guarded<T>(plan: &CellPlan, unit: Unit, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::Failed {
            problem: format!("`{}` panicked in block {}: {}", plan.label(), unit.block, panic_message(panic.as_ref())),
            hint: "finished blocks are kept; if no code of your own took part, please report this".to_owned(),
        })
    })
}
