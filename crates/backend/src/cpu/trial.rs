//! Screens one trial: mean and posterior variance of every point, with bounds on their errors.

use super::panels::RowProduct;
use super::vector::{Floor, LANES, Step, TESTED, U, largest_magnitude, score, test_blocks, weighted_sum};
use crate::playable::playable;
use crate::scale::Scale;
use crate::{Band, Counters};
use privateer_gp::score::{Candidates, GramSource, Moments, ScoreModel, StateError, TrialScore, tie_margin};

/// Points per block of a product with Gram columns, so that the data of a block stay in the first-level cache.
const BLOCK: usize = 512;

/// Error of the posterior variance, relative to the prior, beyond which a screen is rebuilt.
const REFRESH_SHARE: f64 = 1e-9;

/// Observations between two checks of the band, and points per check.
const CHECK_EVERY: u32 = 256;
const CHECKED_POINTS: usize = 16;

/// The screen of one trial.
///
/// Arrays over points have whole SIMD vectors; their last entries repeat the last point.
#[derive(Default)]
pub struct TrialScreen {
    n_points: usize,
    /// Whether the arrays follow the model.
    pub fresh: bool,
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// Scores of the blocks that reach the floor of a round.
    score: Vec<f64>,
    /// Whether a block of [`TESTED`] points does, its best score then, and the point that had it.
    reach: Vec<bool>,
    best: Vec<f64>,
    leaders: Vec<u32>,
    /// Largest magnitudes of mean and variance; `pending` is not in them.
    mean_max: f64,
    variance_max: f64,
    /// `scale` and `mean_step` of an observation along `p` that mean and variance do not include yet.
    pending: Option<(f64, f64)>,
    /// `row · h` of the last projected row, if any.
    p: Vec<f64>,
    /// Whether `p` holds a row that the next observation may repeat.
    pub has_row: bool,
    /// Whether the row in `p` is new, so that its model's error is not known yet.
    is_new_row: bool,
    p_error: f64,
    /// The model's error of `p`: a constant, and a part per unit of the posterior standard deviation.
    p_of_model: [f64; 2],
    p_max: f64,
    mean_error: f64,
    variance_error: f64,
    /// Observations since the last check of the band, and the next point to check.
    since_check: u32,
    next_checked: usize,
    /// Gram columns of basis points that the source does not store as a table.
    own_columns: Vec<Vec<f64>>,
}

impl TrialScreen {
    /// Creates a screen that must be rebuilt before its first round.
    pub fn new(n_points: usize) -> Self {
        let padded = n_points.next_multiple_of(LANES);
        let n_blocks = padded.div_ceil(TESTED);
        Self {
            n_points,
            mean: vec![0.0; padded],
            variance: vec![0.0; padded],
            score: vec![0.0; padded],
            reach: vec![false; n_blocks],
            best: vec![f64::NEG_INFINITY; n_blocks],
            leaders: (0..n_blocks).map(|block| (block * TESTED) as u32).collect(),
            p: vec![0.0; padded],
            ..Self::default()
        }
    }

    /// Creates a screen that continues from these values of every point.
    ///
    /// They are mean, posterior variance, `p` of the open streak with its error, and the errors of mean and variance.
    pub fn carried_on(mean: Vec<f64>, variance: Vec<f64>, p: Vec<f64>, p_errors: (f64, [f64; 2]), errors: (f64, f64)) -> Self {
        let (n, p_max) = (mean.len(), largest_magnitude(&p));
        let ((p_error, p_of_model), (mean_error, variance_error)) = (p_errors, errors);
        let mut made = Self {
            fresh: true,
            mean,
            variance,
            p,
            has_row: true,
            p_error,
            p_of_model,
            p_max,
            mean_error,
            variance_error,
            ..Self::new(n)
        };
        made.pad();
        made
    }

