//! Builds what the trials of a cell share from its plan: environment, tables, prepared basis.
//!
//! Cells that differ only in budget or mechanism share all of it. So the last few environments are cached, with the feature
//! tables and prepared bases that were built over them.

use super::contexts::ContextualCell;
use super::online::{OnlineCell, OnlinePreparation};
use super::scoring_error;
use super::warnings::{CellWarning, bandit_warnings};
use crate::env::contextual::Contextual;
use crate::env::{BuildContext, DataFolder, Environment, Instance};
use crate::oco::learner::Rates;
use crate::policy::{KnownInputs, Policy, PolicyMaker, Problem, Setting, SharedInputs, TableCache};
use crate::spec::{BanditPlan, CellPlan, ContextualBandit, CuratorPlan, Sweep, Task};
use privateer_backend::{Backend, Cpu, Domain, UpdateKind};
use privateer_config::error::{Diagnostic, Error};
use privateer_gp::score::AxisFeatures;
use privateer_gp::score::Basis;
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::curator::{Curator, Inputs, ReleasedInputs};
use privateer_privacy::{Channel, Ledger, Raw, Released};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Decision sets with fewer points are scored point by point, without a screen.
const SCREENED_SET: usize = 65;

/// Largest number of cached environments.
const MOST_ENVIRONMENTS: usize = 8;

/// Prepares the cells of a sweep.
pub struct Preparation<'a> {
    sweep: &'a Sweep,
    data: &'a DataFolder,
    backend: &'a dyn Backend,
    kept: Mutex<Vec<Arc<EnvironmentCache>>>,
    online: OnlinePreparation,
}

/// Caches an environment with the feature tables and prepared bases that were built over it.
struct EnvironmentCache {
    key: String,
    streams: Streams,
    /// The environment; the first thread that needs it builds it, and others wait.
    environment: Mutex<Option<Arc<dyn Environment>>>,
    /// The environment of contextual cells, built in the same way.
    users: Mutex<Option<Arc<dyn Contextual>>>,
    tables: Arc<TableCache>,
    domains: Mutex<Vec<BasisDomain>>,
    first_trial: Mutex<Option<Instance>>,
}

/// Pairs a basis with what the backend prepared of it.
type BasisDomain = (Basis, Arc<dyn Domain>);

/// Holds a bandit cell prepared for its trials.
pub struct ReadyCell {
    /// The cell's plan.
    pub plan: CellPlan,
    /// The bandit part of the plan.
    pub bandit: BanditPlan,
    /// The problem.
    pub environment: Arc<dyn Environment>,
    /// Curator of the private inputs; `None` if the inputs are public.
    pub curator: Option<Arc<dyn Curator>>,
    /// Makes the trials' policies.
    pub maker: Box<dyn PolicyMaker>,
    /// The prepared basis; `None` for policies that never score.
    pub domain: Option<Arc<dyn Domain>>,
    /// Axes of a product domain in the policy's features.
    pub axes: Option<Arc<[AxisFeatures]>>,
    /// Random streams of the environment.
    pub streams: Streams,
    /// Whether policies must return their parameters at the end.
    pub keeps_parameters: bool,
    /// Largest size of one trial, in bytes.
    memory_bytes: f64,
    /// Largest size of one trial that a device scores, in bytes: without what the CPU backend keeps of its screens.
    trial_bytes: f64,
}

impl ReadyCell {
    /// Returns how many trials should share a submission of a device, within the memory that the spec allows one trial.
    ///
    /// `None` where no device scores.
    pub(super) fn lanes(&self) -> Option<usize> {
        let lanes = self.domain.as_ref()?.lanes()?;
        let fit = self.memory_bytes / (2.0 * self.trial_bytes.max(1.0));
        Some(lanes.min(fit as usize).max(1))
    }

    /// Returns whether both cells' trials are scored over one prepared basis.
    pub(super) fn shares_domain(&self, other: &Self) -> bool {
        let of = |cell: &Self| cell.domain.as_ref().map(|domain| Arc::as_ptr(domain).cast::<()>());
        of(self).is_some() && of(self) == of(other)
    }

