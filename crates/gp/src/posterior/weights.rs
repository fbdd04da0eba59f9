//! Bayesian linear regression in coordinates.
//!
//! `V = ridge I + sum c c^T`, `theta = V^{-1} sum y c`.
//!
//! The inverse is stored and downdated by rank one (Sherman-Morrison); because `ridge I <= V`, its entries stay below
//! `1 / ridge`.
//!
//! **Streaks.** Optimizers play the same point many times in a row, and all observations of a streak change the model
//! along one direction `u = V^{-1} c`. A streak is stored as its count and one coefficient until another point is played.
//! With `q = c · u` at its start and `j` observations so far,
//!
//! `V_j^{-1} = V^{-1} - j / (1 + j q) u u^T`, `theta_j = theta + a u`,
//!
//! so a repeated observation costs O(1).
//!
//! **Ended streaks** are queued: their downdates are stored as vectors until there are `n / 2` of them, and then applied
//! to the inverse in one pass. While the inverse still equals the prior's, a new direction costs `2 n` multiply-adds per
//! queued streak instead of `2 n²`; optimizers that settle within `n / 2` changes of point never pay more.
//!
//! Rounding errors grow by about one unit per downdate, so the state is rebuilt from the collapsed interactions every
//! [`REBUILD_EVERY`] observations. It depends on the observations alone, so every path gives the same bits.

use super::rounding::{HIGHER_ORDERS, RunningError, U};
use super::streak::{Streak, StreakUpdate};
use super::visited::VisitedModel;
use crate::score::{Moments, StateError};
use privateer_numerics::linalg::{self, Columns, dot, dot_depth};
use privateer_numerics::vectorised;
use std::borrow::Cow;
use std::ops::Range;

/// Number of observations between two rebuilds from the interactions.
pub const REBUILD_EVERY: u64 = 4096;

/// Ended streaks are queued up to one per this number of coordinates.
const WAITING: usize = 2;

/// The state over `n` coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightModel {
    pub(super) ridge: f64,
    pub(super) n: usize,
    /// `V^{-1}` without the queued and current streaks, symmetric, row-major.
    inverse: Vec<f64>,
    /// Whether the inverse still equals the prior's, `I / ridge`.
    prior: bool,
    /// Ended streaks that the inverse does not yet contain.
    waiting: Vec<EndedStreak>,
    /// Posterior mean of the weights without the current streak.
    theta: Vec<f64>,
    /// Direction `u` of the current streak; empty without one.
    pub(super) direction: Vec<f64>,
    /// The current streak and the tag of its point.
    streak: Option<(u64, Streak)>,
    /// Information gain without the current streak.
    gain: f64,
    /// Number of observations since the last rebuild.
    pub(super) since_rebuild: u64,
    /// `ridge` times the trace of `inverse`: at least the square of its Frobenius norm times `ridge`.
    trace: f64,
    /// Rounding errors since the state was made or rebuilt: of means, and of variances in units of `u` and the prior.
    rounding: RunningError,
    drift: f64,
}

impl WeightModel {
    /// Creates a model with `n` coordinates and `ridge > 0`.
    pub fn new(ridge: f64, n: usize) -> Self {
        let mut inverse = vec![0.0; n * n];
        (0..n).for_each(|i| inverse[i * n + i] = 1.0 / ridge);
        Self {
            ridge,
            n,
            inverse,
            prior: true,
            waiting: Vec::new(),
            theta: vec![0.0; n],
            direction: Vec::new(),
            streak: None,
            gain: 0.0,
            since_rebuild: 0,
            trace: n as f64,
            rounding: RunningError::default(),
            drift: 0.0,
        }
    }

