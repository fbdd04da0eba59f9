//! The lasso `argmin_b (1/n) |y - X b|² + lambda |b|_1` from running sums.
//!
//! It uses cyclic coordinate descent [Friedman2010], starting from the last solution. With `G = X^T X` and
//! `g = X^T (y - X b)`, a step of a coordinate is `b_j <- S(g_j + G_jj b_j, n lambda/2) / G_jj`, `S` the soft threshold;
//! it costs O(1) unless `b_j` changes. The descent ends when the conditions of optimality hold to `TOLERANCE lambda`:
//! `2 g_j/n = lambda sign(b_j)` where `b_j != 0`, and `|2 g_j/n| <= lambda` elsewhere.

use super::{add_scaled, dot};
use crate::vectorised;

/// Largest violation of the conditions of optimality, as a share of lambda.
///
/// The loss of the objective is at most the same share of the penalty on the distance to the optimum. Lambda is a tuning
/// constant known to less than three digits; if it falls as 1/sqrt(t), models without new observations then stay valid
/// for some hundreds of rounds.
const TOLERANCE: f64 = 1e-3;
/// Largest number of sweeps over all coordinates in one call; the next call continues from there.
const MOST_SWEEPS: usize = 1000;

/// Sums over observations `(x, y)`, and the solution for the last lambda.
#[derive(Debug, Clone, PartialEq)]
pub struct Lasso {
    n: u64,
    /// `G`, d x d, both triangles.
    gram: Vec<f64>,
    /// `g = X^T (y - X b)`.
    gradient: Vec<f64>,
    beta: Vec<f64>,
}

impl Lasso {
    /// Creates a state without observations, in `dimension` features.
    pub fn new(dimension: usize) -> Self {
        Self { n: 0, gram: vec![0.0; dimension * dimension], gradient: vec![0.0; dimension], beta: vec![0.0; dimension] }
    }

    /// Returns the solution.
    pub fn beta(&self) -> &[f64] {
        &self.beta
    }

    /// Adds an observation; the solution is unchanged until [`Lasso::solve`].
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

    /// Computes the solution for this lambda > 0; returns the number of sweeps.
    pub fn solve(&mut self, lambda: f64) -> usize {
        solve_wide(self, lambda)
    }

    /// Returns the largest violation of the conditions of optimality; 0 without observations.
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

vectorised! {
    fn solve_wide(lasso: &mut Lasso, lambda: f64) -> usize {
        let d = lasso.beta.len();
        let threshold = 0.5 * lasso.n as f64 * lambda;
        for sweep in 0..MOST_SWEEPS {
            if lasso.violation(lambda) <= TOLERANCE * lambda {
                return sweep;
            }
            for j in 0..d {
                let row = &lasso.gram[j * d..(j + 1) * d];
                let curvature = row[j];
                if curvature <= 0.0 {
                    continue;
                }
                let z = lasso.gradient[j] + curvature * lasso.beta[j];
                let next = if threshold < z {
                    (z - threshold) / curvature
                } else if z < -threshold {
                    (z + threshold) / curvature
                } else {
                    0.0
                };
                let step = next - lasso.beta[j];
                if step != 0.0 {
                    lasso.beta[j] = next;
                    add_scaled(&mut lasso.gradient, -step, row);
                }
            }
        }
        MOST_SWEEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soft(z: f64, threshold: f64) -> f64 {
        z.signum() * (z.abs() - threshold).max(0.0)
    }

    /// Checks orthogonal designs: with X^T X = c I the solution is the soft threshold of X^T y/c.
    ///
    /// One sweep suffices.
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

    /// Checks the conditions of optimality on correlated and duplicated columns.
    ///
    /// Observations come one by one with a falling lambda. The conditions are checked by recomputed sums, no nearby point
    /// is better, and warm and cold starts predict alike.
    #[test]
    fn conditions_of_optimality_hold() {
        // Weyl's sequence, scrambled: uniform enough for a test.
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
            // By convexity the losses differ by at most the violation times the distance.
            let apart: f64 = cold.beta().iter().zip(warm.beta()).map(|(a, b)| (a - b).abs()).sum();
            assert!((loss(cold.beta()) - loss(warm.beta())).abs() <= 2.0 * TOLERANCE * lambda * apart + 1e-12);
            // A planted fault: a solution for another lambda violates the conditions.
            cold.solve(2.0 * lambda);
            assert!(0.1 * lambda < cold.violation(lambda));
        }
    }
}
