//! Runs one trial on the block pruning path.

use super::block::{self, Block, BlockStreak};
use super::blocks::Blocks;
use super::bounds::Bounds;
use super::history::{History, OpenedStreak};
use super::interpolation::Checks;
use super::order::MOST_SIZE;
use super::rows::{AveragedObservation, VisitedRows};
use super::search::ScoreErrors;
use crate::cpu::Cpu;
use crate::cpu::path::{PathCost, WORK_OF_A_SCORE};
use crate::cpu::trial::{TrialScreen, settle};
use crate::cpu::vector::{self, U};
use crate::{Band, Counters};
use privateer_gp::posterior::REBUILD_EVERY;
use privateer_gp::score::{Candidates, Change, FeatureTable, ScoreModel, StateError, TrialScore, VisitedPoints, tie_margin};
use privateer_numerics::linalg::{lost_in_solves, rounded_share};
use std::sync::Arc;

/// Observations between two comparisons of a scored block with exact scores.
const CHECK_EVERY: u32 = 256;

/// Work of a trial per multiply-add spent on exact scores in blocks that were not scored.
const CHECKED_SHARE: usize = 128;

/// Step between the points of successive comparisons of that kind: a prime.
const CHECKED_STEP: usize = 7919;

/// Streaks whose coefficients are kept; blocks that missed more are brought up to date.
///
/// With an interpolation grid most blocks are not scored for a long time, so `WITH_A_GRID` times as many streaks are kept.
const MOST_STREAKS: usize = 512;
const WITH_A_GRID: usize = 4;

/// Largest number of streaks that are kept.
pub const MOST_STREAKS_KEPT: usize = WITH_A_GRID * MOST_STREAKS;

/// Largest error growth in solves for which an observed model is replayed on this path.
///
/// Beyond it the trial starts on the dense path, from exact scores.
const MOST_LOST: f64 = 1e3;

/// How a trial continues after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruningOutcome {
    /// On the block pruning path.
    Pruned,
    /// On the dense path, because this path has cost more.
    Dearer,
    /// On the dense path, because this path cannot follow the model or failed a check.
    Lost,
}

/// Memory of a finished trial, for reuse by the next one.
///
/// Most of it is columns, and new pages from the operating system cost as much as filling them.
pub type Spare = Vec<Block>;

pub struct PrunedTrial {
    pub(super) shared: Arc<Blocks>,
    pub(super) history: History,
    streaks: OpenStreaks,
    blocks: Vec<Block>,
    pub(super) bounds: Bounds,
    /// Blocks scored this round.
    pub(super) scored: Vec<u32>,
    pub(super) checks: Option<Checks>,
    pub(super) errors: ErrorBounds,
    /// Work of this path, and estimated work of the dense path.
    pub cost: PathCost,
    check: ScoreCheck,
    /// See [`PrunedTrial::starts_current`].
    is_current: bool,
    band: Band,
    /// Bytes that the columns of blocks take, and the most that they may.
    column_bytes: usize,
    most_column_bytes: usize,
}

/// The streaks whose coefficients are kept.
struct OpenStreaks {
    /// Whether the model may continue the last streak.
    open: bool,
    /// Streaks from number `first` on; the last is open.
    list: Vec<BlockStreak>,
    first: usize,
}

/// What bounds the errors of means and posterior variances.
#[derive(Default)]
pub(super) struct ErrorBounds {
    p: f64,
    /// The model's error of `p` of the open streak: a constant, and a part per unit of the posterior standard deviation.
    p_of_model: [f64; 2],
    /// Sum of the squares of `scale p`'s errors, and the largest prior variance.
    squares: f64,
    prior: f64,
    /// Bound on `|p|` of the open streak.
    p_bound: f64,
    mean: f64,
    variance: f64,
    /// Sum of `scale² |u|²` over features.
    ///
    /// This is the trace of the reduction of the posterior variance as a form, whose eigenvalues are at most 1.
    pub(super) trace: f64,
    /// Sum of `step² / scale²`; means are at most its root times the largest prior deviation.
    innovations: f64,
    largest_beta: f64,
}

