//! Implements the CPU backend, its prepared domains and its screens.

use super::factor::{FactorScreen, Source, Tile, feature_tiles};
use super::panels::Panels;
use super::path::{self, MOST_COLUMN_BYTES, PathCost, dense_work, work_by_pivots};
use super::pivots::{AskedTrial, Interpolation, PivotGrowth, PivotScreen, PivotTable, PivotTables};
use super::pruning::order::MOST_SIZE;
use super::pruning::{Blocks, MOST_STREAKS_KEPT, PrunedTrial, PruningOutcome, Spare};
use super::trial::TrialScreen;
use crate::BackendError;
use crate::device::tables::{Chunk, feature_columns};
use crate::playable::playable;
use crate::scale::Scale;
use crate::{Backend, Band, Counters, Domain, Screen, UpdateKind};
use privateer_gp::score::{Basis, Candidates, Change, GramSource, TrialScore};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The CPU backend.
#[derive(Debug, Clone, Copy)]
pub struct Cpu {
    pub(super) band: Band,
    /// Whether trials may take another path than the dense one.
    prunes: bool,
    /// Whether trials begin and stay on the block pruning path whatever it costs.
    stays: bool,
    /// Most bytes of the columns that the blocks of a trial hold.
    pub(super) most_column_bytes: usize,
    /// Whether decision sets are screened, where that is not left to their size.
    screens_sets: Option<bool>,
}

impl Default for Cpu {
    fn default() -> Self {
        Self { band: Band::Proved, prunes: true, stays: false, most_column_bytes: MOST_COLUMN_BYTES, screens_sets: None }
    }
}

impl Cpu {
    /// Returns the bytes that block pruning may use per trial beyond the dense path.
    ///
    /// Over `n_points` points (`basis` may hold a sample of them) and `visited` visited ones: columns up to their cap, the rows
    /// of the kept streaks, a factor over the visited points, and a dozen numbers per point for blocks, moments and bounds.
    pub fn pruning_bytes(basis: &Basis, n_points: usize, visited: f64) -> f64 {
        if !path::prunes(basis, n_points) {
            return 0.0;
        }
        let column = 8.0 * n_points as f64;
        // The cap is tested after each block.
        let columns = (visited * column).min(MOST_COLUMN_BYTES as f64 + 8.0 * MOST_SIZE as f64 * visited);
        // As for a Gram posterior's memory: a factor that grows by a quarter exists twice while it grows.
        columns + visited * (8.0 * MOST_STREAKS_KEPT as f64 + 8.0 * 2.5 * visited) + 96.0 * n_points as f64
    }

    /// Prepares the data that all trials over one basis share, which cannot fail here.
    pub(crate) fn domain(&self, basis: &Basis) -> Arc<dyn Domain> {
        Arc::new(Arc::new(StrategyTables {
            basis: basis.clone(),
            scale: Arc::new(Scale::of(basis)),
            columns: OnceLock::new(),
            panels: OnceLock::new(),
            tiles: OnceLock::new(),
            growth: Mutex::new(None),
            lanes: OnceLock::new(),
            blocks: OnceLock::new(),
            spare: Mutex::new(Vec::new()),
            options: *self,
        }))
    }

    /// Creates a backend with another band, for tests of the contract.
    pub fn with_band(band: Band) -> Self {
        Self { band, ..Self::default() }
    }

    /// Creates a backend that scores every point in every round, without block pruning and pivots, for comparison.
    pub fn dense() -> Self {
        Self { prunes: false, ..Self::default() }
    }

    /// Keeps trials on the block pruning path, whatever it costs and however small the domain, for tests of that path.
    #[must_use]
    pub fn staying(self) -> Self {
        Self { stays: true, ..self }
    }

    /// Limits the columns that the blocks of a trial hold to this number of bytes, for tests of that bound.
    #[must_use]
    pub fn with_columns(self, bytes: usize) -> Self {
        Self { most_column_bytes: bytes, ..self }
    }

