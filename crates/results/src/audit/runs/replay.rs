//! Replays one cell: the first `settings.samples` trials on the first side, the rest on the second.

use super::fit::Transcripts;
use super::transcript::Transcript;
use crate::audit::rewards::claim;
use crate::audit::{Case, Settings, Side};
use privateer_backend::Backend;
use privateer_config::error::Error;
use privateer_engine::engine::{self, CellFacts, Options, Preparation, Stop, Trace};
use privateer_engine::env::DataFolder;
use privateer_engine::spec::{CellEnvironment, CellPlan, Recorded, Sweep, Task};
use privateer_privacy::{Event, Ledger};
use std::sync::Arc;

/// Default number of replayed rounds, for which the mechanisms are calibrated.
const ROUNDS: u64 = 32;
/// Number of rounds above which a replay records its rows on a logarithmic scale.
const KEPT: u64 = 64;

pub(super) struct RunAttack {
    pub(super) case: Case,
    pub(super) first: Vec<f64>,
    pub(super) second: Vec<f64>,
}

/// Holds the settings and inputs that all cells share.
pub(super) struct ReplayJob<'a> {
    pub(super) sweep: &'a Sweep,
    pub(super) data: &'a DataFolder,
    pub(super) backend: &'a dyn Backend,
    pub(super) settings: Settings,
}

impl ReplayJob<'_> {
    /// Returns the number of replays of a side.
    pub(super) fn samples(&self) -> u64 {
        self.settings.samples.max(200)
    }

    pub(super) fn side(&self, trial: u64) -> Side {
        side_of(trial, self.samples())
    }

    /// Returns the cell, shortened to the rounds that show the effect of round 1, and its facts.
    ///
    /// There are 32 rounds, more for a policy that uses its releases later, and twice as many as long as the policy refuses the
    /// number.
    pub(super) fn shortened(&self, plan: &CellPlan) -> Result<(CellPlan, CellFacts), Error> {
        let patience = match &plan.task {
            Task::Bandit(bandit) => (bandit.policy_plan.patience)(plan.rounds),
            Task::Contextual(_) | Task::Online(_) => 1,
        };
        let mut rounds = ROUNDS.max(2 * patience).min(plan.rounds);
        loop {
            let mut short = plan.clone();
            (short.index, short.rounds) = (0, rounds);
            let key = format!("{} for {rounds} rounds", plan.environment.key).into();
            short.environment = Arc::new(CellEnvironment { key, ..(*plan.environment).clone() });
            let sweep = self.sweep_of(vec![short.clone()], 1);
            match Preparation::new(&sweep, self.data, self.backend).facts_in_short(&short) {
                Ok(facts) => return Ok((short, facts)),
                Err(error) if rounds == plan.rounds => return Err(plan.placed(error)),
                Err(_) => rounds = (2 * rounds).min(plan.rounds),
            }
        }
    }

    /// Returns a sweep of these cells alone, with all trials in one block.
    pub(super) fn sweep_of(&self, cells: Vec<CellPlan>, trials: u64) -> Sweep {
        let longest = cells.iter().map(|cell| cell.rounds).max().unwrap_or(1);
        Sweep {
            name: self.sweep.name.clone(),
            seed: self.settings.seed,
            trials,
            block: trials,
            recorded: if longest <= KEPT { Recorded::All } else { Recorded::Log { per_decade: 20 } },
            audit: None,
            parameters: false,
            accepted: Vec::new(),
            memory_bytes: self.sweep.memory_bytes,
            cells: cells.into(),
            cells_a_part: 1,
            resolved: String::new(),
            hash: String::new(),
        }
    }

    /// Plays both sides of a cell; returns what [`Transcript::heard`] does.
    pub(super) fn play(&self, plan: CellPlan, transcript: Transcript) -> Result<(Transcripts, Transcripts, Trace), Error> {
        let sweep = self.sweep_of(vec![plan], 2 * self.samples());
        let preparation = Preparation::new(&sweep, self.data, self.backend);
        engine::run(&sweep, &preparation, Options::default(), &Default::default(), &Stop::new(), &transcript)?;
        Ok(transcript.heard(|trial| self.side(trial)))
    }
}

/// Returns the side of a trial: trials below `samples` are of the first side.
pub(super) fn side_of(trial: u64, samples: u64) -> Side {
    if trial < samples { Side::First } else { Side::Second }
}

/// Says what the attacker of a run sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttackerView {
    Releases,
    /// What is played or shown.
    Plays,
    ReleasedInputs,
    /// What is played by a policy that holds released inputs.
    PlaysOnInputs,
}

impl AttackerView {
    /// Returns the words that name a case; they also seed its streams.
    fn words(self) -> &'static str {
        match self {
            Self::Releases => "white box",
            Self::Plays => "black box",
            Self::ReleasedInputs => "inputs, white box",
            Self::PlaysOnInputs => "inputs, black box",
        }
    }

    fn sees_releases(self) -> bool {
        matches!(self, Self::Releases | Self::ReleasedInputs)
    }
}

/// Describes one attack on a cell: its kind, pair and score, and the scores of both sides.
pub(super) fn attack(
    plan: &CellPlan,
    ledger: &Ledger,
    view: AttackerView,
    pair: &str,
    score: &str,
    (first, second): (Vec<f64>, Vec<f64>),
) -> RunAttack {
    let (name, pair) = (format!("{}, {}", plan.label(), view.words()), format!("{pair}, all else fixed, {} rounds", plan.rounds));
    let case = Case::new(name, claim(ledger), pair, score, |_, _| f64::NAN).source(format!("docs/proofs/{}.md", proof(ledger)));
    // Post-processing of a release preserves Gaussian privacy. For plays, this second bound would cost a share of the error.
    let is_gaussian = 0.0 < ledger.delta && matches!(ledger.event, Event::Gaussian { .. } | Event::Sums { .. });
    let case = if is_gaussian && view.sees_releases() { case.gaussian() } else { case };
    RunAttack { case, first, second }
}

/// Returns the proof that supports the claim.
fn proof(ledger: &Ledger) -> &str {
    match (&ledger.event, ledger.mechanism.as_str()) {
        (Event::Sums { .. }, _) | (_, "local-gaussian") => "sums",
        _ if ledger.is_of_running_sums() => "sums",
        (Event::Choice { .. }, _) => "recommendation",
        (Event::Cap { .. } | Event::Ranks { .. }, _) => "privunit",
        (_, "batch-laplace" | "batch-gaussian") => "batches",
        (_, "batch-shuffle") => "shuffled",
        (Event::GeneralizedGaussian { .. } | Event::Choices { .. } | Event::Subsampled { .. }, _) => "accounting",
        (Event::Gaussian { .. }, _) => "gaussian",
        (_, mechanism) => mechanism,
    }
}

/// Returns the ends of the range of rewards; without a clip, one reward far from the other.
pub(super) fn ends(ledger: &Ledger) -> (f64, f64) {
    ledger.clip.map_or((1e3, 0.0), |[lo, hi]| (hi, lo))
}
