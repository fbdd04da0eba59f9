//! The posterior over the K distinct visited points (the dual form).
//!
//! With coordinates `c` of a point, `V = ridge I + sum c c^T` and `theta = V^{-1} sum y c`. Let C have the coordinates of
//! the visited points as rows, let N be the diagonal matrix of their counts, and `A = C C^T + ridge N^{-1} = L L^T`.
//! Then `ridge V^{-1} = I - C^T A^{-1} C`, so the posterior variance is `|c|² - |l|²` with `l = L^{-1} C c`, and
//!
//! `u = V^{-1} c = sum row_i c_i`: `row = A^{-1} e / count` for a point visited before, with e its unit vector, and
//! `row = (-L^{-T} l, 1) / ridge` for a new point. This costs K² and K n multiply-adds.
//!
//! All interactions with a point collapse into its count and average reward. The conditioning of `A` is that of
//! `ridge / count`, however close the points are, so the result does not depend on the order in which nearly equal points
//! were played.
//!
//! A streak moves the model along its `u`, see [`Streak`], so a repeated observation costs O(1). When it ends, a new point
//! enters `A` with all observations of the streak at once; the diagonal entry of a known point is lowered by stable
//! rotations. The state is rebuilt from the interactions every [`REBUILD_EVERY`](super::REBUILD_EVERY) observations. It
//! depends on the observations alone, so every path gives the same bits.

use super::Visits;
use super::rounding::{KnownPoint, RoundingSetting, RunningError};
use super::streak::{Streak, StreakUpdate};
use crate::score::{Moments, RowError, StateError};
use privateer_numerics::linalg::{self, GrowingCholesky, add_scaled, dot};
use std::borrow::Cow;

/// The source of the prior covariances of a [`VisitedModel`], and the coordinates over which it stores weights.
///
/// Only inner products of coordinates enter the model, so a kernel may use coefficients over the visited points' columns:
/// the coordinates of a point are then its covariances with the visited points, and a sum of points is its coefficients.
pub trait Covariances {
    /// Returns the coordinates of a point, with which weights are multiplied.
    fn coordinates(&self, point: u32, visited: &[u32]) -> Cow<'_, [f64]>;

    /// Returns the prior variance of a point with these coordinates.
    fn variance(&self, point: u32, coordinates: &[f64]) -> f64;

    /// Returns the prior covariances of a point with visited points, from its coordinates.
    fn covariances(&self, coordinates: &[f64], visited: &[u32]) -> Vec<f64>;

    /// Writes the weights `sum row_i c_i` over visited points.
    fn combine(&self, row: &[f64], visited: &[u32], out: &mut Vec<f64>);

    /// Returns the norm of weights on which [`Covariances::size`] depends.
    fn magnitude(&self, weights: &[f64]) -> f64;

    /// Bounds the terms of a product of coordinates and weights of this magnitude, for prior variances of at most `prior`.
    fn size(&self, magnitude: f64, prior: f64) -> f64;

    /// Returns how many roundings a term of a prior covariance goes through; 0 if covariances are given.
    fn product_depth(&self) -> f64;
}

/// The state over the slots of [`Visits`].
///
/// The visits and the source of covariances belong to the caller; they are the same in every call.
#[derive(Debug, Clone, PartialEq)]
pub struct VisitedModel {
    pub(super) ridge: f64,
    /// Factor of `A` without the current streak.
    factor: GrowingCholesky,
    /// Posterior mean of the weights without the current streak.
    pub(super) theta: Vec<f64>,
    /// `u = sum row_i c_i` of the current streak and its row over the visited points; empty without a streak.
    pub(super) direction: Vec<f64>,
    pub(super) row: Vec<f64>,
    open: Option<OpenStreak>,
    /// Information gain without the current streak.
    gain: f64,
    /// Number of observations since the last rebuild.
    pub(super) since_rebuild: u64,
    /// Rounding errors since the state was made or rebuilt.
    rounding: RunningError,
    scratch: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
struct OpenStreak {
    slot: usize,
    streak: Streak,
    /// Observations of the point before the streak.
    before: f64,
    /// For a new point: `l`, and its variance less `|l|²`.
    l: Vec<f64>,
    variance: f64,
}

impl VisitedModel {
    /// Creates a model without visits, in `n` coordinates; `ridge > 0`.
    pub fn new(ridge: f64, n: usize) -> Self {
        Self {
            ridge,
            factor: GrowingCholesky::default(),
            theta: vec![0.0; n],
            direction: Vec::new(),
            row: Vec::new(),
            open: None,
            gain: 0.0,
            since_rebuild: 0,
            rounding: RunningError::default(),
            scratch: Vec::new(),
        }
    }

