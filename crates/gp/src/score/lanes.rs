//! Numbers of several trials side by side: a vector of one number a trial for each entry, a line of the cache long.

/// Trials side by side in f32.
pub const LANES: usize = 16;

/// One number a trial of sixteen.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct Sixteen(pub [f32; LANES]);

impl Sixteen {
    /// Zeros.
    pub const ZERO: Self = Self([0.0; LANES]);
}

impl AsMut<[f32; LANES]> for Sixteen {
    fn as_mut(&mut self) -> &mut [f32; LANES] {
        &mut self.0
    }
}

/// The factors ([`super::Factor`], spread added) of up to sixteen trials over a table of `n` features, rounded.
#[derive(Debug, Clone, Copy)]
pub struct FactorLanes<'a> {
    /// `n`.
    pub n_features: usize,
    /// The rows of `R`, four at a time: column by column up to the last diagonal entry of the four, padded with rows of zeros and, to a
    /// multiple of four, columns of zeros.
    pub rows: &'a [Sixteen],
    /// One a feature.
    pub weights: &'a [Sixteen],
    /// Of each trial, before rounding.
    pub norms: &'a [LaneNorms; LANES],
}

/// Bounds on norms of a factor, about any multiple `s >= 0` of the identity, and of its weights.
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