    /// Repeats the last point in the padding, and finds the largest magnitudes.
    fn pad(&mut self) {
        let (n, padded) = (self.n_points, self.score.len());
        for values in [&mut self.mean, &mut self.variance, &mut self.p] {
            values.truncate(n);
            let last = values.last().copied().unwrap_or(0.0);
            values.resize(padded, last);
        }
        (self.mean_max, self.variance_max) = (largest_magnitude(&self.mean), largest_magnitude(&self.variance));
    }

    /// Resets the screen to the prior, before the first observation.
    pub fn start_from_prior(&mut self, scale: &Scale) {
        self.mean.fill(0.0);
        self.variance[..self.n_points].copy_from_slice(&scale.prior);
        self.pending = None;
        self.pad();
        self.fresh = true;
        self.mean_error = 0.0;
        self.variance_error = scale.prior_error * self.variance_max;
        self.since_check = 0;
    }

    /// Returns whether the error has grown enough for a rebuild.
    pub fn has_drifted(&self, prior: f64) -> bool {
        REFRESH_SHARE * prior < self.variance_error
    }

    /// Recomputes mean and posterior variance of every point from the exact scores.
    ///
    /// Counts the points outside their band if the model is still the one that the screen followed.
    pub fn rebuild(&mut self, model: &dyn ScoreModel, comparable: bool, counters: &mut Counters) {
        let state_error = model.state_error();
        self.settle_pending();
        for point in 0..self.n_points {
            let exact = model.exact(point);
            counters.violations += u64::from(comparable && self.fresh && self.outside(point, exact, state_error));
            self.mean[point] = exact.mean;
            self.variance[point] = exact.variance;
        }
        counters.rebuilds += u64::from(self.fresh);
        self.pad();
        self.fresh = true;
        self.mean_error = 0.0;
        // The constant part counts both exact scores.
        self.variance_error = state_error.of_variance(self.variance_max) - state_error.variance;
        self.since_check = 0;
    }

    /// Compares, at intervals, the next points with exact scores; counts those outside their band.
    pub fn check(&mut self, model: &dyn ScoreModel, counters: &mut Counters) {
        if self.since_check < CHECK_EVERY {
            return;
        }
        self.settle_pending();
        let n = self.n_points;
        let state_error = model.state_error();
        for _ in 0..CHECKED_POINTS.min(n) {
            let point = self.next_checked % n;
            counters.violations += u64::from(self.outside(point, model.exact(point), state_error));
            self.next_checked = (point + 1) % n;
        }
        self.since_check = 0;
    }

    /// Returns whether the exact score of a point is outside the band.
    fn outside(&self, point: usize, exact: Moments, state_error: StateError) -> bool {
        let mean_band = self.mean_error + state_error.mean + 4.0 * U * exact.mean.abs();
        self.variance_error + state_error.of_variance(exact.variance) < (exact.variance - self.variance[point].max(0.0)).abs()
            || mean_band < (exact.mean - self.mean[point]).abs()
    }

    /// Computes `p = row · h` over Gram columns; the trial stores columns that the source does not.
    pub fn project_gram(&mut self, gram: &dyn GramSource, points: &[u32], row: &[f64], prior: f64) {
        let mut own = std::mem::take(&mut self.own_columns);
        let n = self.n_points;
        let dense = points.first().is_some_and(|&first| gram.dense_column(first as usize).is_some());
        if !dense {
            for &point in points.get(own.len()..).unwrap_or(&[]) {
                let mut column = vec![0.0; n];
                gram.column(point as usize, 0, &mut column);
                own.push(column);
            }
        }
        let stored = |i: usize| gram.dense_column(points[i] as usize).unwrap_or_else(|| &own[i]);
        let columns: Vec<&[f64]> = (0..row.len()).map(stored).collect();
        for (block, p) in self.p[..n].chunks_mut(BLOCK).enumerate() {
            weighted_sum(row, &columns, block * BLOCK, p);
        }
        let last = n.checked_sub(1).map_or(0.0, |last| self.p[last]);
        self.p[n..].fill(last);
        // |k(p, x)| <= sqrt(k(p,p) k(x,x)) <= prior.
        self.projected(row, |_| prior);
        self.own_columns = own;
    }

