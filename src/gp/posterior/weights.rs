//! Bayesian linear regression in coordinates: `V = ridge I + sum c c^T`, `theta = V^{-1} sum y c`.
//!
//! The inverse is kept and downdated by rank one (Sherman and Morrison); because `ridge I <= V` its entries stay below
//! `1 / ridge`. Rounding drifts by about one unit a downdate, so the state is rebuilt from the collapsed visits every
//! [`REBUILD_EVERY`] observations: a function of the state alone, hence the same bits on every road.

use super::visits::MOST_COUNTED;
use crate::linalg;
use crate::score::Moments;
use serde::{Deserialize, Serialize};

/// Observations between two rebuilds from the visits.
pub const REBUILD_EVERY: u64 = 4096;

/// What one observation did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    /// `c^T V^{-1} c` before the observation.
    pub leverage: f64,
    /// `y - theta · c` before the observation.
    pub surprise: f64,
}

/// The state: `n` coordinates, room for more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WeightModel {
    ridge: f64,
    n: usize,
    stride: usize,
    /// `V^{-1}`, symmetric, row-major with the stride; the room beyond `n` is zero.
    inverse: Vec<f64>,
    theta: Vec<f64>,
    /// `V^{-1} c` of the last observation.
    direction: Vec<f64>,
    gain: f64,
    /// Largest magnitude of a reward so far.
    reward_bound: f64,
    since_rebuild: u64,
}

impl WeightModel {
    /// A model with `n` coordinates (more can join) and `ridge > 0`.
    #[must_use]
    pub fn new(ridge: f64, n: usize) -> Self {
        let mut model = Self {
            ridge,
            n: 0,
            stride: 0,
            inverse: Vec::new(),
            theta: Vec::new(),
            direction: Vec::new(),
            gain: 0.0,
            reward_bound: 0.0,
            since_rebuild: 0,
        };
        model.reserve(n);
        for _ in 0..n {
            model.join();
        }
        model
    }

