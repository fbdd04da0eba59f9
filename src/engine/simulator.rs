//! Simulates one trial step by step, for programs that choose the points themselves.

use super::prepare::Preparation;
use super::ready_cell::{ReadyCell, ReadyTrial};
use crate::env::catch_bad_reward;
use crate::spec::CellPlan;
use privateer_config::error::{Diagnostic, Error};
use privateer_numerics::rng::{Purpose, Stream};
use privateer_privacy::{Ledger, Privatizer, Query, Signal};

/// One trial of a cell, whose points the caller chooses.
///
/// Function, noise and privacy noise are those of the cell's recorded run: a caller that plays the recorded points is given the
/// same rewards. The cell's policy says which kind of mechanism releases them, and plays no part otherwise.
///
/// ```
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
    /// The trial, 0-based.
    number: u64,
    trial: ReadyTrial,
    privatizer: Box<dyn Privatizer>,
    noise: Stream,
    mechanism: Stream,
    sets: Stream,
    allowed: Option<Vec<u32>>,
    round: u64,
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
        let cell = preparation.cell(plan)?;
        if cell.environment.product().is_some() {
            return Err(Error::input(
                Diagnostic::new("the points of a product of axes cannot be listed").hint("use a domain of stated points"),
            ));
        }
        let ready = cell.trial(trial)?;
        let of = |purpose| cell.streams.of(trial, purpose);
        let mut made = Self {
            privatizer: ready.mechanism.privatizer(),
            noise: of(Purpose::Noise),
            mechanism: of(Purpose::Mechanism(&cell.plan.policy)),
            sets: of(Purpose::Sets),
            allowed: ready.instance.sets().is_some().then(Vec::new),
            round: 1,
            number: trial,
            trial: ready,
            cell,
        };
        made.trial.instance.draw_set(&mut made.sets, &mut made.allowed);
        Ok(made)
    }

    /// Returns the number of points of the domain.
    #[must_use]
    pub fn n_points(&self) -> usize {
        self.cell.environment.gram().n_points()
    }

    /// Returns the coordinates of a point, if the domain has any.
    #[must_use]
    pub fn point(&self, point: usize) -> Option<&[f64]> {
        self.cell.environment.points().filter(|_| point < self.n_points()).map(|points| points.point(point))
    }

    /// Returns the points that may be played in the coming round, ascending; `None` where all of them may.
    #[must_use]
    pub fn allowed(&self) -> Option<&[u32]> {
        self.allowed.as_deref()
    }

    /// Returns the coming round, from 1.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Returns whether the horizon is reached.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.cell.plan.rounds < self.round
    }

    /// Returns the ledger of one user's reward.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.trial.mechanism.ledger()
    }

    /// Plays a point.
    ///
    /// # Errors
    /// After the horizon, or if the point does not exist or is not allowed in this round; nothing changes then. If the function
    /// of the environment returns a reward that is not finite.
    pub fn step(&mut self, point: usize) -> Result<SimulatorStep, Error> {
        self.check(point)?;
        let instance = &self.trial.instance;
        let raw = catch_bad_reward(|| instance.observe(point, &mut self.noise))
            .map_err(|bad| bad.in_round(&self.cell.plan.label(), self.number, self.round))?;
        let released = match self.privatizer.release(&Query::default(), raw, (&mut self.mechanism).into()).value() {
            Signal::Reward(reward) => Some(*reward),
            _ => None,
        };
        let regret = instance.regret_among(point, self.allowed.as_deref());
        self.round += 1;
        instance.draw_set(&mut self.sets, &mut self.allowed);
        Ok(SimulatorStep { released, regret })
    }

    /// Refuses what [`Simulator::step`] would refuse, and changes nothing.
    ///
    /// # Errors
    /// A point that does not exist or is not allowed, and a step after the last round.
    pub fn check(&self, point: usize) -> Result<(), Error> {
        let refuse = |problem: String, expected: String| Err(Error::input(Diagnostic::new(problem).expected(expected)));
        if self.is_over() {
            return refuse(format!("all {} rounds are played", self.cell.plan.rounds), "a new simulator".to_owned());
        }
        if self.n_points() <= point {
            return refuse(format!("there is no point {point}"), format!("a number from 0 to {}", self.n_points() - 1));
        }
        if let Some(allowed) = self.allowed.as_ref().filter(|allowed| allowed.binary_search(&(point as u32)).is_err()) {
            return refuse(format!("point {point} is not allowed in round {}", self.round), format!("one of {allowed:?}"));
        }
        Ok(())
    }
}
