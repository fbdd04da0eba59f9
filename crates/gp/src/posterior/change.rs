//! Bookkeeping of the observations of a posterior that a scoring backend has not yet applied.

use super::StreakUpdate;
use crate::score::Change;

/// Records what changed in a posterior since a backend last read the change.
#[derive(Debug, Clone, Default)]
pub struct PendingChange {
    last: Option<StreakUpdate>,
    /// Number of observations that the backend has not yet applied.
    pending: u32,
    /// Whether the backend knows the row of the current streak; repeated plays then omit it.
    row_known: bool,
    rebuilt: bool,
}

impl PendingChange {
    /// Records one more observation.
    pub fn observed(&mut self, observed: &StreakUpdate) {
        self.row_known &= observed.repeated;
        self.last = Some(*observed);
        self.pending += 1;
    }

    /// Records a rebuild after the last observation; the next observation starts a streak.
    pub fn rebuilt(&mut self) {
        self.rebuilt = true;
    }

    /// Marks the backend's state as unknown: the backend must start from the model.
    pub fn lost(&mut self) {
        self.pending = 2;
    }

    /// Records that a backend has applied every pending change.
    pub fn taken(&mut self) {
        // The backend applies several pending observations from the model, so it knows the row only after a single one.
        self.row_known |= self.pending == 1;
        self.pending = 0;
        self.rebuilt = false;
    }

    /// Returns the change; `row` holds the coefficients of the current streak over the basis.
    pub fn of<'a>(&self, row: &'a [f64]) -> Change<'a> {
        match (self.pending, &self.last) {
            (0, _) => Change::None,
            (1, Some(last)) => {
                Change::Row { row, scale: last.scale, mean_step: last.mean_step, repeated: self.row_known, rebuilt: self.rebuilt }
            }
            _ => Change::Rebuild,
        }
    }
}
