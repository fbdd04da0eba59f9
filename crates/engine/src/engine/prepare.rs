//! Builds what the trials of a cell share from its plan: environment, tables, prepared basis.
//!
//! Cells that differ only in budget or mechanism share all of it. So the last few environments are cached, with the feature
//! tables and prepared bases that were built over them.

use super::cell_info::{CellFacts, CellInfo, unify_swept};
use super::contexts::ContextualCell;
use super::environment_cache::EnvironmentCache;
use super::lock::{LastFew, lock, made};
use super::lockstep::batch;
use super::online::{OnlineCell, batch_size};
use super::ready_cell::{ReadyCell, update_kind};
use super::rounds::{BatchResult, Rounds};
use super::trace::Measures;
use super::{functions, scoring_error};
use crate::env::{BuildContext, DataFolder, Environment};
use crate::policy::{KnownInputs, Problem, SharedInputs};
use crate::spec::{BanditPlan, CellPlan, ContextualBandit, CuratorPlan, MOST_PROBLEMS, SharedValues, Sweep, Task};
use privateer_backend::{Backend, Cpu, Domain, UpdateKind};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::memory::allow;
use privateer_gp::posterior::CovariancePosterior;
use privateer_gp::score::Basis;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Largest number of points over which a check builds tables; of more it takes a sample.
const CHECKED_POINTS: usize = 1 << 16;

/// Prepares the cells of a sweep.
pub struct Preparation<'a> {
    pub(super) sweep: &'a Sweep,
    data: &'a DataFolder,
    backend: &'a dyn Backend,
    pub(super) caches: LastFew<Arc<str>, EnvironmentCache>,
    /// The learning rates that validation data chose, by cell.
    pub(super) rates: Mutex<BTreeMap<u32, Arc<Mutex<Option<f64>>>>>,
    /// The candidate that pilot trials chose, by cell and horizon.
    pub(super) tuned_factors: Mutex<BTreeMap<(u32, u64), usize>>,
    /// For each cell the first one over the same environment, and whether there are several.
    alike: Vec<(u32, bool)>,
}

/// Holds a prepared cell of any kind.
pub(super) enum Ready {
    Bandit(Box<ReadyCell>),
    Contextual(Box<ContextualCell>),
    Online(Box<OnlineCell>),
}

impl Ready {
    /// Returns how many of a block's trials run together.
    ///
    /// * `wanted` — the number that the options state, if they state one
    pub(super) fn batch_size(&self, n_trials: u64, wanted: Option<usize>) -> u64 {
        let size = match self {
            Self::Bandit(cell) => cell.batch_size(n_trials, wanted),
            Self::Contextual(_) => 1,
            Self::Online(_) => wanted.map_or_else(|| batch_size(n_trials), |wanted| wanted as u64),
        };
        // A batch never crosses the end of its block.
        size.clamp(1, n_trials.max(1))
    }

    /// Runs trials to the end; returns `None` if stopped before.
    pub(super) fn batch(&self, numbers: Range<u64>, rounds: &Rounds<'_>) -> Result<Option<BatchResult>, Error> {
        match self {
            Self::Bandit(cell) => batch(cell, numbers, rounds),
            Self::Contextual(cell) => cell.batch(numbers, rounds),
            Self::Online(cell) => cell.batch(numbers, rounds),
        }
    }
}

impl<'a> Preparation<'a> {
    /// Creates the preparation of this sweep's cells.
    pub fn new(sweep: &'a Sweep, data: &'a DataFolder, backend: &'a dyn Backend) -> Self {
        Self {
            sweep,
            data,
            backend,
            caches: LastFew::default(),
            rates: Mutex::default(),
            tuned_factors: Mutex::default(),
            alike: alike(sweep),
        }
    }

    /// Returns the first cell over the environment of this one.
    pub(super) fn first_alike(&self, cell: u32) -> u32 {
        self.alike.get(cell as usize).map_or(cell, |(first, _)| *first)
    }

    pub(super) fn has_device(&self) -> bool {
        self.backend.adapter().is_some()
    }

    pub(super) fn spec_hash(&self) -> &str {
        &self.sweep.hash
    }