    /// Returns this trial's part in a product of rows with a table; [`TrialScreen::projected`] follows it.
    pub fn product<'a>(&'a mut self, row: &'a [f64]) -> RowProduct<'a> {
        RowProduct { row, p: &mut self.p }
    }

    /// Completes a projection.
    pub fn projected(&mut self, row: &[f64], largest: impl Fn(usize) -> f64) {
        let magnitude: f64 = row.iter().enumerate().map(|(i, r)| r.abs() * largest(i)).sum();
        self.p_error = 4.0 * (row.len() as f64 + 8.0) * U * magnitude;
        self.p_max = largest_magnitude(&self.p);
        (self.has_row, self.is_new_row) = (true, true);
    }

    /// Adds the model's errors of a row that has just been projected.
    pub fn begin_streak(&mut self, model: &dyn ScoreModel) {
        if std::mem::take(&mut self.is_new_row) {
            let error = model.row_error();
            self.p_of_model = [error.row, error.share];
            self.variance_error += error.of_closed(self.variance_max);
        }
    }

    /// Adds an observation along the projected row; [`TrialScreen::candidates`] applies it.
    pub fn observe(&mut self, scale: f64, mean_step: f64) {
        self.settle_pending();
        self.since_check += 1;
        self.pending = Some((scale, mean_step));
        let (p_max, p_error) = (self.p_max, self.p_error);
        let [of_model, share] = self.p_of_model;
        let e = p_error + of_model + share * self.variance_max.sqrt();
        let squares = scale * scale * (2.0 * p_max * e + e * e + 4.0 * U * p_max * p_max);
        self.variance_error += squares + U * self.variance_max;
        self.mean_error += mean_step.abs() * (p_error + 2.0 * U * p_max) + U * self.mean_max;
    }

    /// Applies an observation that is not yet applied.
    fn settle_pending(&mut self) {
        if self.pending.is_some() {
            self.apply_and_test(Floor::NONE);
        }
    }

    /// Applies the last observation and finds the blocks that reach a floor.
    fn apply_and_test(&mut self, floor: Floor) {
        let p = &self.p;
        let step = self.pending.take().map(|(scale, mean_step)| Step { p, scale, mean_step });
        (self.mean_max, self.variance_max) = test_blocks(&mut self.mean, &mut self.variance, step, floor, &mut self.reach);
    }

