//! Defines the bindings, and the sizes that the host fills; a test compares them with the shaders.

use privateer_backend::device::{Chunk, Extent};

/// Declares bindings with their numbers, and lists them with their names in the shaders.
macro_rules! bindings {
    ($($(#[$doc:meta])* $binding:ident = $number:literal, $name:literal;)*) => {
        $($(#[$doc])* pub const $binding: u32 = $number;)*

        #[cfg(test)]
        pub const BINDINGS: &[(&str, u32)] = &[$(($name, $number)),*];
    };
}

bindings! {
    /// The sizes.
    SHAPE = 0, "shape";
    WORKS = 1, "works";
    NUMBERS = 2, "numbers";
    /// The lists.
    INDICES = 3, "indices";
    /// Rows and factors.
    COEFFICIENTS = 4, "coefficients";
    /// A table, or coordinates.
    SOURCE = 5, "source";
    /// Residual and prior.
    BASE = 6, "base";
    PLANES = 7, "planes";
    /// Maxima of the tiles.
    PARTIALS = 8, "partials";
    /// Scored points of the tiles.
    COUNTS = 9, "counts";
    ANSWERS = 10, "answers";
    MAXIMA = 11, "maxima";
    /// A table that the device computes.
    TABLE = 12, "table";
    LOOP_SIZES = 13, "sizes";
    /// Features by tiles.
    LOOP_FEATURES = 14, "features";
    LOOP_DOMAIN = 15, "domain";
    LANE_WORDS = 16, "lane_words";
    LANE_NUMBERS = 17, "lane_numbers";
    LANE_PLANES = 18, "lane_planes";
    JOBS = 19, "jobs";
    PLAYED = 20, "played";
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
