//! Runs one trial on the block pruning path.

use super::block::{Block, Run, Take};
use super::blocks::Blocks;
use super::bounds::Bounds;
use super::covariance::Covariance;
use super::grid_values::GridValues;
use super::history::{History, Opened};
use super::kernels::wide_fused;
use super::order::MOST_SIZE;
use super::rows::{Rows, Visit};
use super::search::Errors;
use crate::cpu::trial::{TrialScreen, settle};
use crate::cpu::vector;
use crate::{Band, Counters};
use privateer_gp::score::{Candidates, FeatureTable, Moments, ScoreModel, TIE_TOLERANCE, TrialScore, Visited};
use privateer_numerics::linalg::{lost_in_solves, rounded_share};
use std::sync::Arc;

/// Unit roundoff of f64.
const U: f64 = f64::EPSILON / 2.0;

/// Observations between two comparisons of a scored block with exact scores.
const CHECK_EVERY: u32 = 256;

/// Work of a trial per multiply-add spent on exact scores in blocks that were not scored.
const CHECKED_SHARE: usize = 128;

/// Step between the points of successive comparisons of that kind: a prime.
const CHECKED_STEP: usize = 7919;

/// Streaks whose coefficients are kept; blocks that missed more are brought up to date.
///
/// With an interpolation grid most blocks are not scored for a long time, so `WITH_A_GRID` times as many streaks are kept.
const MOST_RUNS: usize = 512;
const WITH_A_GRID: usize = 4;

/// Largest number of streaks that are kept.
pub const MOST_RUNS_KEPT: usize = WITH_A_GRID * MOST_RUNS;

/// Largest error growth in solves for which an observed model is replayed on this path.
///
/// Beyond it the trial starts on the dense path, from exact scores.
const MOST_LOST: f64 = 1e3;

/// Most bytes of a trial's columns; beyond this the trial moves to the dense path.
pub const MOST_COLUMN_BYTES: usize = 1 << 28;

/// Estimated cost of a point's score in a scored block (square root included), in multiply-adds.
pub(super) const WORK_OF_A_SCORE: usize = 16;

/// Multiply-adds per point by which this path may exceed the dense path.
///
/// The first rounds, which must see all blocks, use them.
const START: usize = 2 * WORK_OF_A_SCORE;

/// One observation, as reported by a model's change.
#[derive(Clone, Copy)]
pub struct Observation<'a> {
    /// Coefficients over the basis.
    pub row: &'a [f64],
    /// See [`privateer_gp::score::Change::Row`].
    pub scale: f64,
    /// See [`privateer_gp::score::Change::Row`].
    pub mean_step: f64,
    /// See [`privateer_gp::score::Change::Row`].
    pub repeated: bool,
}

/// How a trial continues after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
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
#[derive(Debug)]
pub struct Spare(Vec<Block>);

/// State of one trial.
pub struct PrunedTrial {
    pub(super) shared: Arc<Blocks>,
    pub(super) history: History,
    /// Whether the next observation may continue the last streak.
    open: bool,
    /// Streaks from index `first_run` on; the last is open.
    runs: Vec<Run>,
    first_run: usize,
    blocks: Vec<Block>,
    pub(super) bounds: Bounds,
    /// Blocks scored this round.
    pub(super) scored: Vec<u32>,
    /// Values at the grid's nodes, if any; and the round of each block's last bound check.
    pub(super) values: Option<GridValues>,
    pub(super) looked: Vec<u32>,
    /// Block that held the best point of the last round; used with an interpolation grid.
    pub(super) leader: Option<usize>,
    pub(super) round: u32,
    p_error: f64,
    /// Bound on `|p|` of the open streak.
    p_bound: f64,
    mean_error: f64,
    variance_error: f64,
    /// Sum of `scale² |u|²` over features.
    ///
    /// This is the trace of the reduction of the posterior variance as a form, whose eigenvalues are at most 1.
    pub(super) trace: f64,
    /// Sum of `step² / scale²`; means are at most its root times the largest prior deviation.
    innovations: f64,
    largest_width: f64,
    since_check: u32,
    /// Counted multiply-adds of this path, and estimated ones of the dense path.
    pub(super) work: usize,
    dense_work: usize,
    /// `work` at the last comparison with an unscored block, and the point of the next one.
    checked_work: usize,
    next_checked: usize,
    /// See [`PrunedTrial::starts_current`].
    is_current: bool,
    /// Number of candidates beyond the first, summed over rounds.
    extra: usize,
    band: Band,
}

