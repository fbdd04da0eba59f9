//! Holds what the screens of a domain share.

use super::ledger::MemorySizes;
use crate::device::whole::MOST_STREAKS;
use crate::device::{Device, DeviceRounds, LoopDomain, Precision, Tables};
use crate::scale::Scale;
use crate::{Ahead, BackendError, Band, Cpu, Domain, UpdateKind};
use privateer_gp::score::Basis;
use std::sync::{Arc, OnceLock};

/// Largest number of trials in a submission: a submission costs some 30 µs of the host, 0.03 µs a trial.
const MOST_LANES: usize = 1024;

/// Largest domain over which lanes play whole rounds: each holds five numbers in f64 of every point.
const MOST_POINTS_AHEAD: usize = 1 << 16;

/// Data that all screens over a basis share.
pub struct BatchedShared {
    /// Basis functions in which scores are linear.
    pub basis: Basis,
    pub scale: Arc<Scale>,
    pub(super) device: Arc<dyn Device>,
    /// Tables in f32 and in f64, created when a first screen needs them.
    pub(super) tables: [OnceLock<Result<Box<dyn Tables>, BackendError>>; 2],
    /// Types in which screens start, for rank-one updates and for whole new models.
    pub(super) starts: [Precision; 2],
    /// Whether screens in f32 may move to f64.
    pub(super) may_double: bool,
    pub band: Band,
    /// Whether the device may play whole rounds, and the basis for that, stored at first use.
    pub(super) goes_ahead: bool,
    pub(super) rounds: OnceLock<Option<Box<dyn DeviceRounds>>>,
    /// For rounds that lanes leave to the host.
    pub(super) cpu: OnceLock<Arc<dyn Domain>>,
}

impl BatchedShared {
    /// Returns the basis for lanes that play whole rounds; `None` where the device screens every round.
    pub(super) fn rounds_ahead(&self) -> Option<&dyn DeviceRounds> {
        if !self.goes_ahead || MOST_POINTS_AHEAD < self.basis.n_points() {
            return None;
        }
        let stored = || {
            let domain = LoopDomain::new(&self.basis)?;
            self.device.rounds(Arc::new(domain)).ok().flatten()
        };
        self.rounds.get_or_init(stored).as_deref()
    }

    /// Opens lanes that play whole rounds; where they do not fit, the device screens every round.
    pub(super) fn lanes_ahead(&self, n_lanes: usize, n_rounds: u64) -> Option<Arc<Ahead>> {
        let rounds = self.rounds_ahead()?;
        let n_streaks = usize::try_from(n_rounds).unwrap_or(usize::MAX).clamp(1, MOST_STREAKS);
        let lanes = rounds.lanes(n_lanes, n_streaks).ok().flatten()?;
        Some(Arc::new(Ahead::new(lanes)))
    }

    pub(super) fn cpu(&self) -> &Arc<dyn Domain> {
        self.cpu.get_or_init(|| Cpu::default().domain(&self.basis))
    }

    /// Returns how many lanes a submission should have at most.
    pub(super) fn most_lanes(&self, update_kind: UpdateKind) -> usize {
        self.most_slots(update_kind).clamp(1, MOST_LANES)
    }

    pub(super) fn most_slots(&self, update_kind: UpdateKind) -> usize {
        self.tables(self.start(update_kind)).map_or(1, |tables| tables.most_slots(update_kind))
    }

    pub fn start(&self, update_kind: UpdateKind) -> Precision {
        self.starts[usize::from(update_kind == UpdateKind::Full)]
    }

    /// Returns the sizes, if screens of a type over features may move to f64.
    pub fn doubles(&self, precision: Precision) -> Option<MemorySizes> {
        let Basis::Table(table) = &self.basis else { return None };
        (self.may_double && precision == Precision::F32).then_some(MemorySizes { n: table.n_points, m: table.n_features })
    }

    pub fn tables(&self, precision: Precision) -> Result<&dyn Tables, BackendError> {
        let made = self.tables[precision as usize].get_or_init(|| self.device.tables(&self.basis, precision));
        made.as_ref().map(AsRef::as_ref).map_err(Clone::clone)
    }
}
