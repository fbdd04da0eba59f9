//! Replays of one cell: trials below `settings.samples` are of the first side, as many more of the second.

use crate::audit::rewards::claim;
use crate::audit::study::About;
use crate::audit::{Settings, Side};
use crate::engine::{self, CellFacts, Observer, Options, Preparation, Stop};
use crate::env::DataFolder;
use crate::spec::{CellPlan, Recorded, Sweep, Task};
use privateer_backend::Backend;
use privateer_config::error::Error;
use privateer_privacy::{Event, Ledger};

/// Rounds that are replayed where nothing asks for more, by mechanisms calibrated for so many.
const ROUNDS: u64 = 32;
/// Rows of a replay that are kept: those of longer ones are spread on a logarithmic scale.
const KEPT: u64 = 64;

/// One attack on one claim, with its scores.
pub(super) struct Look {
    pub(super) about: About,
    pub(super) first: Vec<f64>,
    pub(super) second: Vec<f64>,
}

/// What all cells share.
pub(super) struct ReplayJob<'a> {
    pub(super) sweep: &'a Sweep,
    pub(super) data: &'a DataFolder,
    pub(super) backend: &'a dyn Backend,
    pub(super) settings: Settings,
}

impl ReplayJob<'_> {
    /// Replays of a side.
    pub(super) fn samples(&self) -> u64 {
        self.settings.samples.max(200)
    }

    /// Which side a trial is of.
    pub(super) fn side(&self, trial: u64) -> Side {
        side_of(trial, self.samples())
    }

    /// The cell on as few rounds as show what round 1 does, and what it claims there: 32, more for a policy that looks at its releases
    /// later, twice as many while the policy refuses so few.
    pub(super) fn shortened(&self, plan: &CellPlan) -> Result<(CellPlan, CellFacts), Error> {
        let patience = match &plan.task {
            Task::Bandit(bandit) => bandit.policy_plan.patience(plan.rounds),
            Task::Contextual(_) | Task::Online(_) => 1,
        };
        let mut rounds = ROUNDS.max(2 * patience).min(plan.rounds);
        loop {
            let mut short = plan.clone();
            (short.index, short.rounds) = (0, rounds);
            short.environment_key = format!("{} for {rounds} rounds", plan.environment_key);
            let sweep = self.sweep_of(vec![short.clone()], 1);
            match Preparation::new(&sweep, self.data, self.backend).facts_in_short(&short) {
                Ok(facts) => return Ok((short, facts)),
                Err(error) if rounds == plan.rounds => return Err(plan.placed(error)),
                Err(_) => rounds = (2 * rounds).min(plan.rounds),
            }
        }
    }

    /// These cells alone, all trials in one block.
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
            memory_bytes: self.sweep.memory_bytes,
            cells,
            resolved: String::new(),
            hash: String::new(),
        }
    }

    /// Plays both sides of a cell.
    pub(super) fn play(&self, plan: CellPlan, observer: &dyn Observer) -> Result<(), Error> {
        let sweep = self.sweep_of(vec![plan], 2 * self.samples());
        let preparation = Preparation::new(&sweep, self.data, self.backend);
        engine::run(&sweep, &preparation, Options::default(), &Default::default(), &Stop::new(), observer).map(|_| ())
    }
}

/// Trials below `samples` are of the first side.
pub(super) fn side_of(trial: u64, samples: u64) -> Side {
    if trial < samples { Side::First } else { Side::Second }
}

/// A look at a cell: how, at which pair, by which score, and the scores of both sides.
pub(super) fn look(
    plan: &CellPlan,
    ledger: &Ledger,
    how: &str,
    pair: &str,
    score: &str,
    (first, second): (Vec<f64>, Vec<f64>),
) -> Look {
    let about = About {
        name: format!("{}, {how}", plan.label()),
        claim: claim(ledger),
        // Gaussian privacy is kept by whatever is made of a release; of what was played it would cost a share of the error.
        gaussian: how.ends_with("white box")
            && 0.0 < ledger.delta
            && matches!(ledger.event, Event::Gaussian { .. } | Event::Sums { .. }),
        erratum: None,
        source: format!("docs/proofs/{}.md", proof(ledger)),
        pair: format!("{pair}, all else fixed, {} rounds", plan.rounds),
        score: score.to_owned(),
    };
    Look { about, first, second }
}

/// The proof that the claim stands on.
fn proof(ledger: &Ledger) -> &str {
    match (&ledger.event, ledger.mechanism.as_str()) {
        (Event::Sums { .. }, _) | (_, "tree" | "honaker" | "blt" | "sqrt-toeplitz" | "own") => "sums",
        (Event::GeneralizedGaussian { .. } | Event::Choices { .. } | Event::Subsampled { .. }, _) => "accounting",
        (Event::Gaussian { .. }, _) => "gaussian",
        (_, mechanism) => mechanism,
    }
}

/// The ends of the range of rewards. Without a clip the worst pair is any: one reward far from the other.
pub(super) fn ends(ledger: &Ledger) -> (f64, f64) {
    ledger.clip.map_or((1e3, 0.0), |[lo, hi]| (hi, lo))
}