impl PrunedTrial {
    /// Creates a trial with the prior; `table` for a basis of features.
    ///
    /// * `spare` — memory of a finished trial
    /// * `work` — counted so far, see [`PrunedTrial::work`]
    pub fn new(
        shared: Arc<Blocks>,
        table: Option<Arc<FeatureTable>>,
        spare: Option<Spare>,
        work: (usize, usize),
        band: Band,
    ) -> Self {
        let (size, m) = (shared.order.size, table.as_ref().map_or(0, |table| table.n_features));
        let mut blocks = spare.map_or_else(Vec::new, |Spare(blocks)| blocks);
        blocks.resize_with(shared.order.n_blocks(), Block::default);
        blocks.iter_mut().zip(shared.prior.chunks_exact(size)).for_each(|(block, prior)| block.start(prior));
        Self {
            history: History::new(table),
            open: false,
            runs: vec![Run::default()],
            first_run: 0,
            blocks,
            bounds: Bounds::new(&shared, m),
            scored: Vec::new(),
            looked: vec![0; if shared.grid.is_some() { shared.order.n_blocks() } else { 0 }],
            values: shared.grid.as_ref().map(|grid| GridValues::new(grid, shared.norm * shared.norm)),
            leader: None,
            round: 0,
            p_error: 0.0,
            p_bound: 0.0,
            mean_error: 0.0,
            variance_error: shared.prior_error * shared.norm * shared.norm,
            trace: 0.0,
            innovations: 0.0,
            largest_width: 0.0,
            since_check: 0,
            work: work.0,
            dense_work: work.1,
            checked_work: 0,
            next_checked: 0,
            is_current: false,
            extra: 0,
            band,
            shared,
        }
    }

    /// Replays an observed model: each visited point becomes one observation of its average reward.
    ///
    /// The posterior is the same. Returns `None` where the solves lose too much accuracy.
    pub fn replayed(mut self, model: &dyn ScoreModel, visited: &Visited<'_>) -> Option<Self> {
        let prior = model.prior_variance_bound();
        let solves = lost_in_solves(prior, visited.ridge, visited.counts.iter().copied().max().unwrap_or(0));
        if MOST_LOST < solves {
            return None;
        }
        let mut rows = Rows::default();
        let (mut largest, mut weights) = (0.0f64, 0.0);
        for ((&point, &count), &sum) in visited.points.iter().zip(visited.counts).zip(visited.sums) {
            let visit = Visit { point, count, average: sum / count as f64, ridge: visited.ridge };
            let mut run = Run::default();
            let (opened, scale, step) = self.history.visit(visit, prior, &self.shared, &mut rows, &mut run.alpha);
            self.begin(run, opened, scale, prior);
            largest = largest.max(visit.average.abs());
            weights += step.abs() * self.runs.last()?.alpha.iter().map(|a| a.abs()).sum::<f64>();
            if !self.add(scale, step, prior) {
                return None;
            }
        }
        // The replayed observations are computed like the model's own and round like them: `DualModel::state_error` for as
        // many updates as there are points and for a bound on the weights, plus the model's own error.
        let k = visited.points.len() as f64;
        let share = rounded_share(k, k);
        let state = model.state_error();
        // They start from the values of these blocks, which differ from the model's by `apart`.
        let apart = (1.0 + k.sqrt()) * self.shared.source.error();
        self.mean_error += share * (largest + weights * prior) + apart * weights + state.mean;
        self.variance_error += (share * prior + apart) * solves + state.variance;
        // The dense path evaluates every point's exact score.
        self.dense_work += self.n_points() * visited.points.len() * (visited.points.len() / 2 + WORK_OF_A_SCORE);
        self.open = false;
        self.is_current = true;
        Some(self)
    }

    /// Returns, once, whether the trial started from a model that includes this round's change.
    pub fn starts_current(&mut self) -> bool {
        std::mem::take(&mut self.is_current)
    }

    /// Returns the counted multiply-adds of this path, and the estimated ones of the dense path.
    pub fn work(&self) -> (usize, usize) {
        (self.work, self.dense_work)
    }

    fn n_points(&self) -> usize {
        self.shared.order.places.len()
    }

    /// Adds an observation; false if the model differs from the one followed or errors overflow.
    pub fn observe(&mut self, visited: &Visited<'_>, observation: Observation<'_>, prior: f64) -> bool {
        let Observation { row, scale, mean_step, repeated } = observation;
        if repeated && self.open {
            if !self.history.again(visited) {
                return false;
            }
        } else {
            let mut run = Run::default();
            let Some(opened) = self.history.start(visited, row, prior, &self.shared, &mut run.alpha) else { return false };
            self.begin(run, opened, scale, prior);
            self.open = true;
        }
        self.since_check += 1;
        self.add(scale, mean_step, prior)
    }