    /// Returns the realised information gain `½ ln det(V / ridge)`.
    pub fn gain(&self) -> f64 {
        self.gain + self.open.as_ref().map_or(0.0, |open| open.streak.gain())
    }

    /// Adds an observation of `reward` at the point of `slot`; `visits` already count it.
    pub fn observe(&mut self, slot: usize, visits: &Visits, source: &impl Covariances, reward: f64) -> StreakUpdate {
        self.since_rebuild += 1;
        let repeated = self.open_slot() == Some(slot);
        if !repeated {
            let ended = self.open.take();
            self.close_streak(ended, source);
            self.open = Some(self.start_streak(slot, visits, source));
        }
        let Some(open) = &mut self.open else { return StreakUpdate { scale: 0.0, mean_step: 0.0, repeated } };
        let update = open.streak.observe(self.ridge, reward, repeated);
        self.rounding.step(open.streak.coefficient.abs());
        update
    }

    fn start_streak(&mut self, slot: usize, visits: &Visits, source: &impl Covariances) -> OpenStreak {
        let (ridge, k, points) = (self.ridge, self.factor.n(), &visits.points);
        let before = (visits.counts[slot] - 1) as f64;
        let c = source.coordinates(points[slot], points);
        let mut l = Vec::new();
        let (variance, leverage);
        self.row.clear();
        if slot < k {
            self.row.resize(k, 0.0);
            self.row[slot] = 1.0 / before;
            self.factor.solve_lower(&mut self.row, slot);
            self.factor.solve_transposed(&mut self.row);
            // c · u = (C u)_e, C C^T = A - ridge N^{-1}.
            (variance, leverage) = (0.0, (1.0 - ridge * self.row[slot]) / before);
        } else {
            l = source.covariances(&c, &points[..k]);
            self.factor.solve_lower(&mut l, 0);
            variance = (source.variance(points[slot], &c) - dot(&l, &l)).max(0.0);
            leverage = variance / ridge;
            self.row.extend_from_slice(&l);
            self.factor.solve_transposed(&mut self.row);
            self.row.iter_mut().for_each(|weight| *weight *= -1.0 / ridge);
            self.row.push(1.0 / ridge);
        }
        source.combine(&self.row, points, &mut self.direction);
        let known = self.known(slot, before, leverage);
        self.rounding.open(&self.row, k, source.magnitude(&self.direction), source.product_depth(), known);
        OpenStreak { slot, streak: Streak::new(leverage, product(&self.theta, &c)), before, l, variance }
    }

    /// Applies an ended streak to factor and weights.
    fn close_streak(&mut self, ended: Option<OpenStreak>, source: &impl Covariances) {
        let Some(OpenStreak { slot, streak, before, l, variance }) = ended else { return };
        self.gain += streak.gain();
        self.theta.resize(self.direction.len(), 0.0);
        add_scaled(&mut self.theta, streak.coefficient, &self.direction);
        let rotated = if before == 0.0 {
            self.factor.push(&l, (variance + self.ridge / streak.count).sqrt());
            None
        } else {
            let delta = self.ridge * streak.count / (before * (before + streak.count));
            Some(self.factor.lower_diagonal(slot, delta, &mut self.scratch))
        };
        self.rounding.close(streak.coefficient.abs(), source.magnitude(&self.theta), rotated);
    }

    /// Returns `theta · c` and the posterior variance (at least 0) of a point with coordinates `c` and this prior variance.
    pub fn moments(&self, c: &[f64], prior: f64, visits: &Visits, source: &impl Covariances) -> Moments {
        let mut l = source.covariances(c, &visits.points[..self.factor.n()]);
        self.factor.solve_lower(&mut l, 0);
        let mut variance = prior - dot(&l, &l);
        if let Some(open) = &self.open {
            let along = dot(&self.direction, c);
            variance -= self.ridge * open.streak.downdate() * along * along;
        }
        Moments { mean: self.mean(c), variance: variance.max(0.0) }
    }

    /// Returns the mean alone, at lower cost.
    pub fn mean(&self, c: &[f64]) -> f64 {
        let closed = product(&self.theta, c);
        match &self.open {
            Some(open) => closed + open.streak.coefficient * dot(&self.direction, c),
            None => closed,
        }
    }

    /// Returns the posterior mean of the weights.
    pub fn weights(&self) -> Vec<f64> {
        let mut weights = self.theta.clone();
        if let Some(open) = &self.open {
            weights.resize(self.direction.len(), 0.0);
            add_scaled(&mut weights, open.streak.coefficient, &self.direction);
        }
        weights
    }

    /// Returns the means of the visited points, for coordinates that are covariances.
    ///
    /// With the averages y of their rewards, the weights solve `A theta = y`. The means are `C C^T theta`, which is
    /// `y - ridge N^{-1} theta`.
    pub fn visited_means(&self, visits: &Visits) -> Vec<f64> {
        let rewards = visits.sums.iter().zip(&visits.counts);
        rewards.zip(self.weights()).map(|((sum, &count), weight)| (sum - self.ridge * weight) / count as f64).collect()
    }

