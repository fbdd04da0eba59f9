//! The linear model whose precision matrix is new in every entry every round.

use super::tree::{self, TreeNoise};
use crate::error::Error;
use crate::linalg::{add_scaled, cholesky_upper, dot, inverse_of_upper_transposed, sum_of_squares};
use crate::rng::Stream;
use crate::score::{Factor, FeatureTable, Moments, ScoreModel, Spread};
use std::sync::Arc;

/// Partial sums of a product.
const LANES: usize = 8;

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
        model.factor_anew(None)?;
        Ok(model)
    }

    /// Adds an observation and draws the noise of the round.
    ///
    /// # Errors
    /// [`Error::Failed`] if the noise leaves the precision matrix indefinite.
    pub fn observe(&mut self, point: usize, reward: f64) -> Result<(), Error> {
        let table = Arc::clone(&self.table);
        let phi = table.row(point);
        add_scaled(&mut self.moment, reward, phi);
        self.n_observations += 1;
        self.factor_anew(Some(phi))
    }

    /// The model after one more observation at `phi`, or without any.
    fn factor_anew(&mut self, phi: Option<&[f64]>) -> Result<(), Error> {
        let n = self.moment.len();
        match phi {
            Some(phi) => {
                let (noise, diagonal) = (self.tree.next(&mut self.stream), self.diagonal);
                pulp::Arch::new().dispatch(Formed { gram: &mut self.gram, phi, noise, diagonal, upper: &mut self.upper });
            }
            None => (0..n).for_each(|i| self.upper[i * n + i] = self.diagonal),
        }
        cholesky_upper(&mut self.upper, n).map_err(|refused| Error::Failed {
            problem: format!("after {} observations {refused}", self.n_observations),
            hint: "lower `--node-std` or raise `--ridge`: the noise has overcome the shift that keeps the matrix positive"
                .to_owned(),
        })?;
        inverse_of_upper_transposed(&self.upper, n, self.ridge.sqrt(), &mut self.rows);
        pulp::Arch::new().dispatch(Weights { rows: &self.rows, moment: &self.moment, out: &mut self.weights });
        self.weights.iter_mut().for_each(|weight| *weight /= self.ridge);
        self.error = self.rounding();
        Ok(())
    }

    /// Bounds on the distance of [`ScoreModel::exact`] from the exact value of the factor: sums of up to `n` products carry
    /// `(n + 8) u` of the product of the norms, taken four times for safety. With `|phi|² <= prior`, `|R phi|_i <= |R_i| |phi|`.
    fn rounding(&self) -> Moments {
        let share = 4.0 * (self.moment.len() as f64 + 8.0) * f64::EPSILON / 2.0;
        let weights = (dot(&self.weights, &self.weights) * self.prior_bound).sqrt();
        Moments { mean: share * weights, variance: 3.0 * share * sum_of_squares(&self.rows) * self.prior_bound }
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

/// `gram += phi phi^T` and `upper = gram + noise + diagonal I`, in one pass over packed rows.
struct Formed<'a> {
    gram: &'a mut [f64],
    phi: &'a [f64],
    noise: &'a [f64],
    diagonal: f64,
    upper: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Formed<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { gram, phi, noise, diagonal, upper } = self;
        let n = phi.len();
        let mut at = 0;
        for i in 0..n {
            let end = at + n - i;
            let row = &mut upper[i * n + i..(i + 1) * n];
            for (((entry, gram), noise), other) in row.iter_mut().zip(&mut gram[at..end]).zip(&noise[at..end]).zip(&phi[i..]) {
                *gram += phi[i] * other;
                *entry = *gram + noise;
            }
            row[0] += diagonal;
            at = end;
        }
    }
}

/// `out = R^T R moment`, `R` lower triangular.
struct Weights<'a> {
    rows: &'a [f64],
    moment: &'a [f64],
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { rows, moment, out } = self;
        out.fill(0.0);
        for (i, row) in rows.chunks_exact(moment.len().max(1)).enumerate() {
            // Zeros behind the diagonal fill the last lanes.
            let used = (i + 1).next_multiple_of(LANES).min(row.len());
            let (row, moment, out) = (&row[..used], &moment[..used], &mut out[..used]);
            let mut sums = [0.0; LANES];
            let ((a, a_rest), (b, b_rest)) = (row.as_chunks::<LANES>(), moment.as_chunks::<LANES>());
            for (a, b) in a.iter().zip(b) {
                for lane in 0..LANES {
                    sums[lane] += a[lane] * b[lane];
                }
            }
            for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
                sums[lane] += a * b;
            }
            let y: f64 = sums.iter().sum();
            for (out, entry) in out.iter_mut().zip(row) {
                *out += y * entry;
            }
        }
    }
}
