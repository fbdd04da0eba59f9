//! Holds what the screens of a domain share.

use super::ledger::MemorySizes;
use crate::device::{Device, Precision, Tables};
use crate::scale::Scale;
use crate::{BackendError, Band, UpdateKind};
use privateer_gp::score::Basis;
use std::sync::{Arc, OnceLock};

/// Largest number of trials in a submission: a submission costs some 30 µs of the host, 0.03 µs a trial.
const MOST_LANES: usize = 1024;

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
}

impl BatchedShared {
    /// Returns how many lanes a submission should have at most.
    pub(super) fn most_lanes(&self) -> usize {
        self.most_slots().clamp(1, MOST_LANES)
    }

    pub(super) fn most_slots(&self) -> usize {
        self.tables(self.starts[0]).map_or(1, Tables::most_slots)
    }

    pub fn start(&self, update_kind: UpdateKind) -> Precision {
        self.starts[usize::from(update_kind == UpdateKind::Full)]
    }

    /// Returns the sizes, if screens of a type over features may move to f64.
    pub fn doubles(&self, precision: Precision) -> Option<MemorySizes> {
        let Basis::Table(table) = &self.basis else { return None };
        (self.may_double && precision == Precision::F32).then_some(MemorySizes { n: table.n_points, m: table.n_features })
    }

    /// Returns the tables in a type.
    pub fn tables(&self, precision: Precision) -> Result<&dyn Tables, BackendError> {
        let made = self.tables[precision as usize].get_or_init(|| self.device.tables(&self.basis, precision));
        made.as_ref().map(AsRef::as_ref).map_err(Clone::clone)
    }
}
