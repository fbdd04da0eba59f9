//! The CPU backend: a dense f64 screen, trial by trial.
//!
//! Each trial keeps mean and spread² of all points. An observation costs one product `p = row · h` over the domain; spread²
//! falls by `p²` and the mean rises by `mean_step * p`. Points are handled in blocks that stay in the first-level cache.
//! Lazy, pruned roads fit behind the same traits: they need [`TrialScore::change`] and [`ScoreModel::exact`] only.
//!
//! **The band.** Let `u = 2^-53`. A row of `K` coefficients gives `|p̂ - p| <= e_p = 4 (K + 8) u A`, with
//! `A = sum |row_i| max|h_i|` (sums in any order, a rounding of the row itself, and a safety factor of 4). One
//! observation then moves the error of spread² by at most `2 max|p| e_p + e_p² + u s²_max` and that of the mean by
//! `|step| (e_p + u max|p|) + u max|mean|`. The factor also covers the two triangular solves behind `row` and behind the
//! coordinates of the exact score, whose errors are of the same form. To these sums comes what the f64 state rounds off
//! in an observation ([`ScoreModel::state_error`]). Where the sum passes [`REFRESH_SHARE`] of the prior variance, and
//! whenever the model asks, the screen is rebuilt from the exact scores. Every [`CHECK_EVERY`] observations some points,
//! in turn, are compared with their exact scores; so is every point when drift asks for a rebuild. A model that has just
//! been rebuilt is no reference: it shed a drift that screen and state had in common.

use super::{Backend, Band, Counters, Domain, Screen};
use crate::error::Error;
use crate::score::{Basis, Candidates, Change, Moments, ScoreModel, TIE_TOLERANCE, TrialScore};
use std::sync::Arc;

/// Points in a block: mean, spread² and p of a block take 12 KiB.
const BLOCK: usize = 512;

/// Error of spread² (as a share of the prior variance) beyond which a screen is rebuilt.
const REFRESH_SHARE: f64 = 1e-9;

/// Observations between two checks of the band, and the points of a check.
const CHECK_EVERY: u32 = 256;
const CHECKED_POINTS: usize = 16;

/// Unit roundoff of f64.
const U: f64 = f64::EPSILON / 2.0;

/// The CPU backend.
#[derive(Debug, Clone)]
pub struct Cpu {
    band: Band,
}

impl Default for Cpu {
    fn default() -> Self {
        Self { band: Band::Proved }
    }
}

