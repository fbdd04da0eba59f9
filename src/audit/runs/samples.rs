//! Audits samples of a learner: the first has the largest gradient, in one direction or the other.
//!
//! All other samples are zeros, whose gradients vanish. **White box**: all releases. **Black box**: the answers after every
//! round.

use super::fit::Transcripts;
use super::replay::{AttackerView, ReplayJob, RunAttack, attack, side_of};
use crate::engine::{Observer, Place, Trace, Unit};
use crate::oco::learner::Rates;
use crate::oco::problem::{Problem, ProblemContext, Trial};
use crate::spec::{CellPlan, OnlinePlan, Task};
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_privacy::Ledger;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Magnitude of the planted sample's response, far beyond every clip of a slope.
const RESPONSE: f64 = 1e6;

/// Returns both attacks on a cell that claims privacy.
pub(super) fn attacks(
    job: &ReplayJob<'_>,
    plan: &CellPlan,
    online: &OnlinePlan,
    ledger: &Ledger,
) -> Result<Vec<RunAttack>, Error> {
    let mut planted = plan.clone();
    // The choice of a rate on validation data is no part of the claim.
    let rates = match &online.rates {
        Rates::Validated { grid, .. } => Rates::Fixed(grid.first().copied().unwrap_or(1.0)),
        Rates::Fixed(rate) => Rates::Fixed(*rate),
    };
    let (inner, samples) = (Arc::clone(&online.problem), job.samples());
    let problem = Arc::new(move |context: &ProblemContext<'_>| {
        let Problem { setting, facts, trial } = inner(context)?;
        let ones = vec![1.0; setting.set.dimension()];
        let x = setting.sample_radius / setting.set.norm().dual().size(&ones);
        let planted = move |number: u64| {
            let mut first = Some((x, side_of(number, samples).pick(RESPONSE, -RESPONSE)));
            Trial::new(ones.len(), trial(0).score, move |features| {
                let (entry, response) = first.take().unwrap_or_default();
                features.fill(entry);
                response
            })
        };
        Ok(Problem { setting, facts, trial: Box::new(planted) })
    });
    planted.task = Task::Online(online.on(problem, rates));
    let heard = SampleTranscript { rounds: plan.rounds as usize, trials: Mutex::default() };
    job.play(planted, &heard)?;
    let empty = || Transcripts { width: plan.rounds as usize, first: Vec::new(), second: Vec::new() };
    let (mut released, mut answered) = (empty(), empty());
    for (number, [told, answers]) in heard.trials.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let side = job.side(number);
        side.pick(&mut released.first, &mut released.second).extend(told);
        side.pick(&mut answered.first, &mut answered.second).extend(answers);
    }
    let (white, black) = (released.discriminant(), answered.logistic());
    let pair = "the first sample's gradient is one way against the other, all other samples zero";
    let (all, answers) = ("a linear discriminant of all releases along it", "a logistic fit on all answers along it");
    Ok(vec![
        attack(plan, ledger, AttackerView::Releases, pair, all, white),
        attack(plan, ledger, AttackerView::Plays, pair, answers, black),
    ])
}

/// Records what the engine reports.
struct SampleTranscript {
    rounds: usize,
    /// Sums over the entries of the releases, and of the answers, in each round of a trial.
    trials: Mutex<BTreeMap<u64, [Vec<f64>; 2]>>,
}

impl Observer for SampleTranscript {
    fn keeps_transcripts(&self) -> bool {
        true
    }

    fn learned(&self, at: Place, released: &[f64], answer: &[f64]) {
        let mut trials = self.trials.lock().unwrap_or_else(PoisonError::into_inner);
        let [told, answers] = trials.entry(at.trial).or_insert_with(|| [vec![0.0; self.rounds], vec![0.0; self.rounds]]);
        let round = at.round as usize - 1;
        (told[round], answers[round]) = (released.iter().sum(), answer.iter().sum());
    }

    fn finished(&self, _unit: Unit, _rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        Ok(())
    }
}
