//! Defines the layout of the bindings, and of the structs that the host fills.
//!
//! A test compares both with the shaders.

use privateer_backend::device::{Chunk, Extent, Numbers, Real, Work};

/// Binding of the sizes.
pub const SHAPE: u32 = 0;
/// Binding of the words of each slot's round.
pub const WORKS: u32 = 1;
/// Binding of the real numbers of each slot's round.
pub const NUMBERS: u32 = 2;
/// Binding of the lists.
pub const INDICES: u32 = 3;
/// Binding of rows and factors.
pub const COEFFICIENTS: u32 = 4;
/// Binding of a table, or of coordinates.
pub const SOURCE: u32 = 5;
/// Binding of residual and prior.
pub const BASE: u32 = 6;
/// Binding of the planes of the slots.
pub const PLANES: u32 = 7;
/// Binding of the maxima of the tiles.
pub const PARTIALS: u32 = 8;
/// Binding of the counts of scored points in the tiles.
pub const COUNTS: u32 = 9;
/// Binding of the words of the answers.
pub const ANSWERS: u32 = 10;
/// Binding of the real numbers of the answers.
pub const MAXIMA: u32 = 11;
/// Binding of a table that the device computes.
pub const TABLE: u32 = 12;

/// Bindings of lanes that play whole rounds: sizes, features by tiles, the domain's numbers, the lanes' words, numbers and
/// planes, their jobs and answers.
pub const LOOP_SIZES: u32 = 13;
pub const LOOP_FEATURES: u32 = 14;
pub const LOOP_DOMAIN: u32 = 15;
pub const LANE_WORDS: u32 = 16;
pub const LANE_NUMBERS: u32 = 17;
pub const LANE_PLANES: u32 = 18;
pub const JOBS: u32 = 19;
pub const PLAYED: u32 = 20;

/// Size of a [`Work`], in bytes.
pub const WORK_BYTES: usize = 68;

/// Number of values in a [`Numbers`].
pub const N_NUMBERS: usize = 12;

pub fn work_words(work: &Work) -> [u32; WORK_BYTES / 4] {
    [
        work.slot,
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

/// Returns the values of [`Numbers`] in order.
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
        numbers.c3,
        numbers.kernel_scale,
        numbers.kernel_offset,
        numbers.kernel_row_term,
    ]
}

/// Sizes of a domain, and a range of its points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LayoutShape {
    pub n_points: u32,
    pub stride: u32,
    pub n_tiles: u32,
    /// First point of the bound table's chunk.
    pub chunk_first: u32,
    /// Length of the chunk's columns.
    pub chunk_len: u32,
    /// Columns of a feature table; number of frequencies where the device computes one.
    pub n_columns: u32,
    /// Coordinates of a point, where the device computes a table.
    pub dimension: u32,
}

impl LayoutShape {
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

    /// Returns the shape as words, with one unused.
    pub fn words(&self) -> [u32; 8] {
        [self.n_points, self.stride, self.n_tiles, self.chunk_first, self.chunk_len, self.n_columns, self.dimension, 0]
    }
}
