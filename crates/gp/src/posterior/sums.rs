//! The posterior over a feature table from given sums, which may change entirely each time.
//!
//! `V = G + d I`, `theta = V^{-1} u`, `mean = theta · phi`, and the posterior variance is
//! `residual + ridge phi^T V^{-1} phi = residual + |R phi|²` with `R = sqrt(ridge) L^{-1}`, `V = L L^T`.
//!
//! Noise may make V indefinite. The caller chooses the [`Repair`], which raises eigenvalues to a floor;
//! [`SumsPosterior::take`] reports whether it did.

use crate::score::{AxisFeatures, Factor, FeatureTable, Moments, ScoreModel, StateError, VarianceForm};
use privateer_numerics::linalg::{self, TriangleSums, cholesky_upper, dot, inverse_of_upper_transposed, solve_upper};
use privateer_numerics::vectorised;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Number of rows of `R` that [`SumsPosterior::exact`] sums in an interleaved way.
const LANES: usize = 16;

/// The model of one trial.
#[derive(Debug, Clone)]
pub struct SumsPosterior {
    table: Arc<FeatureTable>,
    /// Largest `residual + |phi|²` of a point.
    prior_bound: f64,
    /// Bound on the posterior variance, which noise can raise above the prior variance.
    variance_bound: f64,
    /// Factor by which features are multiplied before they meet the sums.
    scale: f64,
    /// Factor of `phi^T V^{-1} phi` of scaled features.
    ridge: f64,
    /// Number of times that sums were set.
    taken: u64,
    /// Scratch space: `V`, then its upper factor.
    upper: Vec<f64>,
    pub(super) diagonal: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// `R`, row-major.
    pub(super) rows: Vec<f64>,
    /// `|R|_F²`.
    squares: f64,
    /// `R` in blocks of [`LANES`] rows, column by column up to the block's last diagonal entry; made when first needed.
    blocks: OnceLock<Vec<f64>>,
    /// Bounds on the rounding of [`ScoreModel::exact`].
    error: StateError,
}

/// The sums that a model is computed from.
#[derive(Debug, Clone, Copy)]
pub struct SumsUpdate<'a> {
    /// Packed upper triangle of G, row by row.
    pub gram: &'a [f64],
    /// u.
    pub moment: &'a [f64],
    /// d.
    pub diagonal: f64,
    /// The treatment of the eigenvalues of `V`.
    pub repair: Repair,
}

/// The treatment of the eigenvalues of `V`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repair {
    /// Whether they are raised to at least `floor` even if all are positive.
    pub always: bool,
    /// Least eigenvalue after a repair, > 0.
    pub floor: f64,
}

/// The error for sums that are not finite or overflow f64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unusable;

impl SumsPosterior {
    /// Creates a model that needs [`SumsPosterior::take`] before its first use.
    /// * `scale` — features are multiplied by it before they meet the sums
    /// * `ridge` — factor of `phi^T V^{-1} phi` of scaled features in the posterior variance, > 0
    pub fn new(table: Arc<FeatureTable>, prior_bound: f64, scale: f64, ridge: f64) -> Self {
        let n = table.n_features;
        Self {
            prior_bound,
            variance_bound: prior_bound,
            scale,
            ridge,
            taken: 0,
            upper: Vec::new(),
            diagonal: vec![1.0; n],
            weights: vec![0.0; n],
            rows: vec![0.0; n * n],
            squares: 0.0,
            blocks: OnceLock::new(),
            error: StateError::default(),
            table,
        }
    }