    /// Converts a dual-form model, from collapsed interactions as in [`WeightModel::rebuild`].
    ///
    /// `None` if the factorization fails.
    pub fn of<'c>(span: &VisitedModel, visits: impl Iterator<Item = (Cow<'c, [f64]>, f64, f64)>) -> Option<Self> {
        let mut model = Self::new(span.ridge, span.theta.len());
        model.gain = span.gain();
        model.rebuild(visits).then_some(model)
    }

    /// Returns the realised information gain `½ ln det(V / ridge)`.
    pub fn gain(&self) -> f64 {
        self.gain + self.streak.map_or(0.0, |(_, streak)| streak.gain())
    }

    /// Returns the posterior mean of the weights.
    pub fn weights(&self) -> Vec<f64> {
        let mut weights = self.theta.clone();
        if let Some((_, streak)) = &self.streak {
            linalg::add_scaled(&mut weights, streak.coefficient, &self.direction);
        }
        weights
    }

    /// Adds the observation `reward` at coordinates `c`.
    ///
    /// Equal consecutive tags mean equal coordinates.
    pub fn observe(&mut self, tag: u64, c: &[f64], reward: f64) -> StreakUpdate {
        self.since_rebuild += 1;
        let repeated = self.streak.is_some_and(|(own, _)| own == tag);
        if !repeated {
            self.start_streak(tag, c);
        }
        let Some((_, streak)) = self.streak.as_mut() else { return StreakUpdate { scale: 0.0, mean_step: 0.0, repeated } };
        let update = streak.observe(self.ridge, reward, repeated);
        self.rounding.step(streak.coefficient.abs());
        update
    }

    fn trace_inverse(&mut self) {
        self.trace = self.ridge * self.inverse.iter().step_by(self.n + 1).sum::<f64>();
    }

    /// Ends the current streak and computes the direction of the next.
    fn start_streak(&mut self, tag: u64, c: &[f64]) {
        let n = self.n;
        let mut next = vec![0.0; n];
        if let Some((_, streak)) = self.streak.take() {
            self.gain += streak.gain();
            linalg::add_scaled(&mut self.theta, streak.coefficient, &self.direction);
            self.rounding.close(streak.coefficient.abs(), dot(&self.theta, &self.theta).sqrt(), None);
            self.waiting.push(EndedStreak { u: std::mem::take(&mut self.direction), downdate: streak.downdate() });
            if n < WAITING * self.waiting.len() {
                take(&mut self.inverse, n, &self.waiting);
                self.drift += self.waiting.len() as f64 * self.trace.max(1.0).sqrt() + 2.0 * self.trace;
                self.trace_inverse();
                self.drift -= 2.0 * self.trace;
                self.waiting.clear();
                self.prior = false;
            }
        }
        let inverse = (!self.prior).then_some(&self.inverse[..]);
        next_direction(inverse, self.ridge, &self.waiting, c, &mut next);
        self.rounding.begin(dot(&next, &next).sqrt());
        self.direction = next;
        self.streak = Some((tag, Streak::new(dot(c, &self.direction), dot(c, &self.theta))));
    }

    /// Returns `c^T V^{-1} c` without the current streak.
    ///
    /// The coordinates are `c` from index `first` on, and zeros elsewhere.
    fn form(&self, c: &[f64], first: usize) -> f64 {
        let mut form = 0.0;
        if self.prior {
            form = dot(c, c) / self.ridge;
        } else {
            for (i, &ci) in (first..).zip(c) {
                form += ci * dot(c, &self.inverse[i * self.n + first..][..c.len()]);
            }
        }
        for streak in &self.waiting {
            let along = dot(c, &streak.u[first..][..c.len()]);
            form -= streak.downdate * along * along;
        }
        form
    }

    /// Returns `theta · c` and `ridge c^T V^{-1} c` (at least 0).
    ///
    /// The latter is the remaining part of the prior variance carried by the coordinates.
    pub fn moments(&self, c: &[f64]) -> Moments {
        self.moments_within(c, 0..self.n)
    }

    /// Returns [`WeightModel::moments`] of coordinates `c` in this range and zeros elsewhere.
    pub fn moments_within(&self, c: &[f64], range: Range<usize>) -> Moments {
        let mut mean = dot(c, &self.theta[range.clone()]);
        let mut form = self.form(c, range.start);
        if let Some((_, streak)) = &self.streak {
            let along = dot(c, &self.direction[range]);
            mean += streak.coefficient * along;
            form -= streak.downdate() * along * along;
        }
        Moments { mean, variance: (self.ridge * form).max(0.0) }
    }

    /// Returns [`WeightModel::moments_within`] of many columns of coordinates, then of the columns' padding.
    ///
    /// `None` while the inverse is the prior's.
    pub fn moments_within_each(&self, range: Range<usize>, columns: &Columns) -> Option<Vec<Moments>> {
        if self.prior {
            return None;
        }
        let (mut means, mut forms) =
            (columns.dots(&self.theta[range.clone()]), columns.forms(&self.inverse, self.n, range.start));
        for streak in &self.waiting {
            let along = columns.dots(&streak.u[range.clone()]);
            forms.iter_mut().zip(along).for_each(|(form, along)| *form -= streak.downdate * along * along);
        }
        if let Some((_, streak)) = &self.streak {
            let along = columns.dots(&self.direction[range]);
            for ((mean, form), along) in means.iter_mut().zip(&mut forms).zip(along) {
                *mean += streak.coefficient * along;
                *form -= streak.downdate() * along * along;
            }
        }
        let moments = means.into_iter().zip(forms);
        Some(moments.map(|(mean, form)| Moments { mean, variance: (self.ridge * form).max(0.0) }).collect())
    }

    /// Returns the mean alone, at lower cost.
    pub fn mean(&self, c: &[f64]) -> f64 {
        let closed = dot(c, &self.theta);
        match &self.streak {
            Some((_, streak)) => closed + streak.coefficient * dot(c, &self.direction),
            None => closed,
        }
    }

    /// Returns the slot of the current streak, which was its tag.
    pub fn open_slot(&self) -> Option<usize> {
        self.streak.map(|(tag, _)| tag as usize)
    }

    /// Returns `theta` and a lower triangular `R` (`n x n` row-major) with `ridge V^{-1} = R^T R`.
    ///
    /// `None` if rounding has made the inverse indefinite.
    pub fn factor(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let n = self.n;
        let downdate = self.streak.map_or(0.0, |(_, streak)| streak.downdate());
        let direction = |i: usize| self.direction.get(i).copied().unwrap_or(0.0);
        let mut inverse = Cow::Borrowed(&self.inverse);
        if !self.waiting.is_empty() {
            take(inverse.to_mut(), n, &self.waiting);
        }
        let entry = |i: usize, j: usize| self.ridge * (inverse[i * n + j] - downdate * direction(i) * direction(j));
        Some((self.weights(), lower_root(n, entry)?))
    }

    /// Rebuilds the state from collapsed interactions `(coordinates, count, sum of rewards)`.
    ///
    /// This also ends the current streak. Returns false and changes nothing if the factorization fails.
    pub fn rebuild<'c>(&mut self, visits: impl Iterator<Item = (Cow<'c, [f64]>, f64, f64)>) -> bool {
        let n = self.n;
        let mut precision = vec![0.0; n * n];
        let mut moment = vec![0.0; n];
        for i in 0..n {
            precision[i * n + i] = self.ridge;
        }
        for (c, count, sum) in visits {
            for (i, &ci) in c.iter().enumerate() {
                moment[i] += sum * ci;
                let weight = count * ci;
                for (entry, &cj) in precision[i * n..i * n + c.len()].iter_mut().zip(&*c) {
                    *entry += weight * cj;
                }
            }
        }
        if linalg::cholesky(&mut precision, n).is_err() {
            return false;
        }
        self.inverse = linalg::inverse_spd(&precision, n);
        for (weight, row) in self.theta.iter_mut().zip(self.inverse.chunks_exact(n.max(1))) {
            *weight = dot(row, &moment);
        }
        self.rounding = RunningError::of(dot(&self.theta, &self.theta).sqrt(), 0);
        self.drift = 0.0;
        self.trace_inverse();
        self.prior = false;
        self.waiting.clear();
        self.gain = self.gain();
        self.streak = None;
        self.direction.clear();
        self.since_rebuild = 0;
        true
    }

    /// Bounds the rounding errors of the updates since the last rebuild, for prior variances of at most `prior`.
    ///
    /// Derivation: `docs/derivations/posterior-rounding.md`.
    pub fn state_error(&self, prior: f64) -> StateError {
        let (n, depth, norm) = (self.n as f64, dot_depth(self.n), self.trace.max(1.0).sqrt());
        let evaluated = (3.0 * depth + 8.0) * norm + n + self.waiting.len() as f64 + 12.0;
        let coefficient = self.streak.map_or(0.0, |(_, streak)| streak.coefficient.abs());
        StateError {
            mean: prior.sqrt() * self.rounding.of_mean(coefficient, depth),
            variance: HIGHER_ORDERS * U * prior * (2.0 * evaluated + self.drift + 12.0),
            deviation: 0.0,
        }
    }

    /// Bounds the error of the variance of [`WeightModel::factor`], see [`crate::score::Factor::error`].
    pub fn factor_error(&self, prior: f64) -> f64 {
        let taken = (self.waiting.len() as f64 + 3.0) * self.trace.max(1.0).sqrt();
        HIGHER_ORDERS * U * prior * ((dot_depth(self.n) + 4.0) * self.trace.max(1.0) + taken)
    }
}

