//! Interleaved numbers of sixteen trials: for each entry, a vector of one number per trial.
//!
//! A vector fills one cache line.

/// Number of interleaved trials in f32.
pub const LANES: usize = 16;

/// One number for each of sixteen trials.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct Sixteen(pub [f32; LANES]);

impl Sixteen {
    /// The zero vector.
    pub const ZERO: Self = Self([0.0; LANES]);
}

impl AsMut<[f32; LANES]> for Sixteen {
    fn as_mut(&mut self) -> &mut [f32; LANES] {
        &mut self.0
    }
}

/// The rounded factors ([`super::Factor`], variance added) of up to sixteen trials.
#[derive(Debug, Clone, Copy)]
pub struct FactorLanes<'a> {
    /// Number of features of the table.
    pub n_features: usize,
    /// Rows of `R`, four at a time, column by column up to the last diagonal entry of the four.
    ///
    /// They are padded with zero rows, and with zero columns to a multiple of four.
    pub rows: &'a [Sixteen],
    /// One per feature.
    pub weights: &'a [Sixteen],
    /// Norms of each trial's factor before rounding.
    pub norms: &'a [LaneNorms; LANES],
}

/// Bounds on norms of a factor relative to a multiple `s >= 0` of the identity, and its weights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LaneNorms {
    /// `s` itself.
    pub centre: f64,
    /// `|R - s I|_F`.
    pub rows: f64,
    /// `|R^T R - s² I|_F`.
    pub form: f64,
    /// `|w|`.
    pub weights: f64,
}