impl ErrorBounds {
    /// Returns the bound on the errors of variances: all falls of a variance sum to the prior variance at most.
    fn of_variance(&self) -> f64 {
        self.variance + 2.0 * (self.prior * self.squares).sqrt() * (1.0 + 1e-6) + self.squares
    }
}

/// Comparisons with exact scores.
struct ScoreCheck {
    /// Observations since the last comparison of a scored block.
    since: u32,
    /// `work` at the last comparison of a block that was not scored, and the point of the next one.
    work: usize,
    next: usize,
}

impl PrunedTrial {
    /// Creates a trial with the prior; `table` for a basis of features.
    ///
    /// * `spare` — memory of a finished trial
    /// * `cost` — work counted so far
    /// * `options` — those of the backend
    pub fn new(
        shared: Arc<Blocks>,
        table: Option<Arc<FeatureTable>>,
        spare: Option<Spare>,
        cost: PathCost,
        options: Cpu,
    ) -> Self {
        let (size, m) = (shared.order.size, table.as_ref().map_or(0, |table| table.n_features));
        let bytes = |blocks: &Spare| blocks.iter().map(Block::column_bytes).sum::<usize>();
        // Blocks that this trial never scores would keep what it may hold.
        let mut blocks = spare.filter(|blocks| bytes(blocks) <= options.most_column_bytes / 2).unwrap_or_default();
        let column_bytes = bytes(&blocks);
        blocks.resize_with(shared.order.n_blocks(), Block::default);
        blocks.iter_mut().zip(shared.prior.chunks_exact(size)).for_each(|(block, prior)| block.start(prior));
        Self {
            history: History::new(table),
            streaks: OpenStreaks { open: false, list: vec![BlockStreak::default()], first: 0 },
            blocks,
            bounds: Bounds::new(&shared, m),
            scored: Vec::new(),
            checks: shared.checks.as_ref().map(|grid| Checks::new(Arc::clone(grid), shared.norm * shared.norm)),
            errors: ErrorBounds { variance: shared.prior_error * shared.norm * shared.norm, ..ErrorBounds::default() },
            cost: PathCost { extra: 0, ..cost },
            check: ScoreCheck { since: 0, work: 0, next: 0 },
            is_current: false,
            band: options.band,
            column_bytes,
            most_column_bytes: options.most_column_bytes,
            shared,
        }
    }

    /// Replays an observed model: each visited point becomes one observation of its average reward.
    ///
    /// The posterior is the same. Returns `None` where the solves lose too much accuracy.
    pub fn replayed(mut self, model: &dyn ScoreModel, visited: &VisitedPoints<'_>) -> Option<Self> {
        let prior = model.prior_variance_bound();
        let solves = lost_in_solves(prior, visited.ridge, visited.counts.iter().copied().max().unwrap_or(0));
        if MOST_LOST < solves {
            return None;
        }
        let mut rows = VisitedRows::default();
        let (mut largest, mut weights) = (0.0f64, 0.0);
        for ((&point, &count), &sum) in visited.points.iter().zip(visited.counts).zip(visited.sums) {
            let visit = AveragedObservation { point, count, average: sum / count as f64, ridge: visited.ridge };
            let mut streak = BlockStreak::default();
            let (opened, scale, step) = self.history.visit(visit, prior, &self.shared, &mut rows, &mut streak.alpha);
            self.begin(streak, opened, scale, prior);
            largest = largest.max(visit.average.abs());
            weights += step.abs() * self.streaks.list.last()?.alpha.iter().map(|a| a.abs()).sum::<f64>();
            if !self.add(scale, step, prior) {
                return None;
            }
        }
        // An estimate of both distances to exact arithmetic: of as many updates as there are points, and of the model's.
        let k = visited.points.len() as f64;
        let share = rounded_share(k, k) + rounded_share(k, (model.n_observations() as f64).min(REBUILD_EVERY as f64));
        let state = model.state_error();
        // They start from the values of these blocks, which differ from the model's by `apart`.
        let apart = (1.0 + k.sqrt()) * self.shared.source.error();
        self.errors.mean += share * (largest + weights * prior) + apart * weights + state.mean;
        self.errors.variance += (share * prior + apart) * solves + state.of_variance(prior);
        // The dense path evaluates every point's exact score.
        self.cost.dense += self.n_points() * visited.points.len() * (visited.points.len() / 2 + WORK_OF_A_SCORE);
        self.streaks.open = false;
        self.is_current = true;
        Some(self)
    }

