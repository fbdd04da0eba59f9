//! Audits of whole runs: the real engine plays every policy of a spec twice, with one person's reward at either end of its range
//! in round 1 and all else fixed. **White box**: the score is what the mechanism released of that reward, as the policy got it.
//! **Black box**: the score is a logistic fit on the points played later, made on a half of the replays that is not judged.

use super::canary::CanaryPlan;
use super::rewards::claim;
use super::study::About;
use super::{Finding, Settings, logistic};
use crate::backend::{Backend, Counters};
use crate::engine::{self, Observer, Options, Preparation, Rows, Stop, Unit};
use crate::env::DataFolder;
use crate::error::Error;
use crate::privacy::{Event, Released, Signal};
use crate::spec::{BanditPlan, CellPlan, Recorded, Sweep, Task};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Rounds that are replayed, by mechanisms calibrated for so many: what comes later is a function of what was released.
const ROUNDS: u64 = 32;
/// Points are told apart in so many groups.
const GROUPS: usize = 24;

/// Audits every cell of a sweep that claims something for people's rewards: both looks where one reward at a time is released,
/// the second where sums are. Cells whose inputs a curator gives out, product domains, decision sets and learners are passed
/// over.
///
/// # Errors
/// Whatever a run of the spec would refuse.
pub fn of_runs(sweep: &Sweep, data: &DataFolder, backend: &dyn Backend, settings: Settings) -> Result<Vec<Finding>, Error> {
    let preparation = Preparation::new(sweep, data, backend);
    let mut planned = Vec::new();
    for plan in &sweep.cells {
        let Task::Bandit(bandit) = &plan.task else { continue };
        let ledger = preparation.facts(plan).map_err(|error| plan.placed(error))?.ledger;
        if ledger.epsilon.is_none() || bandit.curator.is_some() {
            continue;
        }
        let environment = preparation.environment(plan, bandit).map_err(|error| plan.placed(error))?;
        if environment.product().is_some() || environment.set_size().is_some() {
            continue;
        }
        // Without a clip the worst pair is any: one reward far from the other.
        let ends = ledger.clip.map_or((1e3, 0.0), |[lo, hi]| (hi, lo));
        planned.push((plan, bandit, ledger, ends));
    }
    // Two looks at every cell.
    let alpha = (1.0 - settings.confidence) / (2 * planned.len().max(1)) as f64;
    let mut findings = Vec::new();
    for (plan, bandit, ledger, (first, second)) in planned {
        let replays = Replays { sweep, data, backend, plan, bandit, settings };
        let (one, other) = (replays.of(first)?, replays.of(second)?);
        let gaussian = 0.0 < ledger.delta;
        let about = |how: &str, score: &str| About {
            name: format!("{}, {how}", plan.label()),
            claim: claim(&ledger),
            gaussian,
            erratum: None,
            source: format!("docs/proofs/{}.md", ledger.mechanism),
            pair: format!(
                "the reward of round 1 is {first} against {second}, all else fixed, {} rounds",
                plan.rounds.min(ROUNDS)
            ),
            score: score.to_owned(),
        };
        let rewards = !matches!(ledger.event, Event::Sums { .. });
        if rewards {
            findings.push(about("white box", "what was released in round 1").found(&one.released, &other.released, alpha));
        }
        let (one, other) = (one.features(), other.features());
        let half = one.len() / 2;
        let (fitted, weights) = (half / WIDTH * WIDTH, fitted(&one, &other));
        let scored =
            |rows: &[f64]| rows[fitted..].chunks_exact(WIDTH).map(|row| crate::linalg::dot(row, &weights)).collect::<Vec<f64>>();
        let black = About { gaussian: false, ..about("black box", "a logistic fit on the points played after round 1") };
        findings.push(black.found(&scored(&one), &scored(&other), alpha));
    }
    Ok(findings)
}