    /// Returns how the cell's models change: models of private sums are recomputed with the sums.
    #[must_use]
    pub fn update_kind(&self) -> UpdateKind {
        if self.maker.sums().is_some() { UpdateKind::Full } else { UpdateKind::RankOne }
    }
}

/// Holds the facts of a cell that the manifest must record.
#[derive(Debug, Clone, PartialEq)]
pub struct CellFacts {
    /// The ledger of one user's reward, with the first trial's constants.
    pub ledger: Ledger,
    /// The ledger of one row of the inputs, where a curator releases them.
    pub inputs: Option<Ledger>,
    /// Facts about the problem.
    pub facts: Vec<(String, serde_json::Value)>,
    /// Settings that mislead.
    pub warnings: Vec<CellWarning>,
}

impl CellFacts {
    /// Returns both ledgers as one table.
    ///
    /// The ledger of the reward is at the top level. The ledger of the inputs is under `inputs`, where a curator releases them.
    #[must_use]
    pub fn ledgers(&self) -> serde_json::Value {
        let mut ledger = serde_json::json!(self.ledger);
        if let Some(inputs) = &self.inputs {
            ledger["inputs"] = serde_json::json!(inputs);
        }
        ledger
    }
}

/// Holds a prepared cell of any kind.
pub(super) enum Ready {
    /// A policy on an environment.
    Bandit(Box<ReadyCell>),
    /// A policy that chooses arms by contexts.
    Contextual(Box<ContextualCell>),
    /// A learner on a problem.
    Online(Box<OnlineCell>),
}

/// Holds one trial's constants, mechanism and policy.
pub struct ReadyTrial {
    /// The function with its noise.
    pub instance: Instance,
    /// The channel that rewards pass through.
    pub mechanism: Channel,
    /// The public constants that the policy knows.
    pub setting: Setting,
    /// The policy before its first round.
    pub policy: Box<dyn Policy>,
    /// Constants of the policy that the manifest must record.
    pub facts: Vec<(String, serde_json::Value)>,
}