    /// Sets the sums and returns whether the matrix was repaired; raising eigenvalues always is no repair.
    ///
    /// # Errors
    /// [`Unusable`] if an entry is not finite or no repair helps; the model must then not be used.
    pub fn take(&mut self, sums: SumsUpdate<'_>) -> Result<bool, Unusable> {
        let n = self.weights.len();
        let SumsUpdate { gram, moment, diagonal, repair } = sums;
        self.fill(gram, diagonal);
        let repaired = if !repair.always && cholesky_upper(&mut self.upper, n).is_ok() {
            false
        } else {
            self.fill(gram, diagonal);
            let raised = self.raise(repair.floor)?;
            cholesky_upper(&mut self.upper, n).map_err(|_| Unusable)?;
            raised && !repair.always
        };
        self.diagonal.iter_mut().enumerate().for_each(|(i, entry)| *entry = self.upper[i * n + i]);
        self.weights.copy_from_slice(moment);
        solve_upper(&self.upper, &mut self.weights);
        inverse_of_upper_transposed(&self.upper, n, self.row_scale(), &mut self.rows);
        self.finish(&TriangleSums::of(&self.rows, n))?;
        Ok(repaired)
    }

    /// Returns the factor of `U^{-T}` in `R`.
    pub(super) fn row_scale(&self) -> f64 {
        libm::sqrt(self.ridge) * self.scale
    }

    /// Computes what follows from the factor: `rows`, with these sums, and the solution in `weights`.
    pub(super) fn finish(&mut self, row_sums: &TriangleSums) -> Result<(), Unusable> {
        self.taken += 1;
        self.weights.iter_mut().for_each(|weight| *weight *= self.scale);
        self.blocks.take();
        self.squares = row_sums.squares;
        self.variance_bound = self.prior_bound * row_sums.spectral().max(1.0);
        self.error = self.rounding(row_sums.squares);
        if self.error.mean.is_finite() && self.error.variance.is_finite() { Ok(()) } else { Err(Unusable) }
    }

    /// Fills the upper triangle of `V` from the packed sums; the factorization reads no more.
    fn fill(&mut self, gram: &[f64], diagonal: f64) {
        let n = self.weights.len();
        self.upper.resize(n * n, 0.0);
        let mut at = 0;
        for i in 0..n {
            let length = n - i;
            let row = &mut self.upper[i * n + i..(i + 1) * n];
            row.copy_from_slice(&gram[at..at + length]);
            row[0] += diagonal;
            at += length;
        }
    }

    /// Raises the eigenvalues of `V` to at least `floor`; returns whether one was below.
    fn raise(&mut self, floor: f64) -> Result<bool, Unusable> {
        let n = self.weights.len();
        for i in 0..n {
            for j in 0..i {
                self.upper[i * n + j] = self.upper[j * n + i];
            }
        }
        let eigen = linalg::eigen_symmetric(&self.upper, n).ok_or(Unusable)?;
        let below = eigen.values.iter().any(|&value| value < floor);
        if below {
            self.upper = eigen.function(|value| value.max(floor));
        }
        Ok(below)
    }

    /// Returns `ln det V`.
    pub fn log_determinant(&self) -> f64 {
        self.diagonal.iter().map(|entry| 2.0 * libm::log(*entry)).sum()
    }

    /// Returns mean and variance for the features of any point, without its residual.
    pub fn at(&self, phi: &[f64]) -> Moments {
        let variance = squared_norm(self.blocks(), phi);
        Moments { mean: dot(&self.weights, phi), variance }
    }

    /// Returns the posterior mean of a point with these features.
    pub fn mean(&self, phi: &[f64]) -> f64 {
        dot(&self.weights, phi)
    }

    /// Returns `R` in blocks of rows.
    fn blocks(&self) -> &[f64] {
        self.blocks.get_or_init(|| {
            let n = self.weights.len();
            let mut blocks = Vec::with_capacity((0..n.div_ceil(LANES)).map(|block| LANES * n.min((block + 1) * LANES)).sum());
            for first in (0..n).step_by(LANES) {
                for j in 0..n.min(first + LANES) {
                    blocks.extend((first..first + LANES).map(|i| if i < n { self.rows[i * n + j] } else { 0.0 }));
                }
            }
            blocks
        })
    }