    /// Begins a new streak, which the history has opened.
    fn begin(&mut self, run: Run, opened: Opened, scale: f64, prior: f64) {
        self.p_error = opened.p_error;
        // The posterior variance stays non-negative, so one observation lowers it by at most the prior variance.
        self.p_bound = if 0.0 < scale { prior.sqrt() * (1.0 + 1e-6) / scale } else { f64::INFINITY };
        let visited = self.history.points();
        self.bounds.start_run(&self.shared, visited, self.history.coordinates(), &run.alpha);
        self.dense_work += opened.dense_work;
        self.work += opened.work + self.bounds.work_of_a_run(&self.shared, visited.len());
        if let (Some(values), Covariance::Features(source)) = (&mut self.values, &self.shared.source) {
            values.start_run(source, self.bounds.matrix());
        }
        self.runs.push(run);
        self.drop_runs();
    }

    /// Adds an observation to the open streak; returns false if an error bound overflowed.
    fn add(&mut self, scale: f64, mean_step: f64, prior: f64) -> bool {
        let innovation = mean_step / scale;
        self.innovations += innovation * innovation;
        self.trace += scale * scale * self.bounds.row_square();
        if let Some(run) = self.runs.last_mut() {
            run.squares += scale * scale;
            run.steps += mean_step;
            self.history.observe(&run.alpha, mean_step);
        }
        self.bounds.observe(scale, mean_step);
        if let Some(values) = &mut self.values {
            values.observe(scale, mean_step);
        }
        let (p, e) = (self.p_bound, self.p_error);
        self.variance_error += scale * scale * (2.0 * p * e + e * e + 4.0 * U * p * p) + U * prior;
        // The sum of a streak's steps rounds as well, by the same amounts.
        self.mean_error += mean_step.abs() * (e + 2.0 * U * p) + 2.0 * U * (self.innovations * prior).sqrt();
        self.dense_work += 4 * self.n_points();
        self.variance_error.is_finite() && self.mean_error.is_finite()
    }

    /// Drops the oldest streaks when too many are kept, after updating the blocks that need them.
    fn drop_runs(&mut self) {
        let most = if self.values.is_some() { MOST_RUNS_KEPT } else { MOST_RUNS };
        if self.runs.len() <= most {
            return;
        }
        let keep = self.first_run + most / 2;
        for block in 0..self.blocks.len() {
            if self.blocks[block].run < keep {
                self.take(block, 0.0);
            }
        }
        let oldest = self.blocks.iter().map(|block| block.run).min().unwrap_or(keep);
        self.runs.drain(..oldest - self.first_run);
        self.first_run = oldest;
    }

    /// Returns the number of streaks opened since a block was last brought up to date.
    pub(super) fn missed(&self, block: usize) -> usize {
        self.first_run + self.runs.len() - 1 - self.blocks[block].run
    }

    /// Brings a block up to date; returns its largest score and largest posterior variance.
    pub(super) fn take(&mut self, block: usize, width: f64) -> (f64, f64) {
        let missed = self.missed(block);
        let own = &mut self.blocks[block];
        let size = own.mean.len();
        let before = own.columns.len() / size;
        let found = wide_fused(Take {
            shared: &self.shared,
            visited: self.history.points(),
            runs: &self.runs,
            first_run: self.first_run,
            index: block,
            block: own,
            width,
        });
        let new = own.columns.len() / size - before;
        self.work += size * (new * self.shared.source.work() + missed * self.history.points().len() + WORK_OF_A_SCORE);
        found
    }

