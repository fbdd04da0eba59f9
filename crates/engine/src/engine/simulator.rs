//! Simulates one trial step by step, for programs that choose the points themselves.

use super::decider::Decider;
use super::lockstep::LockstepTrials;
use super::players::Players;
use super::prepare::Preparation;
use super::ready_cell::ReadyCell;
use super::reward_source::RewardSource;
use super::rounds::Trials;
use crate::policy::{Policy, PolicyStreams, Proposal};
use crate::spec::CellPlan;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::{Ledger, Released, Signal};

/// One trial of a cell, whose points the caller chooses.
///
/// Function, noise and privacy noise are those of the cell's recorded run: a caller that plays the recorded points is given the
/// same rewards. The cell's policy says which kind of mechanism releases them, and plays no part otherwise.
///
/// ```
/// # extern crate privateer_engine as privateer;
/// use privateer::{Cpu, DataFolder, Preparation, Simulator, Sweep};
/// let text = r#"
///     rounds = 3
///     environment = { kind = "rkhs", bound = 2.0, domain = { kind = "grid", points = 9 }, kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }, noise = { kind = "uniform", bound = 1.0 } }
///     privacy = { mechanism = "laplace", epsilon = 1.0 }
///     policy = [{ kind = "uniform" }]
/// "#;
/// let sweep = Sweep::parse("steps.toml", text, &[])?;
/// let (data, backend) = (DataFolder::default(), Cpu::default());
/// let preparation = Preparation::new(&sweep, &data, &backend);
/// let mut simulator = Simulator::new(&preparation, &sweep.cells[0], 0)?;
/// while !simulator.is_over() {
///     let step = simulator.step(4)?;
///     assert!(step.released.is_some_and(f64::is_finite) && 0.0 <= step.regret);
/// }
/// # Ok::<(), privateer::Error>(())
/// ```
pub struct Simulator {
    cell: ReadyCell,
    trials: LockstepTrials,
    round: u64,
}

/// Takes the place of the caller, who decides in [`Simulator::step`]: learns nothing.
struct CallersPolicy;

impl Policy for CallersPolicy {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        Proposal::Play(0)
    }

    fn update(&mut self, _point: usize, _signal: &Released<Signal>) {}

    fn recommend(&self) -> Option<usize> {
        None
    }
}

/// What one step gives.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SimulatorStep {
    /// The released reward; `None` where the mechanism releases sums.
    pub released: Option<f64>,
    /// Regret of the step, in the environment's unit: for the study alone, no policy may see it.
    pub regret: f64,
}

impl Simulator {
    /// Makes a trial, numbered from 0, before its first round.
    ///
    /// # Errors
    /// What a run of the cell would refuse; a cell without points, or over a product of axes.
    pub fn new(preparation: &Preparation<'_>, plan: &CellPlan, trial: u64) -> Result<Self, Error> {
        let cell = preparation.listed(plan)?;
        let (source, _) = RewardSource::start(&cell, trial, None)?;
        let player = source.player(&cell, trial, Box::new(CallersPolicy));
        let mut trials = LockstepTrials::of(&cell, Players::new(vec![player], Decider::Listed), vec![source]);
        trials.propose(1)?;
        Ok(Self { cell, trials, round: 1 })
    }

    /// Returns the number of points of the domain.
    pub fn n_points(&self) -> usize {
        self.cell.n_points()
    }

    /// Returns the coordinates of a point, if the domain has any.
    pub fn point(&self, point: usize) -> Option<&[f64]> {
        self.cell.point(point)
    }

    /// Returns the points that may be played in the coming round, ascending; `None` where all of them may.
    pub fn allowed(&self) -> Option<&[u32]> {
        self.trials.players.players[0].set.as_deref()
    }

    /// Returns the coming round, from 1.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Returns whether the horizon is reached.
    pub fn is_over(&self) -> bool {
        self.cell.plan.rounds < self.round
    }

    /// Returns the ledger of one user's reward.
    pub fn ledger(&self) -> Ledger {
        self.trials.sources[0].channel.ledger()
    }

    /// Plays a point.
    ///
    /// # Errors
    /// After the horizon, or if the point does not exist or is not allowed in this round; nothing changes then. If the function
    /// of the environment returns a reward that is not finite.
    pub fn step(&mut self, point: usize) -> Result<SimulatorStep, Error> {
        self.check(point)?;
        self.trials.players.points[0] = point;
        self.trials.learn(self.round, &())?;
        let step = SimulatorStep { released: self.trials.released[0], regret: self.trials.sources[0].counted[0] };
        self.round += 1;
        self.trials.propose(self.round)?;
        Ok(step)
    }

    /// Refuses what [`Simulator::step`] would refuse, and changes nothing.
    ///
    /// # Errors
    /// A point that does not exist or is not allowed, and a step after the last round.
    pub fn check(&self, point: usize) -> Result<(), Error> {
        let refuse = |problem: String, expected: String| Diagnostic::new(problem).expected(expected).refuse();
        if self.is_over() {
            return refuse(format!("all {} rounds are played", self.cell.plan.rounds), "a new simulator".to_owned());
        }
        if self.n_points() <= point {
            return refuse(format!("there is no point {point}"), format!("a number from 0 to {}", self.n_points() - 1));
        }
        if let Some(allowed) = self.allowed().filter(|allowed| allowed.binary_search(&(point as u32)).is_err()) {
            return refuse(format!("point {point} is not allowed in round {}", self.round), format!("one of {allowed:?}"));
        }
        Ok(())
    }
}