    /// Screens decision sets of any size, or scores their points one by one, for comparison.
    #[must_use]
    pub fn with_sets_screened(self, screened: bool) -> Self {
        Self { screens_sets: Some(screened), ..self }
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, BackendError> {
        Ok(self.domain(basis))
    }

    fn screens_set(&self, basis: &Basis, size: usize, rounds: u64, update_kind: UpdateKind) -> bool {
        self.screens_sets.unwrap_or_else(|| path::screens_set(basis, size, rounds, update_kind))
    }
}

/// Data that all screens over a basis share.
struct StrategyTables {
    basis: Basis,
    scale: Arc<Scale>,
    /// Feature-major copy of a table; each feature is contiguous over points, for SIMD sums.
    columns: OnceLock<Vec<f64>>,
    /// The table in panels, for products with rows.
    panels: OnceLock<Panels>,
    /// f32 copy of a table, by tiles of points, for full factors.
    tiles: OnceLock<Vec<Tile>>,
    /// Pivots of a table under construction.
    growth: Mutex<Option<PivotGrowth>>,
    /// The finished ones, laid out for interleaved trials.
    lanes: OnceLock<PivotTable>,
    /// Blocks of a domain that trials share.
    blocks: OnceLock<Arc<Blocks>>,
    /// Memory of finished block pruning trials: at most as many as ran together.
    spare: Mutex<Vec<Spare>>,
    options: Cpu,
}

impl StrategyTables {
    /// Creates a block pruning trial, if the model allows it.
    ///
    /// `before` has followed the model up to a change that is not a row.
    fn pruned(&self, request: &TrialScore<'_>, before: Option<PrunedTrial>) -> Option<PrunedTrial> {
        let Cpu { band, prunes, stays, .. } = self.options;
        if matches!(request.change, Change::Factor | Change::Weights { .. })
            || !prunes
            || !(stays || path::prunes(&self.basis, self.basis.n_points()))
            || !matches!(band, Band::Proved | Band::Stale)
            || request.subset.is_some()
        {
            return None;
        }
        let visited = request.model.visited()?;
        let (blocks, table) = match (&self.basis, request.model.own_gram()) {
            (Basis::Table(table), _) => {
                let blocks = self.blocks.get_or_init(|| Arc::new(Blocks::of(table, &self.scale)));
                (Arc::clone(blocks), Some(Arc::clone(table)))
            }
            (Basis::Gram(gram), _) => {
                let blocks = self.blocks.get_or_init(|| Arc::new(Blocks::of_gram(gram, false)));
                (Arc::clone(blocks), None)
            }
            (Basis::Own(_), gram) => (Arc::new(Blocks::of_gram(gram?, true)), None),
        };
        let (cost, begins) = (before.as_ref().map_or_else(PathCost::default, |before| before.cost), before.is_none());
        // A guarded value is consistent between statements, even after a panic.
        let spare = before.map(PrunedTrial::end).or_else(|| self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop());
        let pruned = PrunedTrial::new(blocks, table, spare, cost, self.options);
        match (request.model.n_observations(), request.change) {
            (0, _) => Some(pruned),
            (1, Change::Row { rebuilt: false, .. }) if begins => Some(pruned),
            _ => pruned.replayed(request.model, &visited),
        }
    }

