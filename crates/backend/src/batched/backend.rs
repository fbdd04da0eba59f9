//! Implements the backend over a device, its prepared domains and its screens.

use super::lanes::Lanes;
use super::ledger::MemorySizes;
use super::screen::BatchedScreen;
use crate::BackendError;
use crate::device::{Device, Precision, TableSpec, Tables};
use crate::precision::{F64Rate, ScreenedBasis};
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
    /// The type follows the device's rate in f64, see [`F64Rate::screens`]. Features that start in f32 move to f64 once f32
    /// has cost as much as f64 would have.
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
        if let Basis::Gram(gram) = basis
            && gram.dense_column(0).is_none()
            && gram.form().is_none()
        {
            return Err(BackendError::unsuitable(format!(
                "a covariance of {} points is neither a table nor a formula that devices evaluate",
                gram.n_points()
            )));
        }
        let features = matches!(basis, Basis::Table(_));
        let kind = if features { ScreenedBasis::Features } else { ScreenedBasis::Covariances };
        let rate = if self.precision.is_some() { F64Rate::Unmeasured } else { self.device.f64_rate() };
        let starts =
            [UpdateKind::RankOne, UpdateKind::Full].map(|update_kind| self.precision.unwrap_or(rate.screens(kind, update_kind)));
        let mut shared = BatchedShared {
            scale: Arc::new(Scale::of(basis)),
            basis: basis.clone(),
            device: Arc::clone(&self.device),
            single: OnceLock::new(),
            double: OnceLock::new(),
            starts,
            may_double: self.precision.is_none() && features && rate != F64Rate::Absent,
            band: self.band,
        };
        if let Err(error) = shared.tables(starts[0]) {
            // Half the bytes may fit.
            if self.precision.is_some() || !features || starts[0] == Precision::F32 {
                return Err(error);
            }
            shared.starts = [Precision::F32; 2];
            shared.tables(Precision::F32)?;
        }
        Ok(Arc::new(BatchedDomain(Arc::new(shared))))
    }
}

/// Data that all screens over a basis share.
pub struct BatchedShared {
    /// Basis functions in which scores are linear.
    pub basis: Basis,
    /// Magnitudes of the basis.
    pub scale: Arc<Scale>,
    device: Arc<dyn Device>,
    /// Tables in f32 and in f64, created when a first screen needs them.
    single: OnceLock<Result<Box<dyn Tables>, BackendError>>,
    double: OnceLock<Result<Box<dyn Tables>, BackendError>>,
    /// Types in which screens start, for rank-one updates and for whole new models.
    starts: [Precision; 2],
    /// Whether screens in f32 may move to f64.
    may_double: bool,
    /// Kind of error band.
    pub band: Band,
}

impl BatchedShared {
    /// Returns how many lanes a submission should have at most.
    fn most_lanes(&self) -> usize {
        self.most_slots().clamp(1, MOST_LANES)
    }

    fn most_slots(&self) -> usize {
        self.tables(self.starts[0]).map_or(1, Tables::most_slots)
    }

    /// Returns the type in which screens of models of this kind start.
    pub fn start(&self, update_kind: UpdateKind) -> Precision {
        self.starts[usize::from(update_kind == UpdateKind::Full)]
    }

    /// Returns the sizes, if screens of a type over features may move to f64.
    pub fn doubles(&self, precision: Precision) -> Option<MemorySizes> {
        let Basis::Table(table) = &self.basis else { return None };
        (self.may_double && precision == Precision::F32).then_some(MemorySizes { n: table.n_points, m: table.n_features })
    }

    /// Returns the tables in a type.
    ///
    /// # Errors
    /// If the device has no room for them.
    pub fn tables(&self, precision: Precision) -> Result<&dyn Tables, BackendError> {
        let spec = match &self.basis {
            Basis::Table(table) => TableSpec::Features(table),
            Basis::Gram(gram) => TableSpec::Gram(gram.as_ref()),
            Basis::Own(n_points) => TableSpec::Own(*n_points),
        };
        let tables = if precision == Precision::F32 { &self.single } else { &self.double };
        let made = tables.get_or_init(|| self.device.tables(spec, precision));
        made.as_ref().map(AsRef::as_ref).map_err(Clone::clone)
    }
}

struct BatchedDomain(Arc<BatchedShared>);

impl Domain for BatchedDomain {
    fn most_in_batch(&self) -> usize {
        IN_FLIGHT * self.0.most_slots()
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

    fn open_together(&self, sizes: &[usize], update_kind: UpdateKind) -> (Vec<Box<dyn Screen>>, Arc<dyn Together>) {
        let lanes = Arc::new(Lanes::new(Arc::clone(&self.0), sizes.iter().sum(), update_kind));
        let mut first = 0;
        let mut screens: Vec<Box<dyn Screen>> = Vec::with_capacity(sizes.len());
        for &n_trials in sizes {
            screens.push(Box::new(BatchedScreen::of(Arc::clone(&self.0), Arc::clone(&lanes), first, n_trials)));
            first += n_trials;
        }
        (screens, lanes)
    }
}
