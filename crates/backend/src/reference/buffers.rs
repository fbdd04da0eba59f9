//! Defines the buffers of the reference device's slots.

use crate::device::Real;
use crate::device::answer::{ANSWER_WORDS, MAXIMA};
use crate::device::pack::Packed;
use crate::device::tables::{Extent, PLANES};
use std::sync::Arc;

/// Plane of `p = row · h`.
pub const P: usize = 0;
/// Plane of the mean.
pub const MEAN: usize = 1;
/// Plane of the posterior variance.
pub const VARIANCE: usize = 2;
/// Plane of the bound on the error of the posterior variance.
pub const VARIANCE_ERROR: usize = 3;

/// All buffers that the passes read and write, named as in the shaders.
pub struct Buffers<R> {
    pub extent: Extent,
    /// What the host sends.
    pub round: Packed<R>,
    /// The table, `columns x stride`, or coordinates, `dimension x stride` for each owner.
    pub source: Arc<Vec<R>>,
    /// Residual and prior, `2 x stride` for each owner.
    pub base: Arc<Vec<R>>,
    /// `slots x PLANES x stride`.
    pub planes: Vec<R>,
    /// `works x MAXIMA x tiles`.
    pub partials: Vec<R>,
    /// `works x tiles`: points scored.
    pub counts: Vec<u32>,
    /// `works x ANSWER_WORDS`.
    pub answers: Vec<u32>,
    /// `works x MAXIMA`.
    pub maxima: Vec<R>,
    /// Planted fault: functions omitted at the end of rows and factors.
    pub dropped: usize,
    /// Planted fault: tiles omitted at the end of a slot.
    pub skipped_tiles: usize,
    /// Planted fault: the mean of the first point is NaN.
    pub not_a_number: bool,
}

impl<R: Real> Buffers<R> {
    pub fn new(extent: Extent, n_slots: usize, source: Arc<Vec<R>>, base: Arc<Vec<R>>) -> Self {
        Self {
            extent,
            round: Packed::default(),
            source,
            base,
            planes: vec![R::default(); n_slots * PLANES * extent.stride],
            partials: vec![R::default(); n_slots * MAXIMA * extent.n_tiles()],
            counts: vec![0; n_slots * extent.n_tiles()],
            answers: vec![0; n_slots * ANSWER_WORDS],
            maxima: vec![R::default(); n_slots * MAXIMA],
            dropped: 0,
            skipped_tiles: 0,
            not_a_number: false,
        }
    }

    /// Returns the start of a slot's plane.
    pub fn plane(&self, slot: u32, plane: usize) -> usize {
        (slot as usize * PLANES + plane) * self.extent.stride
    }

    /// Returns the works in a list at the head of the indices.
    pub fn list(&self, place: usize, n: usize) -> Vec<usize> {
        let first = self.round.indices[place] as usize;
        self.round.indices[first..first + n].iter().map(|&w| w as usize).collect()
    }
}