    fn columns(&self) -> &[f64] {
        self.columns.get_or_init(|| match &self.basis {
            Basis::Gram(_) | Basis::Own(_) => Vec::new(),
            Basis::Table(table) => feature_columns(table, Chunk { first: 0, len: table.n_points }),
        })
    }
}

impl Domain for Arc<StrategyTables> {
    fn batch(&self, update_kind: UpdateKind) -> usize {
        path::batch(&self.basis, update_kind)
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        Box::new(CpuScreen {
            trials: (0..n_trials).map(|_| None).collect(),
            pruned: (0..n_trials).map(|_| None).collect(),
            own: vec![None; n_trials],
            factor: FactorScreen::default(),
            pivots: PivotScreen::default(),
            answered: (0..n_trials).map(|_| None).collect(),
            dense_work: 0.0,
            interpolation: None,
            counters: Counters::default(),
            shared: Arc::clone(self),
        })
    }
}

struct CpuScreen {
    shared: Arc<StrategyTables>,
    /// Created when first needed: a model that changes completely every round needs no screen.
    trials: Vec<Option<TrialScreen>>,
    /// Trials with block pruning; trials that left it, or never used it, are in `trials`.
    pruned: Vec<Option<PrunedTrial>>,
    /// Scales of trials with inputs of their own.
    own: Vec<Option<Arc<Scale>>>,
    factor: FactorScreen,
    pivots: PivotScreen,
    /// Of each trial, the answer for a model whose factor was new, until the model changes again.
    answered: Vec<Option<FactorAnswer>>,
    /// Multiply-adds of dense scores of full factors so far, or their equivalent.
    dense_work: f64,
    interpolation: Option<Arc<Interpolation>>,
    counters: Counters,
}

/// The answer for a model that changed completely, and has not changed since.
struct FactorAnswer {
    beta: f64,
    points: Vec<u32>,
    /// Rounds since the change.
    rounds: u32,
    /// Of these, rounds in which the factor is scored again if the exploration factor differs.
    scored: u32,
}

impl Drop for CpuScreen {
    fn drop(&mut self) {
        let mut spare = self.shared.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend(self.pruned.drain(..).flatten().map(PrunedTrial::end));
    }
}

/// Returns the covariance of a request's basis, if the basis is one.
fn gram_of<'a>(basis: &'a Basis, request: &TrialScore<'a>) -> Option<&'a dyn GramSource> {
    match basis {
        Basis::Table(_) => None,
        Basis::Gram(gram) => Some(gram.as_ref()),
        Basis::Own(_) => request.model.own_gram().map(AsRef::as_ref),
    }
}

impl CpuScreen {
    /// Returns the scale of a trial's basis.
    fn scale(&mut self, request: &TrialScore<'_>) -> Arc<Scale> {
        match (&self.shared.basis, request.model.own_gram()) {
            (Basis::Own(_), Some(gram)) => {
                let found = self.own[request.trial].get_or_insert_with(|| Arc::new(Scale::of(&Basis::Gram(Arc::clone(gram)))));
                Arc::clone(found)
            }
            _ => Arc::clone(&self.shared.scale),
        }
    }

    /// Scores a model that changed completely; nothing of it is kept.
    fn new_factor(&mut self, request: &TrialScore<'_>, answer: &mut Candidates) {
        let scale = self.scale(request);
        let shared = Arc::clone(&self.shared);
        let source = match (&shared.basis, gram_of(&shared.basis, request)) {
            (Basis::Table(table), _) => Some(Source::Table(table, shared.tiles.get_or_init(|| feature_tiles(table)))),
            (_, gram) => gram.map(Source::Gram),
        };
        let found = shared.options.band == Band::Proved
            && source
                .zip(request.model.factor())
                .is_some_and(|(source, factor)| self.factor.candidates(request, &factor, source, &scale, answer));
        if !found {
            self.counters.scans += 1;
            answer.points.clear();
            answer.points.extend(playable(shared.basis.n_points(), request.subset));
        }
    }

    /// Returns the interpolation from pivots once dense scores would have cost its set-up.
    ///
    /// `dense_work` adds the cost of these factors.
    fn interpolation(&mut self, dense_work: f64) -> Option<Arc<Interpolation>> {
        let Basis::Table(table) = &self.shared.basis else { return None };
        if self.interpolation.is_none() && self.shared.options.prunes && self.shared.options.band == Band::Proved {
            self.dense_work += dense_work;
            // A guarded value is consistent between statements, even after a panic.
            let mut growth = self.shared.growth.lock().unwrap_or_else(PoisonError::into_inner);
            let growth = growth.get_or_insert_with(|| PivotGrowth::new(table));
            self.interpolation = growth.grow(self.dense_work, || self.shared.columns());
        }
        self.interpolation.clone()
    }

    /// Returns whether a request's factor is scored as a whole: it is new, or is expected to change soon.
    fn scores_factor(&self, request: &TrialScore<'_>) -> bool {
        match request.change {
            Change::Factor => true,
            Change::None => self.answered[request.trial].as_ref().is_some_and(|held| held.rounds < held.scored),
            _ => false,
        }
    }

