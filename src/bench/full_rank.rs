//! The linear model whose precision matrix is new in every entry every round.

use super::tree::{self, TreeNoise};
use crate::error::Error;
use crate::linalg::{add_scaled, cholesky_upper, dot, inverse_of_upper_transposed, solve_upper};
use crate::rng::Stream;
use crate::score::{Factor, FeatureTable, Moments, ScoreModel, Spread};
use std::sync::Arc;

/// One trial: `V = G + E + (shift + ridge) I` with `G = sum phi phi^T` and `E` the tree's noise, `theta = V^{-1} sum y phi`,
/// `mean = theta · phi`, `spread² = ridge phi^T V^{-1} phi = |R phi|²` with `R = sqrt(ridge) L^{-1}`, `V = L L^T`.
#[derive(Debug, Clone)]
pub struct FullRank {
    table: Arc<FeatureTable>,
    prior_bound: f64,
    ridge: f64,
    diagonal: f64,
    /// Upper triangle of `G`, packed row by row.
    gram: Vec<f64>,
    /// `sum y phi`.
    moment: Vec<f64>,
    tree: TreeNoise,
    stream: Stream,
    n_observations: u64,
    /// Scratch: `V`, then its upper factor.
    upper: Vec<f64>,
    weights: Vec<f64>,
    /// `R`, row-major.
    rows: Vec<f64>,
    /// Bounds on the rounding of [`ScoreModel::exact`].
    error: Moments,
}

impl FullRank {
    /// A model without observations, and so without noise.
    ///
    /// # Errors
    /// As [`FullRank::observe`].
    pub fn new(
        table: Arc<FeatureTable>,
        prior_bound: f64,
        ridge: f64,
        node_std: f64,
        rounds: usize,
        stream: Stream,
    ) -> Result<Self, Error> {
        let n = table.n_features;
        let mut model = Self {
            prior_bound,
            ridge,
            diagonal: ridge + tree::shift(rounds, n, node_std),
            gram: vec![0.0; n * (n + 1) / 2],
            moment: vec![0.0; n],
            tree: TreeNoise::new(n, rounds, node_std),
            stream,
            n_observations: 0,
            upper: vec![0.0; n * n],
            weights: vec![0.0; n],
            rows: vec![0.0; n * n],
            error: Moments { mean: 0.0, variance: 0.0 },
            table,
        };
        model.factor_anew(false)?;
        Ok(model)
    }

    /// Adds an observation and draws the noise of the round.
    ///
    /// # Errors
    /// [`Error::Failed`] if the noise leaves the precision matrix indefinite.
    pub fn observe(&mut self, point: usize, reward: f64) -> Result<(), Error> {
        let table = Arc::clone(&self.table);
        let phi = table.row(point);
        let mut at = 0;
        for (i, &factor) in phi.iter().enumerate() {
            let length = phi.len() - i;
            add_scaled(&mut self.gram[at..at + length], factor, &phi[i..]);
            at += length;
        }
        add_scaled(&mut self.moment, reward, phi);
        self.n_observations += 1;
        self.factor_anew(true)
    }

    fn factor_anew(&mut self, noisy: bool) -> Result<(), Error> {
        let n = self.moment.len();
        let noise = if noisy { self.tree.next(&mut self.stream) } else { &[] };
        let mut at = 0;
        for i in 0..n {
            let end = at + n - i;
            let row = &mut self.upper[i * n + i..(i + 1) * n];
            row.copy_from_slice(&self.gram[at..end]);
            if noisy {
                row.iter_mut().zip(&noise[at..end]).for_each(|(entry, noise)| *entry += noise);
            }
            row[0] += self.diagonal;
            at = end;
        }
        cholesky_upper(&mut self.upper, n).map_err(|refused| Error::Failed {
            problem: format!("after {} observations {refused}", self.n_observations),
            hint: "lower `--node-std` or raise `--ridge`: the noise has overcome the shift that keeps the matrix positive"
                .to_owned(),
        })?;
        self.weights.copy_from_slice(&self.moment);
        solve_upper(&self.upper, &mut self.weights);
        inverse_of_upper_transposed(&self.upper, n, self.ridge.sqrt(), &mut self.rows);
        self.error = self.rounding();
        Ok(())
    }

    /// Bounds on the distance of [`ScoreModel::exact`] from the exact value of the factor: sums of up to `n` products carry
    /// `(n + 8) u` of the product of the norms, taken four times for safety. With `|phi|² <= prior`, `|R phi|_i <= |R_i| |phi|`.
    fn rounding(&self) -> Moments {
        let share = 4.0 * (self.moment.len() as f64 + 8.0) * f64::EPSILON / 2.0;
        let weights = (dot(&self.weights, &self.weights) * self.prior_bound).sqrt();
        Moments { mean: share * weights, variance: 3.0 * share * dot(&self.rows, &self.rows) * self.prior_bound }
    }
}

impl ScoreModel for FullRank {
    fn exact(&self, point: usize) -> Moments {
        let phi = self.table.row(point);
        let rows = self.rows.chunks_exact(phi.len().max(1)).enumerate();
        let squares = rows.map(|(i, row)| dot(&row[..=i], &phi[..=i])).map(|y| y * y);
        Moments { mean: dot(&self.weights, phi), variance: self.table.residual[point] + squares.sum::<f64>() }
    }

    fn prior_variance_bound(&self) -> f64 {
        self.prior_bound
    }

    fn state_error(&self) -> Moments {
        self.error
    }

    fn basis_points(&self) -> &[u32] {
        &[]
    }

    fn n_observations(&self) -> u64 {
        self.n_observations
    }

    fn factor(&self) -> Option<Factor<'_>> {
        Some(Factor { weights: (&self.weights[..]).into(), rows: (&self.rows[..]).into(), spread: Spread::Added })
    }
}