    /// Returns the environment of a cell, without its policy's tables.
    ///
    /// # Errors
    /// If the environment cannot be built.
    pub fn environment(&self, plan: &CellPlan, bandit: &BanditPlan) -> Result<Arc<Environment>, Error> {
        self.kept_environment(plan, bandit, &self.cache(plan))
    }

    /// Returns the cache of a cell's environment, which cells with equal environments share.
    fn cache(&self, plan: &CellPlan) -> Arc<EnvironmentCache> {
        self.caches.of(Arc::clone(&plan.environment.key), MOST_PROBLEMS, || {
            EnvironmentCache::new(self.sweep.seed, &plan.environment.label)
        })
    }

    fn kept_environment(&self, plan: &CellPlan, bandit: &BanditPlan, kept: &EnvironmentCache) -> Result<Arc<Environment>, Error> {
        made(&kept.environment, || Ok(Arc::new((bandit.environment_plan.build)(&self.context(plan, kept))?)))
    }

    fn context<'c>(&'c self, plan: &CellPlan, kept: &'c EnvironmentCache) -> BuildContext<'c> {
        BuildContext { streams: &kept.streams, data: self.data, rounds: plan.rounds, memory_bytes: self.sweep.memory_bytes }
    }

    /// Prepares a cell of any kind.
    pub(super) fn any(&self, plan: &CellPlan) -> Result<Ready, Error> {
        let plan = self.played(plan)?;
        let plan = plan.as_ref();
        match &plan.task {
            Task::Bandit(bandit) => Ok(Ready::Bandit(Box::new(self.ready(plan, bandit, usize::MAX)?))),
            Task::Contextual(task) => Ok(Ready::Contextual(Box::new(self.ready_contextual(plan, task)?))),
            Task::Online(online) => Ok(Ready::Online(Box::new(self.online_cell(plan, online)?))),
        }
    }

    /// Prepares what the trials of a cell share, learning rates chosen on validation data included; it is kept for them.
    pub fn prepare(&self, plan: &CellPlan) -> Result<(), Error> {
        self.any(plan).map(drop).map_err(|error| plan.placed(error))
    }

    /// Prepares a bandit cell.
    ///
    /// # Errors
    /// If the environment, the policy or the backend refuses the cell, or if the cell runs a learner.
    pub fn cell(&self, plan: &CellPlan) -> Result<ReadyCell, Error> {
        match self.any(plan)? {
            Ready::Bandit(cell) => Ok(*cell),
            Ready::Contextual(_) | Ready::Online(_) => Err(of_another_kind(plan, "is no policy over the points of a domain")),
        }
    }

    /// Prepares a bandit cell whose points can be listed, for a caller that chooses points or rewards.
    pub(super) fn listed(&self, plan: &CellPlan) -> Result<ReadyCell, Error> {
        let cell = self.cell(plan)?;
        if cell.environment.product.is_some() {
            return Diagnostic::new("the points of a product of axes cannot be listed")
                .hint("use a domain of stated points")
                .refuse();
        }
        Ok(cell)
    }

    /// Whether the rewards of a cell are told, so that it can be a session and not a simulation.
    ///
    /// # Errors
    /// Whatever the environment refuses.
    pub fn tells_rewards(&self, plan: &CellPlan) -> Result<bool, Error> {
        let Task::Bandit(bandit) = &plan.task else { return Ok(false) };
        let environment = self.environment(plan, bandit)?;
        Ok(environment.told_rewards.is_some() && !environment.simulates)
    }

    /// Makes a contextual cell ready.
    ///
    /// # Errors
    /// If the environment or the policy refuses the cell, or if the cell has no contexts.
    pub fn contextual(&self, plan: &CellPlan) -> Result<ContextualCell, Error> {
        match self.any(plan)? {
            Ready::Contextual(cell) => Ok(*cell),
            Ready::Bandit(_) | Ready::Online(_) => Err(of_another_kind(plan, "chooses by no contexts")),
        }
    }