/// Returns a lower triangular `R` with `R^T R` the symmetric matrix of these entries.
///
/// `R` is `n x n` row-major; `None` if the matrix is not positive definite.
pub fn lower_root(n: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Vec<f64>> {
    // With J the reversal of coordinates and J A J = C C^T, R = J C^T J is lower triangular.
    let mut reversed = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            reversed[i * n + j] = entry(n - 1 - i, n - 1 - j);
        }
    }
    linalg::cholesky(&mut reversed, n).ok()?;
    let mut rows = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            rows[i * n + j] = reversed[(n - 1 - j) * n + n - 1 - i];
        }
    }
    Some(rows)
}

/// An ended streak: `V^{-1}` falls by `downdate u u^T`.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedStreak {
    pub u: Vec<f64>,
    pub downdate: f64,
}

/// Number of entries of a row that stay in registers.
const TILE: usize = 32;

vectorised! {
    /// Computes `inverse -= sum downdate u u^T` over ended streaks, with SIMD.
    ///
    /// Every entry is updated by the streaks in their order.
    ///
    /// * `inverse` — `n x n` row-major.
    pub fn take(inverse: &mut [f64], n: usize, streaks: &[EndedStreak]) {
        let mut factors = vec![0.0; streaks.len()];
        for (i, row) in inverse.chunks_exact_mut(n.max(1)).enumerate() {
            for (factor, streak) in factors.iter_mut().zip(streaks) {
                *factor = streak.downdate * streak.u[i];
            }
            let (tiles, rest) = row.as_chunks_mut::<TILE>();
            for (at, tile) in tiles.iter_mut().enumerate() {
                *tile = taken(*tile, at * TILE, &factors, streaks);
            }
            for (factor, streak) in factors.iter().zip(streaks) {
                for (entry, &u) in rest.iter_mut().zip(&streak.u[n - n % TILE..]) {
                    *entry -= factor * u;
                }
            }
        }
    }
}