impl Cpu {
    /// A backend with another band, for tests of the contract.
    #[must_use]
    pub fn with_band(band: Band) -> Self {
        Self { band }
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, Error> {
        let columns = match basis {
            Basis::Gram(_) => None,
            Basis::Table(table) => {
                // Feature-major copy: one feature of all points is contiguous, so that a block's sums run in many lanes.
                let mut columns = vec![0.0; table.n_features * table.n_points];
                for point in 0..table.n_points {
                    for (feature, &value) in table.row(point).iter().enumerate() {
                        columns[feature * table.n_points + point] = value;
                    }
                }
                let largest = columns
                    .chunks(table.n_points.max(1))
                    .map(|column| column.iter().fold(0.0f64, |m, v| m.max(v.abs())))
                    .collect();
                Some(Arc::new(Columns { values: columns, largest }))
            }
        };
        Ok(Arc::new(CpuDomain { basis: basis.clone(), columns, band: self.band }))
    }
}

/// Feature-major values of a table basis.
#[derive(Debug)]
struct Columns {
    values: Vec<f64>,
    /// Largest magnitude in each column.
    largest: Vec<f64>,
}

struct CpuDomain {
    basis: Basis,
    columns: Option<Arc<Columns>>,
    band: Band,
}

impl Domain for CpuDomain {
    fn batch(&self, _rounds: u64) -> usize {
        // A trial's arrays (mean, spread², score: 24 bytes a point) should stay in a second-level cache of 1 MiB with
        // its state; lockstep buys nothing beyond that, as trials share no arithmetic here.
        (1usize << 19).checked_div(24 * self.basis.n_points()).unwrap_or(1).clamp(1, 8)
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        let n_points = self.basis.n_points();
        let trials = (0..n_trials).map(|_| TrialScreen::new(n_points)).collect();
        Box::new(CpuScreen {
            basis: self.basis.clone(),
            columns: self.columns.clone(),
            band: self.band,
            trials,
            counters: Counters::default(),
        })
    }
}

struct CpuScreen {
    basis: Basis,
    columns: Option<Arc<Columns>>,
    band: Band,
    trials: Vec<TrialScreen>,
    counters: Counters,
}

/// Mean and spread² of every point for one trial, with the errors they may carry.
struct TrialScreen {
    fresh: bool,
    mean: Vec<f64>,
    variance: Vec<f64>,
    score: Vec<f64>,
    mean_error: f64,
    variance_error: f64,
    /// Observations since the last check of the band, and the point that comes next.
    since_check: u32,
    next_checked: usize,
    /// Gram columns of basis points that the source does not hold as a table.
    own_columns: Vec<Vec<f64>>,
}

impl Screen for CpuScreen {
    fn round(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), Error> {
        for (request, answer) in trials.iter().zip(out) {
            let screen = &mut self.trials[request.trial];
            match request.change {
                Change::Row { row, mean_step, .. } if screen.fresh => match (&self.basis, &self.columns) {
                    (Basis::Table(table), Some(columns)) => {
                        let n = table.n_points;
                        let slices = (0..row.len()).map(|i| &columns.values[i * n..(i + 1) * n]).collect::<Vec<_>>();
                        screen.apply(row, mean_step, &slices, |i| columns.largest[i]);
                    }
                    (Basis::Gram(gram), _) => {
                        let prior = request.model.prior_variance_bound();
                        let points = request.model.basis_points();
                        screen.apply_gram(gram.as_ref(), points, row, mean_step, prior);
                    }
                    (Basis::Table(_), None) => screen.fresh = false,
                },
                Change::None => {}
                Change::Row { .. } | Change::Rebuild => screen.fresh = false,
            }
            let drifted = REFRESH_SHARE * request.model.prior_variance_bound() < screen.variance_error;
            if !screen.fresh || drifted || matches!(request.change, Change::Row { rebuilt: true, .. }) {
                let comparable = screen.fresh && !matches!(request.change, Change::Row { rebuilt: true, .. });
                screen.rebuild(request.model, comparable, &mut self.counters);
            } else if CHECK_EVERY <= screen.since_check {
                screen.check(request.model, &mut self.counters);
            }
            screen.candidates(request, self.band, answer);
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

impl TrialScreen {
    fn new(n_points: usize) -> Self {
        Self {
            fresh: false,
            mean: vec![0.0; n_points],
            variance: vec![0.0; n_points],
            score: vec![0.0; n_points],
            mean_error: 0.0,
            variance_error: 0.0,
            since_check: 0,
            next_checked: 0,
            own_columns: Vec::new(),
        }
    }

    /// Takes mean and spread² of every point from the exact score; counts the points that had left their band where the
    /// model is still the one that the screen followed.
    fn rebuild(&mut self, model: &dyn ScoreModel, comparable: bool, counters: &mut Counters) {
        for point in 0..self.mean.len() {
            let exact = model.exact(point);
            counters.violations += u64::from(comparable && self.outside(point, exact, model));
            self.mean[point] = exact.mean;
            self.variance[point] = exact.variance;
        }
        counters.rebuilds += u64::from(self.fresh);
        self.fresh = true;
        self.mean_error = 0.0;
        self.variance_error = 0.0;
    }

    /// Compares the next few points with their exact scores.
    fn check(&mut self, model: &dyn ScoreModel, counters: &mut Counters) {
        let n = self.mean.len();
        for _ in 0..CHECKED_POINTS.min(n) {
            let point = self.next_checked % n;
            counters.violations += u64::from(self.outside(point, model.exact(point), model));
            self.next_checked = (point + 1) % n;
        }
        self.since_check = 0;
    }

    /// Whether the exact score of a point is outside of the band.
    fn outside(&self, point: usize, exact: Moments, model: &dyn ScoreModel) -> bool {
        let state_error = model.state_error();
        let mean_band = self.mean_error + state_error.mean + 4.0 * U * exact.mean.abs();
        self.variance_error + state_error.variance < (exact.variance - self.variance[point].max(0.0)).abs()
            || mean_band < (exact.mean - self.mean[point]).abs()
    }

    fn apply_gram(&mut self, gram: &dyn crate::score::GramSource, points: &[u32], row: &[f64], mean_step: f64, prior: f64) {
        let mut own = std::mem::take(&mut self.own_columns);
        let n = self.mean.len();
        if points.first().is_some_and(|&first| gram.dense_column(first as usize).is_none()) {
            for &point in &points[own.len().min(points.len())..] {
                let mut column = vec![0.0; n];
                gram.column(point as usize, 0, &mut column);
                own.push(column);
            }
        }
        let slices = points
            .iter()
            .enumerate()
            .map(|(i, &point)| gram.dense_column(point as usize).unwrap_or_else(|| &own[i]))
            .collect::<Vec<_>>();
        // |k(p, x)| <= sqrt(k(p,p) k(x,x)) <= prior.
        self.apply(row, mean_step, &slices, |_| prior);
        self.own_columns = own;
    }

    /// One observation: `columns[i]` is basis function `i` at all points, `largest(i)` a bound on its magnitude.
    fn apply(&mut self, row: &[f64], mean_step: f64, columns: &[&[f64]], largest: impl Fn(usize) -> f64) {
        let mut p = [0.0f64; BLOCK];
        let (mut p_max, mut variance_max, mut mean_max) = (0.0f64, 0.0f64, 0.0f64);
        for first in (0..self.mean.len()).step_by(BLOCK) {
            let end = (first + BLOCK).min(self.mean.len());
            let p = &mut p[..end - first];
            product(row, columns, first, p);
            for ((mean, variance), &p) in self.mean[first..end].iter_mut().zip(&mut self.variance[first..end]).zip(p.iter()) {
                *variance -= p * p;
                *mean += mean_step * p;
                p_max = p_max.max(p.abs());
                variance_max = variance_max.max(variance.abs());
                mean_max = mean_max.max(mean.abs());
            }
        }
        self.since_check += 1;
        let magnitude: f64 = row.iter().enumerate().map(|(i, r)| r.abs() * largest(i)).sum();
        let p_error = 4.0 * (row.len() as f64 + 8.0) * U * magnitude;
        self.variance_error += 2.0 * p_max * p_error + p_error * p_error + U * (variance_max + p_max * p_max);
        self.mean_error += mean_step.abs() * (p_error + U * p_max) + U * mean_max;
    }

    /// Every point whose interval reaches the best lower end, less the tie tolerance.
    fn candidates(&mut self, request: &TrialScore<'_>, band: Band, answer: &mut Candidates) {
        answer.points.clear();
        let n = self.mean.len();
        if band == Band::Infinite {
            answer.points.extend(0..n as u32);
            return;
        }
        let width = request.width;
        let mut best = f64::NEG_INFINITY;
        for ((score, &mean), &variance) in self.score.iter_mut().zip(&self.mean).zip(&self.variance) {
            *score = mean + width * variance.max(0.0).sqrt();
            best = best.max(*score);
        }
        if band == Band::Zero {
            answer.points.extend(self.score.iter().position(|&score| score == best).map(|point| point as u32));
            return;
        }
        let state_error = request.model.state_error();
        let e = self.variance_error + state_error.variance;
        // The score's own three roundings, on top of those of mean and spread².
        let e_mean = self.mean_error + state_error.mean + 4.0 * U * (1.0 + best.abs());
        // sqrt(s² + e) - sqrt(max(0, s² - e)) <= sqrt(2 e): no point below this floor can reach the best.
        let widest = e_mean + width * (2.0 * e).sqrt();
        let tie = TIE_TOLERANCE * (1.0 + best.abs());
        let floor = best - tie - 2.0 * widest;
        let mut best_lower = f64::NEG_INFINITY;
        for (point, &score) in self.score.iter().enumerate() {
            if floor <= score {
                answer.points.push(point as u32);
                let spread_low = (self.variance[point] - e).max(0.0).sqrt();
                best_lower = best_lower.max(self.mean[point] - e_mean + width * spread_low);
            }
        }
        if 1 < answer.points.len() {
            let (mean, variance) = (&self.mean, &self.variance);
            answer.points.retain(|&point| {
                let point = point as usize;
                best_lower - tie <= mean[point] + e_mean + width * (variance[point] + e).max(0.0).sqrt()
            });
        }
        if answer.points.is_empty() {
            // A NaN reached the screen; the exact scores decide, or report it.
            answer.points.extend(0..n as u32);
        }
    }
}

/// `out[x] = sum_i row[i] * columns[i][first + x]`, four columns at a time, in the order of the columns.
fn product(row: &[f64], columns: &[&[f64]], first: usize, out: &mut [f64]) {
    out.fill(0.0);
    let n = out.len();
    let mut i = 0;
    while i + 4 <= row.len() {
        let (a, b, c, d) = (
            &columns[i][first..first + n],
            &columns[i + 1][first..first + n],
            &columns[i + 2][first..first + n],
            &columns[i + 3][first..first + n],
        );
        let (ra, rb, rc, rd) = (row[i], row[i + 1], row[i + 2], row[i + 3]);
        for (x, sum) in out.iter_mut().enumerate() {
            *sum = *sum + ra * a[x] + rb * b[x] + rc * c[x] + rd * d[x];
        }
        i += 4;
    }
    for (r, column) in row[i..].iter().zip(&columns[i..]) {
        for (sum, &value) in out.iter_mut().zip(&column[first..first + n]) {
            *sum += r * value;
        }
    }
}
