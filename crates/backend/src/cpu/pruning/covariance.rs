//! Evaluates the kernel behind a model, for each kind of basis.

use super::formula::Formula;
use super::kernels::LANES;
use super::order::BlockOrder;
use super::source::Source;
use crate::cpu::path::{WORK_OF_A_LOOKUP, WORK_OF_AN_ENTRY};
use privateer_gp::score::GramSource;
use std::sync::Arc;

/// `k(x, x')` without the row term (see [`privateer_gp::score::KernelForm::row_term`]).
#[derive(Debug)]
pub enum Covariance {
    Features(Source),
    /// A covariance with a formula over coordinates.
    Formula(Formula),
    /// Any other covariance, by the source's own values.
    Entries(Entries),
}

/// A source of covariance values, and the indices of the reference points.
#[derive(Debug)]
pub struct Entries {
    pub gram: Arc<dyn GramSource>,
    pub reference_points: Vec<u32>,
}

impl Covariance {
    /// Returns a bound on `|computed k(x, x') - k(x, x')|`, with the model's own rounding of `k`.
    pub fn error(&self) -> f64 {
        match self {
            Self::Features(source) => source.error,
            Self::Formula(formula) => formula.error,
            Self::Entries(_) => 0.0,
        }
    }

    pub fn work(&self) -> usize {
        match self {
            Self::Features(source) => source.work(),
            Self::Formula(formula) => formula.work(),
            Self::Entries(Entries { gram, .. }) if gram.dense_column(0).is_some() => WORK_OF_A_LOOKUP,
            Self::Entries(_) => WORK_OF_AN_ENTRY,
        }
    }

    pub fn entry(&self, a: usize, b: usize) -> f64 {
        match self {
            Self::Features(source) => source.entry(a, b),
            Self::Formula(formula) => formula.entry(a, b),
            Self::Entries(Entries { gram, .. }) => gram.entry(a, b),
        }
    }

    /// Returns the number of reference points, padded to a whole number of SIMD lanes.
    pub fn padded_reference_points(&self) -> usize {
        match self {
            Self::Features(source) => source.padded_reference_points(),
            Self::Formula(formula) => formula.padded_reference_points(),
            Self::Entries(Entries { reference_points, .. }) => reference_points.len().next_multiple_of(LANES),
        }
    }

    /// Writes `k(point, x)` for the points of a block; `out` has one entry per point.
    #[inline(always)]
    pub fn column<const FUSED: bool>(&self, point: usize, block: usize, order: &BlockOrder, out: &mut [f64]) {
        match self {
            Self::Features(source) => source.column::<FUSED>(point, block, order, out),
            Self::Formula(formula) => formula.column::<FUSED>(point, block, out),
            Self::Entries(entries) => entries.write(point, &order.points[block * out.len()..], out),
        }
    }

    /// Writes `k(point, a)` for the reference points, padded.
    #[inline(always)]
    pub fn at_reference_points<const FUSED: bool>(&self, point: usize, out: &mut [f64]) {
        match self {
            Self::Features(source) => source.at_reference_points::<FUSED>(point, out),
            Self::Formula(formula) => formula.at_reference_points::<FUSED>(point, out),
            Self::Entries(entries) => entries.write(point, &entries.reference_points, out),
        }
    }
}

impl Entries {
    fn write(&self, point: usize, others: &[u32], out: &mut [f64]) {
        match self.gram.dense_column(point) {
            Some(column) => out.iter_mut().zip(others).for_each(|(out, &x)| *out = column[x as usize]),
            None => out.iter_mut().zip(others).for_each(|(out, &x)| *out = self.gram.entry(point, x as usize)),
        }
    }
}
