//! Records what the engine reports of the replays of one cell.

use super::fit::Transcripts;
use super::participation::takes_part;
use crate::audit::Side;
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_engine::engine::{Observer, Place, Trace, Unit};
use privateer_numerics::linalg::dot;
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::interactions::{ArmStep, InteractionSignal};
use privateer_privacy::{Query, Released, Signal};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Records the releases and rows of all trials.
#[derive(Default)]
pub(super) struct Transcript {
    pub(super) rounds: usize,
    /// The rounds of the attacked user.
    pub(super) participation: Participation,
    /// Whether sums are released, of features or of batches.
    pub(super) sums: bool,
    /// Number of features of a context.
    pub(super) dimension: usize,
    /// Number of first entries of the user's context that change sign between the sides.
    pub(super) flipped: usize,
    /// Whether a learner's releases and answers are stored.
    pub(super) learns: bool,
    pub(super) trials: Mutex<BTreeMap<u64, TrialRecord>>,
    pub(super) rows: Mutex<Trace>,
}

#[derive(Default)]
pub(super) struct TrialRecord {
    /// Features of the point of round 1.
    features: Vec<f64>,
    /// The arm of round 1.
    arm: usize,
    /// The last released sums along what changed in round 1: of the vector, and of the matrix.
    last: [f64; 2],
    /// A number for each round's release, or for those of the user alone; then one for each round's matrix if contexts change.
    told: Vec<f64>,
    /// A number for each round's answer.
    answers: Vec<f64>,
}

impl TrialRecord {
    /// Returns how far released sums moved since their last release.
    fn moved(&mut self, of: usize, along: f64) -> f64 {
        along - std::mem::replace(&mut self.last[of], along)
    }
}

impl Transcript {
    /// Returns the numbers told and the answers, one row per trial, and the recorded rows.
    ///
    /// * `side_of` — the side of a trial
    pub(super) fn heard(self, side_of: impl Fn(u64) -> Side) -> (Transcripts, Transcripts, Trace) {
        let trials = self.trials.into_inner().unwrap_or_else(PoisonError::into_inner);
        let width = trials.values().map(|trial| trial.told.len()).max().unwrap_or(1);
        let empty = || Transcripts { width, first: Vec::new(), second: Vec::new() };
        let (mut told, mut answers) = (empty(), empty());
        for (number, trial) in trials {
            let side = side_of(number);
            side.pick(&mut told.first, &mut told.second).extend(trial.told);
            side.pick(&mut answers.first, &mut answers.second).extend(trial.answers);
        }
        (told, answers, self.rows.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the record of a trial, which begins with zeros in round 1.
    fn record(&self, at: Place, change: impl FnOnce(&mut TrialRecord, usize)) {
        let mut trials = self.trials.lock().unwrap_or_else(PoisonError::into_inner);
        if at.round == 1 {
            trials.remove(&at.trial);
        }
        let width = self.rounds * if 0 < self.flipped { 2 } else { 1 };
        let zeros = || TrialRecord { told: vec![0.0; width], answers: vec![0.0; self.rounds], ..TrialRecord::default() };
        change(trials.entry(at.trial).or_insert_with(zeros), at.round as usize - 1);
    }
}

impl Observer for Transcript {
    fn released(&self, at: Place, query: &Query<'_>, signal: &Released<Signal>) {
        let entries = match signal.value() {
            Signal::Sums(sums) => &sums.entries[..],
            // In the local model the items of other users carry no information.
            Signal::Item(item) if takes_part(self.participation, at.round) => &item.entries,
            Signal::Reward(mean) if self.sums => std::slice::from_ref(mean),
            // The candidate of round 1 is the first.
            Signal::Choice(at) => [[0.0], [1.0]][usize::from(*at == 0)].as_slice(),
            Signal::Reward(_) | Signal::Item(_) | Signal::Nothing if !takes_part(self.participation, at.round) => return,
            Signal::Reward(reward) => {
                return self.record(at, |trial, round| {
                    if round == 0 {
                        trial.told.clear();
                    }
                    trial.told.push(*reward);
                });
            }
            Signal::Item(_) | Signal::Nothing => &[],
        };
        self.record(at, |trial, round| {
            if round == 0 {
                trial.features = if query.features.is_empty() { vec![1.0] } else { query.features.to_vec() };
            }
            // The vector `sum y phi` is at the end of the entries.
            if let Some(start) = entries.len().checked_sub(trial.features.len()).filter(|_| !entries.is_empty()) {
                trial.told[round] = trial.moved(0, dot(&entries[start..], &trial.features));
            }
        });
    }

    /// Records each release along what changed: of sums, the entries that one user's contexts and opposite rewards move, or the
    /// vertex's sign.
    fn visited(&self, at: Place, arm: usize, signal: &Released<InteractionSignal<'_>>) {
        self.record(at, |trial, round| {
            if round == 0 {
                trial.arm = arm;
            }
            trial.told[round] = match *signal.value() {
                InteractionSignal::Sums { layout, entries, .. } => {
                    let (group, start) = layout.place(trial.arm);
                    let (matrix, vector) = layout.group(entries, group);
                    let (n, end) = (layout.n_rows(), start + layout.dimension);
                    // Products of an entry that changes sign with one that does not; rows of the packed triangle start on the diagonal.
                    let row = |i: usize| &matrix[i * (2 * n - i + 1) / 2..][start + self.flipped - i..end - i];
                    if 0 < self.flipped {
                        let along = (start..start + self.flipped).flat_map(row).sum();
                        trial.told[self.rounds + round] = trial.moved(1, along);
                    }
                    trial.moved(0, vector[start + self.flipped..end].iter().sum())
                }
                InteractionSignal::Steps(steps) => match steps[trial.arm] {
                    // The first d vertices are along the positive axes, the others along the negative ones.
                    ArmStep::Vertex(index) if index < self.dimension => 1.0,
                    ArmStep::Vertex(_) => -1.0,
                    ArmStep::Zero | ArmStep::None => 0.0,
                },
                InteractionSignal::Interaction(interaction) if round == 0 => interaction.reward,
                InteractionSignal::Interaction(_) | InteractionSignal::Nothing => 0.0,
            };
        });
    }

    fn keeps_transcripts(&self) -> bool {
        self.learns
    }

    /// Records the sums over the entries of a release and of an answer.
    fn learned(&self, at: Place, released: &[f64], answer: &[f64]) {
        self.record(at, |trial, round| {
            (trial.told[round], trial.answers[round]) = (released.iter().sum(), answer.iter().sum());
        });
    }

    fn finished(&self, _unit: Unit, rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).extend(rows);
        Ok(())
    }
}
