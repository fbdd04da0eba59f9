//! Plays the rounds of a batch of trials of any kind, and holds its results.

use super::Trace;
use super::observer::{Observer, Stop, TrialEnd};
use privateer_backend::Counters;
use privateer_config::error::Error;

/// Holds what a batch of trials is run with.
pub(super) struct Rounds<'a> {
    /// The recorded rounds, ascending.
    pub(super) recorded: &'a [u64],
    pub(super) stop: &'a Stop,
    pub(super) observer: &'a dyn Observer,
}

impl Rounds<'_> {
    /// Plays rounds 1 to `n_rounds` and reports progress; returns false if stopped before the last.
    ///
    /// * `check_every` — number of rounds between two checks of the stop flag
    /// * `play` — plays a round, given whether it is recorded
    pub(super) fn play(
        &self,
        n_rounds: u64,
        n_trials: u64,
        check_every: u64,
        mut play: impl FnMut(u64, bool) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let mut next_recorded = self.recorded.iter().copied().peekable();
        for round in 1..=n_rounds {
            if round % check_every == 0 {
                if self.stop.asked() {
                    return Ok(false);
                }
                self.observer.progressed(check_every * n_trials);
            }
            play(round, next_recorded.next_if_eq(&round).is_some())?;
        }
        self.observer.progressed(n_rounds % check_every * n_trials);
        Ok(true)
    }
}

#[derive(Default)]
pub(super) struct BatchResult {
    /// Recorded rows, ordered by trial, then round.
    pub(super) rows: Trace,
    pub(super) counters: Counters,
    /// The results of its trials beyond the rows, in order.
    pub(super) trials: Vec<TrialEnd>,
}

impl BatchResult {
    pub(super) fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.counters.add(&other.counters);
        self.trials.extend(other.trials);
    }

    /// Adds the rows of a trial, and what its policy keeps of its model.
    pub(super) fn add(&mut self, trial: u64, rows: Trace, parameters: Option<serde_json::Value>) {
        self.rows.extend(rows);
        if parameters.is_some() {
            self.trials.push(TrialEnd { trial, counts: Default::default(), repaired: 0, parameters });
        }
    }
}