    /// Writes the points that may be the best, as on the dense path.
    pub fn candidates(&mut self, request: &TrialScore<'_>, counters: &mut Counters, answer: &mut Candidates) -> Outcome {
        let (width, model) = (request.width, request.model);
        self.largest_width = self.largest_width.max(width);
        let state = model.state_error();
        let e = self.variance_error + state.variance;
        let prior = model.prior_variance_bound();
        // Rounding of scores and bounds: a few operations on numbers of this size.
        let magnitude = (self.innovations.sqrt() + self.largest_width) * prior.sqrt();
        let e_mean = self.mean_error + state.mean + 8.0 * U * (1.0 + magnitude);
        let widest = e_mean + self.largest_width * (2.0 * e).sqrt();
        self.bounds.update(width, &self.shared, self.history.beyond(prior, &self.shared), self.band);
        if let Some(visited) = model.visited() {
            for (point, score) in self.history.own_scores(&visited, width, &self.shared) {
                self.bounds.raise(self.shared.order.places[point as usize].0 as usize, score);
            }
        }
        self.work += self.bounds.work_of_a_round();
        self.scored.clear();
        let errors = Errors { mean: e_mean, variance: e, score: widest };
        let best = if self.values.is_some() { self.look_and_score(width, errors) } else { self.score_blocks(width, errors) };
        self.bounds.end_round();
        self.collect(best, width, e, e_mean, answer);
        if answer.points.is_empty() {
            return Outcome::Lost;
        }
        self.extra += answer.points.len() - 1;
        counters.blocks += self.scored.len() as u64;
        let before = counters.violations;
        if CHECK_EVERY <= self.since_check {
            self.since_check = 0;
            self.check(request, state, e_mean, counters);
        }
        self.check_unscored(request, 3.0 * widest + TIE_TOLERANCE * (1.0 + best.abs()), counters);
        if before < counters.violations {
            return Outcome::Lost;
        }
        let n = self.n_points();
        self.dense_work += WORK_OF_A_SCORE * n;
        let columns = 8 * self.history.points().len() * n;
        let dearer = self.dense_work + START * n < self.work || n < self.extra || MOST_COLUMN_BYTES < columns;
        if dearer { Outcome::Dearer } else { Outcome::Pruned }
    }

    /// Writes the points of the scored blocks that may be the best.
    fn collect(&self, best: f64, width: f64, e: f64, e_mean: f64, answer: &mut Candidates) {
        answer.points.clear();
        let tie = TIE_TOLERANCE * (1.0 + best.abs());
        let floor = best - tie - 2.0 * (e_mean + width * (2.0 * e).sqrt());
        let size = self.shared.order.size;
        for &block in &self.scored {
            if self.bounds.largest(block as usize) < floor {
                continue;
            }
            let own = &self.blocks[block as usize];
            let points = &self.shared.order.points[block as usize * size..][..size];
            let mut scores = [0.0; MOST_SIZE];
            vector::score(&own.mean, &own.variance, width, &mut scores[..size]);
            answer.points.extend(points.iter().zip(&scores).filter(|(_, score)| floor <= **score).map(|(&point, _)| point));
        }
        answer.points.sort_unstable();
        answer.points.dedup();
        let moments = |point: u32| {
            let (block, at) = self.shared.order.places[point as usize];
            let own = &self.blocks[block as usize];
            (own.mean[at as usize], own.variance[at as usize])
        };
        let lower = |point: u32| {
            let (mean, variance) = moments(point);
            mean - e_mean + width * (variance - e).max(0.0).sqrt()
        };
        let upper = |point: u32| {
            let (mean, variance) = moments(point);
            mean + e_mean + width * (variance + e).max(0.0).sqrt()
        };
        settle(&mut answer.points, tie, lower, upper);
    }

    /// Compares some points of the block that was scored first with their exact scores.
    fn check(&self, request: &TrialScore<'_>, state: Moments, e_mean: f64, counters: &mut Counters) {
        let Some(&block) = self.scored.first() else { return };
        let own = &self.blocks[block as usize];
        let points = &self.shared.order.points[block as usize * self.shared.order.size..];
        for (at, &point) in points.iter().enumerate().take(16) {
            let exact = request.model.exact(point as usize);
            let apart = (exact.variance - own.variance[at].max(0.0)).abs();
            let outside = self.variance_error + state.variance < apart || e_mean < (exact.mean - own.mean[at]).abs();
            counters.violations += u64::from(outside);
        }
    }

    /// Compares, at intervals, a point of an unscored block with the bound of its block.
    ///
    /// The points are visited in turn. Only this comparison detects a missed candidate.
    fn check_unscored(&mut self, request: &TrialScore<'_>, margin: f64, counters: &mut Counters) {
        let cost = self.history.work_of_a_point(&self.shared);
        if self.work < self.checked_work + CHECKED_SHARE * cost {
            return;
        }
        let n = self.n_points();
        let point = self.next_checked % n;
        // Far from the last point, and through all points if n is not a multiple of the step.
        self.next_checked = (point + CHECKED_STEP) % n;
        let bound = self.bounds.bound(self.shared.order.places[point].0 as usize);
        if f64::NEG_INFINITY < bound {
            counters.violations += u64::from(bound + margin < request.model.exact(point).upper(request.width));
            self.work += cost;
        }
        self.checked_work = self.work;
    }

    /// Returns the memory of a finished trial.
    pub fn end(self) -> Spare {
        Spare(self.blocks)
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
            self.p_error,
            (self.mean_error, self.variance_error),
        );
        if !self.open {
            screen.drop_row();
        }
        screen
    }
}