    /// Keeps the answer for a new factor, or for an unchanged one with another exploration factor.
    fn keep(&mut self, request: &TrialScore<'_>, answer: &Candidates) {
        let points = answer.points.clone();
        let held = match (self.answered[request.trial].take(), request.change) {
            _ if request.subset.is_some() || !self.shared.options.prunes || self.shared.options.band != Band::Proved => None,
            (Some(held), Change::None) => Some(FactorAnswer { beta: request.beta, points, rounds: held.rounds + 1, ..held }),
            (before, _) => {
                let is_long = before.is_some_and(|before| path::MOST_SCORED_AGAIN < before.rounds);
                let scored = if is_long { 0 } else { path::MOST_SCORED_AGAIN };
                Some(FactorAnswer { beta: request.beta, points, rounds: 0, scored })
            }
        };
        self.answered[request.trial] = held;
    }

    /// Answers with the candidates of the round before if neither the model nor the exploration factor has changed.
    fn repeat(&self, request: &TrialScore<'_>, answer: &mut Candidates) {
        if let Some(held) = &self.answered[request.trial]
            && matches!(request.change, Change::None)
            && request.subset.is_none()
            && held.beta.to_bits() == request.beta.to_bits()
        {
            answer.points.clone_from(&held.points);
        }
    }

