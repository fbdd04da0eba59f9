//! Plays the rounds of trials of any kind: propose, decide, observe, release, update, record.

use super::observer::{Observer, Stop, TrialEnd};
use super::{Measures, Trace};
use privateer_backend::Counters;
use privateer_config::error::Error;
use std::ops::Range;

/// Number of rounds between two checks of the stop flag.
const STOP_EVERY: u64 = 64;

/// Holds what a batch of trials is run with.
pub(super) struct Rounds<'a> {
    /// The recorded rounds, ascending.
    pub(super) recorded: &'a [u64],
    /// Whether the choices of screens are compared with the best of all points, which costs as much as a run without a screen.
    pub(super) verify: bool,
    pub(super) stop: &'a Stop,
    pub(super) observer: &'a dyn Observer,
}

/// Runs the steps of a round in trials that are played together.
pub(super) trait Trials {
    /// The measured values of a row.
    type Row: IntoIterator<Item = f64>;

    /// Takes what the policies propose for a round, and starts to score.
    fn propose(&mut self, _round: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Decides what is played; learners play nothing.
    fn decide(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Observes the rewards, releases them, updates the policies with what is released, and counts what is measured.
    fn learn(&mut self, round: u64, observer: &dyn Observer) -> Result<(), Error>;

    /// Returns the point of a trial, by its place, and what is measured of it.
    fn row(&mut self, place: usize) -> Result<(Option<usize>, Self::Row), Error>;

    /// Ends the trials: returns the counts of their screens and each one's results beyond the rows.
    fn end(self) -> Result<(Counters, Vec<TrialEnd>), Error>
    where
        Self: Sized,
    {
        Ok(Default::default())
    }
}

/// Holds trials that are played together, and their recorded rows.
pub(super) struct Recorded<T> {
    pub(super) trials: T,
    /// The number of each trial and its rows.
    rows: Vec<(u64, Trace)>,
}

impl<T: Trials> Recorded<T> {
    pub(super) fn new(trials: T, numbers: impl Iterator<Item = u64>, measures: Measures) -> Self {
        Self { trials, rows: numbers.map(|number| (number, Trace::new(measures))).collect() }
    }

    /// Returns the number of trials.
    pub(super) fn n_trials(&self) -> usize {
        self.rows.len()
    }

    /// Runs the second half of a round, of which the first is [`Trials::propose`].
    ///
    /// * `recorded` — whether each trial adds a row
    pub(super) fn finish(&mut self, round: u64, recorded: bool, observer: &dyn Observer) -> Result<(), Error> {
        self.trials.decide()?;
        self.trials.learn(round, observer)?;
        if recorded {
            for (place, (number, rows)) in self.rows.iter_mut().enumerate() {
                let (point, measured) = self.trials.row(place)?;
                rows.push(*number, round, point, measured);
            }
        }
        Ok(())
    }

    /// Plays rounds of one trial after the other, where none waits for another; `play` plays rounds of the trial at a place.
    pub(super) fn play_apart(
        &mut self,
        rounds: &Range<u64>,
        recorded: &[u64],
        play: impl Fn(&mut T, usize, Range<u64>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let recorded = &recorded[recorded.partition_point(|&round| round < rounds.start)..];
        let recorded = &recorded[..recorded.partition_point(|&round| round < rounds.end)];
        for (place, (number, rows)) in self.rows.iter_mut().enumerate() {
            let mut first = rounds.start;
            for &round in recorded {
                play(&mut self.trials, place, first..round + 1)?;
                let (point, measured) = self.trials.row(place)?;
                rows.push(*number, round, point, measured);
                first = round + 1;
            }
            play(&mut self.trials, place, first..rounds.end)?;
        }
        Ok(())
    }

    /// Returns the results of trials that have ended.
    pub(super) fn into_result(self) -> Result<BatchResult, Error> {
        let (counters, trials) = self.trials.end()?;
        let mut result = BatchResult { rows: Trace::default(), counters, trials };
        self.rows.into_iter().for_each(|(_, rows)| result.rows.extend(rows));
        Ok(result)
    }
}

impl Rounds<'_> {
    /// Plays rounds 1 to `n_rounds` of all parts of a batch and reports progress; returns `None` if stopped before the last.
    ///
    /// While a part is scored in the background, the others decide, observe and update.
    pub(super) fn play<T: Trials>(&self, n_rounds: u64, mut parts: Vec<Recorded<T>>) -> Result<Option<BatchResult>, Error> {
        let n_trials = parts.iter().map(|part| part.n_trials() as u64).sum::<u64>();
        let mut next_recorded = self.recorded.iter().copied().peekable();
        for part in &mut parts {
            part.trials.propose(1)?;
        }
        for round in 1..=n_rounds {
            if round % STOP_EVERY == 0 {
                if self.stop.asked() {
                    return Ok(None);
                }
                self.observer.progressed(STOP_EVERY * n_trials);
            }
            let recorded = next_recorded.next_if_eq(&round).is_some();
            for part in &mut parts {
                part.finish(round, recorded, self.observer)?;
                if round < n_rounds {
                    part.trials.propose(round + 1)?;
                }
            }
        }
        self.observer.progressed(n_rounds % STOP_EVERY * n_trials);
        let mut result = BatchResult::default();
        for part in parts {
            result.append(part.into_result()?);
        }
        Ok(Some(result))
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
}
