//! Runs trials of a cell whose rewards the caller measures: ask for one point in each trial, tell one reward for each.

use super::lockstep::LockstepTrials;
use super::prepare::Preparation;
use super::ready_cell::ReadyCell;
use super::rounds::Trials;
use crate::spec::CellPlan;
use privateer_config::error::{Diagnostic, Error};
use privateer_config::memory::allow;
use privateer_privacy::Ledger;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// Simulates some trials of a cell whose rewards come from the caller, a program under study for example.
///
/// The cell's mechanism releases each reward, with the noise of the trial's own stream, before the cell's policy sees it. The same
/// rewards as in a run give the same points as in the run. The noise is reproducible, so that this simulates a mechanism and
/// protects nobody: rewards of real people belong in a [`Session`](super::Session).
///
/// # Example: four trials, saved in the middle of a round
/// ```
/// # extern crate privateer_engine as privateer;
/// use privateer::{AskTell, AskTellState, Cpu, DataFolder, Preparation, Sweep};
/// let text = r#"
///     rounds = 5
///     trials = 4
///     environment = { kind = "rkhs", bound = 2.0, domain = { kind = "grid", points = 9 }, kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }, noise = { kind = "uniform", bound = 1.0 } }
///     privacy = { mechanism = "laplace", epsilon = 1.0 }
///     policy = [{ kind = "tgp-ucb" }]
/// "#;
/// let sweep = Sweep::parse("ask.toml", text, &[])?;
/// let (data, backend) = (DataFolder::default(), Cpu::default());
/// let preparation = Preparation::new(&sweep, &data, &backend);
/// let mut trials = AskTell::new(&preparation, &sweep.cells[0], 0..4)?;
/// while !trials.is_over() {
///     let points = trials.ask()?.to_vec();
///     let saved = serde_json::to_string(&trials.save()?).expect("plain data");
///     let state: AskTellState = serde_json::from_str(&saved).expect("plain data");
///     trials = AskTell::restore(&preparation, &sweep.cells[0], &state)?;
///     let rewards: Vec<f64> = points.iter().map(|&point| 0.1 * point as f64).collect();
///     let released = trials.tell(&rewards)?;
///     assert!(released.iter().flatten().all(|reward| reward.is_finite()));
/// }
/// assert_eq!(trials.recommend()?.len(), 4);
/// # Ok::<(), privateer::Error>(())
/// ```
pub struct AskTell {
    cell: ReadyCell,
    trials: LockstepTrials,
    state: AskTellState,
}

/// Holds the state of an [`AskTell`] between two of its calls: what it was told.
///
/// It holds the rewards as they were measured, and is as secret as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskTellState {
    spec_hash: String,
    cell: u32,
    first: u64,
    n_trials: u64,
    /// The rewards of each round that is over, one for each trial.
    told: Vec<Vec<f64>>,
    is_asked: bool,
}

/// Least memory of a trial, in bytes: its streams, policy and mechanism before the first round.
const LEAST_TRIAL: f64 = 4096.0;

fn damaged(why: &str) -> Error {
    Diagnostic::new(format!("the state of the trials is damaged: {why}")).hint("restore it from a copy").error()
}

impl AskTell {
    /// Makes the trials of these numbers, from 0, before their first round.
    ///
    /// # Errors
    /// What a run of the cell would refuse; no trial; a cell without points, or over a product of axes.
    pub fn new(preparation: &Preparation<'_>, plan: &CellPlan, trials: Range<u64>) -> Result<Self, Error> {
        if trials.is_empty() {
            return Diagnostic::new("no trial is asked for").expected("a range of numbers, such as `0..32`").refuse();
        }
        let cell = preparation.listed(plan)?;
        let (first, n_trials) = (trials.start, trials.end.saturating_sub(trials.start));
        allow(cell.memory_bytes, &format!("{n_trials} trials"), LEAST_TRIAL * n_trials as f64, "ask for fewer trials")?;
        let trials = LockstepTrials::start(&cell, trials, cell.open_screen(n_trials as usize, false), &BTreeMap::new())?;
        let spec_hash = preparation.spec_hash().to_owned();
        let state = AskTellState { spec_hash, cell: plan.index, first, n_trials, told: Vec::new(), is_asked: false };
        Ok(Self { cell, trials, state })
    }

    /// Restores trials from their saved state, with the spec and cell that they began with: they are told the same again.
    ///
    /// # Errors
    /// As [`AskTell::new`]; a state of another spec or cell, or one that is damaged.
    pub fn restore(preparation: &Preparation<'_>, plan: &CellPlan, state: &AskTellState) -> Result<Self, Error> {
        if state.spec_hash != preparation.spec_hash() || state.cell != plan.index {
            let problem = "the trials were begun with another spec or cell";
            return Diagnostic::new(problem).hint("restore them with their own").refuse();
        }
        let Some(end) = state.first.checked_add(state.n_trials) else {
            return Err(damaged("its trials do not exist"));
        };
        let mut made = Self::new(preparation, plan, state.first..end)?;
        made.follow(state).map_err(|why| damaged(&why.to_string()))?;
        Ok(made)
    }

