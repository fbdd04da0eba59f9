//! Implements the reference device and its tables.

use super::arithmetic::Arithmetic;
use super::fault::Fault;
use super::features::features;
use super::gram::gram;
use super::kernel::ReferenceKernel;
use super::slots::ReferenceSlots;
use crate::BackendError;
use crate::device::tables::{
    Base, Chunk, DeviceColumns, Extent, KernelNumbers, MADE_GRAM_BYTES, PLANES, coordinates, feature_columns, features_error,
    gram_columns, kernel_error, n_points, no_form,
};
use crate::device::{Device, DeviceSlots, Precision, TableSpec, Tables};
use privateer_gp::score::{FeatureTable, GramSource, KernelForm};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Largest size of the planes of the device's slots, in bytes.
const PLANE_BYTES: usize = 1 << 28;

/// A device implemented by loops on the CPU.
#[derive(Debug, Clone)]
pub struct ReferenceDevice {
    has_f64: bool,
    fault: Option<Fault>,
    rounds: Arc<AtomicU64>,
}

impl Default for ReferenceDevice {
    fn default() -> Self {
        Self { has_f64: true, fault: None, rounds: Arc::new(AtomicU64::new(0)) }
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

    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    pub(super) fn rounds(&self) -> &Arc<AtomicU64> {
        &self.rounds
    }

    /// Creates tables in one floating-point type.
    pub(super) fn tables_in<R: Arithmetic>(&self, spec: TableSpec<'_>) -> Result<ReferenceTables<R>, BackendError> {
        let extent = Extent::new(n_points(&spec));
        let mut tables = ReferenceTables {
            reference: self.clone(),
            extent,
            columns: DeviceColumns::Gram,
            kernels: vec![KernelNumbers::NONE],
            source: Arc::default(),
            base: Arc::default(),
            kernel_error: 0.0,
        };
        let whole = Chunk { first: 0, len: extent.stride };
        match spec {
            TableSpec::Features(table) => {
                tables.columns = DeviceColumns::Features(table.n_features);
                tables.base = Arc::new(Base::of_features(table).rounded(extent));
                if let Some((values, error)) = self.made_features(table, extent) {
                    (tables.source, tables.kernel_error) = (Arc::new(values), error);
                } else {
                    tables.source = Arc::new(feature_columns(table, whole));
                }
            }
            TableSpec::Gram(source) => {
                tables.base = Arc::new(Base::of_gram(source).rounded(extent));
                if let Some(values) = gram_columns(source, whole) {
                    tables.source = Arc::new(values);
                } else {
                    tables.evaluate(&source.form().ok_or_else(no_form)?, self.has_f64);
                }
            }
            TableSpec::Own(_) => {
                tables.columns = DeviceColumns::Kernel { own: true };
                tables.kernels.clear();
            }
        }
        Ok(tables)
    }

    /// Computes features on the device, in f64 for tables in f32.
    fn made_features<R: Arithmetic>(&self, table: &FeatureTable, extent: Extent) -> Option<(Vec<R>, f64)> {
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

    fn tables(&self, spec: TableSpec<'_>, precision: Precision) -> Result<Box<dyn Tables>, BackendError> {
        Ok(match precision {
            Precision::F32 => Box::new(self.tables_in::<f32>(spec)?),
            Precision::F64 => Box::new(self.tables_in::<f64>(spec)?),
        })
    }
}

/// Tables in one floating-point type.
pub struct ReferenceTables<R> {
    pub(super) reference: ReferenceDevice,
    pub(super) extent: Extent,
    pub(super) columns: DeviceColumns,
    pub(super) kernels: Vec<KernelNumbers>,
    pub(super) source: Arc<Vec<R>>,
    pub(super) base: Arc<Vec<R>>,
    kernel_error: f64,
}

impl<R: Arithmetic> ReferenceTables<R> {
    /// Prepares columns from a formula: all now if they are few, otherwise each when needed.
    fn evaluate(&mut self, form: &KernelForm, has_f64: bool) {
        let n = self.extent.n_points;
        let slots: Vec<u32> = (0..n as u32).collect();
        if MADE_GRAM_BYTES < n * self.extent.stride * size_of::<R>() {
            let coords = coordinates::<R>(form, self.extent);
            self.columns = DeviceColumns::Kernel { own: false };
            self.kernels = vec![KernelNumbers::of(form)];
            self.kernel_error = kernel_error(form, &coords, R::PRECISION);
            self.source = Arc::new(coords.values);
        } else if has_f64 {
            let coords = coordinates::<f64>(form, self.extent);
            self.kernel_error = kernel_error(form, &coords, Precision::F64);
            self.source = Arc::new(gram::<f64, R>(kernel_of(form), &coords.values, self.extent, &slots));
        } else {
            let coords = coordinates::<f32>(form, self.extent);
            self.kernel_error = kernel_error(form, &coords, Precision::F32);
            self.source = Arc::new(gram::<f32, R>(kernel_of(form), &coords.values, self.extent, &slots));
        }
    }
}

/// Returns a form's parameters, rounded to a type.
fn kernel_of<R: Arithmetic>(form: &KernelForm) -> ReferenceKernel<R> {
    let numbers = KernelNumbers::of(form);
    ReferenceKernel {
        family: numbers.family,
        dimension: numbers.dimension,
        scale: R::of(numbers.scale),
        offset: R::of(numbers.offset),
        row_term: R::of(numbers.row_term),
    }
}

impl<R: Arithmetic> Tables for ReferenceTables<R> {
    fn most_slots(&self) -> usize {
        let bytes = PLANES * self.extent.stride * size_of::<R>();
        PLANE_BYTES.checked_div(bytes).unwrap_or(1).max(1)
    }

    fn kernel_error(&self) -> f64 {
        self.kernel_error
    }

    fn slots(&self, n_slots: usize) -> Result<Box<dyn DeviceSlots>, BackendError> {
        Ok(Box::new(ReferenceSlots::new(self, n_slots)))
    }
}

/// Returns a covariance's form, base and coordinates for one slot.
pub(super) fn own_points<R: Arithmetic>(gram: &dyn GramSource, extent: Extent) -> Result<OwnPoints<R>, BackendError> {
    let form = gram.form().filter(|_| gram.n_points() == extent.n_points).ok_or_else(no_form)?;
    let coords = coordinates::<R>(&form, extent);
    Ok(OwnPoints {
        kernel: KernelNumbers::of(&form),
        error: kernel_error(&form, &coords, R::PRECISION),
        coords: coords.values,
        base: Base::of_gram(gram).rounded(extent),
    })
}

/// Data of a slot's own points.
pub(super) struct OwnPoints<R> {
    pub kernel: KernelNumbers,
    pub error: f64,
    pub coords: Vec<R>,
    pub base: Vec<R>,
}