    /// Returns, once, whether the trial started from a model that includes this round's change.
    pub fn starts_current(&mut self) -> bool {
        std::mem::take(&mut self.is_current)
    }

    fn n_points(&self) -> usize {
        self.shared.order.places.len()
    }

    /// Applies a change; false if it is more than a row, the model differs from the one followed, or errors overflow.
    pub fn follow(&mut self, request: &TrialScore<'_>) -> bool {
        let (row, scale, mean_step, repeated) = match request.change {
            Change::None => return true,
            Change::Row { row, scale, mean_step, repeated, rebuilt: false } => (row, scale, mean_step, repeated),
            _ => return false,
        };
        let (model, prior) = (request.model, request.model.prior_variance_bound());
        let Some(visited) = model.visited() else { return false };
        if repeated && self.streaks.open {
            if !self.history.again(&visited) {
                return false;
            }
        } else {
            let mut streak = BlockStreak::default();
            let Some(opened) = self.history.start(&visited, row, prior, &self.shared, &mut streak.alpha) else { return false };
            self.begin(streak, opened, scale, prior);
            let error = model.row_error();
            self.errors.p_of_model = [error.row, error.share];
            self.errors.variance += error.of_closed(prior);
            self.streaks.open = true;
        }
        self.check.since += 1;
        self.add(scale, mean_step, prior)
    }

    /// Begins a new streak, which the history has opened.
    fn begin(&mut self, streak: BlockStreak, opened: OpenedStreak, scale: f64, prior: f64) {
        self.errors.p = opened.p_error;
        self.errors.prior = prior;
        // The posterior variance stays non-negative, so one observation lowers it by at most the prior variance.
        self.errors.p_bound = if 0.0 < scale { prior.sqrt() * (1.0 + 1e-6) / scale } else { f64::INFINITY };
        let visited = self.history.points();
        self.bounds.start_streak(&self.shared, visited, self.history.coordinates(), &streak.alpha);
        self.cost.dense += opened.dense_work;
        self.cost.work += opened.work + self.bounds.work_of_a_streak(&self.shared, visited.len());
        if let Some(checks) = &mut self.checks {
            checks.start_streak(self.history.coordinates());
        }
        self.streaks.list.push(streak);
        self.drop_streaks();
    }

    /// Adds an observation to the open streak; returns false if an error bound overflowed.
    fn add(&mut self, scale: f64, mean_step: f64, prior: f64) -> bool {
        let innovation = mean_step / scale;
        self.errors.innovations += innovation * innovation;
        self.errors.trace += scale * scale * self.bounds.theta.row_square;
        if let Some(streak) = self.streaks.list.last_mut() {
            streak.squares += scale * scale;
            streak.steps += mean_step;
            self.history.observe(&streak.alpha, mean_step);
        }
        self.bounds.observe(scale, mean_step);
        if let Some(checks) = &mut self.checks {
            checks.observe(scale, mean_step);
        }
        let (p, e) = (self.errors.p_bound, self.errors.p);
        let [of_model, share] = self.errors.p_of_model;
        let apart = scale * (e + of_model + share * prior.sqrt());
        self.errors.squares += apart * apart;
        self.errors.variance += scale * scale * 4.0 * U * p * p + U * prior;
        // The sum of a streak's steps rounds as well, by the same amounts.
        self.errors.mean += mean_step.abs() * (e + 2.0 * U * p) + 2.0 * U * (self.errors.innovations * prior).sqrt();
        self.cost.dense += 4 * self.n_points();
        self.errors.of_variance().is_finite() && self.errors.mean.is_finite()
    }

