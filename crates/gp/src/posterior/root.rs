//! Bayesian linear regression with a root of the posterior covariance, from which weights can be drawn at once.
//!
//! The covariance is `A A^T`. An observation at features `c` with noise variance `ridge` gives, with `w = A^T c`, `s = A w` and
//! `d = ridge + |w|²`: the mean moves by `s (y - theta · c) / d`, and `A` becomes `A - s w^T / (d + sqrt(ridge d))`, whose square is
//! `A A^T - s s^T / d` [Bierman1977]. Nothing is subtracted from a variance, so that none can become negative.

use privateer_numerics::linalg::{add_rows_wide, dot, dot_rows};
use privateer_numerics::vectorised;

/// Rows of the root are padded with zeros to a multiple of this length, so that none ends in entries one by one.
const LANES: usize = 8;

/// The state over `n` features.
#[derive(Debug, Clone, PartialEq)]
pub struct RootModel {
    ridge: f64,
    theta: Vec<f64>,
    /// `A`, `n` padded rows.
    root: Vec<f64>,
    gain: f64,
}

impl RootModel {
    /// Creates the prior with identity covariance; `ridge > 0`.
    pub fn new(ridge: f64, n: usize) -> Self {
        let stride = n.next_multiple_of(LANES);
        let mut root = vec![0.0; n * stride];
        (0..n).for_each(|i| root[i * stride + i] = 1.0);
        Self { ridge, theta: vec![0.0; n], root, gain: 0.0 }
    }

    /// Returns the realised information gain `½ ln det(I + K_t / ridge)`.
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// Returns the posterior mean at these features.
    pub fn mean(&self, c: &[f64]) -> f64 {
        dot(&self.theta, c)
    }

    /// Adds an observation.
    pub fn observe(&mut self, c: &[f64], reward: f64) {
        let mut w = vec![0.0; self.stride()];
        add_rows_wide(c, |row| self.row(row), &mut w);
        let s = self.times(&w);
        let d = self.ridge + dot(&w, &w);
        self.gain += 0.5 * libm::log(d / self.ridge);
        let step = (reward - self.mean(c)) / d;
        self.theta.iter_mut().zip(&s).for_each(|(theta, s)| *theta += step * s);
        lower(&mut self.root, -1.0 / (d + libm::sqrt(self.ridge * d)), &s, &w);
    }

    /// Returns the length of a padded row.
    pub fn stride(&self) -> usize {
        self.theta.len().next_multiple_of(LANES)
    }

    /// Returns the weights `theta + factor A z`, with z padded with zeros to [`Self::stride`].
    pub fn weights(&self, z: &[f64], factor: f64) -> Vec<f64> {
        self.theta.iter().zip(self.times(z)).map(|(theta, spread)| theta + factor * spread).collect()
    }

    fn times(&self, vector: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.theta.len()];
        dot_rows(vector, |row| self.row(row), &mut out);
        out
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.root[row * self.stride()..][..self.stride()]
    }
}

vectorised! {
    /// Adds `factor s w^T` to a square matrix.
    fn lower(matrix: &mut [f64], factor: f64, s: &[f64], w: &[f64]) {
        for (row, s) in matrix.chunks_exact_mut(w.len().max(1)).zip(s) {
            let scaled = factor * s;
            for (entry, w) in row.iter_mut().zip(w) {
                *entry += scaled * w;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::weights::WeightModel;

    /// Mean, variance and gain are those of the model over coordinates, after more observations than features.
    #[test]
    fn moments_are_those_of_the_weights() {
        let (n, ridge) = (5, 0.2);
        let (mut root, mut weights) = (RootModel::new(ridge, n), WeightModel::new(ridge, n));
        let features = |round: usize| -> Vec<f64> { (0..n).map(|i| ((round * 7 + i * 3) as f64).sin()).collect() };
        for round in 0..200 {
            let (c, reward) = (features(round % 13), (round as f64).cos());
            root.observe(&c, reward);
            weights.observe(round as u64 % 13, &c, reward);
        }
        let c = features(50);
        let mut w = vec![0.0; root.stride()];
        add_rows_wide(&c, |row| root.row(row), &mut w);
        let expected = weights.moments(&c);
        assert!((root.mean(&c) - expected.mean).abs() < 1e-10, "{expected:?}");
        assert!((dot(&w, &w) - expected.variance).abs() < 1e-10 * expected.variance, "{expected:?}");
        assert!((root.gain() - weights.gain()).abs() < 1e-9 * root.gain());
        // A draw has the root's covariance: along z = A^T c / |A^T c| it moves the mean by the standard deviation.
        let length = dot(&w, &w).sqrt();
        let along: Vec<f64> = w.iter().map(|w| w / length).collect();
        let moved = dot(&root.weights(&along, 2.0), &c) - root.mean(&c);
        assert!((moved - 2.0 * length).abs() < 1e-12);
    }
}
