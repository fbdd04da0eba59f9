//! Implements the backend over a device, its prepared domains and its screens.

use super::lanes::Lanes;
use super::screen::BatchedScreen;
use super::shared::BatchedShared;
use crate::BackendError;
use crate::device::{Device, FunctionEnds, Precision};
use crate::precision::{F64Rate, ScreenedBasis};
use crate::scale::Scale;
use crate::{Ahead, Backend, Band, Domain, Screen, SumEnds, Together, UpdateKind};
use privateer_gp::KernelSum;
use privateer_gp::score::Basis;
use std::sync::{Arc, OnceLock};

/// Screens kept in flight: while one is scored, the trials of the other are updated.
const IN_FLIGHT: usize = 2;

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
            tables: Default::default(),
            starts,
            may_double: self.precision.is_none() && features && rate != F64Rate::Absent,
            band: self.band,
            // One stated type, and another band, are those of screens.
            goes_ahead: self.precision.is_none() && self.band == Band::Proved && self.device.computes_in(Precision::F64),
            rounds: OnceLock::new(),
            cpu: OnceLock::new(),
        };
        if let Err(error) = shared.tables(starts[0]) {
            // Half the bytes may fit.
            if self.precision.is_some() || !features || starts[0] == Precision::F32 {
                return Err(error);
            }
            shared.starts = [Precision::F32; 2];
            shared.tables(Precision::F32)?;
        }
        Ok(Arc::new(Arc::new(shared)))
    }
}

impl Domain for Arc<BatchedShared> {
    fn most_in_batch(&self) -> usize {
        IN_FLIGHT * self.most_slots(UpdateKind::RankOne)
    }

    fn batch(&self, update_kind: UpdateKind) -> usize {
        IN_FLIGHT * self.most_lanes(update_kind)
    }

    fn in_flight(&self) -> usize {
        IN_FLIGHT
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        Box::new(BatchedScreen::alone(Arc::clone(self), n_trials))
    }

    fn open_ahead(&self, n_lanes: usize, n_rounds: u64) -> Option<Arc<Ahead>> {
        self.lanes_ahead(n_lanes, n_rounds)
    }

    fn ends_of(&self, draw: &dyn Fn() -> Option<Vec<Arc<KernelSum>>>) -> Result<Vec<SumEnds>, BackendError> {
        // Features of a covariance are computed for lanes alone.
        let are_there = matches!(self.basis, Basis::Table(_)) || self.rounds.get().is_some();
        let Some(rounds) = are_there.then(|| self.rounds_ahead()).flatten() else { return Ok(Vec::new()) };
        let Some(sums) = draw() else { return Ok(Vec::new()) };
        let found = match rounds.evaluate(&sums) {
            // The screens meet the same device, and say what happened.
            Err(error) if error.can_be_replaced() => return Ok(Vec::new()),
            found => found?,
        };
        let settled = |(sum, ends): (Arc<KernelSum>, Option<FunctionEnds>)| {
            let ends = ends.map(|ends| ends.settled(&sum)).transpose()?;
            Ok((sum, ends))
        };
        sums.into_iter().zip(found).map(settled).collect()
    }

    fn open_on_host(&self) -> Box<dyn Screen> {
        self.cpu().open(1)
    }

    fn lanes(&self, update_kind: UpdateKind) -> Option<usize> {
        Some(self.most_lanes(update_kind))
    }

    fn open_together(&self, sizes: &[usize], update_kind: UpdateKind) -> (Vec<Box<dyn Screen>>, Arc<dyn Together>) {
        let lanes = Arc::new(Lanes::new(Arc::clone(self), sizes.iter().sum(), update_kind));
        let mut first = 0;
        let mut screens: Vec<Box<dyn Screen>> = Vec::with_capacity(sizes.len());
        for &n_trials in sizes {
            screens.push(Box::new(BatchedScreen::of(Arc::clone(self), Arc::clone(&lanes), first, n_trials)));
            first += n_trials;
        }
        (screens, lanes)
    }
}