    /// Drops the oldest streaks when too many are kept, after updating the blocks that need them.
    fn drop_streaks(&mut self) {
        let most = if self.checks.is_some() { MOST_STREAKS_KEPT } else { MOST_STREAKS };
        if self.streaks.list.len() <= most {
            return;
        }
        let keep = self.streaks.first + most / 2;
        for block in 0..self.blocks.len() {
            if self.blocks[block].streak < keep {
                self.take(block, 0.0);
            }
        }
        let oldest = self.blocks.iter().map(|block| block.streak).min().unwrap_or(keep);
        self.streaks.list.drain(..oldest - self.streaks.first);
        self.streaks.first = oldest;
    }

    /// Returns the number of streaks opened since a block was last brought up to date.
    pub(super) fn missed(&self, block: usize) -> usize {
        self.streaks.first + self.streaks.list.len() - 1 - self.blocks[block].streak
    }

    /// Brings a block up to date; returns its largest score and largest posterior variance.
    pub(super) fn take(&mut self, block: usize, beta: f64) -> (f64, f64) {
        let missed = self.missed(block);
        let own = &mut self.blocks[block];
        let size = own.mean.len();
        let (before, held) = (own.n_columns(), own.column_bytes());
        let (visited, OpenStreaks { list, first, .. }) = (self.history.points(), &self.streaks);
        let found = block::take(own, block, &self.shared, visited, list, *first, beta);
        let new = own.n_columns() - before;
        self.column_bytes += own.column_bytes() - held;
        if self.most_column_bytes < self.column_bytes {
            self.column_bytes -= own.column_bytes();
            // `fill` would keep the memory.
            own.columns.iter_mut().for_each(|part| *part = Vec::new());
        }
        self.cost.work += size * (new * self.shared.source.work() + missed * self.history.points().len() + WORK_OF_A_SCORE);
        found
    }

    /// Writes the points that may be the best, as on the dense path.
    pub fn candidates(&mut self, request: &TrialScore<'_>, counters: &mut Counters, answer: &mut Candidates) -> PruningOutcome {
        let (beta, model) = (request.beta, request.model);
        self.errors.largest_beta = self.errors.largest_beta.max(beta);
        let state = model.state_error();
        let prior = model.prior_variance_bound();
        let e = self.errors.of_variance() + state.variance;
        // Rounding of scores and bounds: a few operations on numbers of this size.
        let magnitude = (self.errors.innovations.sqrt() + self.errors.largest_beta) * prior.sqrt();
        let e_mean = self.errors.mean + state.mean + self.errors.largest_beta * state.deviation + 8.0 * U * (1.0 + magnitude);
        let widest = e_mean + self.errors.largest_beta * (2.0 * e).sqrt();
        self.bounds.update(beta, &self.shared, self.history.beyond(prior, &self.shared), self.band);
        if let Some(visited) = model.visited() {
            for (point, score) in self.history.own_scores(&visited, beta, &self.shared) {
                self.bounds.raise(self.shared.order.places[point as usize].0 as usize, score);
            }
        }
        self.cost.work += self.bounds.work_of_a_round();
        self.scored.clear();
        let errors = ScoreErrors { mean: e_mean, variance: e, score: widest };
        let mut checks = self.checks.take();
        let best = match &mut checks {
            Some(checks) => self.check_and_score(checks, beta, errors),
            None => self.score_blocks(beta, errors),
        };
        counters.bounded += checks.as_mut().map_or(0, |checks| std::mem::take(&mut checks.bounded));
        self.checks = checks;
        self.collect(best, beta, e, e_mean, answer);
        if answer.points.is_empty() {
            return PruningOutcome::Lost;
        }
        self.cost.extra += answer.points.len() - 1;
        counters.blocks += self.scored.len() as u64;
        let before = counters.violations;
        if CHECK_EVERY <= self.check.since {
            self.check.since = 0;
            self.check(request, state, e_mean, counters);
        }
        self.check_unscored(request, 3.0 * widest + tie_margin(best), counters);
        if before < counters.violations {
            return PruningOutcome::Lost;
        }
        let n = self.n_points();
        self.cost.dense += WORK_OF_A_SCORE * n;
        let leaves = self.cost.leaves(n, self.history.points().len(), self.history.n_features());
        if leaves { PruningOutcome::Dearer } else { PruningOutcome::Pruned }
    }

