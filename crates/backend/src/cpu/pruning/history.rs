//! Represents the observations of a trial over its visited points.
//!
//! Each streak becomes coefficients over the kernel functions of the visited points, and coordinates in which distances of
//! theta are Euclidean.

use super::blocks::Blocks;
use super::rows::{AveragedObservation, VisitedRows};
use crate::cpu::vector::U;
use privateer_gp::score::{FeatureTable, VisitedPoints};
use privateer_numerics::linalg::{GrowingCholesky, add_rows_wide, add_scaled, dot};
use std::sync::Arc;

/// The error bound and the counted work of a streak that has just been opened.
#[derive(Debug, Clone, Copy)]
pub struct OpenedStreak {
    /// Bound on `|sum alpha_i k_i(x) - p(x)|`, with the rounding of rows that are used as matrices.
    pub p_error: f64,
    /// Multiply-adds used here, and those that the dense path would use for the streak's `p`.
    pub work: usize,
    pub dense_work: usize,
}

/// The visited points, and the open streak.
#[derive(Debug)]
pub enum History {
    /// Over a feature table; coordinates are those over the features.
    Features(FeatureRows),
    /// Over visited points' columns; coordinates are in an orthonormal basis of their functions.
    Gram(GramRows),
}

/// Visited points over a feature table; see [`History::Features`].
#[derive(Debug)]
pub struct FeatureRows {
    table: Arc<FeatureTable>,
    rows: VisitedRows,
    /// `m`: row of the open streak.
    row: Vec<f64>,
    /// `m`: that row less its projection on the visited points.
    rest: Vec<f64>,
}

/// Visited points over kernel columns; see [`History::Gram`].
#[derive(Debug, Default)]
pub struct GramRows {
    points: Vec<u32>,
    /// `L`, where `L L^T` is the visited points' covariance without the row term.
    ///
    /// It is exact up to rounding and [`GramRows::floor`]; empty where theta is not followed.
    factor: GrowingCholesky,
    /// `L^T alpha` of the open streak, where theta is followed.
    coordinates: Vec<f64>,
    /// Sum of `|alpha_i|` of the open streak.
    size: f64,
    /// Weights of the mean over the visited points' columns.
    weights: Vec<f64>,
    /// Sum of `|step| |alpha_i|` over all observations.
    path: f64,
}

impl History {
    /// Returns the number of features; `None` over covariances.
    pub fn n_features(&self) -> Option<usize> {
        match self {
            Self::Features(features) => Some(features.table.n_features),
            Self::Gram(_) => None,
        }
    }

    /// Creates the history before the first observation; `table` for a basis of features.
    pub fn new(table: Option<Arc<FeatureTable>>) -> Self {
        match table {
            Some(table) => Self::Features(FeatureRows { table, rows: VisitedRows::default(), row: Vec::new(), rest: Vec::new() }),
            None => Self::Gram(GramRows::default()),
        }
    }

    /// Returns the visited points, in the order of their first visits.
    pub fn points(&self) -> &[u32] {
        match self {
            Self::Features(features) => &features.rows.points,
            Self::Gram(gram) => &gram.points,
        }
    }

    /// Returns the coordinates of the open streak.
    pub fn coordinates(&self) -> &[f64] {
        match self {
            Self::Features(features) => &features.row,
            Self::Gram(gram) => &gram.coordinates,
        }
    }

    /// Adds an observation to the open streak; false if the model's visits differ from those here.
    pub fn again(&mut self, visited: &VisitedPoints<'_>) -> bool {
        match self {
            Self::Features(features) => {
                features.rows.again();
                features.rows.follows(visited.counts)
            }
            Self::Gram(gram) => gram.points.len() == visited.points.len(),
        }
    }

    /// Opens a streak along the model's row and writes its coefficients.
    ///
    /// Returns `None` if the model's visits differ from those followed here.
    pub fn start(
        &mut self,
        visited: &VisitedPoints<'_>,
        row: &[f64],
        prior: f64,
        blocks: &Blocks,
        alpha: &mut Vec<f64>,
    ) -> Option<OpenedStreak> {
        match self {
            Self::Features(features) => {
                let told = visited.row.filter(|told| told.len() == visited.points.len());
                if let Some(told) = told {
                    features.rows.follow(visited.points, visited.counts)?;
                    alpha.clear();
                    alpha.extend_from_slice(told);
                } else {
                    features.rows.start(visited.points, visited.counts, visited.ridge, &blocks.source, alpha)?;
                }
                features.row.clear();
                features.row.extend_from_slice(row);
                Some(features.opened(prior, blocks, alpha, told.is_some()))
            }
            Self::Gram(gram) => {
                if row.len() != visited.points.len() || !visited.points.starts_with(&gram.points) {
                    return None;
                }
                alpha.clear();
                alpha.extend_from_slice(row);
                Some(gram.open(visited.points, prior, blocks, alpha))
            }
        }
    }

