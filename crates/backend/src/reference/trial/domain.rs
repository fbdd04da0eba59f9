//! Coordinates of a loop's points, as the loop in plain code reads them.

use crate::device::loop_domain::{LoopDomain, LoopSource, product};
use std::borrow::Cow;

impl LoopDomain {
    /// Returns the coordinates of a point.
    pub(crate) fn coordinates(&self, point: u32, visited: &[u32]) -> Cow<'_, [f64]> {
        match &self.source {
            LoopSource::Features(table) => Cow::Borrowed(table.row(point as usize)),
            LoopSource::Gram(gram) => Cow::Owned(gram.entries(visited, point as usize)),
        }
    }

    /// Writes `sum row_i c_i` over visited points.
    pub(crate) fn combine(&self, row: &[f64], visited: &[u32]) -> Vec<f64> {
        match &self.source {
            LoopSource::Features(table) => {
                let mut sum = vec![0.0; table.n_features];
                for (&weight, &point) in row.iter().zip(visited) {
                    sum.iter_mut().zip(table.row(point as usize)).for_each(|(sum, c)| *sum += weight * c);
                }
                sum
            }
            LoopSource::Gram(_) => row.to_vec(),
        }
    }

    /// Bounds the product of these weights and the coordinates of any point.
    pub(crate) fn size(&self, weights: &[f64]) -> f64 {
        match &self.source {
            LoopSource::Features(_) => (product(weights, weights) * self.prior).sqrt(),
            LoopSource::Gram(_) => weights.iter().map(|weight| weight.abs()).sum::<f64>() * self.prior,
        }
    }
}
