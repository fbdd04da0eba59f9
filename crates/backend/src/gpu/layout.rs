//! What stands where: numbers of the bindings, and the structs that the host fills. A test compares all of it with the
//! shaders.

use crate::device::pack::{Numbers, Work};
use crate::device::real::Real;
use crate::device::tables::{Chunk, Extent};

/// Sizes.
pub const SHAPE: u32 = 0;
/// Words of each lane's round.
pub const WORKS: u32 = 1;
/// Numbers of each lane's round.
pub const NUMBERS: u32 = 2;
/// Lists.
pub const INDICES: u32 = 3;
/// Rows and factors.
pub const COEFFICIENTS: u32 = 4;
/// A table, or coordinates.
pub const SOURCE: u32 = 5;
/// Residual and prior.
pub const BASE: u32 = 6;
/// Planes of the lanes.
pub const PLANES: u32 = 7;
/// Maxima of the tiles.
pub const PARTIALS: u32 = 8;
/// Points scored in the tiles.
pub const COUNTS: u32 = 9;
/// Words of the answers.
pub const ANSWERS: u32 = 10;
/// Numbers of the answers.
pub const MAXIMA: u32 = 11;
/// A table that is made.
pub const TABLE: u32 = 12;

/// Bytes of a [`Work`].
pub const WORK_BYTES: usize = 68;

/// Numbers of a [`Numbers`].
pub const N_NUMBERS: usize = 11;

/// A [`Work`] as words.
pub fn work_words(work: &Work) -> [u32; WORK_BYTES / 4] {
    [
        work.lane,
        work.start,
        work.visit,
        work.stamp,
        work.row_at,
        work.row_len,
        work.slots_at,
        work.coords_at,
        work.factor_at,
        work.factor_len,
        work.subset_at,
        work.n_scored,
        work.prior_at,
        work.family,
        work.dimension,
        work.listed,
        work.weights_at,
    ]
}

/// [`Numbers`] in order.
pub fn number_values<R: Real>(numbers: &Numbers<R>) -> [R; N_NUMBERS] {
    [
        numbers.scale,
        numbers.mean_step,
        numbers.low,
        numbers.high,
        numbers.c,
        numbers.c0,
        numbers.c1,
        numbers.c2,
        numbers.kernel_scale,
        numbers.kernel_offset,
        numbers.kernel_row_term,
    ]
}

/// Sizes and a range of points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LayoutShape {
    /// Number of points.
    pub n_points: u32,
    /// Points with padding.
    pub stride: u32,
    /// Tiles.
    pub n_tiles: u32,
    /// First point of the bound table.
    pub chunk_first: u32,
    /// Length of its columns.
    pub chunk_len: u32,
    /// Columns of a table of features; frequencies where one is made.
    pub n_columns: u32,
    /// Coordinates of a point where a table is made.
    pub dimension: u32,
}

impl LayoutShape {
    /// Over a chunk.
    pub fn new(extent: Extent, chunk: Chunk, n_columns: usize) -> Self {
        Self {
            n_points: extent.n_points as u32,
            stride: extent.stride as u32,
            n_tiles: extent.n_tiles() as u32,
            chunk_first: chunk.first as u32,
            chunk_len: chunk.len as u32,
            n_columns: n_columns as u32,
            dimension: 0,
        }
    }

    /// As words, with one to spare.
    pub fn words(&self) -> [u32; 8] {
        [self.n_points, self.stride, self.n_tiles, self.chunk_first, self.chunk_len, self.n_columns, self.dimension, 0]
    }
}