    /// Returns the slot of the current streak.
    pub fn open_slot(&self) -> Option<usize> {
        self.open.as_ref().map(|open| open.slot)
    }

    /// Returns `theta` and `ridge V^{-1} = I - G^T G - ridge d u u^T`, row-major, over coordinates that do not grow.
    ///
    /// Here `G = L^{-1} C`, and d is the downdate of the current streak; posterior variances use the same factor.
    pub fn form(&self, visits: &Visits, source: &impl Covariances) -> (Vec<f64>, Vec<f64>) {
        let (n, k) = (self.theta.len(), self.factor.n());
        let rows: Vec<_> = visits.points[..k].iter().map(|&point| source.coordinates(point, &visits.points)).collect();
        let mut form = vec![0.0; n * n];
        (0..n).for_each(|i| form[i * n + i] = 1.0);
        let mut column = vec![0.0; k];
        let mut solved = vec![0.0; k * n];
        for i in 0..n {
            (0..k).for_each(|slot| column[slot] = rows[slot][i]);
            self.factor.solve_lower(&mut column, 0);
            (0..k).for_each(|slot| solved[slot * n + i] = column[slot]);
        }
        let mut take = |scale: f64, row: &[f64]| {
            for (out, &x) in form.chunks_exact_mut(n.max(1)).zip(row) {
                add_scaled(out, -scale * x, row);
            }
        };
        solved.chunks_exact(n.max(1)).for_each(|row| take(1.0, row));
        if let Some(open) = &self.open {
            take(self.ridge * open.streak.downdate(), &self.direction);
        }
        (self.weights(), form)
    }

    /// Rebuilds the state from the interactions, which also ends the current streak.
    ///
    /// Returns false and changes nothing if the factorization fails.
    pub fn rebuild(&mut self, visits: &Visits, source: &impl Covariances) -> bool {
        let k = visits.n_distinct();
        let mut a = vec![0.0; k * k];
        for (slot, row) in a.chunks_exact_mut(k.max(1)).enumerate() {
            let known = &visits.points[..=slot];
            row[..=slot].copy_from_slice(&source.covariances(&source.coordinates(known[slot], known), known));
            row[slot] += self.ridge / visits.counts[slot] as f64;
        }
        if linalg::cholesky(&mut a, k).is_err() {
            return false;
        }
        self.gain = self.gain();
        self.open = None;
        self.direction.clear();
        self.row.clear();
        self.factor = GrowingCholesky::from_rows(&a, k);
        let mut weights: Vec<f64> = visits.sums.iter().zip(&visits.counts).map(|(sum, &count)| sum / count as f64).collect();
        self.factor.solve_lower(&mut weights, 0);
        self.factor.solve_transposed(&mut weights);
        source.combine(&weights, &visits.points, &mut self.theta);
        self.rounding = RunningError::of(source.magnitude(&self.theta), visits.n_observations());
        self.since_rebuild = 0;
        true
    }

    /// Bounds the rounding errors of the updates since the last rebuild, for prior variances of at most `prior`.
    pub fn state_error(&self, prior: f64, source: &impl Covariances) -> StateError {
        let coefficient = self.open.as_ref().map_or(0.0, |open| open.streak.coefficient.abs());
        self.rounding.bound(self.setting(prior, source), coefficient, |magnitude| source.size(magnitude, prior))
    }

    /// Bounds the rounding errors of the current row, and of the end of the streak before it.
    pub fn row_error(&self, prior: f64, source: &impl Covariances) -> RowError {
        self.rounding.of_row(self.setting(prior, source))
    }

    /// Bounds the error of [`VisitedModel::form`] and of its root, see [`crate::score::Factor::error`].
    pub fn factor_error(&self, prior: f64, source: &impl Covariances) -> [f64; 2] {
        self.rounding.of_factor(self.setting(prior, source), self.theta.len())
    }

    /// Describes the current streak for its rounding errors; `None` if its point is new.
    fn known(&self, slot: usize, before: f64, leverage: f64) -> Option<KnownPoint> {
        (0.0 < before).then(|| KnownPoint { before, leverage, entry: self.row[slot] })
    }

    fn setting(&self, prior: f64, source: &impl Covariances) -> RoundingSetting {
        RoundingSetting { prior, ridge: self.ridge, n_visited: self.factor.n(), depth: source.product_depth() }
    }
}

/// Returns `theta · c`; coordinates beyond the weights belong to points that are new in the current streak.
fn product(theta: &[f64], c: &[f64]) -> f64 {
    dot(theta, &c[..theta.len()])
}
