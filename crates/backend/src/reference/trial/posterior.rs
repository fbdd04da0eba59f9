//! The posterior over visited points, in the order of sums of a workgroup.
//!
//! `A = K + ridge N^{-1} = L L^T` over the visited points, as in the posterior that decides. Solves go column by column, in
//! which a thread holds an entry of the right-hand side.

use super::errors::{LoopErrors, LoopRotated, RowBand, StreakSize};
use crate::device::loop_domain::{LoopDomain, MOST_VISITED, product};

/// A trial's posterior.
#[derive(Debug)]
pub struct LoopPosterior {
    ridge: f64,
    pub points: Vec<u32>,
    pub counts: Vec<f64>,
    /// `L` without the current streak, rows one after the other.
    factor: Vec<f64>,
    n: usize,
    /// Weights of the mean without the current streak, `u` of that streak, and its row over the visited points.
    theta: Vec<f64>,
    pub direction: Vec<f64>,
    row: Vec<f64>,
    pub open: Option<LoopStreak>,
    pub errors: LoopErrors,
}

/// Consecutive observations of one point.
#[derive(Debug)]
pub struct LoopStreak {
    slot: usize,
    size: StreakSize,
    /// Mean at the start, and the coefficient of `u` in the mean.
    mean: f64,
    pub coefficient: f64,
    /// Of a new point: `L^{-1} C c`, and its variance.
    solved: Vec<f64>,
    variance: f64,
}

impl LoopStreak {
    /// Returns the factor of `(u · c)²` in the fall of a posterior variance.
    pub fn squares(&self, ridge: f64) -> f64 {
        ridge * self.size.count / (1.0 + self.size.count * self.size.leverage)
    }
}

/// What an observation changes.
#[derive(Debug)]
pub struct LoopUpdate {
    /// Errors of a new row; `None` if the point was played again.
    pub begun: Option<RowBand>,
    /// Squared factor of `p` in the posterior standard deviation, and factor of `p` in the mean.
    pub squares: f64,
    pub step: f64,
}

impl LoopPosterior {
    pub fn new(domain: &LoopDomain, ridge: f64) -> Self {
        Self {
            ridge,
            points: Vec::new(),
            counts: Vec::new(),
            factor: Vec::new(),
            n: 0,
            theta: vec![0.0; domain.table.n_features],
            direction: Vec::new(),
            row: Vec::new(),
            open: None,
            errors: LoopErrors::new(domain, ridge),
        }
    }

    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Returns the number of rows of the factor.
    pub fn n_factored(&self) -> usize {
        self.n
    }

    /// Returns the magnitudes of the current streak.
    pub fn streak_size(&self) -> StreakSize {
        let size = self.open.as_ref().map(|open| StreakSize { coefficient: open.coefficient.abs(), ..open.size });
        size.unwrap_or_default()
    }

    /// Returns the factor of `(u · c)²` in the fall of a posterior variance by the current streak.
    pub fn squares(&self) -> f64 {
        self.open.as_ref().map_or(0.0, |open| open.squares(self.ridge))
    }

    /// Adds an observation; `None` if the trial has visited as many points as a workgroup holds.
    pub fn observe(&mut self, domain: &LoopDomain, point: u32, reward: f64) -> Option<LoopUpdate> {
        let slot = self.points.iter().position(|&visited| visited == point).unwrap_or(self.points.len());
        let mut begun = None;
        if self.open.as_ref().is_none_or(|open| open.slot != slot) {
            if slot == MOST_VISITED {
                return None;
            }
            let ended = self.close();
            begun = Some(self.start(domain, point, slot, ended));
        }
        let open = self.open.as_mut()?;
        let StreakSize { count, leverage, .. } = open.size;
        let mean = open.mean + open.coefficient * leverage;
        let surprise = reward - mean;
        let before = 1.0 + count * leverage;
        let after = before + leverage;
        let step = surprise / after;
        open.size.count += 1.0;
        open.coefficient += step;
        self.counts[slot] += 1.0;
        self.errors.observe(reward.abs() + mean.abs() + surprise.abs(), after, open.coefficient.abs(), step.abs());
        Some(LoopUpdate { begun, squares: self.ridge / (before * after), step })
    }

    /// Begins a streak without observations.
    fn start(
        &mut self,
        domain: &LoopDomain,
        point: u32,
        slot: usize,
        ended: Option<(StreakSize, Option<LoopRotated>)>,
    ) -> RowBand {
        let n = self.n;
        if slot == self.points.len() {
            self.points.push(point);
            self.counts.push(0.0);
        }
        let c = &*domain.table.row(point as usize);
        let before = self.counts[slot];
        let (mut solved, mut variance) = (Vec::new(), 0.0);
        let leverage;
        self.row.clear();
        if slot < n {
            self.row.resize(n, 0.0);
            self.row[slot] = 1.0 / before;
            self.solve_lower(slot);
            self.solve_transposed();
            leverage = (1.0 - self.ridge * self.row[slot]) / before;
        } else {
            self.row = domain.covariances(&self.points[..n], point);
            self.solve_lower(0);
            solved.clone_from(&self.row);
            variance = (domain.inside(point) - product(&solved, &solved)).max(0.0);
            leverage = variance / self.ridge;
            self.solve_transposed();
            self.row.iter_mut().for_each(|weight| *weight *= -1.0 / self.ridge);
            self.row.push(1.0 / self.ridge);
        }
        self.direction = domain.combine(&self.row, &self.points);
        let size = StreakSize {
            count: 0.0,
            before,
            leverage: leverage.max(0.0),
            coefficient: 0.0,
            row: self.row.iter().map(|weight| weight.abs()).sum(),
            entry: self.row[slot],
            direction: domain.size(&self.direction),
        };
        let mean = product(&self.theta, c);
        self.open = Some(LoopStreak { slot, size, mean, coefficient: 0.0, solved, variance });
        self.errors.begin(n as f64, ended, domain.size(&self.theta), &size)
    }