    /// Opens a streak for all observations of the next visited point at once.
    ///
    /// Its row is computed from the points followed so far. Returns the opened streak, its scale and its mean step.
    /// * `rows` — rows over the visited points, for a basis of columns
    pub fn visit(
        &mut self,
        visit: AveragedObservation,
        prior: f64,
        blocks: &Blocks,
        rows: &mut VisitedRows,
        alpha: &mut Vec<f64>,
    ) -> (OpenedStreak, f64, f64) {
        match self {
            Self::Features(features) => {
                let (scale, step) = features.rows.visit(visit, &blocks.source, 0.0, alpha);
                features.row.clear();
                features.row.resize(features.table.n_features, 0.0);
                for (&a, &point) in alpha.iter().zip(&features.rows.points) {
                    add_scaled(&mut features.row, a, &features.table.row(point as usize));
                }
                (features.opened(prior, blocks, alpha, true), scale, step)
            }
            Self::Gram(gram) => {
                let (scale, step) = rows.visit(visit, &blocks.source, blocks.row_term, alpha);
                (gram.open(&rows.points, prior, blocks, alpha), scale, step)
            }
        }
    }

    /// Records one observation of the open streak.
    pub fn observe(&mut self, alpha: &[f64], mean_step: f64) {
        if let Self::Gram(gram) = self {
            add_scaled(&mut gram.weights, mean_step, alpha);
            gram.path += mean_step.abs() * gram.size;
        }
    }

    /// Returns the approximate multiply-adds of the model's exact score of a point.
    pub fn work_of_a_point(&self, blocks: &Blocks) -> usize {
        match self {
            // In dual form (over visited points), or over the features.
            Self::Features(features) => {
                let (k, m) = (features.rows.points.len(), features.table.n_features);
                m * (m + 2).min(k + 2) + k * k / 2
            }
            Self::Gram(gram) => gram.points.len() * (gram.points.len() + 3 * blocks.source.work()),
        }
    }

    /// Returns a bound on the part of a distance of theta that the coordinates omit.
    pub fn beyond(&self, prior: f64, blocks: &Blocks) -> f64 {
        match self {
            Self::Features(_) => 0.0,
            // |theta|² = w^T K w <= |L^T w|² + |w|_1² max |K - L L^T|, entry by entry.
            Self::Gram(gram) => gram.path * (gram.floor(prior) + blocks.source.error()).sqrt(),
        }
    }

    /// Returns upper bounds on the scores of visited points, if the row term is not zero.
    ///
    /// Blocks do not include the row term, so these bounds raise those of the blocks.
    pub fn own_scores<'a>(
        &'a self,
        visited: &'a VisitedPoints<'a>,
        beta: f64,
        blocks: &Blocks,
    ) -> impl Iterator<Item = (u32, f64)> + use<'a> {
        let weights = match self {
            Self::Gram(gram) if blocks.row_term != 0.0 => gram.weights.as_slice(),
            _ => &[],
        };
        let (path, ridge) = (if let Self::Gram(gram) = self { gram.path } else { 0.0 }, visited.ridge);
        // A w = averages, A = K + ridge diag(1 / count), so mean_i = (K w)_i = average_i - ridge / count_i w_i; and the
        // posterior variance never exceeds ridge / count_i. The weights have a rounding error relative to the path.
        weights.iter().enumerate().map(move |(slot, weight)| {
            let count = visited.counts[slot] as f64;
            let (average, share) = (visited.sums[slot] / count, ridge / count);
            let upper = average + share * (weight.abs() + 1e-9 * path) + beta * share.sqrt();
            (visited.points[slot], upper + 1e-9 * (1.0 + average.abs()))
        })
    }
}