    fn follow(&mut self, state: &AskTellState) -> Result<(), Error> {
        for rewards in &state.told {
            self.ask()?;
            self.tell(rewards)?;
        }
        if state.is_asked {
            self.ask()?;
        }
        Ok(())
    }

    /// Returns what the trials were told, from which [`AskTell::restore`] makes them again.
    ///
    /// # Errors
    /// If the policy is one from outside, which promises nothing of what it asks when it is told the same again.
    pub fn save(&self) -> Result<AskTellState, Error> {
        if self.trials.players.are_outside() {
            return Diagnostic::new(format!(
                "`{}` is a policy from outside, which keeps no state to save",
                self.cell.plan.policy
            ))
            .hint("tell the same rewards again to new trials: they ask for the same points")
            .refuse();
        }
        Ok(self.state.clone())
    }

    /// Returns the point that each trial observes next; the same points until their rewards are told.
    ///
    /// # Errors
    /// After the horizon; if the backend fails, a score is not finite, or a policy from outside fails.
    pub fn ask(&mut self) -> Result<&[usize], Error> {
        if !self.state.is_asked {
            self.refuse_after_horizon()?;
            self.trials.propose(self.round())?;
            self.trials.decide()?;
            self.state.is_asked = true;
        }
        Ok(&self.trials.players.points)
    }

    /// Takes the reward that was measured at each trial's point; returns each as it was released to the policy.
    ///
    /// `None` stands where the mechanism releases sums.
    ///
    /// # Errors
    /// If no points are asked, the rewards are not one for each trial, or one is not finite: nothing changes then. If a policy
    /// from outside fails.
    pub fn tell(&mut self, rewards: &[f64]) -> Result<Vec<Option<f64>>, Error> {
        let refuse = |problem: String, expected: String| Diagnostic::new(problem).expected(expected).refuse();
        if !self.state.is_asked {
            self.refuse_after_horizon()?;
            return refuse("no points are asked".to_owned(), "`ask` before `tell`".to_owned());
        }
        let n_trials = self.trials.sources.len();
        if rewards.len() != n_trials {
            return refuse(format!("{} rewards are told", rewards.len()), format!("one for each of the {n_trials} trials"));
        }
        if let Some(place) = rewards.iter().position(|reward| !reward.is_finite()) {
            let problem = format!("the reward of trial {} is {}", self.trials.players.players[place].number, rewards[place]);
            return refuse(problem, "a finite number".to_owned());
        }
        self.state.is_asked = false;
        for (source, &reward) in self.trials.sources.iter_mut().zip(rewards) {
            source.told = Some(reward);
        }
        self.trials.learn(self.round(), &())?;
        self.state.told.push(rewards.to_vec());
        Ok(self.trials.released.clone())
    }

    fn refuse_after_horizon(&self) -> Result<(), Error> {
        if !self.is_over() {
            return Ok(());
        }
        Diagnostic::new(format!("all {} rounds are told", self.cell.plan.rounds)).hint("state more `rounds` in the spec").refuse()
    }

    /// Returns the point that each trial's policy would recommend; `None` before its first play.
    ///
    /// # Errors
    /// If a policy from outside fails.
    pub fn recommend(&self) -> Result<Vec<Option<usize>>, Error> {
        (0..self.trials.sources.len()).map(|place| self.trials.players.recommend(place)).collect()
    }

    /// Returns the points that a trial may play in the asked round, ascending; `None` where all may be played.
    ///
    /// * `place` — the trial's place in the range, from 0
    pub fn allowed(&self, place: usize) -> Option<&[u32]> {
        self.trials.players.players.get(place)?.set.as_deref()
    }

    /// Returns the number of points of the domain.
    pub fn n_points(&self) -> usize {
        self.cell.n_points()
    }

    /// Returns the coordinates of a point, if the domain has any.
    pub fn point(&self, point: usize) -> Option<&[f64]> {
        self.cell.point(point)
    }

    /// Returns the round of the asked points, from 1; between two rounds, the coming one.
    pub fn round(&self) -> u64 {
        self.state.told.len() as u64 + 1
    }

    /// Returns whether all rounds are told.
    pub fn is_over(&self) -> bool {
        self.cell.plan.rounds < self.round()
    }

    /// Returns the ledger of one user's reward, as simulated.
    pub fn ledger(&self) -> Ledger {
        self.trials.sources[0].channel.ledger()
    }
}
