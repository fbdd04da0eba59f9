//! Bookkeeping of the observations of a posterior that a scoring backend has not yet applied.

use super::streak::StreakUpdate;
use crate::score::Change;

/// Records what changed in a posterior since a backend last read the change.
#[derive(Debug, Clone, Default)]
pub struct PendingChange {
    last: Option<StreakUpdate>,
    /// Coefficients of the last observation's streak over the basis.
    row: Vec<f64>,
    /// Number of observations that the backend has not yet applied.
    pending: u32,
    /// Whether the backend knows the row of the current streak; repeated plays then omit it.
    row_known: bool,
    rebuilt: bool,
}

impl PendingChange {
    /// Records one more observation, whose streak has these coefficients over the basis.
    pub fn observed(&mut self, observed: &StreakUpdate, row: &[f64]) {
        if !observed.repeated {
            self.row.clear();
            self.row.extend_from_slice(row);
        }
        self.row_known &= observed.repeated;
        self.last = Some(*observed);
        self.pending += 1;
    }

    /// Records a rebuild after the last observation; the next observation starts a streak.
    pub fn rebuilt(&mut self) {
        self.rebuilt = true;
    }

    /// Records that a backend has applied every pending change.
    pub fn taken(&mut self) {
        // The backend applies several pending observations from the model, so it knows the row only after a single one.
        self.row_known |= self.pending == 1;
        self.pending = 0;
        self.rebuilt = false;
    }

    pub fn get(&self) -> Change<'_> {
        match (self.pending, self.last) {
            (0, _) => Change::None,
            (1, Some(StreakUpdate { scale, mean_step, .. })) => {
                Change::Row { row: &self.row, scale, mean_step, repeated: self.row_known, rebuilt: self.rebuilt }
            }
            _ => Change::Rebuild,
        }
    }
}
