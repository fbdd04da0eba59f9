//! Lays out a vector for each point: its features along an axis, or its coordinates.

use super::kernels::LANES;
use super::order::BlockOrder;
use crate::cpu::path::MOST_BYTES_TWICE;
use privateer_gp::score::{FeatureTable, GridFeatures};
use std::borrow::Cow;
use std::sync::Arc;

/// Vectors of the points of a domain and of the reference points.
#[derive(Debug)]
pub struct BlockVectors {
    pub q: usize,
    rows: VectorRows,
    /// `n_blocks x q x size`: the same by block, each component contiguous over a block's points; empty for a table of more than
    /// [`MOST_BYTES_TWICE`] bytes.
    blocks: Vec<f64>,
    /// `q x padded`: the same for the reference points.
    pub reference_points: Vec<f64>,
}

/// `n_points x q`, row-major.
#[derive(Debug)]
pub enum VectorRows {
    Own(Vec<f64>),
    Table(Arc<FeatureTable>),
}

impl BlockVectors {
    /// Arranges vectors of length `q` in blocks, without reference points yet.
    pub fn of(q: usize, rows: VectorRows, order: &BlockOrder) -> Self {
        let mut made = Self { q, rows, blocks: Vec::new(), reference_points: Vec::new() };
        if let VectorRows::Table(table) = &made.rows
            && MOST_BYTES_TWICE < size_of::<f64>() * table.n_points * q
        {
            return made;
        }
        let mut blocks = vec![0.0; order.points.len() * q];
        for (block, values) in order.points.chunks_exact(order.size).zip(blocks.chunks_exact_mut((q * order.size).max(1))) {
            for (at, &point) in block.iter().enumerate() {
                for (component, &value) in made.row(point as usize).iter().enumerate() {
                    values[component * order.size + at] = value;
                }
            }
        }
        made.blocks = blocks;
        made
    }

    /// Stores the vectors of the reference points, given row-major.
    pub fn take_reference_points(&mut self, rows: &[f64]) {
        let padded = (rows.len() / self.q.max(1)).next_multiple_of(LANES);
        self.reference_points = vec![0.0; self.q * padded];
        for (at, row) in rows.chunks_exact(self.q.max(1)).enumerate() {
            for (component, &value) in row.iter().enumerate() {
                self.reference_points[component * padded + at] = value;
            }
        }
    }

    /// Returns the vectors of all points, row-major; none of those that a table holds.
    pub fn rows(&self) -> &[f64] {
        match &self.rows {
            VectorRows::Own(values) => values,
            VectorRows::Table(_) => &[],
        }
    }

    /// Returns the features by axis of a table that has no rows.
    pub fn grid(&self) -> Option<&GridFeatures> {
        if let VectorRows::Table(table) = &self.rows { table.grid() } else { None }
    }

    pub fn row(&self, point: usize) -> Cow<'_, [f64]> {
        match &self.rows {
            VectorRows::Own(values) => values[point * self.q..][..self.q].into(),
            VectorRows::Table(table) => table.row(point),
        }
    }

    /// Drops the vectors by block, as for a large table.
    #[cfg(test)]
    pub fn keep_rows_alone(&mut self) {
        self.blocks = Vec::new();
    }

    pub fn is_by_block(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Returns the vectors of a block of `size` points, component by component.
    pub fn block(&self, block: usize, size: usize) -> &[f64] {
        &self.blocks[block * self.q * size..][..self.q * size]
    }

    /// Returns the number of reference points, padded to a whole number of SIMD lanes.
    pub fn padded_reference_points(&self) -> usize {
        self.reference_points.len() / self.q.max(1)
    }
}