/// Locks a mutex even after a panic: every guarded value is consistent between statements.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Preparation<'a> {
    /// Creates the preparation of this sweep's cells.
    pub fn new(sweep: &'a Sweep, data: &'a DataFolder, backend: &'a dyn Backend) -> Self {
        Self { sweep, data, backend, kept: Mutex::new(Vec::new()), online: OnlinePreparation::default() }
    }

    /// Returns whether a device may score.
    pub(super) fn has_device(&self) -> bool {
        self.backend.adapter().is_some()
    }

    /// Whether a cell of the sweep has a learning rate that validation data choose.
    #[must_use]
    pub fn tunes_rates(&self) -> bool {
        let tunes =
            |plan: &CellPlan| matches!(&plan.task, Task::Online(online) if matches!(online.rates, Rates::Validated { .. }));
        self.sweep.cells.iter().any(tunes)
    }

    /// Returns the learning rates that validation data have chosen so far, by cell.
    #[must_use]
    pub fn tuned_rates(&self) -> BTreeMap<u32, f64> {
        self.online.rates()
    }

    /// Takes the learning rates of an earlier run of the same sweep by the same version, which chose them on the same data.
    pub fn set_tuned_rates(&self, rates: &BTreeMap<u32, f64>) {
        for (&cell, &rate) in rates {
            if let Some(Task::Online(online)) = self.sweep.cells.get(cell as usize).map(|plan| &plan.task) {
                self.online.set_rate(cell, online, rate);
            }
        }
    }

    /// Returns the hash of the sweep's resolved spec.
    pub(super) fn spec_hash(&self) -> &str {
        &self.sweep.hash
    }

    fn kept(&self, plan: &CellPlan) -> Arc<EnvironmentCache> {
        let mut kept = lock(&self.kept);
        if let Some(found) = kept.iter().find(|kept| kept.key == plan.environment_key) {
            return Arc::clone(found);
        }
        if MOST_ENVIRONMENTS <= kept.len() {
            kept.remove(0);
        }
        let new = Arc::new(EnvironmentCache {
            key: plan.environment_key.clone(),
            streams: Streams::new(self.sweep.seed, plan.environment.as_str()),
            environment: Mutex::new(None),
            users: Mutex::new(None),
            tables: Arc::new(TableCache::default()),
            domains: Mutex::new(Vec::new()),
            first_trial: Mutex::new(None),
        });
        kept.push(Arc::clone(&new));
        new
    }

    /// Returns the environment of a cell, without its policy's tables.
    ///
    /// # Errors
    /// If the environment cannot be built.
    pub fn environment(&self, plan: &CellPlan, bandit: &BanditPlan) -> Result<Arc<dyn Environment>, Error> {
        self.kept_environment(plan, bandit, &self.kept(plan))
    }

    fn kept_environment(
        &self,
        plan: &CellPlan,
        bandit: &BanditPlan,
        kept: &EnvironmentCache,
    ) -> Result<Arc<dyn Environment>, Error> {
        let mut slot = lock(&kept.environment);
        if let Some(environment) = slot.as_ref() {
            return Ok(Arc::clone(environment));
        }
        let context =
            BuildContext { streams: &kept.streams, data: self.data, rounds: plan.rounds, memory_bytes: self.sweep.memory_bytes };
        let environment = bandit.environment_plan.build(&context)?;
        *slot = Some(Arc::clone(&environment));
        Ok(environment)
    }

    /// Prepares a cell of any kind.
    ///
    /// # Errors
    /// If the environment, the policy or the backend refuses the cell.
    pub(super) fn any(&self, plan: &CellPlan) -> Result<Ready, Error> {
        match &plan.task {
            Task::Bandit(bandit) => Ok(Ready::Bandit(Box::new(self.ready(plan, bandit, &self.kept(plan))?))),
            Task::Contextual(task) => Ok(Ready::Contextual(Box::new(self.ready_contextual(plan, task)?))),
            Task::Online(online) => Ok(Ready::Online(Box::new(self.online.cell(self.sweep, plan, online)?))),
        }
    }

    /// Prepares what the trials of a cell share, learning rates chosen on validation data included; it is kept for them.
    ///
    /// # Errors
    /// The first error of the preparation.
    #[cfg(feature = "report")]
    pub(crate) fn prepare(&self, plan: &CellPlan) -> Result<(), Error> {
        self.any(plan).map(drop).map_err(|error| plan.placed(error))
    }

    /// Prepares a bandit cell.
    ///
    /// # Errors
    /// If the environment, the policy or the backend refuses the cell, or if the cell runs a learner.
    pub fn cell(&self, plan: &CellPlan) -> Result<ReadyCell, Error> {
        match self.any(plan)? {
            Ready::Bandit(cell) => Ok(*cell),
            Ready::Contextual(_) | Ready::Online(_) => Err(Error::Failed {
                problem: format!("`{}` is no policy over the points of a domain", plan.policy),
                hint: "run it with `privateer run`".to_owned(),
            }),
        }
    }

    /// Whether the rewards of a cell are told, so that it can be a session and not a simulation.
    ///
    /// # Errors
    /// Whatever the environment refuses.
    pub fn tells_rewards(&self, plan: &CellPlan) -> Result<bool, Error> {
        let Task::Bandit(bandit) = &plan.task else { return Ok(false) };
        let kept = self.kept(plan);
        let environment = self.kept_environment(plan, bandit, &kept)?;
        Ok(environment.told_rewards().is_some() && !environment.simulates())
    }

    /// Makes a contextual cell ready.
    ///
    /// # Errors
    /// If the environment or the policy refuses the cell, or if the cell has no contexts.
    pub fn contextual(&self, plan: &CellPlan) -> Result<ContextualCell, Error> {
        match self.any(plan)? {
            Ready::Contextual(cell) => Ok(*cell),
            Ready::Bandit(_) | Ready::Online(_) => Err(Error::Failed {
                problem: format!("`{}` chooses by no contexts", plan.policy),
                hint: "run it with `privateer run`".to_owned(),
            }),
        }
    }

    fn ready_contextual(&self, plan: &CellPlan, task: &ContextualBandit) -> Result<ContextualCell, Error> {
        let kept = self.kept(plan);
        let mut slot = lock(&kept.users);
        let environment = match slot.as_ref() {
            Some(environment) => Arc::clone(environment),
            None => {
                let (streams, memory_bytes) = (&kept.streams, self.sweep.memory_bytes);
                let context = BuildContext { streams, data: self.data, rounds: plan.rounds, memory_bytes };
                Arc::clone(slot.insert(task.environment_plan.build(&context)?))
            }
        };
        drop(slot);
        let facts = environment.facts();
        // A policy's matrices and sums: the joint matrix of the as-printed calibration is the largest.
        let entries = facts.n_arms as f64 * facts.dimension as f64;
        BuildContext::allow_bytes(
            self.sweep.memory_bytes,
            &format!("matrices of {} arms in {} dimensions", facts.n_arms, facts.dimension),
            16.0 * entries * facts.dimension as f64,
            "lower `arms` or `dimension`",
        )?;
        let prepared = task.policy_plan.prepare(facts, task.privacy.request()).map_err(|refusal| task.privacy.place(refusal))?;
        let replays = task.environment_plan.replays();
        Ok(ContextualCell { plan: plan.clone(), environment, prepared, streams: kept.streams.clone(), replays })
    }

    fn ready(&self, plan: &CellPlan, bandit: &BanditPlan, kept: &EnvironmentCache) -> Result<ReadyCell, Error> {
        let environment = self.kept_environment(plan, bandit, kept)?;
        let curator = bandit.curator.as_ref().map(CuratorPlan::curator).transpose()?;
        let inputs = match (&curator, environment.product()) {
            (Some(_), _) => withheld(environment.as_ref())?,
            (None, Some(product)) => KnownInputs::Product(Arc::clone(product)),
            (None, None) => KnownInputs::Shared(SharedInputs {
                gram: Arc::clone(environment.gram()),
                points: environment.points().cloned(),
                kernel: environment.kernel().cloned(),
            }),
        };
        let problem = Problem {
            inputs,
            rounds: plan.rounds,
            streams: kept.streams.clone(),
            memory_bytes: self.sweep.memory_bytes,
            tables: Arc::clone(&kept.tables),
        };
        let sets = environment.set_size();
        if sets.is_some() && !bandit.policy_plan.plays_sets() {
            return Err(Error::input(
                Diagnostic::new(format!("policy `{}` cannot play decision sets that change every round", plan.policy))
                    .expected("a policy that never insists on a point, such as `gp-ucb`, `qff-gp-ucb` or `uniform`")
                    .hint("drop the policy, or the environment's `sets`"),
            ));
        }
        let maker = bandit.policy_plan.prepare(&problem)?;
        // Few points are scored in f64 at once, because screening the whole domain for them would cost more.
        let screened = environment.product().is_none() && sets.is_none_or(|size| SCREENED_SET <= size);
        let mut trial_bytes = 0.0;
        let domain = match maker.basis() {
            Some(basis) => {
                trial_bytes = self.allow_trial(&basis, plan.rounds, maker.sums().is_some())?;
                if screened { Some(self.domain(&basis, kept)?) } else { None }
            }
            None => None,
        };
        let axes = maker.axes();
        Ok(ReadyCell {
            plan: plan.clone(),
            bandit: bandit.clone(),
            environment,
            curator,
            maker,
            domain,
            axes,
            streams: kept.streams.clone(),
            keeps_parameters: self.sweep.parameters,
            memory_bytes: self.sweep.memory_bytes,
            trial_bytes,
        })
    }

    /// Returns the prepared basis; there is one for each table or covariance.
    fn domain(&self, basis: &Basis, kept: &EnvironmentCache) -> Result<Arc<dyn Domain>, Error> {
        let mut domains = lock(&kept.domains);
        if let Some((_, domain)) = domains.iter().find(|(known, _)| known.is(basis)) {
            return Ok(Arc::clone(domain));
        }
        let domain = self.backend.prepare(basis).map_err(scoring_error)?;
        domains.push((basis.clone(), Arc::clone(&domain)));
        Ok(domain)
    }

    /// Checks one trial's memory (screens, Gram columns, K x K state) against the spec's limit.
    ///
    /// Returns the part of it that a trial takes while a device scores it, in bytes.
    fn allow_trial(&self, basis: &Basis, rounds: u64, from_sums: bool) -> Result<f64, Error> {
        let n = basis.n_points() as f64;
        let (on_device, screens) = match basis {
            Basis::Table(table) => {
                let m = table.n_features as f64;
                // Models from sums are scored as a whole and have no columns. Their factors are counted here besides those of a
                // screen; the mechanism counts the memory of its own noise.
                let (state, pruning) = if from_sums {
                    (7.0 * m * m, 0.0)
                } else {
                    // The state is a factor over visited points, until these are twice as many as the features, or the inverse
                    // over features, computed from the plays.
                    let k = n.min(rounds as f64);
                    let span = k.min(2.0 * m + 1.0);
                    ((2.5 * span * span).max(3.0 * m * m), Cpu::pruning_bytes(basis.n_points(), k))
                };
                (8.0 * (3.0 * n + state), pruning)
            }
            Basis::Gram(_) | Basis::Own(_) => {
                // Each round adds at most one new basis point.
                let k = n.min(rounds as f64);
                let tabulated = matches!(basis, Basis::Gram(gram) if gram.dense_column(0).is_some());
                let columns = if tabulated { 0.0 } else { 8.0 * n * k };
                // A trial stores the columns of one scoring strategy at a time.
                let columns = columns.max(Cpu::pruning_bytes(basis.n_points(), k));
                (8.0 * (3.0 * n + 2.5 * k * k), columns)
            }
        };
        BuildContext::allow_bytes(
            self.sweep.memory_bytes,
            &format!("one trial on {n:.0} points over {rounds} rounds"),
            on_device + screens,
            "lower `rounds` or the domain's points, or give the policy `features`",
        )?;
        Ok(on_device)
    }

    /// Returns a cell's ledger and facts, from its first trial; checks that trials can be made.
    ///
    /// # Errors
    /// As [`Preparation::cell`], or if the first trial fails.
    pub fn facts(&self, plan: &CellPlan) -> Result<CellFacts, Error> {
        self.accepting(match &plan.task {
            Task::Bandit(bandit) => self.bandit_facts(plan, bandit),
            Task::Contextual(task) => self.ready_contextual(plan, task)?.facts(),
            Task::Online(online) => self.online.facts(self.sweep, plan, online, true),
        })
    }

    /// Marks the warnings that the spec accepts.
    fn accepting(&self, facts: Result<CellFacts, Error>) -> Result<CellFacts, Error> {
        let mut facts = facts?;
        for warning in &mut facts.warnings {
            warning.accepted = self.sweep.accepted.contains(&warning.topic);
        }
        Ok(facts)
    }

    /// Returns the ledger and facts of a cell without running anything.
    ///
    /// The first candidate replaces a learning rate that validation data would choose.
    ///
    /// # Errors
    /// As [`Preparation::facts`].
    pub fn facts_in_short(&self, plan: &CellPlan) -> Result<CellFacts, Error> {
        self.accepting(match &plan.task {
            Task::Bandit(bandit) => self.bandit_facts(plan, bandit),
            Task::Contextual(task) => self.ready_contextual(plan, task)?.facts(),
            Task::Online(online) => self.online.facts(self.sweep, plan, online, false),
        })
    }

    fn bandit_facts(&self, plan: &CellPlan, bandit: &BanditPlan) -> Result<CellFacts, Error> {
        let kept = self.kept(plan);
        let cell = self.ready(plan, bandit, &kept)?;
        let mut first = lock(&kept.first_trial);
        let instance = match first.as_ref() {
            Some(instance) => instance.clone(),
            None => first.insert(cell.environment.draw(0)?).clone(),
        };
        let trial = cell.with(instance, 0)?;
        let mut ledger = trial.mechanism.ledger();
        let instance = &trial.instance;
        cell.environment.derived_from_rewards().state_in(&mut ledger);
        if bandit.policy_plan.is_foreign() && ledger.epsilon.is_some() {
            ledger.notes.push(
                "the policy is foreign code: it received released rewards alone, so the claim is the mechanism's, by post-processing"
                    .to_owned(),
            );
        }
        if instance.bound_stated() && instance.facts().bound < instance.largest() {
            let (stated, largest) = (instance.facts().bound, instance.largest());
            ledger.notes.push(format!(
                "the stated bound {stated} is below the first trial's largest |f|, {largest}: rewards are cut off"
            ));
        }
        if ledger.epsilon.is_some() && !instance.bound_stated() {
            ledger.notes.push(
                "B is taken from each trial's own function and treated as public; numbers here are the first trial's".to_owned(),
            );
        }
        let mut facts = cell.environment.facts();
        facts.extend(trial.facts.clone());
        if let (Some(curator), Some(inputs)) = (&cell.curator, cell.inputs()) {
            facts.extend(curator.facts(&inputs));
        }
        let mut inputs = cell
            .curator
            .as_ref()
            .zip(cell.environment.points())
            .map(|(c, points)| c.ledger(points.n_points(), points.dimension()));
        if let Some(inputs) = &mut inputs {
            cell.environment.derived_from_inputs().state_in(inputs);
        }
        let warnings = bandit_warnings(plan, &cell, &trial, &ledger, inputs.as_ref());
        Ok(CellFacts { ledger, inputs, facts, warnings })
    }
}

