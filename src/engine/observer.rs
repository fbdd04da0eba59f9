//! What the engine tells the outside, and how the outside stops it.

use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_privacy::interactions::InteractionSignal;
use privateer_privacy::{Query, ReleaseCounts, Released, Signal};
use std::sync::atomic::{AtomicBool, Ordering};

/// One cell and one block of trials: one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// Cell index.
    pub cell: u32,
    /// Block index: trials `block * block_size ..`.
    pub block: u32,
}

/// A round of a trial of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Cell index.
    pub cell: u32,
    /// 0-based.
    pub trial: u64,
    /// 1-based.
    pub round: u64,
}

/// Recorded rows of a unit, ordered by trial, then round. Columns are equally long: the regrets, or those of online convex runs;
/// the others are empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// Trial, 0-based.
    pub trial: Vec<u32>,
    /// Round, 1-based.
    pub round: Vec<u32>,
    /// Point played.
    pub point: Vec<Option<i64>>,
    /// Regret of that round.
    pub regret: Vec<f64>,
    /// Sum of the regrets so far.
    pub cumulative_regret: Vec<f64>,
    /// Regret of the best point played so far.
    pub simple_regret: Vec<f64>,
    /// Regret of the point the policy would recommend.
    pub recommended_regret: Vec<f64>,
    /// Of contextual runs, in the place of the last two: share of the rounds so far in which the best arm was played.
    pub best_share: Vec<f64>,
    /// Of replays, in the place of the regrets: rows of the log that the policy has learned from.
    pub taken: Vec<f64>,
    /// Estimate of the policy's mean reward so far; NaN before any row matched.
    pub value: Vec<f64>,
    /// Its standard error.
    pub standard_error: Vec<f64>,
    /// Of online convex runs, in the place of the regrets: risk of the learner's answer.
    pub risk: Vec<f64>,
    /// Share of the starting point's excess risk that is left.
    pub suboptimality: Vec<f64>,
}

impl Rows {
    /// Appends another's rows.
    pub fn extend(&mut self, other: Self) {
        self.trial.extend(other.trial);
        self.round.extend(other.round);
        self.point.extend(other.point);
        self.regret.extend(other.regret);
        self.cumulative_regret.extend(other.cumulative_regret);
        self.simple_regret.extend(other.simple_regret);
        self.recommended_regret.extend(other.recommended_regret);
        self.best_share.extend(other.best_share);
        self.taken.extend(other.taken);
        self.value.extend(other.value);
        self.standard_error.extend(other.standard_error);
        self.risk.extend(other.risk);
        self.suboptimality.extend(other.suboptimality);
    }
}

/// What else came of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialEnd {
    /// The trial, 0-based.
    pub trial: u64,
    /// What its privatizer met.
    pub counts: ReleaseCounts,
    /// Rounds in which noise had left the model indefinite.
    pub repaired: u64,
    /// What the policy gives out of its model, where the spec asks for it.
    pub parameters: Option<serde_json::Value>,
}

/// Hears of progress and takes finished units.
pub trait Observer: Sync {
    /// Some trial-rounds are done.
    fn progressed(&self, trial_rounds: u64);

    /// What a trial's policy is about to receive. Called from worker threads, rounds of one trial in order, and once more
    /// where a unit is done again.
    fn released(&self, at: Place, query: &Query<'_>, signal: &Released<Signal>) {
        let _ = (at, query, signal);
    }

    /// What a contextual trial's policy is about to receive, after it had shown this arm. Called as [`Observer::released`].
    fn visited(&self, at: Place, arm: usize, signal: &Released<InteractionSignal<'_>>) {
        let _ = (at, arm, signal);
    }

    /// Whether learners keep what is released to them, for [`Observer::learned`].
    fn keeps_transcripts(&self) -> bool {
        false
    }

    /// What was released to a learner in a round, one vector after another, and what it would answer then. Called as
    /// [`Observer::released`], where transcripts are kept.
    fn learned(&self, at: Place, released: &[f64], answer: &[f64]) {
        let _ = (at, released, answer);
    }

    /// A unit is done. Called from worker threads, in no particular order.
    ///
    /// # Errors
    /// What kept the rows from being stored; the run then stops.
    fn finished(&self, unit: Unit, rows: Rows, seconds: f64, counters: &Counters) -> Result<(), Error>;

    /// What else came of the trials of a unit, before it is handed over as finished.
    ///
    /// # Errors
    /// As [`Observer::finished`].
    fn ended(&self, unit: Unit, trials: &[TrialEnd]) -> Result<(), Error> {
        let _ = (unit, trials);
        Ok(())
    }
}

/// A request to stop, from a signal handler or a failed unit.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// A stop that nobody has asked for.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Asks.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