    fn ready_contextual(&self, plan: &CellPlan, task: &ContextualBandit) -> Result<ContextualCell, Error> {
        let kept = self.cache(plan);
        let environment = made(&kept.users, || Ok(Arc::new((task.environment_plan.build)(&self.context(plan, &kept))?)))?;
        let facts = &environment.facts;
        // A policy's matrices and sums: the joint matrix of the as-printed calibration is the largest.
        let entries = facts.n_arms as f64 * facts.dimension as f64;
        allow(
            self.sweep.memory_bytes,
            &format!("matrices of {} arms in {} dimensions", facts.n_arms, facts.dimension),
            16.0 * entries * facts.dimension as f64,
            "lower `arms` or `dimension`",
        )?;
        allow(
            self.sweep.memory_bytes,
            &format!("the releases of `{}` over {} rounds", plan.policy, plan.rounds),
            (task.policy_plan.need_bytes)(facts, &task.privacy.request),
            "lower `rounds`, or raise the policy's `growth`",
        )?;
        let prepared = (task.policy_plan.prepare)(facts, &task.privacy.request).map_err(|refusal| task.privacy.place(refusal))?;
        let replays = task.environment_plan.replays;
        let (streams, keeps_parameters) = (kept.streams.clone(), self.sweep.parameters);
        Ok(ContextualCell { plan: plan.clone(), environment, prepared, streams, replays, keeps_parameters })
    }

