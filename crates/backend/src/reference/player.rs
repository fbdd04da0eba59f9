//! Runs a reference device, alone or in parallel with another device, to compare planes.

use super::ReferenceDevice;
use super::buffers::{MEAN, P, VARIANCE, VARIANCE_ERROR};
use super::cases::TestBasis;
use super::slots::ReferenceSlots;
use crate::device::Real;
use crate::device::{DeviceSlots, Tables};

/// A reference device with slots of its own.
pub struct ReferencePlayer<R> {
    /// The slots.
    pub slots: ReferenceSlots<R>,
    /// Bounds on the errors of a kernel evaluation, by slot.
    pub kernel_errors: Vec<f64>,
}

impl<R: Real> ReferencePlayer<R> {
    /// Creates tables of a basis and `n_slots` slots over them.
    ///
    /// # Panics
    /// If the device takes no such basis.
    pub fn new(reference: &ReferenceDevice, basis: &TestBasis, n_slots: usize) -> Self {
        let tables = reference.tables_in::<R>(&basis.to_basis()).expect("tables");
        let mut slots = ReferenceSlots::<R>::new(&tables, n_slots);
        let mut kernel_errors = vec![tables.kernel_error(); n_slots];
        if let TestBasis::Own(grams) = basis {
            for (slot, gram) in grams.iter().enumerate() {
                kernel_errors[slot] = slots.set_points(slot, gram).expect("points");
            }
        }
        Self { slots, kernel_errors }
    }

    /// Returns the planes of a slot, in f64.
    pub fn planes(&self, slot: usize) -> [Vec<f64>; 4] {
        [P, MEAN, VARIANCE, VARIANCE_ERROR].map(|plane| {
            let at = self.slots.buffers.plane(slot as u32, plane);
            self.slots.buffers.planes[at..at + self.slots.buffers.extent.stride].iter().map(|value| value.wide()).collect()
        })
    }
}
