//! Fits ridge models of the arms from given sums: `V = G + shift I`, `theta = V^{-1} u`.
//!
//! There is one matrix per arm, or one matrix over the blocks of all arms.

use privateer_numerics::linalg::{cholesky_upper, dot, solve_upper};
use privateer_privacy::gram::GramLayout;

/// Number of doublings of the shift after which the repair of a matrix stops.
const MOST_DOUBLINGS: u32 = 60;

/// Stores the ridge models' Cholesky factors and parameters, recomputed whenever the sums change.
#[derive(Debug, Clone)]
pub(super) struct ArmModels {
    /// Upper Cholesky factors, one matrix after another.
    uppers: Vec<f64>,
    /// Parameters, one group after another: those of arm a start at `a d` in either layout.
    theta: Vec<f64>,
}

impl ArmModels {
    /// Creates the models before any observation: `V = shift I`.
    pub(super) fn empty(layout: GramLayout, shift: f64) -> Self {
        let n = layout.n_rows();
        let mut uppers = vec![0.0; layout.n_groups() * n * n];
        for group in uppers.chunks_exact_mut(n * n) {
            (0..n).for_each(|i| group[i * n + i] = libm::sqrt(shift));
        }
        Self { uppers, theta: vec![0.0; layout.n_groups() * n] }
    }

    /// Refits the models to new sums.
    ///
    /// A matrix that is not positive definite is repaired by doubling its shift until it is.
    pub(super) fn refit(&mut self, layout: GramLayout, entries: &[f64], shift: f64) {
        let n = layout.n_rows();
        for (group, (upper, theta)) in self.uppers.chunks_exact_mut(n * n).zip(self.theta.chunks_exact_mut(n)).enumerate() {
            let (gram, moment) = layout.group(entries, group);
            let mut added = shift;
            for _ in 0..=MOST_DOUBLINGS {
                let mut rest = gram;
                for row in 0..n {
                    let (line, next) = rest.split_at(n - row);
                    upper[row * n + row..(row + 1) * n].copy_from_slice(line);
                    upper[row * n + row] += added;
                    rest = next;
                }
                if cholesky_upper(upper, n).is_ok() {
                    break;
                }
                added *= 2.0;
            }
            theta.copy_from_slice(moment);
            solve_upper(upper, theta);
        }
    }

    /// Returns the mean reward of an arm for the context `z`, in the units of the sums.
    pub(super) fn mean(&self, arm: usize, z: &[f64]) -> f64 {
        dot(&self.theta[arm * z.len()..(arm + 1) * z.len()], z)
    }

    /// Returns `sqrt(z^T V^{-1} z)` with `z` in the block of an arm.
    pub(super) fn deviation(&self, layout: GramLayout, arm: usize, z: &[f64], scratch: &mut Vec<f64>) -> f64 {
        let n = layout.n_rows();
        let (group, first) = layout.place(arm);
        scratch.clear();
        scratch.extend_from_slice(z);
        scratch.resize(n - first, 0.0);
        forward(&self.uppers[group * n * n..(group + 1) * n * n], n, first, scratch);
        libm::sqrt(dot(scratch, scratch))
    }
}

/// Replaces `b` by `U^{-T} b`, for a right-hand side that is zero before row `first`.
///
/// `b` holds the rows from `first` on.
fn forward(upper: &[f64], n: usize, first: usize, b: &mut [f64]) {
    for row in first..n {
        let line = &upper[row * n + row..(row + 1) * n];
        let (head, tail) = b[row - first..].split_at_mut(1);
        let value = head[0] / line[0];
        head[0] = value;
        tail.iter_mut().zip(&line[1..]).for_each(|(b, u)| *b -= value * u);
    }
}
