//! Implements the backend over a device, its prepared domains and its screens.

use super::lanes::Lanes;
use super::ledger::MemorySizes;
use super::screen::BatchedScreen;
use crate::BackendError;
use crate::device::{Device, Precision, TableSpec, Tables};
use crate::scale::Scale;
use crate::{Backend, Band, Domain, Screen, Together, UpdateKind};
use privateer_gp::score::Basis;
use std::sync::{Arc, OnceLock};

/// Screens kept in flight: while one is scored, the trials of the other are updated.
const IN_FLIGHT: usize = 2;

/// Largest number of trials in a submission: a submission costs some 30 µs of the host, 0.03 µs a trial.
const MOST_LANES: usize = 1024;

/// A backend that screens on a device.
#[derive(Debug)]
pub struct Batched {
    device: Arc<dyn Device>,
    band: Band,
    precision: Option<Precision>,
}

impl Batched {
    /// Creates a backend that screens on this device.
    ///
    /// Kernels use f64 where the device has it, because their differences cancel. Features use f32 until that has cost as
    /// much as f64 would have.
    #[must_use]
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self { device, band: Band::Proved, precision: None }
    }

    /// Selects one floating-point type for all screens.
    #[must_use]
    pub fn with_precision(mut self, precision: Option<Precision>) -> Self {
        self.precision = precision;
        self
    }

    /// Selects another band, for tests of the contract.
    #[must_use]
    pub fn with_band(mut self, band: Band) -> Self {
        self.band = band;
        self
    }
}

impl Backend for Batched {
    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn adapter(&self) -> Option<String> {
        Some(self.device.description())
    }

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, BackendError> {
        let spec = match basis {
            Basis::Table(table) => TableSpec::Features(table),
            Basis::Gram(gram) => TableSpec::Gram(gram.as_ref()),
            Basis::Own(n_points) => TableSpec::Own(*n_points),
        };
        if let Basis::Gram(gram) = basis
            && gram.dense_column(0).is_none()
            && gram.form().is_none()
        {
            return Err(BackendError::unsuitable(format!(
                "a covariance of {} points is neither a table nor a formula that devices evaluate",
                gram.n_points()
            )));
        }
        let precision = self.precision.unwrap_or(match basis {
            Basis::Gram(_) | Basis::Own(_) if self.device.computes_in(Precision::F64) => Precision::F64,
            _ => Precision::F32,
        });
        let tables = self.device.tables(spec, precision)?;
        let may_double = self.precision.is_none() && precision == Precision::F32 && self.device.computes_in(Precision::F64);
        Ok(Arc::new(BatchedDomain(Arc::new(BatchedShared {
            scale: Arc::new(Scale::of(basis)),
            basis: basis.clone(),
            tables,
            doubled: OnceLock::new(),
            device: may_double.then(|| Arc::clone(&self.device)),
            band: self.band,
            precision,
        }))))
    }
}

/// Data that all screens over a basis share.
pub struct BatchedShared {
    /// Basis functions in which scores are linear.
    pub basis: Basis,
    /// Magnitudes of the basis.
    pub scale: Arc<Scale>,
    /// Tables in the type in which screens start.
    pub tables: Box<dyn Tables>,
    /// Tables in f64, created when a first screen moves to f64; inner `None` without room for them.
    doubled: OnceLock<Option<Box<dyn Tables>>>,
    /// The device, if screens may move to f64.
    device: Option<Arc<dyn Device>>,
    /// Kind of error band.
    pub band: Band,
    /// Floating-point type in which screens start.
    pub precision: Precision,
}

impl BatchedShared {
    /// Returns how many lanes a submission should have at most.
    fn most_lanes(&self) -> usize {
        self.tables.most_slots().clamp(1, MOST_LANES)
    }

    /// Returns the sizes, if screens over features may move to f64.
    pub fn doubles(&self) -> Option<MemorySizes> {
        let Basis::Table(table) = &self.basis else { return None };
        self.device.is_some().then_some(MemorySizes { n: table.n_points, m: table.n_features })
    }

    /// Returns the tables in f64; `None` if the device has no room for them.
    pub fn doubled(&self) -> Option<&dyn Tables> {
        let make = || {
            let (Basis::Table(table), Some(device)) = (&self.basis, &self.device) else { return None };
            device.tables(TableSpec::Features(table), Precision::F64).ok()
        };
        self.doubled.get_or_init(make).as_deref()
    }
}

struct BatchedDomain(Arc<BatchedShared>);

impl Domain for BatchedDomain {
    fn most_in_batch(&self) -> usize {
        IN_FLIGHT * self.0.tables.most_slots()
    }

    fn batch(&self, _update_kind: UpdateKind) -> usize {
        IN_FLIGHT * self.0.most_lanes()
    }

    fn in_flight(&self) -> usize {
        IN_FLIGHT
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        Box::new(BatchedScreen::alone(Arc::clone(&self.0), n_trials))
    }

    fn lanes(&self) -> Option<usize> {
        Some(self.0.most_lanes())
    }

    fn open_together(&self, sizes: &[usize]) -> (Vec<Box<dyn Screen>>, Arc<dyn Together>) {
        let lanes = Arc::new(Lanes::new(Arc::clone(&self.0), sizes.iter().sum()));
        let mut first = 0;
        let mut screens: Vec<Box<dyn Screen>> = Vec::with_capacity(sizes.len());
        for &n_trials in sizes {
            screens.push(Box::new(BatchedScreen::of(Arc::clone(&self.0), Arc::clone(&lanes), first, n_trials)));
            first += n_trials;
        }
        (screens, lanes)
    }
}
