//! Runs a reference device in parallel with another device, to compare their planes.

use super::ReferenceDevice;
use super::arithmetic::Arithmetic;
use super::buffers::{MEAN, P, RESET_DEVIATION, VARIANCE};
use super::cases_tests::TestBasis;
use super::slots::ReferenceSlots;
use crate::device::{DeviceSlots, SlotWork};

/// A reference device with slots of its own.
pub struct ReferencePlayer<R>(ReferenceSlots<R>);

impl<R: Arithmetic> ReferencePlayer<R> {
    pub fn new(reference: &ReferenceDevice, basis: &TestBasis, n_slots: usize) -> Self {
        let tables = reference.tables_in::<R>(basis.spec()).expect("tables");
        let mut slots = ReferenceSlots::<R>::new(&tables, n_slots);
        if let TestBasis::Own(grams) = basis {
            for (slot, gram) in grams.iter().enumerate() {
                slots.set_points(slot, gram).expect("points");
            }
        }
        Self(slots)
    }

    pub fn round(&mut self, stamp: u32, works: &[SlotWork<'_>]) {
        self.0.submit(stamp, works).expect("submit");
    }

    /// Returns the planes of a slot, in f64.
    pub fn planes(&self, slot: usize) -> [Vec<f64>; 4] {
        [P, MEAN, VARIANCE, RESET_DEVIATION].map(|plane| {
            let at = self.0.buffers.plane(slot as u32, plane);
            self.0.buffers.planes[at..at + self.0.buffers.extent.stride].iter().map(|value| value.wide()).collect()
        })
    }
}
