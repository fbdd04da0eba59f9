//! Holds the matrices that a sketched posterior computes from its state.

use super::pending::PendingChanges;
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
    /// The columns times `V^{-1/2}`, or without it times the inverse of the lower factor.
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
