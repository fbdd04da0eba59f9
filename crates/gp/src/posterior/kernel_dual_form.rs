//! Kernel regression over the distinct visited points (the dual form).
//!
//! With `A = K + ridge diag(1/count) = L L^T` and `w = A^{-1} (average rewards)`,
//!
//! `mean(x) = w · k(x)` and the posterior variance is `k(x,x) - |L^{-1} k(x)|²`.
//!
//! All interactions with a point collapse into its count and average reward. The conditioning of `A` is that of
//! `ridge / count`, however close the points are, and stable rotations update its Cholesky factor. The result therefore
//! does not depend on the order in which nearly equal points were played.
//!
//! **Streaks.** Optimizers play a point many times in a row. All observations of a streak change the model along
//! `g = A^{-1} e`, where `e` is the point's unit vector. With `n0` observations, average `y0` and weight `w_e` at the
//! start of the streak, and `j` observations since,
//!
//! `delta = ridge j / (n0 (n0 + j))`, `D = 1 - delta g_e`, `A_j^{-1} = A^{-1} + delta / D g g^T`,
//! `w_j = w + a g`, `a = (delta w_e + average_j - y0) / D`.
//!
//! A streak is stored as a few numbers, so a repeated observation costs O(1). The state is rebuilt from the interactions
//! every [`REBUILD_EVERY`](super::REBUILD_EVERY) observations. It is a function of the observations alone, so every path
//! gives the same bits.

use super::Visits;
use super::streak::{StreakUpdate, rounded};
use super::visits::are_possible;
use crate::score::Moments;
use privateer_numerics::linalg::{self, GrowingCholesky};
use serde::{Deserialize, Serialize};

/// The state of the dual form, indexed by the slots of [`Visits`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelDualForm {
    ridge: f64,
    /// Factor of `A` without the further observations of the current streak.
    factor: GrowingCholesky,
    /// `w` without the further observations of the current streak.
    weights: Vec<f64>,
    streak: Option<KernelStreak>,
    /// Information gain without the further observations of the current streak.
    gain: f64,
    /// Largest absolute reward so far.
    reward_bound: f64,
    since_rebuild: u64,
    #[serde(skip)]
    scratch: Vec<f64>,
}

/// The current streak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KernelStreak {
    slot: usize,
    /// `n0` and the sum of those rewards.
    count: f64,
    sum: f64,
    /// `j` and the sum of those rewards.
    more: f64,
    more_sum: f64,
    /// `g = A^{-1} e`.
    direction: Vec<f64>,
    /// `w_e`.
    weight: f64,
}

impl KernelStreak {
    /// Returns `delta` after `more` further observations; 0 before the first.
    fn delta(&self, ridge: f64, more: f64) -> f64 {
        ridge * more / (self.count * (self.count + more))
    }

    /// Returns `D`, which is at least one half because `g_e <= n0 / ridge`.
    fn denominator(&self, delta: f64) -> f64 {
        1.0 - delta * self.direction[self.slot]
    }

    /// Returns `a`, the coefficient of `g` in the weights.
    fn coefficient(&self, ridge: f64) -> f64 {
        let delta = self.delta(ridge, self.more);
        let average = (self.sum + self.more_sum) / (self.count + self.more);
        (delta * self.weight + (average - self.sum / self.count)) / self.denominator(delta)
    }

    /// Returns `delta / D`, the coefficient of `g g^T` in the inverse.
    fn downdate(&self, ridge: f64) -> f64 {
        let delta = self.delta(ridge, self.more);
        delta / self.denominator(delta)
    }

    /// Returns the gain ½ ln(1 + j q), with `q` the posterior variance over the ridge at the start.
    ///
    /// The gains of the streak's observations telescope.
    fn gain(&self, ridge: f64) -> f64 {
        let leverage = (1.0 - ridge * self.direction[self.slot] / self.count).max(0.0) / self.count;
        0.5 * libm::log1p(self.more * leverage)
    }
}

impl KernelDualForm {
    /// Creates a model without observations; `ridge > 0`.
    #[must_use]
    pub fn new(ridge: f64) -> Self {
        Self {
            ridge,
            factor: GrowingCholesky::default(),
            weights: Vec::new(),
            streak: None,
            gain: 0.0,
            reward_bound: 0.0,
            since_rebuild: 0,
            scratch: Vec::new(),
        }
    }