    /// Writes the points of the scored blocks that may be the best.
    fn collect(&self, best: f64, beta: f64, e: f64, e_mean: f64, answer: &mut Candidates) {
        answer.points.clear();
        let tie = tie_margin(best);
        let floor = best - tie - 2.0 * (e_mean + beta * (2.0 * e).sqrt());
        let size = self.shared.order.size;
        for &block in &self.scored {
            if self.bounds.blocks.largest[block as usize] < floor {
                continue;
            }
            let own = &self.blocks[block as usize];
            let points = &self.shared.order.points[block as usize * size..][..size];
            let mut scores = [0.0; MOST_SIZE];
            vector::score(&own.mean, &own.variance, beta, &mut scores[..size]);
            answer.points.extend(points.iter().zip(&scores).filter(|(_, score)| floor <= **score).map(|(&point, _)| point));
        }
        answer.points.sort_unstable();
        answer.points.dedup();
        let moments = |point: u32| {
            let (block, at) = self.shared.order.places[point as usize];
            let own = &self.blocks[block as usize];
            (own.mean[at as usize], own.variance[at as usize])
        };
        settle(&mut answer.points, tie, beta, [e_mean, e], moments);
    }

    /// Compares some points of the block that was scored first with their exact scores.
    fn check(&self, request: &TrialScore<'_>, state: StateError, e_mean: f64, counters: &mut Counters) {
        let Some(&block) = self.scored.first() else { return };
        let own = &self.blocks[block as usize];
        let points = &self.shared.order.points[block as usize * self.shared.order.size..];
        for (at, &point) in points.iter().enumerate().take(16) {
            let exact = request.model.exact(point as usize);
            let apart = (exact.variance - own.variance[at].max(0.0)).abs();
            let within = self.errors.of_variance() + state.of_variance(exact.variance);
            let outside = within < apart || e_mean < (exact.mean - own.mean[at]).abs();
            counters.violations += u64::from(outside);
        }
    }

    /// Compares, at intervals, a point of an unscored block with the bound of its block.
    ///
    /// The points are visited in turn. Only this comparison detects a missed candidate.
    fn check_unscored(&mut self, request: &TrialScore<'_>, margin: f64, counters: &mut Counters) {
        let cost = self.history.work_of_a_point(&self.shared);
        if self.cost.work < self.check.work + CHECKED_SHARE * cost {
            return;
        }
        let n = self.n_points();
        let point = self.check.next % n;
        // Far from the last point, and through all points if n is not a multiple of the step.
        self.check.next = (point + CHECKED_STEP) % n;
        let bound = self.bounds.blocks.now[self.shared.order.places[point].0 as usize];
        if f64::NEG_INFINITY < bound {
            counters.violations += u64::from(bound + margin < request.model.exact(point).upper(request.beta));
            self.cost.work += cost;
        }
        self.check.work = self.cost.work;
    }

    /// Returns the memory of a finished trial.
    pub fn end(self) -> Spare {
        self.blocks
    }

    /// Converts the trial to the dense path.
    pub fn dense(mut self) -> TrialScreen {
        for block in 0..self.blocks.len() {
            self.take(block, 0.0);
        }
        let places = &self.shared.order.places;
        let at =
            |of: fn(&Block) -> &[f64]| places.iter().map(|&(block, at)| of(&self.blocks[block as usize])[at as usize]).collect();
        let mut screen = TrialScreen::carried_on(
            at(|block| &block.mean),
            at(|block| &block.variance),
            at(|block| &block.p),
            (self.errors.p, self.errors.p_of_model),
            (self.errors.mean, self.errors.of_variance()),
        );
        screen.has_row = self.streaks.open;
        screen
    }
}
