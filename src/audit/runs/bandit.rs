//! Audits points with rewards: one user's reward in round 1 is at either end of its range.
//!
//! Where rewards are released one by one, all other rewards are the mean rewards. Where sums are released, they are the centre
//! of the range, so that they add nothing to the sum of rewards. What is released of a batch is its mean.

use super::fit::{Transcripts, played};
use super::planted::{Canary, planted};
use super::replay::{AttackerView, ReplayJob, RunAttack, attack, ends};
use crate::engine::{Observer, Place, Preparation, Trace, Unit};
use crate::env::EnvironmentPlan;
use crate::spec::{BanditPlan, CellPlan, Task};
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_numerics::linalg::dot;
use privateer_privacy::{Ledger, Query, Released, Signal};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Returns the white-box and the black-box attack on a cell that claims privacy for rewards.
pub(super) fn attacks(
    job: &ReplayJob<'_>,
    plan: &CellPlan,
    bandit: &BanditPlan,
    ledger: &Ledger,
) -> Result<Vec<RunAttack>, Error> {
    let (first, second) = ends(ledger);
    let single = job.sweep_of(vec![plan.clone()], 1);
    let preparation = Preparation::new(&single, job.data, job.backend);
    let trial = preparation.cell(plan)?.trial(0)?;
    let others = trial.mechanism.sums().map(|sums| sums.facts().centre);
    let n_points = preparation.environment(plan, bandit)?.gram.n_points();
    let mut replay = plan.clone();
    let canary = Canary { samples: job.samples(), rewards: (first, second), others };
    let inner = Arc::clone(&bandit.environment_plan);
    let environment_plan = Arc::new(EnvironmentPlan::new(move |context| planted(&inner, Some(canary), context)));
    replay.task = Task::Bandit(BanditPlan { environment_plan, ..bandit.clone() });
    let heard = BanditTranscript {
        sums: others.is_some(),
        rounds: plan.rounds as usize,
        trials: Mutex::default(),
        rows: Mutex::default(),
    };
    job.play(replay, &heard)?;
    let (transcripts, rows) = heard.told(job);
    let pair = format!("the reward of round 1 is {first} against {second}");
    let (white, score) = if others.is_some() {
        (transcripts.discriminant(), "a linear discriminant of all sums along the features of round 1")
    } else {
        ((transcripts.first, transcripts.second), "what was released in round 1")
    };
    let black = played(&rows, job.samples(), n_points).logistic();
    Ok(vec![
        attack(plan, ledger, AttackerView::Releases, &pair, score, white),
        attack(plan, ledger, AttackerView::Plays, &pair, "a logistic fit on the points played after round 1", black),
    ])
}

/// Records what the engine reports.
struct BanditTranscript {
    /// Whether sums are released, of features or of batches.
    sums: bool,
    rounds: usize,
    trials: Mutex<BTreeMap<u64, BanditTrial>>,
    rows: Mutex<Trace>,
}

/// Holds the record of one trial.
struct BanditTrial {
    /// Features of the point of round 1.
    features: Vec<f64>,
    /// The last released sums along these features.
    last: f64,
    /// The change of `last` in each round's release; or the released reward of round 1.
    told: Vec<f64>,
}

impl BanditTranscript {
    /// Returns the transcripts, one row per trial, and the recorded rows.
    fn told(self, job: &ReplayJob<'_>) -> (Transcripts, Trace) {
        let trials = self.trials.into_inner().unwrap_or_else(PoisonError::into_inner);
        let width = trials.values().map(|trial| trial.told.len()).max().unwrap_or(1);
        let mut transcripts = Transcripts { width, first: Vec::new(), second: Vec::new() };
        for (number, trial) in trials {
            job.side(number).pick(&mut transcripts.first, &mut transcripts.second).extend(trial.told);
        }
        (transcripts, self.rows.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for BanditTranscript {
    fn released(&self, at: Place, query: &Query<'_>, signal: &Released<Signal>) {
        let entries = match signal.value() {
            Signal::Sums(sums) => &sums.entries[..],
            // In the local model the items of other users carry no information about round 1.
            Signal::Item(item) if at.round == 1 => &item.entries,
            Signal::Reward(mean) if self.sums => std::slice::from_ref(mean),
            Signal::Reward(_) | Signal::Item(_) | Signal::Nothing if 1 < at.round => return,
            Signal::Reward(reward) => {
                let trial = BanditTrial { features: Vec::new(), last: 0.0, told: vec![*reward] };
                self.trials.lock().unwrap_or_else(PoisonError::into_inner).insert(at.trial, trial);
                return;
            }
            Signal::Item(_) | Signal::Nothing => &[],
        };
        let mut trials = self.trials.lock().unwrap_or_else(PoisonError::into_inner);
        if at.round == 1 {
            let features = if query.features.is_empty() { vec![1.0] } else { query.features.to_vec() };
            let trial = BanditTrial { features, last: 0.0, told: vec![0.0; self.rounds] };
            trials.insert(at.trial, trial);
        }
        let Some(trial) = trials.get_mut(&at.trial) else { return };
        // The vector `sum y phi` is at the end of the entries.
        if let Some(start) = entries.len().checked_sub(trial.features.len()).filter(|_| !entries.is_empty()) {
            let along = dot(&entries[start..], &trial.features);
            trial.told[at.round as usize - 1] = along - trial.last;
            trial.last = along;
        }
    }

    fn finished(&self, _unit: Unit, rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).extend(rows);
        Ok(())
    }
}