/// Visits of each group, the group played in round 2, and a constant.
const WIDTH: usize = 2 * GROUPS + 1;

/// The fit on the first half of the replays of both sides.
fn fitted(one: &[f64], other: &[f64]) -> Vec<f64> {
    let half = one.len() / 2 / WIDTH * WIDTH;
    let rows = [&one[..half], &other[..half]].concat();
    let labels: Vec<bool> = (0..2 * half / WIDTH).map(|row| row < half / WIDTH).collect();
    logistic::fit(&rows, WIDTH, &labels)
}

struct Replays<'a> {
    sweep: &'a Sweep,
    data: &'a DataFolder,
    backend: &'a dyn Backend,
    plan: &'a CellPlan,
    bandit: &'a BanditPlan,
    settings: Settings,
}

impl Replays<'_> {
    /// All replays with this reward in round 1. Both sides share their luck: a bound on each needs no independence.
    fn of(&self, reward: f64) -> Result<Transcripts, Error> {
        let mut plan = self.plan.clone();
        plan.index = 0;
        plan.rounds = plan.rounds.min(ROUNDS);
        let inner = Arc::clone(&self.bandit.environment_plan);
        plan.task = Task::Bandit(BanditPlan { environment_plan: Arc::new(CanaryPlan { inner, reward }), ..self.bandit.clone() });
        plan.environment_key = format!("{} canary {reward}", plan.environment_key);
        let samples = self.settings.samples.max(200);
        let sweep = Sweep {
            name: self.sweep.name.clone(),
            seed: self.settings.seed,
            trials: samples,
            block: samples,
            recorded: Recorded::All,
            audit: None,
            parameters: false,
            memory_bytes: self.sweep.memory_bytes,
            cells: vec![plan],
            resolved: String::new(),
            hash: String::new(),
        };
        let preparation = Preparation::new(&sweep, self.data, self.backend);
        let heard = Heard::default();
        engine::run(&sweep, &preparation, Options::default(), &Default::default(), &Stop::new(), &heard)?;
        let Heard { released, rows } = heard;
        let released = released.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect();
        let rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
        let n_points =
            sweep.cells.first().map_or(Ok(1), |plan| preparation.cell(plan).map(|cell| cell.environment.gram().n_points()))?;
        Ok(Transcripts { released, rows, n_points })
    }
}

/// What the replays of one side gave out, in the order of the trials.
struct Transcripts {
    released: Vec<f64>,
    rows: Rows,
    n_points: usize,
}

impl Transcripts {
    /// One row of `WIDTH` numbers a replay.
    fn features(&self) -> Vec<f64> {
        let n_trials = self.released.len();
        let mut features = vec![0.0; n_trials * WIDTH];
        for ((&trial, &round), point) in self.rows.trial.iter().zip(&self.rows.round).zip(&self.rows.point) {
            let row = &mut features[trial as usize * WIDTH..][..WIDTH];
            row[2 * GROUPS] = 1.0;
            let group = point.map_or(0, |point| point as usize * GROUPS / self.n_points.max(1)).min(GROUPS - 1);
            if 1 < round {
                row[group] += 1.0;
            }
            if round == 2 {
                row[GROUPS + group] = 1.0;
            }
        }
        features
    }
}

/// Listens to the engine.
#[derive(Default)]
struct Heard {
    released: Mutex<BTreeMap<u64, f64>>,
    rows: Mutex<Rows>,
}

impl Observer for Heard {
    fn progressed(&self, _trial_rounds: u64) {}

    fn released(&self, _cell: u32, trial: u64, round: u64, signal: &Released<Signal>) {
        if round == 1 {
            let reward = signal.reward().unwrap_or(0.0);
            self.released.lock().unwrap_or_else(PoisonError::into_inner).insert(trial, reward);
        }
    }

    fn finished(&self, _unit: Unit, rows: Rows, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).extend(rows);
        Ok(())
    }
}
