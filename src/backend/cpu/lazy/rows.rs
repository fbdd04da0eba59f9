//! Rows over the visited points: `A = K + ridge diag(1 / count)` as a growing factor, as in the posterior over visited points.
//!
//! With `g = A^{-1} e`, e the unit vector of the point that is played: `V^{-1} phi` (V without this observation) is `(1 + q) sum g_i phi_i`
//! for a new point, `1 + q` its pivot over the ridge, and `1 / count` times that sum for one visited before.

use super::source::Source;
use crate::linalg::{GrowingCholesky, dot};

/// The visited points of a trial.
#[derive(Debug, Default)]
pub struct Rows {
    /// In the order of their first visits.
    pub points: Vec<u32>,
    counts: Vec<u64>,
    factor: GrowingCholesky,
    /// Slot and count before the open run's further observations: the factor does not have those.
    open: Option<(usize, u64)>,
    scratch: Vec<f64>,
}

impl Rows {
    /// Starts a run at the slot whose count the model has just raised and writes the row's coefficients; `None` where the visits are
    /// not those that this has followed.
    pub fn start(&mut self, points: &[u32], counts: &[u64], ridge: f64, source: &Source, alpha: &mut Vec<f64>) -> Option<()> {
        self.close(ridge);
        let known = self.points.len();
        if points.len() == known + 1 {
            let new = *points.last()?;
            alpha.clear();
            alpha.extend(self.points.iter().map(|&point| source.entry(point as usize, new as usize)));
            let prior = source.entry(new as usize, new as usize);
            self.factor.solve_lower(alpha, 0);
            let pivot = (prior - dot(alpha, alpha)).max(0.0) + ridge;
            self.factor.push(alpha, pivot.sqrt());
            self.points.push(new);
            self.counts.push(1);
            self.solve(known, pivot / ridge, alpha);
            self.open = Some((known, 1));
            return (counts.last() == Some(&1)).then_some(());
        }
        if points.len() != known || counts.len() != known {
            return None;
        }
        let slot = (0..known).find(|&slot| counts[slot] == self.counts[slot] + 1)?;
        self.solve(slot, 1.0 / self.counts[slot] as f64, alpha);
        self.open = Some((slot, self.counts[slot]));
        self.counts[slot] += 1;
        Some(())
    }

    /// Another observation of the open run.
    pub fn again(&mut self) {
        if let Some((slot, _)) = self.open {
            self.counts[slot] += 1;
        }
    }

    /// Whether the model's counts are these.
    pub fn follows(&self, counts: &[u64]) -> bool {
        match self.open {
            Some((slot, _)) => counts.len() == self.counts.len() && counts.get(slot) == self.counts.get(slot),
            None => counts.is_empty(),
        }
    }

    /// `factor A^{-1} e`.
    fn solve(&self, slot: usize, factor: f64, alpha: &mut Vec<f64>) {
        alpha.clear();
        alpha.resize(self.points.len(), 0.0);
        alpha[slot] = factor;
        self.factor.solve_lower(alpha, slot);
        self.factor.solve_transposed(alpha);
    }

    fn close(&mut self, ridge: f64) {
        let Some((slot, before)) = self.open.take() else { return };
        let (before, after) = (before as f64, self.counts[slot] as f64);
        if before < after {
            let delta = ridge * (after - before) / (before * after);
            self.factor.lower_diagonal(slot, delta, &mut self.scratch);
        }
    }
}
