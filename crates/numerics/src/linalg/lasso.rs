//! The lasso from running sums: `argmin_b (1/n) |y - X b|² + lambda |b|_1` by cyclic coordinate descent [Friedman2010], warm from the last answer.
//!
//! With `G = X^T X` and `g = X^T (y - X b)` at hand a coordinate's step is `b_j <- S(g_j + G_jj b_j, n lambda/2) / G_jj`, `S` the soft threshold, and
//! costs O(1) unless `b_j` moves. It ends where the conditions of optimality hold to `TOLERANCE lambda`:
//! `2 g_j/n = lambda sign(b_j)` where `b_j != 0`, and `|2 g_j/n| <= lambda` elsewhere.

use super::{add_scaled, dot};
use serde::{Deserialize, Serialize};

/// Largest violation of the conditions of optimality, as a share of lambda: what is lost of the objective is at most as large a share of the penalty
/// on the distance to the best. Lambda itself is a tuning constant that nobody knows to three digits, and where it falls as 1/sqrt(t), models without
/// new readings then stand for some hundreds of rounds.
const TOLERANCE: f64 = 1e-3;
/// Sweeps over all coordinates after which an answer is left as it stands; the next call goes on from there.
const MOST_SWEEPS: usize = 1000;

/// Sums over readings `(x, y)` and the answer for the last lambda.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lasso {
    n: u64,
    /// `G`, d x d, both triangles.
    gram: Vec<f64>,
    /// `g = X^T (y - X b)`.
    gradient: Vec<f64>,
    beta: Vec<f64>,
}