    /// Applies the current streak to factor and weights; returns its magnitudes, and those of its rotations.
    fn close(&mut self) -> Option<(StreakSize, Option<LoopRotated>)> {
        let ended = self.streak_size();
        let LoopStreak { slot, size, coefficient, solved, variance, .. } = self.open.take()?;
        self.theta.iter_mut().zip(&self.direction).for_each(|(theta, u)| *theta += coefficient * u);
        if size.before == 0.0 {
            self.factor.extend_from_slice(&solved);
            self.factor.push((variance + self.ridge / size.count).sqrt());
            self.n += 1;
            return Some((ended, None));
        }
        let delta = self.ridge * size.count / (size.before * (size.before + size.count));
        Some((ended, Some(self.lower_diagonal(slot, delta))))
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.factor[i * (i + 1) / 2 + j]
    }

    /// Replaces the factor by that of `A - delta e e^T`, by rotations in their mixed form.
    fn lower_diagonal(&mut self, index: usize, delta: f64) -> LoopRotated {
        let n = self.n;
        let of_row = |i: usize| (index..=i).map(|k| self.at(i, k) * self.at(i, k)).sum::<f64>();
        let mut rotated = LoopRotated { row: (index..n).map(of_row).fold(0.0, f64::max), ..LoopRotated::default() };
        let mut vector = vec![0.0; n];
        vector[index] = delta.sqrt();
        let mut largest = 0.0f64;
        for k in index..n {
            let (pivot, x) = (self.at(k, k), vector[k]);
            let lowered = ((pivot - x) * (pivot + x)).max(f64::MIN_POSITIVE).sqrt();
            let (inverse_c, s, c) = (pivot / lowered, x / pivot, lowered / pivot);
            self.factor[k * (k + 1) / 2 + k] = lowered;
            let before = s * largest * inverse_c;
            let kept = c * largest;
            largest = 0.0;
            for (i, x) in vector.iter_mut().enumerate().skip(k + 1) {
                let entry = (self.at(i, k) - s * *x) * inverse_c;
                self.factor[i * (i + 1) / 2 + k] = entry;
                *x = c * *x - s * entry;
                largest = largest.max(x.abs());
            }
            rotated.squares += before * before;
            rotated.rest += largest * (kept + s.abs() * (1.0 + before.abs()));
        }
        rotated
    }

    /// Solves `L x = b` in the row; entries before `first` are zero.
    fn solve_lower(&mut self, first: usize) {
        let mut b = std::mem::take(&mut self.row);
        self.lower(&mut b, first);
        self.row = b;
    }

    fn lower(&self, b: &mut [f64], first: usize) {
        for k in first..self.n {
            let x = b[k] / self.at(k, k);
            b[k] = x;
            (k + 1..self.n).for_each(|i| b[i] -= x * self.at(i, k));
        }
    }

    /// Solves `L^T x = b` in the row.
    fn solve_transposed(&mut self) {
        for k in (0..self.n).rev() {
            let x = self.row[k] / self.at(k, k);
            self.row[k] = x;
            for i in 0..k {
                self.row[i] -= x * self.at(k, i);
            }
        }
    }

    /// Evaluates a point: its mean, its variance without what no feature carries, its product with `u`, and `L^{-1} C c`.
    pub fn evaluate(&self, domain: &LoopDomain, point: u32) -> Evaluated {
        let c = &*domain.table.row(point as usize);
        let mut solved = domain.covariances(&self.points[..self.n], point);
        self.lower(&mut solved, 0);
        let along = product(&self.direction, c);
        let mut variance = domain.inside(point) - product(&solved, &solved);
        let mut mean = product(&self.theta, c);
        if let Some(open) = &self.open {
            variance -= open.squares(self.ridge) * along * along;
            mean += open.coefficient * along;
        }
        Evaluated { point, mean, variance, along, solved }
    }

    /// Returns the posterior variance of the difference of two points, without what no feature carries.
    pub fn apart(&self, domain: &LoopDomain, a: &Evaluated, b: &Evaluated) -> f64 {
        let shared = domain.covariances(&[a.point], b.point)[0];
        let prior = domain.inside(a.point) + domain.inside(b.point) - 2.0 * shared;
        let solved: f64 = a.solved.iter().zip(&b.solved).map(|(a, b)| (a - b) * (a - b)).sum();
        let along = a.along - b.along;
        prior - solved - self.squares() * along * along
    }

    /// Returns the weights of the mean with the current streak.
    pub fn weights(&self) -> Vec<f64> {
        let mut weights = self.theta.clone();
        if let Some(open) = &self.open {
            weights.iter_mut().zip(&self.direction).for_each(|(weight, u)| *weight += open.coefficient * u);
        }
        weights
    }
}

impl LoopDomain {
    /// Writes `sum row_i c_i` over visited points.
    fn combine(&self, row: &[f64], visited: &[u32]) -> Vec<f64> {
        let mut sum = vec![0.0; self.table.n_features];
        for (&weight, &point) in row.iter().zip(visited) {
            sum.iter_mut().zip(&*self.table.row(point as usize)).for_each(|(sum, c)| *sum += weight * c);
        }
        sum
    }

    /// Bounds the product of these weights and the features of any point.
    pub(super) fn size(&self, weights: &[f64]) -> f64 {
        (product(weights, weights) * self.prior).sqrt()
    }
}

/// A point's posterior, from the factor.
#[derive(Debug)]
pub struct Evaluated {
    pub point: u32,
    pub mean: f64,
    pub variance: f64,
    pub along: f64,
    solved: Vec<f64>,
}