    /// Prepares a bandit cell, with features of at most `table_points` points: of a larger domain there is no screen.
    fn ready(&self, plan: &CellPlan, bandit: &BanditPlan, table_points: usize) -> Result<ReadyCell, Error> {
        let kept = self.cache(plan);
        let environment = self.kept_environment(plan, bandit, &kept)?;
        let curator = bandit.curator.as_deref().map(CuratorPlan::curator).transpose()?;
        let inputs = match (&curator, environment.product.as_ref()) {
            (Some(_), _) => withheld(environment.as_ref())?,
            (None, Some(product)) => KnownInputs::Product(Arc::clone(product)),
            (None, None) => KnownInputs::Shared(SharedInputs {
                gram: Arc::clone(&environment.gram),
                points: environment.points.clone(),
                kernel: environment.kernel.clone(),
            }),
        };
        let problem = Problem {
            inputs,
            table_points,
            rounds: plan.rounds,
            streams: kept.streams.clone(),
            memory_bytes: self.sweep.memory_bytes,
            tables: Arc::clone(&kept.tables),
        };
        let sets = environment.set_size;
        if sets.is_some() && !bandit.policy_plan.plays_sets {
            return Diagnostic::new(format!("policy `{}` cannot play decision sets that change every round", plan.policy))
                .expected("a policy that never insists on a point, such as `gp-ucb`, `qff-gp-ucb` or `uniform`")
                .hint("drop the policy, or the environment's `sets`")
                .refuse();
        }
        let maker = (bandit.policy_plan.prepare)(&problem)?;
        let (trial_bytes, screen_bytes);
        let domain = match maker.basis() {
            Some(basis) => {
                let update_kind = update_kind(maker.as_ref());
                (trial_bytes, screen_bytes) = self.allow_trial(&basis, problem.n_points(), plan.rounds, update_kind)?;
                let screened = environment.product.is_none()
                    && sets.is_none_or(|size| self.backend.screens_set(&basis, size, plan.rounds, update_kind));
                if screened && problem.n_points() <= table_points { Some(self.domain(&basis, &kept)?) } else { None }
            }
            None => {
                (trial_bytes, screen_bytes) = (maker.own_bytes(), 0.0);
                self.allow_one(trial_bytes, problem.n_points(), plan.rounds, "lower `rounds` or the domain's points")?;
                None
            }
        };
        let is_shared = plan.tuned.is_some() || self.alike.get(plan.index as usize).is_some_and(|(_, several)| *several);
        // Cells come to a block of trials one after the other.
        let block = self.sweep.block.min(self.sweep.trials);
        let functions = (is_shared && block <= functions::most(environment.as_ref()) as u64).then(|| Arc::clone(&kept.functions));
        Ok(ReadyCell {
            functions,
            plan: plan.clone(),
            bandit: bandit.clone(),
            environment,
            curator,
            maker,
            domain,
            streams: kept.streams.clone(),
            keeps_parameters: self.sweep.parameters,
            memory_bytes: self.sweep.memory_bytes,
            trial_bytes,
            screen_bytes,
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
    /// Returns what a trial takes while a device scores it, and what the CPU's screen takes besides, in bytes.
    fn allow_trial(&self, basis: &Basis, n_points: usize, rounds: u64, update_kind: UpdateKind) -> Result<(f64, f64), Error> {
        let n = n_points as f64;
        let (on_device, screens) = match basis {
            Basis::Table(table) => {
                let m = table.n_features as f64;
                // Models from sums are scored as a whole and have no columns. Their factors are counted here besides those of a
                // screen; the mechanism counts the memory of its own noise.
                let (state, pruning) = if update_kind == UpdateKind::Full {
                    (7.0 * m * m, 0.0)
                } else {
                    // The state is a factor over visited points, until these are twice as many as the features, or the inverse
                    // over features, computed from the plays.
                    let k = n.min(rounds as f64);
                    let span = k.min(2.0 * m + 1.0);
                    ((2.5 * span * span).max(3.0 * m * m), Cpu::pruning_bytes(basis, n_points, k))
                };
                (8.0 * (3.0 * n + state), pruning)
            }
            Basis::Gram(_) | Basis::Own(_) => {
                // Each round adds at most one new basis point.
                let k = n.min(rounds as f64);
                let tabulated = matches!(basis, Basis::Gram(gram) if gram.dense_column(0).is_some());
                let columns = if tabulated { 0.0 } else { 8.0 * n * k };
                // A trial stores the columns of one scoring strategy at a time.
                let columns = columns.max(Cpu::pruning_bytes(basis, n_points, k));
                let state = 8.0 * (3.0 * n + 2.5 * k * k);
                // Over a small domain all covariances of the visited points are kept, if the ridge allows it.
                let small = n_points <= CovariancePosterior::MOST_POINTS && matches!(basis, Basis::Gram(_));
                (if small { state.max(CovariancePosterior::most_bytes(n_points, rounds)) } else { state }, columns)
            }
        };
        self.allow_one(
            on_device + screens,
            n_points,
            rounds,
            "lower `rounds` or the domain's points, or give the policy `features`",
        )?;
        Ok((on_device, screens))
    }

    fn allow_one(&self, bytes: f64, n_points: usize, rounds: u64, hint: &'static str) -> Result<(), Error> {
        allow(self.sweep.memory_bytes, &format!("one trial on {n_points} points over {rounds} rounds"), bytes, hint)
    }

    /// Returns a cell's ledger and facts, from its first trial; checks that trials can be made.
    ///
    /// # Errors
    /// As [`Preparation::cell`], or if the first trial fails.
    pub fn facts(&self, plan: &CellPlan) -> Result<CellFacts, Error> {
        let plan = self.played(plan)?;
        let plan = plan.as_ref();
        let mut facts = self.facts_of(plan, usize::MAX, true)?;
        if let Some((factor, pilot)) = plan.tuned.as_deref().copied() {
            facts.facts.push("tuned_factor_of_beta", factor);
            facts.facts.push("pilot_trials_of_each_factor", pilot);
        }
        Ok(facts)
    }

    /// Describes every cell, after pilot trials have chosen tuned factors on the current rayon pool.
    ///
    /// * `played` — called with the number of factors to play, after each
    ///
    /// # Errors
    /// The first cell of which a pilot trial fails, and as [`Preparation::facts`].
    pub fn cell_infos(&self, played: &(dyn Fn(u64) + Sync)) -> Result<Vec<CellInfo>, Error> {
        self.tune(&self.sweep.cells, played)?;
        let (mut ledgers, mut shared, mut warnings) = (SharedValues::default(), SharedValues::default(), SharedValues::default());
        let mut swept = Arc::default();
        let infos = self.sweep.cells.iter().map(|plan| {
            // The cells of a sweep point share their values.
            let values = plan.swept.values();
            if values != swept {
                swept = values;
            }
            let facts = self.facts(plan).map_err(|error| plan.placed(error))?;
            Ok(CellInfo {
                cell: plan.index,
                policy: Arc::clone(&plan.policy),
                environment: Arc::clone(&plan.environment.label),
                swept: Arc::clone(&swept),
                role: plan.role.clone(),
                resolved: plan.resolved.clone(),
                // A copy has no spare memory.
                ledger: ledgers.share(facts.ledger.clone()),
                facts: shared.share(facts.facts.clone()),
                measures: match &plan.task {
                    Task::Bandit(_) => Measures::Regret,
                    Task::Contextual(task) if task.environment_plan.replays => Measures::Replay,
                    Task::Contextual(_) => Measures::Contextual,
                    Task::Online(_) => Measures::Risk,
                },
                warnings: warnings.share(facts.warnings),
            })
        });
        let mut cells = infos.collect::<Result<Vec<CellInfo>, Error>>()?;
        unify_swept(&mut cells);
        Ok(cells)
    }

    /// Returns ledger and facts, with the warnings marked that the spec accepts.
    ///
    /// * `table_points` — as in [`Preparation::ready`]
    /// * `choosing` — whether validation data choose a learning rate
    fn facts_of(&self, plan: &CellPlan, table_points: usize, choosing: bool) -> Result<CellFacts, Error> {
        let mut facts = match &plan.task {
            Task::Bandit(bandit) => {
                let cell = self.ready(plan, bandit, table_points)?;
                let instance = self.cache(plan).functions.of(cell.environment.as_ref(), 0)?;
                CellFacts::of_bandit(&cell, instance)?
            }
            Task::Contextual(task) => self.ready_contextual(plan, task)?.facts()?,
            Task::Online(online) => self.online_facts(plan, online, choosing)?,
        };
        if facts.ledger.reward.epsilon.is_some() {
            facts.ledger.reward.notes.extend(plan.environment.people.as_deref().map(str::to_owned));
        }
        for warning in &mut facts.warnings {
            warning.accepted = self.sweep.accepted.contains(&warning.topic);
        }
        Ok(facts)
    }

    /// Returns the ledger and facts of a cell without running anything.
    ///
    /// The first candidate replaces a learning rate that validation data would choose, and a usual factor one that is tuned. Over many
    /// points features are built at a sample of them, and their memory is counted for all.
    pub fn facts_in_short(&self, plan: &CellPlan) -> Result<CellFacts, Error> {
        self.facts_of(plan, CHECKED_POINTS, false)
    }
}

fn of_another_kind(plan: &CellPlan, why: &str) -> Error {
    Error::Failed { problem: format!("`{}` {why}", plan.policy), hint: "run it with `privateer run`".to_owned() }
}

/// Returns for each cell the first one over the same environment, and whether there are several.
fn alike(sweep: &Sweep) -> Vec<(u32, bool)> {
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    // Keys are long, and most cells share one in memory.
    let mut first_at: BTreeMap<usize, usize> = BTreeMap::new();
    let mut alike = Vec::with_capacity(sweep.cells.len());
    for (place, cell) in sweep.cells.iter().enumerate() {
        let of_key = || *first_of.entry(&cell.environment.key).or_insert(place);
        let first = *first_at.entry(Arc::as_ptr(&cell.environment).addr()).or_insert_with(of_key);
        alike.push((sweep.cells[first].index, first != place));
        alike[first].1 |= first != place;
    }
    alike
}

/// Returns what a policy knows of inputs that a curator holds: their number and the kernel.
fn withheld(environment: &Environment) -> Result<KnownInputs, Error> {
    if let Some(rows) = environment.merged_rows {
        return Diagnostic::new(format!(
            "a curator releases each of the table's {rows} rows, and rows with equal inputs are one point here"
        ))
        .hint("state `environment.replicates = \"apart\"`")
        .refuse();
    }
    match (environment.points.as_ref(), environment.kernel.as_ref()) {
        (Some(points), Some(kernel)) => Ok(KnownInputs::Released { n_points: points.n_points(), kernel: Arc::clone(kernel) }),
        _ => Diagnostic::new("a curator releases inputs, and the points of this environment have no coordinates")
            .hint("use an environment over points, such as `gp-sample` or `points-table`, or drop `[curator]`")
            .refuse(),
    }
}