    /// Returns the largest score of the blocks' former best points, with the last observation.
    fn best_of_leaders(&self, beta: f64) -> f64 {
        let (scale, mean_step) = self.pending.unwrap_or((0.0, 0.0));
        let score = |&point: &u32| {
            let point = point as usize;
            let fall = scale * self.p[point];
            let variance = self.variance[point] - fall * fall;
            self.mean[point] + mean_step * self.p[point] + beta * variance.max(0.0).sqrt()
        };
        self.leaders.iter().map(score).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Scores the blocks that reach the floor; returns the best score.
    fn score_blocks(&mut self, beta: f64) -> f64 {
        let mut best = f64::NEG_INFINITY;
        for (block, _) in self.reach.iter().enumerate().filter(|(_, reach)| **reach) {
            let range = block * TESTED..self.score.len().min((block + 1) * TESTED);
            let scores = &mut self.score[range.clone()];
            let found = score(&self.mean[range.clone()], &self.variance[range.clone()], beta, scores);
            if let Some(at) = scores.iter().position(|&score| score == found) {
                self.leaders[block] = (range.start + at).min(self.n_points - 1) as u32;
            }
            self.best[block] = found;
            best = best.max(found);
        }
        best
    }

    /// Writes every point (of the subset, if any) whose interval reaches the best lower end.
    ///
    /// The tie tolerance is subtracted from that lower end.
    pub fn candidates(&mut self, request: &TrialScore<'_>, band: Band, answer: &mut Candidates) {
        answer.points.clear();
        let n = self.n_points;
        if band == Band::Infinite {
            self.settle_pending();
            answer.points.extend(playable(n, request.subset));
            return;
        }
        let beta = request.beta;
        let state_error = request.model.state_error();
        let e = self.variance_error + state_error.variance;
        let (mean_error, widest) = (self.mean_error + state_error.mean + beta * state_error.deviation, beta * (2.0 * e).sqrt());
        // The score's own three roundings, added to those of mean and posterior variance.
        let e_mean = |best: f64| mean_error + 4.0 * U * (1.0 + best.abs());
        // sqrt(s² + e) - sqrt(max(0, s² - e)) <= sqrt(2 e): no point below this floor can reach the best. It rises with the
        // best score, so a score that is attained gives a floor below the final one.
        let floor = |best: f64| best - tie_margin(best) - 2.0 * (e_mean(best) + widest);
        let tested = match request.subset {
            None if 0.0 <= beta => floor(self.best_of_leaders(beta)),
            _ => f64::NEG_INFINITY,
        };
        let step = self.pending.map_or(0.0, |(_, step)| step.abs() * self.p_max);
        self.apply_and_test(Floor::new(tested, beta, self.mean_max + step));
        let mut best = self.score_blocks(beta);
        if let Some(subset) = request.subset {
            best = subset.iter().map(|&point| self.score[point as usize]).fold(f64::NEG_INFINITY, f64::max);
        }
        let scores = &self.score;
        let least = if band == Band::Zero { best } else { floor(best) };
        match request.subset {
            Some(subset) => answer.points.extend(subset.iter().copied().filter(|&point| least <= scores[point as usize])),
            None => {
                let reaching = self.reach.iter().zip(&self.best).enumerate();
                for (block, _) in reaching.filter(|(_, (reach, best))| **reach && least <= **best) {
                    let first = block * TESTED;
                    let points = (first as u32..).zip(&scores[first..n.min(first + TESTED)]);
                    answer.points.extend(points.filter(|&(_, &score)| least <= score).map(|(point, _)| point));
                }
            }
        }
        if band == Band::Zero {
            return;
        }
        let (tie, e_mean) = (tie_margin(best), e_mean(best));
        let (mean, variance) = (&self.mean, &self.variance);
        settle(&mut answer.points, tie, beta, [e_mean, e], |point| (mean[point as usize], variance[point as usize]));
        if answer.points.is_empty() {
            // A NaN reached the screen; the exact scores decide, or report it.
            answer.points.extend(playable(n, request.subset));
        }
    }
}

/// Keeps the points, in ascending order, that may be the best or tie with it.
///
/// Their `moments`, mean and posterior variance, have at most these errors; scores within `tie` of each other tie.
pub fn settle(points: &mut Vec<u32>, tie: f64, beta: f64, [e_mean, e_variance]: [f64; 2], moments: impl Fn(u32) -> (f64, f64)) {
    if points.len() < 2 {
        return;
    }
    let lower = |point: u32| {
        let (mean, variance) = moments(point);
        mean - e_mean + beta * (variance - e_variance).max(0.0).sqrt()
    };
    let upper = |point: u32| {
        let (mean, variance) = moments(point);
        mean + e_mean + beta * (variance + e_variance).max(0.0).sqrt()
    };
    let best_lower = points.iter().map(|&point| lower(point)).fold(f64::NEG_INFINITY, f64::max);
    points.retain(|&point| best_lower - tie <= upper(point));
    // A point that certainly ties with the best wins over all later ones: the lowest index does.
    let best_upper = points.iter().map(|&point| upper(point)).fold(f64::NEG_INFINITY, f64::max);
    if let Some(&first) = points.first()
        && best_upper - 0.5 * tie <= lower(first)
    {
        points.truncate(1);
    }
}