#[inline(always)]
fn taken(mut tile: [f64; TILE], from: usize, factors: &[f64], streaks: &[EndedStreak]) -> [f64; TILE] {
    for (&factor, streak) in factors.iter().zip(streaks) {
        if let Some(u) = streak.u[from..].first_chunk::<TILE>() {
            for lane in 0..TILE {
                tile[lane] -= factor * u[lane];
            }
        }
    }
    tile
}

vectorised! {
    /// Computes `next = V^{-1} c` with SIMD, from the inverse and the queued streaks.
    ///
    /// * `inverse` — `n x n` row-major; `None` while it equals the prior's, `I / ridge`.
    /// * `waiting` — ended streaks that the inverse does not yet contain.
    /// * `next` — result; zeros on entry.
    fn next_direction(inverse: Option<&[f64]>, ridge: f64, waiting: &[EndedStreak], c: &[f64], next: &mut [f64]) {
        match inverse {
            None => next.iter_mut().zip(c).for_each(|(next, &ci)| *next = ci / ridge),
            Some(inverse) => linalg::add_rows(c, |i| &inverse[i * c.len()..], next),
        }
        for streak in waiting {
            let factor = streak.downdate * dot(c, &streak.u);
            for (sum, &u) in next.iter_mut().zip(&streak.u) {
                *sum -= factor * u;
            }
        }
    }
}
