//! Bayesian linear regression in the dual form: a factor over the K distinct visited points.
//!
//! `V = ridge I + sum c c^T`, `theta = V^{-1} sum y c`. Let C have the coordinates of the distinct points as rows, let N
//! be the diagonal matrix of their counts, and `A = C C^T + ridge N^{-1} = L L^T`. Then
//!
//! `ridge V^{-1} = I - C^T A^{-1} C`, so the posterior variance is `|c|² - |l|²` with `l = L^{-1} C c`,
//!
//! and `u = V^{-1} c = sum row_i c_i` is a sum over the visited points: `row = A^{-1} e / count` for a point visited
//! before, with e its unit vector, and `row = (-L^{-T} l, 1) / ridge` for a new point. This costs K² and K n
//! multiply-adds instead of n² and the update of an inverse, and it also gives the change of an observation over the
//! visited points.
//!
//! A streak is handled as in [`super::WeightModel`]. When it ends, a new point enters `A` with all observations of the
//! streak at once; the diagonal entry of a known point is lowered by stable rotations. The state is rebuilt from the
//! interactions every [`REBUILD_EVERY`](super::REBUILD_EVERY) observations. It depends on the observations alone, so
//! every path gives the same bits.

use super::Visits;
use super::streak::{Streak, StreakUpdate, rounded};
use super::visits::are_possible;
use crate::score::Moments;
use privateer_numerics::linalg::{self, GrowingCholesky, add_rows_wide, add_scaled, dot, dot_rows};
use serde::{Deserialize, Serialize};

/// The state over the slots of [`Visits`], in `n` coordinates.
///
/// The caller passes coordinates as a function: `coordinates(slot)` has `n` numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureDualForm {
    ridge: f64,
    n: usize,
    /// Factor of `A` without the current streak.
    factor: GrowingCholesky,
    /// Posterior mean of the weights without the current streak.
    theta: Vec<f64>,
    /// `u` of the current streak and its row over the visited points; empty without a streak.
    direction: Vec<f64>,
    row: Vec<f64>,
    open: Option<OpenStreak>,
    /// Information gain without the current streak.
    gain: f64,
    /// Largest absolute reward so far.
    reward_bound: f64,
    since_rebuild: u64,
    #[serde(skip)]
    scratch: Vec<f64>,
}

/// The current streak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenStreak {
    slot: usize,
    streak: Streak,
    /// Observations of the point before the streak.
    before: f64,
    /// For a new point: `l`, and `|c|² - |l|²`.
    l: Vec<f64>,
    variance: f64,
}

impl FeatureDualForm {
    /// Creates a model in `n` coordinates; `ridge > 0`.
    #[must_use]
    pub fn new(ridge: f64, n: usize) -> Self {
        Self {
            ridge,
            n,
            factor: GrowingCholesky::default(),
            theta: vec![0.0; n],
            direction: Vec::new(),
            row: Vec::new(),
            open: None,
            gain: 0.0,
            reward_bound: 0.0,
            since_rebuild: 0,
            scratch: Vec::new(),
        }
    }

