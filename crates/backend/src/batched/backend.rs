//! The backend over a device, its prepared bases and its screens.

use super::ledger::MemorySizes;
use super::screen::BatchedScreen;
use crate::device::{Device, Precision, TableSpec, Tables};
use crate::scale::Scale;
use crate::{Backend, Band, Domain, Screen, UpdateKind};
use privateer_config::error::Error;
use privateer_gp::score::Basis;
use std::sync::{Arc, OnceLock};

/// Screens kept in flight: while one is scored, the trials of the other are updated.
const IN_FLIGHT: usize = 2;

/// Most trials in a batch: enough to fill a large device at a few thousand points.
const MOST_IN_BATCH: usize = 256;

/// A backend that screens on a device.
#[derive(Debug)]
pub struct Batched {
    device: Arc<dyn Device>,
    band: Band,
    precision: Option<Precision>,
}

impl Batched {
    /// Screens on this device, over kernels in f64, where the device has it, as their differences cancel; over features in f32
    /// until that has cost as much as f64 would have.
    #[must_use]
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self { device, band: Band::Proved, precision: None }
    }

    /// The same in one type for everything.
    #[must_use]
    pub fn with_precision(mut self, precision: Option<Precision>) -> Self {
        self.precision = precision;
        self
    }

    /// The same with another band, for tests of the contract.
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

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, Error> {
        let spec = match basis {
            Basis::Table(table) => TableSpec::Features(table),
            Basis::Gram(gram) => TableSpec::Gram(gram.as_ref()),
            Basis::Own(n_points) => TableSpec::Own(*n_points),
        };
        if let Basis::Gram(gram) = basis
            && gram.dense_column(0).is_none()
            && gram.form().is_none()
        {
            return Err(Error::Device {
                problem: format!(
                    "a covariance of {} points is neither a table nor a formula that devices evaluate",
                    gram.n_points()
                ),
                hint: "use `--backend cpu`: the answers are the same".to_owned(),
            });
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

/// What all screens over a basis share.
pub struct BatchedShared {
    /// What scores are linear in.
    pub basis: Basis,
    /// Its magnitudes.
    pub scale: Arc<Scale>,
    /// Tables in the type that screens start in.
    pub tables: Box<dyn Tables>,
    /// Tables in f64, made when the first screen goes on in it; `None` within where there is no room.
    doubled: OnceLock<Option<Box<dyn Tables>>>,
    /// Where screens may go on in f64.
    device: Option<Arc<dyn Device>>,
    /// How wide the band is.
    pub band: Band,
    /// The type that screens start in.
    pub precision: Precision,
}

impl BatchedShared {
    /// Sizes, where screens over features may go on in f64.
    pub fn doubles(&self) -> Option<MemorySizes> {
        let Basis::Table(table) = &self.basis else { return None };
        self.device.is_some().then_some(MemorySizes { n: table.n_points, m: table.n_features })
    }

    /// Tables in f64; `None` where the device has no room for them.
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
        IN_FLIGHT * self.0.tables.most_lanes()
    }

    fn batch(&self, _update_kind: UpdateKind) -> usize {
        (IN_FLIGHT * self.0.tables.most_lanes()).clamp(1, MOST_IN_BATCH)
    }

    fn in_flight(&self) -> usize {
        IN_FLIGHT
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        let shared = Arc::clone(&self.0);
        let on_device = shared.tables.lanes(n_trials);
        Box::new(BatchedScreen::new(shared, on_device, n_trials))
    }
}