    /// Checks that a saved value is consistent and covers `n_distinct` distinct points.
    ///
    /// # Errors
    /// A description of the inconsistency.
    pub fn check(&self, n_distinct: usize) -> Result<(), &'static str> {
        if !(0.0 < self.ridge && self.ridge.is_finite()) {
            return Err("the ridge is not positive");
        }
        if self.factor.n() != n_distinct || self.weights.len() != n_distinct || !self.factor.is_sound() {
            return Err("factor, weights and visits have different sizes");
        }
        if let Some(streak) = &self.streak {
            let numbers = [streak.count, streak.sum, streak.more, streak.more_sum, streak.weight];
            let whole =
                streak.slot < n_distinct && streak.direction.len() == n_distinct && 1.0 <= streak.count && 0.0 <= streak.more;
            if !whole || numbers.iter().chain(&streak.direction).any(|x| !x.is_finite()) {
                return Err("the open streak is not possible");
            }
        }
        let finite = self.weights.iter().all(|x| x.is_finite());
        if finite && are_possible([self.gain, self.reward_bound], self.since_rebuild) {
            Ok(())
        } else {
            Err("the weights or counters are not possible")
        }
    }

    /// Returns the regularizer.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Returns the realised information gain `½ ln det(I + K_t / ridge)`.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.gain + self.streak.as_ref().map_or(0.0, |streak| streak.gain(self.ridge))
    }

    /// Returns the number of observations since the last rebuild.
    #[must_use]
    pub fn since_rebuild(&self) -> u64 {
        self.since_rebuild
    }

    /// Returns the direction `g` of the current streak, over the visited points' Gram columns.
    #[must_use]
    pub fn direction(&self) -> &[f64] {
        self.streak.as_ref().map_or(&[], |streak| &streak.direction)
    }

    /// Adds the first observation of a new point.
    /// * `k` — covariances of the point with the points visited before
    /// * `prior` — prior variance of the point
    pub fn observe_new(&mut self, k: &[f64], prior: f64, reward: f64) -> StreakUpdate {
        self.close_streak();
        self.count(reward);
        let slot = self.factor.n();
        let mut l = k.to_vec();
        self.factor.solve_lower(&mut l, 0);
        // The pivot is the posterior variance of the new point, at least 0, plus the ridge, so it is at least the ridge.
        let variance = (prior - linalg::dot(&l, &l)).max(0.0);
        let pivot = variance + self.ridge;
        let surprise = reward - linalg::dot(&self.weights, k);
        self.factor.push(&l, pivot.sqrt());
        let direction = self.solve_axis(slot);
        self.weights.push(0.0);
        linalg::add_scaled(&mut self.weights, surprise, &direction);
        self.gain += 0.5 * libm::log1p(variance / self.ridge);
        let weight = self.weights[slot];
        self.streak = Some(KernelStreak { slot, count: 1.0, sum: reward, more: 0.0, more_sum: 0.0, direction, weight });
        // p = g · k(x) = cov(new, x) / pivot: the variance falls by cov² / pivot, the mean rises by surprise cov / pivot.
        StreakUpdate { scale: pivot.sqrt(), mean_step: surprise, repeated: false }
    }

    /// Adds another observation of the point in `slot`; `visits` do not count it yet.
    pub fn observe_again(&mut self, slot: usize, visits: &Visits, reward: f64) -> StreakUpdate {
        let repeated = self.streak.as_ref().is_some_and(|streak| streak.slot == slot);
        if !repeated {
            self.close_streak();
            let direction = self.solve_axis(slot);
            let (count, sum) = (visits.counts[slot] as f64, visits.sums[slot]);
            let weight = self.weights[slot];
            self.streak = Some(KernelStreak { slot, count, sum, more: 0.0, more_sum: 0.0, direction, weight });
        }
        self.count(reward);
        let ridge = self.ridge;
        let Some(streak) = self.streak.as_mut() else { return StreakUpdate { scale: 0.0, mean_step: 0.0, repeated } };
        let before = (streak.denominator(streak.delta(ridge, streak.more)), streak.coefficient(ridge));
        let total = streak.count + streak.more;
        streak.more += 1.0;
        streak.more_sum += reward;
        let after = (streak.denominator(streak.delta(ridge, streak.more)), streak.coefficient(ridge));
        // With m observations before this one, delta' - delta = ridge / (m (m + 1)), and delta / D changes by that
        // difference divided by D D'.
        let fall = ridge / (total * (total + 1.0)) / (before.0 * after.0);
        StreakUpdate { scale: fall.sqrt(), mean_step: after.1 - before.1, repeated }
    }

    fn count(&mut self, reward: f64) {
        self.reward_bound = self.reward_bound.max(reward.abs());
        self.since_rebuild += 1;
    }

    /// Returns `A^{-1} e` for the unit vector `e` of a slot.
    fn solve_axis(&self, slot: usize) -> Vec<f64> {
        let mut x = vec![0.0; self.factor.n()];
        x[slot] = 1.0;
        self.factor.solve_lower(&mut x, slot);
        self.factor.solve_transposed(&mut x);
        x
    }

    /// Ends the current streak and applies its further observations to the factor and the weights.
    fn close_streak(&mut self) {
        let Some(streak) = self.streak.take() else { return };
        if streak.more == 0.0 {
            return;
        }
        self.gain += streak.gain(self.ridge);
        linalg::add_scaled(&mut self.weights[..streak.direction.len()], streak.coefficient(self.ridge), &streak.direction);
        self.factor.lower_diagonal(streak.slot, streak.delta(self.ridge, streak.more), &mut self.scratch);
    }

    /// Returns the posterior mean and variance of a point.
    /// * `k` — covariances with the visited points; overwritten
    /// * `prior` — prior variance of the point
    #[must_use]
    pub fn moments(&self, k: &mut [f64], prior: f64) -> Moments {
        let mean = self.mean(k);
        let streak = self.streak.as_ref().map_or(0.0, |streak| {
            let along = linalg::dot(&streak.direction, k);
            streak.downdate(self.ridge) * along * along
        });
        self.factor.solve_lower(k, 0);
        Moments { mean, variance: (prior - linalg::dot(k, k) - streak).max(0.0) }
    }

    /// Returns the mean alone, at lower cost.
    #[must_use]
    pub fn mean(&self, k: &[f64]) -> f64 {
        let closed = linalg::dot(&self.weights, k);
        match &self.streak {
            Some(streak) => closed + streak.coefficient(self.ridge) * linalg::dot(&streak.direction, k),
            None => closed,
        }
    }

    /// Rebuilds the state from the interactions; `entry` gives the covariance of two slots.
    ///
    /// Returns false and changes nothing if the factorization fails.
    pub fn rebuild(&mut self, visits: &Visits, entry: impl Fn(usize, usize) -> f64) -> bool {
        let n = visits.n_distinct();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                a[i * n + j] = entry(i, j);
            }
            a[i * n + i] += self.ridge / visits.counts[i] as f64;
        }
        if linalg::cholesky(&mut a, n).is_err() {
            return false;
        }
        self.gain = self.gain();
        self.streak = None;
        self.factor = GrowingCholesky::from_rows(&a, n);
        self.weights = (0..n).map(|slot| visits.sums[slot] / visits.counts[slot] as f64).collect();
        self.factor.solve_lower(&mut self.weights, 0);
        self.factor.solve_transposed(&mut self.weights);
        self.since_rebuild = 0;
        true
    }

    /// Bounds the rounding errors of the updates since the last rebuild, see `run::rounded`.
    /// * `largest_count` — largest number of observations of one point
    #[must_use]
    pub fn state_error(&self, prior: f64, largest_count: u64) -> Moments {
        // |mean| <= sum |w_i| prior; the current streak adds its own term.
        let streak = self
            .streak
            .as_ref()
            .map_or(0.0, |streak| streak.coefficient(self.ridge).abs() * streak.direction.iter().map(|g| g.abs()).sum::<f64>());
        let weights = self.weights.iter().map(|w| w.abs()).sum::<f64>() + streak;
        let found = rounded(self.factor.n() as f64, self.since_rebuild, prior, self.reward_bound + weights * prior);
        Moments { variance: found.variance * linalg::lost_in_solves(prior, self.ridge, largest_count), ..found }
    }
}
