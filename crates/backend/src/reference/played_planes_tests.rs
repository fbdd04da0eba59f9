//! Runs a reference device in parallel with another device, to compare their planes.

use super::ReferenceDevice;
use super::buffers::{ANCHOR, MEAN, P, VARIANCE};
use super::cases_tests::TestBasis;
use super::lanes::ReferenceLanes;
use crate::device::real::Real;
use crate::device::{LaneWork, Lanes};

/// A reference device with slots of its own.
pub struct ReferencePlayer<R>(ReferenceLanes<R>);

impl<R: Real> ReferencePlayer<R> {
    pub fn new(reference: &ReferenceDevice, basis: &TestBasis, n_lanes: usize) -> Self {
        let tables = reference.tables_in::<R>(basis.spec()).expect("tables");
        let mut lanes = ReferenceLanes::<R>::new(&tables, n_lanes);
        if let TestBasis::Own(grams) = basis {
            for (lane, gram) in grams.iter().enumerate() {
                lanes.set_points(lane, gram).expect("points");
            }
        }
        Self(lanes)
    }

    pub fn round(&mut self, stamp: u32, works: &[LaneWork<'_>]) {
        self.0.submit(stamp, works).expect("submit");
    }

    /// Returns the planes of a slot, in f64.
    pub fn planes(&self, lane: usize) -> [Vec<f64>; 4] {
        [P, MEAN, VARIANCE, ANCHOR].map(|plane| {
            let at = self.0.buffers.plane(lane as u32, plane);
            self.0.buffers.planes[at..at + self.0.buffers.extent.stride].iter().map(|value| value.wide()).collect()
        })
    }
}