    /// Whether a saved value hangs together.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        if !(0.0 < self.ridge && self.ridge.is_finite()) {
            return Err("the ridge is not positive");
        }
        if self.stride < self.n
            || self.stride.checked_mul(self.stride) != Some(self.inverse.len())
            || self.theta.len() != self.n
            || self.n < self.direction.len()
        {
            return Err("the weights have lists of wrong lengths");
        }
        if self.inverse.iter().chain(&self.theta).chain(&self.direction).any(|x| !x.is_finite()) {
            return Err("a weight is not finite");
        }
        let counted = self.since_rebuild <= MOST_COUNTED;
        let scales = [self.gain, self.reward_bound].iter().all(|x| x.is_finite() && 0.0 <= *x);
        if counted && scales { Ok(()) } else { Err("the counters of the weights are not possible") }
    }

    /// The regularizer.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Number of coordinates.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Posterior mean of the weights.
    #[must_use]
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Realised information gain `½ ln det(V / ridge)`.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// Observations since the state was last rebuilt.
    #[must_use]
    pub fn since_rebuild(&self) -> u64 {
        self.since_rebuild
    }

    /// `V^{-1} c` of the last observation: with `s = sqrt(ridge / (1 + leverage))`, spread² of a point with coordinates
    /// `c'` fell by `(s direction · c')²`.
    #[must_use]
    pub fn direction(&self) -> &[f64] {
        &self.direction
    }

    /// Adds a coordinate that no observation has touched.
    pub fn join(&mut self) {
        if self.n == self.stride {
            self.reserve((2 * self.stride).max(8));
        }
        self.inverse[self.n * self.stride + self.n] = 1.0 / self.ridge;
        self.n += 1;
        self.theta.push(0.0);
    }

    fn reserve(&mut self, stride: usize) {
        if stride <= self.stride {
            return;
        }
        let mut inverse = vec![0.0; stride * stride];
        for i in 0..self.n {
            inverse[i * stride..i * stride + self.n].copy_from_slice(&self.inverse[i * self.stride..i * self.stride + self.n]);
        }
        self.inverse = inverse;
        self.stride = stride;
    }

    /// Adds the observation `reward` at coordinates `c`; missing trailing coordinates are zero.
    pub fn observe(&mut self, c: &[f64], reward: f64) -> Observed {
        let n = self.n;
        self.direction.clear();
        self.direction.resize(n, 0.0);
        // V^{-1} c as a sum of rows, in the order of the coordinates: many lanes, one fixed order per entry.
        for (j, &cj) in c.iter().enumerate() {
            let row = &self.inverse[j * self.stride..j * self.stride + n];
            for (sum, &entry) in self.direction.iter_mut().zip(row) {
                *sum += cj * entry;
            }
        }
        let leverage = linalg::dot(c, &self.direction[..c.len()]).max(0.0);
        let surprise = reward - linalg::dot(c, &self.theta[..c.len()]);
        let shrink = 1.0 / (1.0 + leverage);
        for i in 0..n {
            let factor = self.direction[i] * shrink;
            let row = &mut self.inverse[i * self.stride..i * self.stride + n];
            for (entry, &u) in row.iter_mut().zip(&self.direction) {
                *entry -= factor * u;
            }
        }
        let step = surprise * shrink;
        for (weight, &u) in self.theta.iter_mut().zip(&self.direction) {
            *weight += step * u;
        }
        self.gain += 0.5 * libm::log1p(leverage);
        self.reward_bound = self.reward_bound.max(reward.abs());
        self.since_rebuild += 1;
        Observed { leverage, surprise }
    }

    /// `theta · c`; missing trailing coordinates are zero.
    #[must_use]
    pub fn mean(&self, c: &[f64]) -> f64 {
        linalg::dot(c, &self.theta[..c.len()])
    }

    /// `ridge c^T V^{-1} c`, at least 0: what the observations leave of the variance carried by the coordinates.
    #[must_use]
    pub fn variance(&self, c: &[f64]) -> f64 {
        let mut form = 0.0;
        for (i, &ci) in c.iter().enumerate() {
            form += ci * linalg::dot(c, &self.inverse[i * self.stride..i * self.stride + c.len()]);
        }
        (self.ridge * form).max(0.0)
    }

    /// Rebuilds the state from collapsed visits `(coordinates, count, sum of rewards)`. Returns false, changing nothing,
    /// if the factorization fails.
    pub fn rebuild<'c>(&mut self, visits: impl Iterator<Item = (&'c [f64], f64, f64)>) -> bool {
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
                for (entry, &cj) in precision[i * n..i * n + c.len()].iter_mut().zip(c) {
                    *entry += weight * cj;
                }
            }
        }
        if linalg::cholesky(&mut precision, n).is_err() {
            return false;
        }
        let inverse = linalg::inverse_spd(&precision, n);
        for i in 0..n {
            self.inverse[i * self.stride..i * self.stride + n].copy_from_slice(&inverse[i * n..(i + 1) * n]);
            self.theta[i] = linalg::dot(&inverse[i * n..(i + 1) * n], &moment);
        }
        self.since_rebuild = 0;
        true
    }

    /// Bounds on what the updates since the last rebuild rounded off in `mean` and `variance`, for points of prior variance
    /// at most `prior`: by so much they may differ from the sum of what each observation was said to change. About one
    /// rounding of each of the `n` terms an update, doubled for the two products, times a safety factor of four; roundings
    /// of successive updates add up like their square root. The distance from exact arithmetic can be larger.
    #[must_use]
    pub fn state_error(&self, prior: f64) -> Moments {
        let share = 8.0 * (self.n as f64 + 8.0) * f64::EPSILON * (1.0 + libm::sqrt(self.since_rebuild as f64));
        let mean_scale = self.reward_bound + libm::sqrt(prior * linalg::dot(&self.theta, &self.theta));
        Moments { mean: share * mean_scale, variance: share * prior }
    }
}
