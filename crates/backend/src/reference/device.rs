//! Implements the reference device and its tables.

use super::fault::Fault;
use super::features::features;
use super::gram::gram;
use super::slots::ReferenceSlots;
use crate::device::Real;
use crate::device::tables::{
    Chunk, DeviceColumns, Extent, KernelNumbers, MADE_GRAM_BYTES, PLANES, coordinates, feature_columns, features_base,
    features_error, gram_base, gram_columns, kernel_error, no_form,
};
use crate::device::{Device, DeviceSlots, Precision, SlotShape, Tables};
use crate::{BackendError, UpdateKind};
use privateer_gp::score::{Basis, FeatureTable, KernelForm};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Largest size of the planes of the device's slots, in bytes.
const PLANE_BYTES: usize = 1 << 28;

/// A device implemented by loops on the CPU.
#[derive(Debug, Clone)]
pub struct ReferenceDevice {
    has_f64: bool,
    most_coefficients: usize,
    pub(super) fault: Option<Fault>,
    /// Number of rounds sent.
    pub(super) rounds: Arc<AtomicU64>,
}

impl Default for ReferenceDevice {
    fn default() -> Self {
        Self { has_f64: true, most_coefficients: usize::MAX, fault: None, rounds: Arc::new(AtomicU64::new(0)) }
    }
}

impl ReferenceDevice {
    /// Creates a reference device with a planted fault.
    pub fn with_fault(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// Removes f64, which most devices lack.
    #[must_use]
    pub fn without_f64(self) -> Self {
        Self { has_f64: false, ..self }
    }

    /// Limits the coefficients of a submission, as the bindings of small devices do.
    #[must_use]
    pub fn with_most_coefficients(self, most_coefficients: usize) -> Self {
        Self { most_coefficients, ..self }
    }

    /// Creates tables in one floating-point type.
    pub(super) fn tables_in<R: Real>(&self, basis: &Basis) -> Result<ReferenceTables<R>, BackendError> {
        let extent = Extent::new(basis.n_points());
        let mut tables = ReferenceTables {
            reference: self.clone(),
            shape: SlotShape::new(extent),
            source: Arc::default(),
            base: Arc::default(),
            kernel_error: 0.0,
        };
        tables.shape.most_coefficients = self.most_coefficients;
        let whole = Chunk { first: 0, len: extent.stride };
        match basis {
            Basis::Table(table) => {
                tables.shape.columns = DeviceColumns::Features(table.n_features);
                tables.base = Arc::new(features_base(table, extent));
                if let Some((values, error)) = self.made_features(table, extent) {
                    (tables.source, tables.kernel_error) = (Arc::new(values), error);
                } else {
                    tables.source = Arc::new(feature_columns(table, whole));
                }
            }
            Basis::Gram(source) => {
                tables.base = Arc::new(gram_base(&**source, extent));
                if let Some(values) = gram_columns(&**source, whole) {
                    tables.source = Arc::new(values);
                } else {
                    tables.evaluate(&source.form().ok_or_else(no_form)?);
                }
            }
            Basis::Own(_) => {
                tables.shape.columns = DeviceColumns::Kernel { own: true };
                tables.shape.kernels = Arc::default();
            }
        }
        Ok(tables)
    }

    /// Computes features on the device, in f64 for tables in f32.
    fn made_features<R: Real>(&self, table: &FeatureTable, extent: Extent) -> Option<(Vec<R>, f64)> {
        let form = table.form.as_ref().filter(|_| self.has_f64 && R::PRECISION == Precision::F32)?;
        Some((features(form, extent), features_error(form)?))
    }
}

impl Device for ReferenceDevice {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn description(&self) -> String {
        "plain loops on the CPU instead of shaders".to_owned()
    }

    fn computes_in(&self, precision: Precision) -> bool {
        self.has_f64 || precision == Precision::F32
    }

    fn tables(&self, basis: &Basis, precision: Precision) -> Result<Box<dyn Tables>, BackendError> {
        Ok(match precision {
            Precision::F32 => Box::new(self.tables_in::<f32>(basis)?),
            Precision::F64 => Box::new(self.tables_in::<f64>(basis)?),
        })
    }
}

/// Tables in one floating-point type.
pub struct ReferenceTables<R> {
    pub(super) reference: ReferenceDevice,
    pub(super) shape: SlotShape,
    pub(super) source: Arc<Vec<R>>,
    pub(super) base: Arc<Vec<R>>,
    kernel_error: f64,
}

impl<R: Real> ReferenceTables<R> {
    /// Prepares columns from a formula: all now if they are few, otherwise each when needed.
    fn evaluate(&mut self, form: &KernelForm) {
        let extent = self.shape.extent;
        if MADE_GRAM_BYTES < extent.n_points * extent.stride * size_of::<R>() {
            let coords = coordinates::<R>(form, extent);
            self.shape.columns = DeviceColumns::Kernel { own: false };
            self.shape.kernels = Arc::new(vec![KernelNumbers::of(form)]);
            self.kernel_error = kernel_error(form, &coords, R::PRECISION);
            self.source = Arc::new(coords.values);
        } else if self.reference.has_f64 {
            (self.source, self.kernel_error) = gram::<f64, R>(form, extent);
        } else {
            (self.source, self.kernel_error) = gram::<f32, R>(form, extent);
        }
    }
}

impl<R: Real> Tables for ReferenceTables<R> {
    fn most_slots(&self, _: UpdateKind) -> usize {
        let bytes = PLANES * self.shape.extent.stride * size_of::<R>();
        PLANE_BYTES.checked_div(bytes).unwrap_or(1).max(1)
    }

    fn kernel_error(&self) -> f64 {
        self.kernel_error
    }

    fn slots(&self, n_slots: usize) -> Result<Box<dyn DeviceSlots>, BackendError> {
        Ok(Box::new(ReferenceSlots::new(self, n_slots)))
    }
}