    /// Scores new factors by pivots; leaves an answer empty where a trial needs another path.
    fn by_pivots(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) {
        let shared = Arc::clone(&self.shared);
        let Basis::Table(table) = &shared.basis else { return };
        let (n, m) = (table.n_points, table.n_features);
        let dense = |request: &TrialScore<'_>| dense_work(request.subset.map_or(n, <[u32]>::len), m);
        let scored: Vec<(usize, &TrialScore<'_>)> = (trials.iter().enumerate())
            .filter(|&(place, request)| out[place].points.is_empty() && self.scores_factor(request))
            .collect();
        let due: f64 = scored.iter().map(|(_, request)| dense(request)).sum();
        if due <= 0.0 {
            return;
        }
        let Some(by) = self.interpolation(due) else { return };
        let work = work_by_pivots(n, m, by.rank);
        let (places, asked): (Vec<usize>, Vec<AskedTrial<'_>>) = (scored.into_iter())
            .filter(|(_, request)| work < dense(request))
            .filter_map(|(place, &request)| Some((place, AskedTrial { request, factor: request.model.factor()? })))
            .unzip();
        if asked.is_empty() {
            return;
        }
        let mut found = vec![Candidates::default(); places.len()];
        let pivots = shared.lanes.get_or_init(|| PivotTable::new(&by, table));
        let tables = PivotTables { by: &by, table: pivots, features: table, scale: &shared.scale };
        self.counters.violations += self.pivots.round(tables, &asked, &mut found);
        for (place, found) in places.into_iter().zip(found) {
            self.counters.interpolated += u64::from(!found.points.is_empty());
            out[place] = found;
        }
    }

    /// Projects the new rows of all trials on the dense path over a table, which is read once for all of them.
    fn project_all(&mut self, trials: &[TrialScore<'_>]) {
        let shared = Arc::clone(&self.shared);
        let Basis::Table(table) = &shared.basis else { return };
        let mut rows: Vec<Option<&[f64]>> = vec![None; self.trials.len()];
        for request in trials {
            if let Change::Row { row, repeated, .. } = request.change
                && self.pruned[request.trial].is_none()
            {
                let trial = self.trials[request.trial].get_or_insert_with(|| TrialScreen::new(table.n_points));
                rows[request.trial] = (!(repeated && trial.has_row)).then_some(row);
            }
        }
        let mut found: Vec<_> =
            (self.trials.iter_mut().zip(&rows)).filter_map(|(trial, row)| Some(trial.as_mut()?.product((*row)?))).collect();
        if found.is_empty() {
            return;
        }
        shared.panels.get_or_init(|| Panels::of(table)).project(&mut found);
        for (trial, row) in self.trials.iter_mut().zip(rows) {
            if let (Some(trial), Some(row)) = (trial, row) {
                trial.projected(row, |i| shared.scale.largest[i]);
            }
        }
    }

    /// Runs a round with block pruning; false if the trial is not on that path, or just left it.
    fn prune(&mut self, request: &TrialScore<'_>, answer: &mut Candidates) -> bool {
        let Some(mut pruned) = self.pruned[request.trial].take() else { return false };
        if request.subset.is_some() {
            return false;
        }
        if request.model.n_observations() == 0 && matches!(request.change, Change::None) {
            // Every mean is 0: the prior alone decides, and no block needs to be scored.
            self.scale(request).best_priors(request.beta, None, answer);
            self.pruned[request.trial] = Some(pruned);
            self.counters.pruned += 1;
            return true;
        }
        if !(pruned.starts_current() || pruned.follow(request)) {
            // More than a row, or a rebuilt model: replay the visited points.
            let Some(mut replayed) = self.shared.pruned(request, Some(pruned)) else { return false };
            replayed.starts_current();
            pruned = replayed;
        }
        match pruned.candidates(request, &mut self.counters, answer) {
            PruningOutcome::Dearer if !self.shared.options.stays => self.trials[request.trial] = Some(pruned.dense()),
            PruningOutcome::Lost => {
                answer.points.clear();
                return false;
            }
            PruningOutcome::Pruned | PruningOutcome::Dearer => self.pruned[request.trial] = Some(pruned),
        }
        self.counters.pruned += 1;
        true
    }

    /// Scores a model that starts, or changed by at most one row.
    fn follow(&mut self, request: &TrialScore<'_>, answer: &mut Candidates) {
        let scale = self.scale(request);
        let shared = Arc::clone(&self.shared);
        let trial = self.trials[request.trial].get_or_insert_with(|| TrialScreen::new(shared.basis.n_points()));
        let mut restarts = false;
        let observations = request.model.n_observations();
        match request.change {
            Change::None => {}
            Change::Weights { .. } | Change::Rebuild | Change::Factor => trial.fresh = false,
            Change::Row { row, scale: along, mean_step, repeated, rebuilt } => {
                restarts = rebuilt;
                // Project even where the screen is rebuilt: the next observation may repeat the row. Rows over a table have
                // been projected already, except for a trial that has just left block pruning.
                if let Basis::Table(table) = &shared.basis
                    && !trial.has_row
                {
                    shared.panels.get_or_init(|| Panels::of(table)).project(&mut [trial.product(row)]);
                    trial.projected(row, |i| scale.largest[i]);
                }
                if let Some(gram) = gram_of(&shared.basis, request)
                    && !(repeated && trial.has_row)
                {
                    let points = request.model.basis_points();
                    trial.project_gram(gram, points, row, request.model.prior_variance_bound());
                }
                if observations == 1 && !trial.fresh {
                    trial.start_from_prior(&scale);
                }
                trial.begin_streak(request.model);
                if trial.fresh {
                    trial.observe(along, mean_step);
                }
            }
        }
        if observations == 0 {
            trial.start_from_prior(&scale);
        }
        if restarts || !trial.fresh || trial.has_drifted(request.model.prior_variance_bound()) {
            // A model that has just been rebuilt is no reference for the screen.
            trial.rebuild(request.model, !restarts, &mut self.counters);
        } else {
            trial.check(request.model, &mut self.counters);
        }
        trial.candidates(request, shared.options.band, answer);
    }
}

impl Screen for CpuScreen {
    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), BackendError> {
        for request in trials {
            if self.trials[request.trial].is_none() && self.pruned[request.trial].is_none() {
                self.pruned[request.trial] = self.shared.pruned(request, None);
            }
        }
        self.project_all(trials);
        out.iter_mut().for_each(|answer| answer.points.clear());
        for (request, answer) in trials.iter().zip(&mut *out) {
            self.repeat(request, answer);
        }
        self.by_pivots(trials, out);
        for (request, answer) in trials.iter().zip(out) {
            match request.change {
                // A factor of a few hundred rows is computed and scored as fast as both sums of every point in f64.
                Change::Factor | Change::Weights { .. } => {
                    self.pruned[request.trial] = None;
                    if let Some(trial) = &mut self.trials[request.trial] {
                        trial.fresh = false;
                    }
                    if answer.points.is_empty() {
                        self.new_factor(request, answer);
                    }
                    self.keep(request, answer);
                }
                Change::None if self.answered[request.trial].is_some() => {
                    if answer.points.is_empty() {
                        self.follow(request, answer);
                    }
                    self.keep(request, answer);
                }
                _ => {
                    self.answered[request.trial] = None;
                    if !self.prune(request, answer) {
                        self.follow(request, answer);
                    }
                }
            }
            self.counters.rounds += 1;
            self.counters.candidates += answer.points.len() as u64;
            self.counters.ambiguous += u64::from(1 < answer.points.len());
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