    /// Checks that a saved value is consistent with these interactions.
    ///
    /// # Errors
    /// A description of the inconsistency.
    pub fn check<'c>(&self, visits: &Visits, coordinates: impl Fn(usize) -> &'c [f64] + Copy) -> Result<(), &'static str> {
        let n_distinct = visits.n_distinct();
        if !(0.0 < self.ridge && self.ridge.is_finite()) {
            return Err("the ridge is not positive");
        }
        let new = self.open.as_ref().is_some_and(|open| open.before == 0.0);
        if !self.factor.is_sound() || self.factor.n() + usize::from(new) != n_distinct || self.theta.len() != self.n {
            return Err("factor, weights and visits have different sizes");
        }
        let lengths = (self.direction.len(), self.row.len());
        if let Some(open) = &self.open {
            let k = self.factor.n();
            let whole = open.slot < n_distinct && (open.slot == k) == new && open.l.len() == if new { k } else { 0 };
            let possible = open.streak.is_sound() && 1.0 <= open.streak.count && 0.0 <= open.before && open.before.is_finite();
            let variance = 0.0 <= open.variance && open.variance.is_finite() && open.l.iter().all(|l| l.is_finite());
            if !(whole && possible && variance && lengths == (self.n, n_distinct))
                || open.before + open.streak.count != visits.counts[open.slot] as f64
            {
                return Err("the open streak is not possible");
            }
            // The sum has one fixed order, so the bits must agree.
            let mut sum = vec![0.0; self.n];
            add_rows_wide(&self.row, coordinates, &mut sum);
            if sum != self.direction {
                return Err("the direction of the open streak is not that of its points");
            }
        } else if lengths != (0, 0) {
            return Err("there is a direction and no open streak");
        }
        if self.theta.iter().chain(&self.direction).chain(&self.row).any(|x| !x.is_finite()) {
            return Err("a weight is not finite");
        }
        let counted = are_possible([self.gain, self.reward_bound], self.since_rebuild);
        if counted { Ok(()) } else { Err("the counters of the weights are not possible") }
    }

    /// Returns the regularizer.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Returns the number of coordinates.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns the realised information gain `½ ln det(V / ridge)`.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.gain + self.open.as_ref().map_or(0.0, |open| open.streak.gain())
    }

    /// Returns the largest absolute reward so far.
    #[must_use]
    pub fn reward_bound(&self) -> f64 {
        self.reward_bound
    }

    /// Returns the number of observations since the last rebuild.
    #[must_use]
    pub fn since_rebuild(&self) -> u64 {
        self.since_rebuild
    }

    /// Returns the direction `u` of the current streak.
    #[must_use]
    pub fn direction(&self) -> &[f64] {
        &self.direction
    }

    /// Returns the direction over the visited points: `u = sum row_i c_i`.
    #[must_use]
    pub fn row(&self) -> &[f64] {
        &self.row
    }

    /// Adds an observation of `reward` at the point of `slot`; `visits` do not count it yet.
    ///
    /// A new point has the next free slot.
    pub fn observe<'c>(
        &mut self,
        slot: usize,
        visits: &Visits,
        coordinates: impl Fn(usize) -> &'c [f64] + Copy,
        reward: f64,
    ) -> StreakUpdate {
        self.reward_bound = self.reward_bound.max(reward.abs());
        self.since_rebuild += 1;
        let repeated = self.open.as_ref().is_some_and(|open| open.slot == slot);
        if !repeated {
            self.close_streak();
            self.start_streak(slot, visits.counts.get(slot).map_or(0.0, |&count| count as f64), coordinates);
        }
        let Some(open) = self.open.as_mut() else { return StreakUpdate { scale: 0.0, mean_step: 0.0, repeated } };
        open.streak.observe(self.ridge, reward, repeated)
    }

    fn start_streak<'c>(&mut self, slot: usize, before: f64, coordinates: impl Fn(usize) -> &'c [f64] + Copy) {
        let (ridge, k) = (self.ridge, self.factor.n());
        let c = coordinates(slot);
        let mut l = Vec::new();
        let (variance, leverage);
        self.row.clear();
        self.row.resize(k, 0.0);
        if slot < k {
            self.row[slot] = 1.0 / before;
            self.factor.solve_lower(&mut self.row, slot);
            self.factor.solve_transposed(&mut self.row);
            // c · u = (C u)_e, C C^T = A - ridge N^{-1}.
            (variance, leverage) = (0.0, (1.0 - ridge * self.row[slot]) / before);
        } else {
            dot_rows(c, coordinates, &mut self.row);
            self.factor.solve_lower(&mut self.row, 0);
            l.clone_from(&self.row);
            variance = (dot(c, c) - dot(&l, &l)).max(0.0);
            leverage = variance / ridge;
            self.factor.solve_transposed(&mut self.row);
            self.row.iter_mut().for_each(|weight| *weight *= -1.0 / ridge);
            self.row.push(1.0 / ridge);
        }
        self.direction.clear();
        self.direction.resize(self.n, 0.0);
        add_rows_wide(&self.row, coordinates, &mut self.direction);
        let streak = Streak::new(leverage, dot(c, &self.theta));
        self.open = Some(OpenStreak { slot, streak, before, l, variance });
    }

    /// Ends the current streak and applies it to factor and weights.
    fn close_streak(&mut self) {
        let Some(OpenStreak { slot, streak, before, l, variance }) = self.open.take() else { return };
        self.gain += streak.gain();
        add_scaled(&mut self.theta, streak.coefficient, &self.direction);
        if before == 0.0 {
            self.factor.push(&l, (variance + self.ridge / streak.count).sqrt());
        } else {
            let delta = self.ridge * streak.count / (before * (before + streak.count));
            self.factor.lower_diagonal(slot, delta, &mut self.scratch);
        }
    }

    /// Returns `theta · c` and `ridge c^T V^{-1} c` (at least 0).
    #[must_use]
    pub fn moments<'c>(&self, c: &[f64], coordinates: impl Fn(usize) -> &'c [f64] + Copy) -> Moments {
        let mut l = vec![0.0; self.factor.n()];
        dot_rows(c, coordinates, &mut l);
        self.factor.solve_lower(&mut l, 0);
        let mut variance = dot(c, c) - dot(&l, &l);
        if let Some(open) = &self.open {
            let along = dot(&self.direction, c);
            variance -= self.ridge * open.streak.downdate() * along * along;
        }
        Moments { mean: self.mean(c), variance: variance.max(0.0) }
    }

    /// Returns the mean alone, at lower cost.
    #[must_use]
    pub fn mean(&self, c: &[f64]) -> f64 {
        let closed = dot(c, &self.theta);
        match &self.open {
            Some(open) => closed + open.streak.coefficient * dot(&self.direction, c),
            None => closed,
        }
    }

    /// Returns `theta` and `ridge V^{-1} = I - G^T G - ridge d u u^T`, row-major.
    ///
    /// Here `G = L^{-1} C`, and d is the downdate of the current streak; posterior variances use the same factor.
    #[must_use]
    pub fn form<'c>(&self, coordinates: impl Fn(usize) -> &'c [f64] + Copy) -> (Vec<f64>, Vec<f64>) {
        let (n, k) = (self.n, self.factor.n());
        let mut theta = self.theta.clone();
        let mut form = vec![0.0; n * n];
        (0..n).for_each(|i| form[i * n + i] = 1.0);
        let mut column = vec![0.0; k];
        let mut solved = vec![0.0; k * n];
        for i in 0..n {
            (0..k).for_each(|slot| column[slot] = coordinates(slot)[i]);
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
            add_scaled(&mut theta, open.streak.coefficient, &self.direction);
            take(self.ridge * open.streak.downdate(), &self.direction);
        }
        (theta, form)
    }

    /// Rebuilds the state from the interactions, which also ends the current streak.
    ///
    /// Returns false and changes nothing if the factorization fails.
    pub fn rebuild<'c>(&mut self, visits: &Visits, coordinates: impl Fn(usize) -> &'c [f64] + Copy) -> bool {
        let k = visits.n_distinct();
        let mut a = vec![0.0; k * k];
        for (slot, row) in a.chunks_exact_mut(k.max(1)).enumerate() {
            dot_rows(coordinates(slot), coordinates, &mut row[..=slot]);
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
        self.theta.fill(0.0);
        add_rows_wide(&weights, coordinates, &mut self.theta);
        self.since_rebuild = 0;
        true
    }

    /// Bounds the rounding errors of the updates since the last rebuild, see `run::rounded`.
    ///
    /// Sums have `n` or K terms.
    /// * `largest_count` — largest number of observations of one point
    #[must_use]
    pub fn state_error(&self, prior: f64, largest_count: u64) -> Moments {
        let terms = self.n.max(self.factor.n() + 1) as f64;
        let along = self.open.as_ref().map_or(0.0, |open| open.streak.coefficient.abs() * prior / self.ridge);
        let mean_scale = self.reward_bound + (prior * dot(&self.theta, &self.theta)).sqrt() + along;
        let found = rounded(terms, self.since_rebuild, prior, mean_scale);
        Moments { variance: found.variance * linalg::lost_in_solves(prior, self.ridge, largest_count), ..found }
    }
}
