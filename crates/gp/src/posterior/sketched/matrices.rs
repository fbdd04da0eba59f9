//! Holds the matrices that a sketched posterior computes from its state.

use super::pending::PendingChanges;
use crate::nystrom::Embedding;
use crate::score::GramSource;
use privateer_numerics::linalg::{Columns, InverseRoot};
use std::sync::OnceLock;

/// Points in feature space, and their moments.
#[derive(Debug, Clone, Default)]
pub struct EmbeddedPoints {
    /// Whether the columns are the domain's points, in order; else the visited ones, by slot.
    pub whole: bool,
    /// Coordinates `c`, or `phi` of the symmetric root: one row a feature, one column a point.
    pub columns: Columns,
    /// `k(x,x)` and `max(0, k(x,x) - |c|²)`, a column each, padded.
    pub prior: Vec<f64>,
    pub residual: Vec<f64>,
    /// Of the whole domain.
    pub means: Vec<f64>,
    pub variances: Vec<f64>,
}

impl EmbeddedPoints {
    /// Computes the coordinates `c`: of all points of a whole domain, or of the visited ones.
    pub fn set_columns(&mut self, gram: &dyn GramSource, embedding: &Embedding, visited: &[u32]) {
        self.columns.reshape(embedding.m(), if self.whole { gram.n_points() } else { visited.len() });
        for (f, &point) in embedding.points().iter().enumerate() {
            let row = self.columns.row_mut(f);
            if self.whole {
                gram.column(point as usize, 0, row);
            } else {
                covariances(gram, point, visited, row);
            }
        }
        embedding.coordinates(&mut self.columns);
    }

    /// Computes the variance that the columns leave.
    pub fn set_residual(&mut self, gram: &dyn GramSource, visited: &[u32]) {
        let (n, stride) = (self.columns.n(), self.columns.stride());
        if !self.whole || self.prior.is_empty() {
            let point = |column: usize| if self.whole { column } else { visited[column] as usize };
            self.prior = (0..n).map(|column| gram.diagonal(point(column))).collect();
            self.prior.resize(stride, 0.0);
        }
        self.residual.resize(stride, 0.0);
        self.columns.squares(&mut self.residual);
        for (residual, prior) in self.residual.iter_mut().zip(&self.prior) {
            *residual = (prior - *residual).max(0.0);
        }
    }
}

/// Writes the covariances of a point with others.
pub fn covariances(gram: &dyn GramSource, point: u32, others: &[u32], out: &mut [f64]) {
    match gram.dense_column(point as usize) {
        Some(column) => out.iter_mut().zip(others).for_each(|(entry, &other)| *entry = column[other as usize]),
        None => out.copy_from_slice(&gram.entries(others, point as usize)),
    }
}

/// `V` and what follows from it.
#[derive(Debug, Clone, Default)]
pub struct PrecisionMatrix {
    /// `m x m` row-major, and its lower factor, once it was asked for.
    pub entries: Vec<f64>,
    pub factor: OnceLock<Vec<f64>>,
    /// `V^{-1}` of a followed dictionary.
    pub inverse: Vec<f64>,
    /// `c^T V^{-1} c` of every column, padded.
    pub leverages: Vec<f64>,
    /// `V^{-1/2}`, in symmetric coordinates.
    pub root: Option<InverseRoot>,
    /// The columns times `V^{-1/2}`, where there is one.
    pub whitened: Columns,
}

/// Of a domain that is screened: what a screen reads.
#[derive(Debug, Clone, Default)]
pub struct ScreenWeights {
    /// `R`, once it was asked for.
    pub rows: OnceLock<Vec<f64>>,
    /// Over the dictionary's Gram columns.
    pub weights: Vec<f64>,
    /// A bound on `|L^{-1}|`.
    pub inverse_norm: f64,
    /// What a screen has not yet taken.
    pub moved: PendingChanges,
}