impl FeatureRows {
    /// Computes the row's remainder beyond the visited points, and the error of `p`.
    ///
    /// The error follows from that remainder and from the kernel's error.
    /// * `is_sum` — whether the row is the sum that `alpha` defines
    fn opened(&mut self, prior: f64, blocks: &Blocks, alpha: &mut [f64], is_sum: bool) -> OpenedStreak {
        self.rest.clear();
        let mut work = self.row.len();
        if !is_sum {
            self.find_rest(alpha);
            if 1e-12 * dot(&self.row, &self.row) < dot(&self.rest, &self.rest) {
                // A model replayed in the middle of a streak reports the streak's first direction, which is longer.
                let sum: Vec<f64> = self.row.iter().zip(&self.rest).map(|(row, rest)| row - rest).collect();
                let longer = dot(&self.row, &sum) / dot(&sum, &sum);
                if longer.is_finite() {
                    alpha.iter_mut().for_each(|alpha| *alpha *= longer);
                    self.find_rest(alpha);
                }
            }
            work *= alpha.len();
        }
        let table = &self.table;
        let (k, m) = (alpha.len() as f64, self.row.len());
        let size: f64 = alpha.iter().map(|a| a.abs()).sum();
        // The difference of the rows with the rounding of its own sum; then the errors of kernel values and of the sum over
        // them.
        let row_norm = dot(&self.row, &self.row).sqrt();
        let rest = dot(&self.rest, &self.rest).sqrt() * (1.0 + 1e-9) + 2.0 * (k + 2.0) * U * (size + row_norm) * blocks.norm;
        OpenedStreak {
            // Where rows are used as matrices, at nodes, sums of m products and of two axes'
            // components round instead.
            p_error: rest * blocks.norm
                + size * (blocks.source.error() + 2.0 * (k + 4.0) * U * prior)
                + 8.0 * (m as f64 + 64.0) * U * row_norm * blocks.norm,
            work,
            dense_work: m * table.n_points,
        }
    }

    /// Computes `rest = row - sum alpha_i phi_i`.
    fn find_rest(&mut self, alpha: &[f64]) {
        self.rest.clear();
        self.rest.extend_from_slice(&self.row);
        let weights: Vec<f64> = alpha.iter().map(|alpha| -alpha).collect();
        let (table, points) = (&self.table, &self.rows.points);
        add_rows_wide(&weights, |i| table.row(points[i] as usize), &mut self.rest);
    }
}

impl GramRows {
    /// Bounds the entries of `L L^T` less the covariance, over the visited points.
    ///
    /// This is the rounding of a factor of K rows [Higham 2002, Theorem 10.3], with a safety factor of 4, and the smallest
    /// pivot.
    fn floor(&self, prior: f64) -> f64 {
        2.0 * least_pivot(self.points.len(), prior)
    }

    /// Opens a streak with the row `alpha` over these visited points.
    fn open(&mut self, points: &[u32], prior: f64, blocks: &Blocks, alpha: &[f64]) -> OpenedStreak {
        let n = blocks.order.places.len();
        let mut work = 0;
        for &new in &points[self.points.len()..] {
            let known = self.points.len();
            let mut l: Vec<f64> = self.points.iter().map(|&point| blocks.source.entry(point as usize, new as usize)).collect();
            self.factor.solve_lower(&mut l, 0);
            let pivot = blocks.source.entry(new as usize, new as usize) - dot(&l, &l);
            self.factor.push(&l, pivot.max(least_pivot(known + 1, prior)).sqrt());
            self.points.push(new);
            self.weights.push(0.0);
            work += known * (known / 2 + blocks.source.work());
        }
        let new = self.points.len();
        self.factor.transposed_times(alpha, &mut self.coordinates);
        // Padded to whole SIMD lanes.
        self.coordinates.resize(new.next_multiple_of(8), 0.0);
        self.size = alpha.iter().map(|a| a.abs()).sum();
        // Sums of K products in any order, a rounding of each coefficient, and a safety factor of 4 as on the dense path.
        let p_error = self.size * (blocks.source.error() + 4.0 * (new as f64 + 8.0) * U * prior);
        // The dense path computes the whole column of every new point.
        OpenedStreak {
            p_error,
            work: work + new * new / 2,
            dense_work: n * (new + if 0 < work || new == 1 { blocks.source.work() } else { 0 }),
        }
    }
}

fn least_pivot(k: usize, prior: f64) -> f64 {
    4.0 * (k as f64 + 8.0) * U * prior
}
