//! Computes the risk of an answer: its mean loss over samples that no learner sees.

use crate::oco::loss::Loss;
use privateer_numerics::linalg::dot;
use std::sync::Arc;

#[derive(Debug)]
pub enum Evaluation {
    /// Second moments, which suffice for squared losses.
    ///
    /// `risk = u^T S u - 2 u^T b + c`, u = theta - truth, over rows x with noise e: `S = mean x x^T` (row-major), `b = mean e
    /// x`, `c = mean e²`.
    Moments { second: Vec<f64>, cross: Vec<f64>, noise: f64 },
    /// Rows of data; `law(<x, truth>, e)` gives the response of a row.
    Rows {
        /// Features, row-major.
        x: Vec<f64>,
        /// One random number per row.
        e: Vec<f64>,
        law: fn(f64, f64) -> f64,
        /// The loss, without a clip of its own.
        loss: Arc<dyn Loss>,
    },
}

#[derive(Debug, Clone)]
pub struct Score {
    evaluation: Arc<Evaluation>,
    truth: Arc<Vec<f64>>,
    best: f64,
    /// Risk of zero minus risk of the truth.
    range: f64,
}

impl Evaluation {
    fn risk(&self, theta: &[f64], truth: &[f64]) -> f64 {
        match self {
            Self::Moments { second, cross, noise } => {
                let u: Vec<f64> = theta.iter().zip(truth).map(|(a, b)| a - b).collect();
                let square: f64 = second.chunks_exact(u.len()).zip(&u).map(|(row, u_i)| u_i * dot(row, &u)).sum();
                square - 2.0 * dot(cross, &u) + noise
            }
            Self::Rows { x, e, law, loss } => {
                let mut sum = 0.0;
                for (x, e) in x.chunks_exact(theta.len()).zip(e) {
                    sum += loss.value(dot(x, theta), law(dot(x, truth), *e));
                }
                sum / e.len() as f64
            }
        }
    }
}

impl Score {
    pub fn new(evaluation: Arc<Evaluation>, truth: Arc<Vec<f64>>) -> Self {
        let best = evaluation.risk(&truth, &truth);
        let range = evaluation.risk(&vec![0.0; truth.len()], &truth) - best;
        Self { evaluation, truth, best, range }
    }

    pub fn risk(&self, theta: &[f64]) -> f64 {
        self.evaluation.risk(theta, &self.truth)
    }

    /// Returns the excess risk over the truth, as a share of the excess risk of zero.
    ///
    /// It is 1 at zero and 0 at the truth; NaN where both risks are equal.
    pub fn suboptimality(&self, risk: f64) -> f64 {
        (risk - self.best) / self.range
    }

    /// Returns the risk of the truth.
    pub fn best(&self) -> f64 {
        self.best
    }
}