impl Lasso {
    /// No readings in `dimension` features.
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        Self { n: 0, gram: vec![0.0; dimension * dimension], gradient: vec![0.0; dimension], beta: vec![0.0; dimension] }
    }

    /// Whether it is of this size and in range.
    #[must_use]
    pub fn fits(&self, dimension: usize) -> bool {
        let sizes = self.beta.len() == dimension && self.gradient.len() == dimension && self.gram.len() == dimension * dimension;
        sizes && self.gram.iter().chain(&self.gradient).chain(&self.beta).all(|x| x.is_finite())
    }

    /// Readings taken in.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The answer.
    #[must_use]
    pub fn beta(&self) -> &[f64] {
        &self.beta
    }

    /// Takes a reading in; the answer stays until [`Lasso::solve`].
    pub fn add(&mut self, x: &[f64], y: f64) {
        let d = self.beta.len();
        let residual = y - dot(&self.beta, x);
        for (row, &x_i) in self.gram.chunks_exact_mut(d).zip(x) {
            if x_i != 0.0 {
                add_scaled(row, x_i, x);
            }
        }
        add_scaled(&mut self.gradient, residual, x);
        self.n += 1;
    }

    /// The answer for this lambda > 0. Gives back the sweeps that it took.
    pub fn solve(&mut self, lambda: f64) -> usize {
        let (d, n) = (self.beta.len(), self.n as f64);
        let threshold = 0.5 * n * lambda;
        for sweep in 0..MOST_SWEEPS {
            if self.violation(lambda) <= TOLERANCE * lambda {
                return sweep;
            }
            for j in 0..d {
                let curvature = self.gram[j * d + j];
                if curvature <= 0.0 {
                    continue;
                }
                let z = self.gradient[j] + curvature * self.beta[j];
                let next = if threshold < z {
                    (z - threshold) / curvature
                } else if z < -threshold {
                    (z + threshold) / curvature
                } else {
                    0.0
                };
                let step = next - self.beta[j];
                if step != 0.0 {
                    self.beta[j] = next;
                    add_scaled(&mut self.gradient, -step, &self.gram[j * d..(j + 1) * d]);
                }
            }
        }
        MOST_SWEEPS
    }

    /// By how much the conditions of optimality are missed; 0 without readings.
    #[must_use]
    pub fn violation(&self, lambda: f64) -> f64 {
        if self.n == 0 {
            return 0.0;
        }
        let n = self.n as f64;
        let missed = |(g, b): (&f64, &f64)| {
            let slope = 2.0 * g / n;
            if *b == 0.0 { slope.abs() - lambda } else { (slope - lambda * b.signum()).abs() }
        };
        self.gradient.iter().zip(&self.beta).map(missed).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soft(z: f64, threshold: f64) -> f64 {
        z.signum() * (z.abs() - threshold).max(0.0)
    }

    /// With X^T X = c I the answer is the soft threshold of X^T y/c, in one sweep.
    #[test]
    fn orthogonal_designs_have_a_closed_form() {
        // Columns of a Hadamard matrix of order 8, times 1/2: c = 2.
        let sign = |i: usize, j: usize| if (i & j).count_ones().is_multiple_of(2) { 0.5 } else { -0.5 };
        let y = [3.0, -1.0, 0.5, 2.0, -2.5, 0.0, 1.0, 4.0];
        let mut lasso = Lasso::new(8);
        for (i, y) in y.into_iter().enumerate() {
            lasso.add(&(0..8).map(|j| sign(i, j)).collect::<Vec<_>>(), y);
        }
        for lambda in [0.01, 0.2, 0.5, 2.0] {
            assert!(lasso.solve(lambda) <= 1);
            for j in 0..8 {
                let z: f64 = (0..8).map(|i| sign(i, j) * y[i]).sum();
                let expected = soft(z, 0.5 * 8.0 * lambda) / 2.0;
                assert!((lasso.beta()[j] - expected).abs() < 1e-12, "{lambda} {j}");
            }
        }
        assert_eq!(lasso.beta(), [0.0; 8], "a large lambda leaves nothing");
    }

    /// Correlated and duplicated columns, readings that come one by one with a falling lambda: the conditions of optimality hold by sums made
    /// from scratch, no other point near by is better, and warm and cold answers predict alike.
    #[test]
    fn conditions_of_optimality_hold() {
        // Weyl's sequence, scrambled: even enough for a test.
        let mut state = 0_u64;
        let mut uniform = |bound: f64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            ((mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0) * bound
        };
        let d = 12;
        let (mut warm, mut rows) = (Lasso::new(d), Vec::new());
        for t in 1..=400_u32 {
            let mut x: Vec<f64> = (0..d).map(|_| uniform(1.0)).collect();
            x[1] = 0.9 * x[0] + 0.1 * x[1];
            x[3] = x[2];
            let y = 0.8 * x[0] - 0.5 * x[5] + uniform(0.1);
            warm.add(&x, y);
            rows.push((x, y));
            let lambda = 0.05 * libm::sqrt((libm::log(f64::from(t)) + libm::log(d as f64)) / f64::from(t));
            assert!(warm.solve(lambda) < MOST_SWEEPS);
            if t % 50 != 0 {
                continue;
            }
            let n = rows.len() as f64;
            let loss = |beta: &[f64]| {
                let squares: f64 = rows.iter().map(|(x, y)| (y - dot(x, beta)).powi(2)).sum();
                squares / n + lambda * beta.iter().map(|b| b.abs()).sum::<f64>()
            };
            for j in 0..d {
                let slope: f64 = rows.iter().map(|(x, y)| 2.0 * x[j] * (y - dot(x, warm.beta())) / n).sum();
                let b = warm.beta()[j];
                let missed = if b == 0.0 { slope.abs() - lambda } else { (slope - lambda * b.signum()).abs() };
                assert!(missed <= 2.0 * TOLERANCE * lambda, "{t} {j}: {missed}");
                for step in [-1e-3, 1e-3] {
                    let mut other = warm.beta().to_vec();
                    other[j] += step;
                    assert!(loss(warm.beta()) < loss(&other) + 2.0 * TOLERANCE * lambda * step.abs() + 1e-12);
                }
            }
            let mut cold = Lasso::new(d);
            rows.iter().for_each(|(x, y)| cold.add(x, *y));
            cold.solve(lambda);
            // Convexity: within the violation times the distance of each other.
            let apart: f64 = cold.beta().iter().zip(warm.beta()).map(|(a, b)| (a - b).abs()).sum();
            assert!((loss(cold.beta()) - loss(warm.beta())).abs() <= 2.0 * TOLERANCE * lambda * apart + 1e-12);
            // A planted fault: an answer for another lambda misses the conditions.
            cold.solve(2.0 * lambda);
            assert!(0.1 * lambda < cold.violation(lambda));
        }
    }
}
