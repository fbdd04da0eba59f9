//! From a cell's plan to what its trials share: environment, tables, prepared basis.

use crate::backend::{Backend, Domain};
use crate::env::{BuildContext, DataFolder, Environment, Instance};
use crate::error::Error;
use crate::policy::{Policy, PolicyMaker, Problem, ReleasedFacts, Setting};
use crate::privacy::{Ledger, RewardMechanism};
use crate::rng::Streams;
use crate::score::Basis;
use crate::spec::{CellPlan, Sweep};
use std::sync::{Arc, Mutex};

/// Makes cells ready. Cells of one environment share it: the last few are kept.
pub struct Preparation<'a> {
    sweep: &'a Sweep,
    data: &'a DataFolder,
    backend: &'a dyn Backend,
    environments: Mutex<Vec<(String, Arc<dyn Environment>)>>,
}

/// Environments kept at a time: units of neighbouring cells run side by side.
const KEPT: usize = 4;

/// A cell made ready.
pub struct ReadyCell {
    /// The plan.
    pub plan: CellPlan,
    /// The problem.
    pub environment: Arc<dyn Environment>,
    /// Makes the trials' policies.
    pub maker: Box<dyn PolicyMaker>,
    /// The prepared basis; `None` for policies that never score.
    pub domain: Option<Arc<dyn Domain>>,
    /// Streams of the environment.
    pub streams: Streams,
}

/// What the manifest says of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellFacts {
    /// The ledger of one user's reward, with the first trial's constants.
    pub ledger: Ledger,
    /// Facts about the problem.
    pub facts: Vec<(String, serde_json::Value)>,
}

/// One trial's constants, mechanism and policy.
pub struct ReadyTrial {
    /// The function.
    pub instance: Instance,
    /// The mechanism.
    pub mechanism: Arc<dyn RewardMechanism>,
    /// The policy before its first round.
    pub policy: Box<dyn Policy>,
}

impl<'a> Preparation<'a> {
    /// Prepares cells of this sweep.
    pub fn new(sweep: &'a Sweep, data: &'a DataFolder, backend: &'a dyn Backend) -> Self {
        Self { sweep, data, backend, environments: Mutex::new(Vec::new()) }
    }

    fn environment(&self, plan: &CellPlan, streams: &Streams) -> Result<Arc<dyn Environment>, Error> {
        // The lock is held while building: neighbours that need the same environment wait for it instead of building it twice.
        let mut kept = self.environments.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, environment)) = kept.iter().find(|(key, _)| *key == plan.environment_key) {
            return Ok(Arc::clone(environment));
        }
        let context = BuildContext { streams, data: self.data, rounds: plan.rounds, memory_bytes: self.sweep.memory_bytes };
        let environment = plan.environment_plan.build(&context)?;
        if KEPT <= kept.len() {
            kept.remove(0);
        }
        kept.push((plan.environment_key.clone(), Arc::clone(&environment)));
        Ok(environment)
    }

    /// Makes a cell ready.
    ///
    /// # Errors
    /// Whatever the environment, the policy or the backend refuses.
    pub fn cell(&self, plan: &CellPlan) -> Result<ReadyCell, Error> {
        let streams = Streams::new(self.sweep.seed, plan.environment.as_str());
        let environment = self.environment(plan, &streams)?;
        let problem = Problem {
            gram: Arc::clone(environment.gram()),
            points: environment.points().cloned(),
            kernel: environment.kernel().cloned(),
            rounds: plan.rounds,
            streams: streams.clone(),
            memory_bytes: self.sweep.memory_bytes,
        };
        let maker = plan.policy_plan.prepare(&problem)?;
        let basis = maker.basis();
        if let Some(basis) = &basis {
            self.allow_trial(basis, plan.rounds)?;
        }
        let domain = basis.map(|basis| self.backend.prepare(&basis)).transpose()?;
        Ok(ReadyCell { plan: plan.clone(), environment, maker, domain, streams })
    }

    /// Refuses a trial that would need more memory than the spec allows: screens, Gram columns, the K x K state.
    fn allow_trial(&self, basis: &Basis, rounds: u64) -> Result<(), Error> {
        let n = basis.n_points() as f64;
        let needs = match basis {
            Basis::Table(table) => {
                let m = table.n_features as f64;
                8.0 * (3.0 * n + 2.0 * m * m)
            }
            Basis::Gram(gram) => {
                // At most one new basis point a round.
                let k = n.min(rounds as f64);
                let columns = if gram.dense_column(0).is_some() { 0.0 } else { n * k };
                8.0 * (3.0 * n + columns + 2.5 * k * k)
            }
        };
        let context =
            BuildContext { streams: &Streams::new(0, ""), data: self.data, rounds, memory_bytes: self.sweep.memory_bytes };
        context.allow(
            &format!("one trial on {n:.0} points over {rounds} rounds"),
            needs,
            "lower `rounds` or the domain's points, or give the policy `features`",
        )
    }

    /// The ledger and facts of a cell, from its first trial. Checks on the way that trials can be made.
    ///
    /// # Errors
    /// As [`Preparation::cell`], or whatever the first trial refuses.
    pub fn facts(&self, plan: &CellPlan) -> Result<CellFacts, Error> {
        let cell = self.cell(plan)?;
        let trial = cell.trial(0)?;
        Ok(CellFacts { ledger: trial.mechanism.ledger(), facts: cell.environment.facts() })
    }
}

impl ReadyCell {
    /// One trial before its first round.
    ///
    /// # Errors
    /// A function that does not suit, a refused mechanism, a width without a constant it needs.
    pub fn trial(&self, trial: u64) -> Result<ReadyTrial, Error> {
        let instance = self.environment.draw(trial)?;
        let mechanism = self.plan.privacy.mechanism(instance.facts())?;
        let released = ReleasedFacts::of(mechanism.as_ref(), instance.facts());
        let setting = Setting { facts: instance.facts().clone(), released };
        let policy = self.maker.make(&setting)?;
        Ok(ReadyTrial { instance, mechanism, policy })
    }
}