/// Returns what a policy knows of inputs that a curator holds: their number and the kernel.
fn withheld(environment: &dyn Environment) -> Result<KnownInputs, Error> {
    match (environment.points(), environment.kernel()) {
        (Some(points), Some(kernel)) => Ok(KnownInputs::Released { n_points: points.n_points(), kernel: Arc::clone(kernel) }),
        _ => Err(Error::input(
            Diagnostic::new("a curator releases inputs, and the points of this environment have no coordinates")
                .hint("use an environment over points, such as `gp-sample` or `points-table`, or drop `[curator]`"),
        )),
    }
}

impl ReadyCell {
    /// Makes one trial before its first round.
    ///
    /// # Errors
    /// If the function does not suit, the mechanism is refused, or the exploration factor lacks a constant.
    pub fn trial(&self, trial: u64) -> Result<ReadyTrial, Error> {
        self.with(self.environment.draw(trial)?, trial)
    }

    /// Returns the inputs of the environment, sealed.
    fn inputs(&self) -> Option<Raw<Inputs>> {
        let points = self.environment.points()?;
        Some(Raw::seal(Inputs::new(points.dimension(), Arc::clone(points.coordinates()))))
    }

    /// Returns the inputs that the trial's curator releases; `None` without a curator.
    fn released_inputs(&self, trial: u64) -> Result<Option<Arc<Released<ReleasedInputs>>>, Error> {
        let (Some(curator), Some(plan), Some(inputs)) = (&self.curator, &self.bandit.curator, self.inputs()) else {
            return Ok(None);
        };
        let released_inputs = curator.release(inputs, &mut self.streams.of(trial, Purpose::Curator));
        Ok(Some(Arc::new(released_inputs.map_err(|refusal| plan.place(refusal))?)))
    }

    fn with(&self, instance: Instance, trial: u64) -> Result<ReadyTrial, Error> {
        let (facts, units) = (instance.facts(), instance.value_units());
        let mechanism = self.bandit.privacy.channel(facts, instance.bound_stated(), self.maker.sums(), units)?;
        if let Some(sums) = mechanism.sums() {
            BuildContext::allow_bytes(
                self.memory_bytes,
                &format!("the running sums of one trial by `{}` over {} rounds", sums.ledger().mechanism, self.plan.rounds),
                8.0 * sums.state(),
                "lower the number of features or `rounds`, take `blt`, or release on a schedule",
            )?;
        }
        let train = self.environment.train_readings().cloned();
        let setting =
            Setting { released_inputs: self.released_inputs(trial)?, ..Setting::new(instance.facts(), &mechanism, train) };
        let policy = self.maker.make(&setting)?;
        let facts = self.maker.facts(&setting);
        Ok(ReadyTrial { instance, mechanism, setting, policy, facts })
    }
}