    /// Bounds the distance between [`ScoreModel::exact`] and the exact value of the factor.
    ///
    /// Sums of up to `n` products have an error of `(n + 8) u` times the product of the norms; the code takes four times
    /// that for safety. It uses `|phi|² <= prior` and `|R phi|_i <= |R_i| |phi|`.
    fn rounding(&self, squares: f64) -> StateError {
        let share = 4.0 * (self.weights.len() as f64 + 8.0) * f64::EPSILON / 2.0;
        let weights = (dot(&self.weights, &self.weights) * self.prior_bound).sqrt();
        StateError { mean: share * weights, variance: 3.0 * share * squares * self.prior_bound, deviation: 0.0 }
    }
}

impl ScoreModel for SumsPosterior {
    /// Sums in an order that vector lanes of any width reproduce bit by bit.
    ///
    /// Each row of `R` is summed over the features of even and of odd index separately, each in ascending order, with
    /// sixteen rows interleaved. Squares are added to 16 partial sums in row order, and these are added in order.
    fn exact(&self, point: usize) -> Moments {
        let Moments { mean, variance } = self.at(&self.table.row(point));
        Moments { mean, variance: self.table.residual[point] + variance }
    }

    /// Sums over the rows of `R` in ascending order, each over the features of the range in order.
    fn exact_within(&self, point: usize, features: Range<usize>) -> Moments {
        let n = self.weights.len();
        let phi = &self.table.row(point)[features.clone()];
        let mut variance = self.table.residual[point];
        for row in features.start..n {
            // R is lower triangular.
            let end = features.end.min(row + 1);
            let sum = dot(&self.rows[row * n + features.start..row * n + end], &phi[..end - features.start]);
            variance += sum * sum;
        }
        Moments { mean: dot(&self.weights[features], phi), variance }
    }

    fn exact_within_each(&self, axis: &AxisFeatures) -> Vec<Moments> {
        let AxisFeatures { rows, features, columns } = axis;
        let mut variances = self.table.residual[rows.clone()].to_vec();
        variances.resize(columns.stride(), 0.0);
        columns.add_squared_products(&self.rows, self.weights.len(), features.start, &mut variances);
        let means = columns.dots(&self.weights[features.clone()]);
        means.into_iter().zip(variances).take(rows.len()).map(|(mean, variance)| Moments { mean, variance }).collect()
    }

    fn prior_variance_bound(&self) -> f64 {
        self.variance_bound
    }

    fn state_error(&self) -> StateError {
        self.error
    }

    /// Returns how often sums were set, at least 1 in use.
    ///
    /// Even the first, empty sums differ from the prior by their diagonal.
    fn n_observations(&self) -> u64 {
        self.taken
    }

    fn factor(&self) -> Option<Factor<'_>> {
        let (weights, rows) = ((&self.weights[..]).into(), (&self.rows[..]).into());
        Some(Factor { squares: Some(self.squares), ..Factor::new(weights, rows, VarianceForm::Added) })
    }
}

vectorised! {
    /// Computes `|R phi|²` from the blocks of `R`.
    fn squared_norm(blocks: &[f64], phi: &[f64]) -> f64 {
        let mut squares = [0.0; LANES];
        let mut rest = blocks;
        for block in 0..phi.len().div_ceil(LANES) {
            let used = phi.len().min((block + 1) * LANES);
            let (columns, next) = rest.split_at(used * LANES);
            rest = next;
            let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
            let (columns, _) = columns.as_chunks::<LANES>();
            let ((pairs, last), (features, last_feature)) = (columns.as_chunks::<2>(), phi[..used].as_chunks::<2>());
            for ([a, b], [at, bt]) in pairs.iter().zip(features) {
                for lane in 0..LANES {
                    even[lane] += at * a[lane];
                    odd[lane] += bt * b[lane];
                }
            }
            for (column, feature) in last.iter().zip(last_feature) {
                for lane in 0..LANES {
                    even[lane] += feature * column[lane];
                }
            }
            for lane in 0..LANES {
                let sum = even[lane] + odd[lane];
                squares[lane] += sum * sum;
            }
        }
        squares.iter().sum::<f64>()
    }
}
