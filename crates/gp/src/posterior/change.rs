//! What a backend has not yet taken of a posterior's observations.

use super::Observed;
use crate::score::Change;

/// The change since a backend last took one.
#[derive(Debug, Clone, Default)]
pub struct PendingChange {
    last: Option<Observed>,
    /// Observations not yet taken.
    pending: u32,
    /// The row of the open streak has been taken, so a repetition need not say it again.
    row_known: bool,
    rebuilt: bool,
}

impl PendingChange {
    /// One more observation.
    pub fn observed(&mut self, observed: &Observed) {
        self.row_known &= observed.repeated;
        self.last = Some(*observed);
        self.pending += 1;
    }

    /// The state was rebuilt after the last observation; the next one starts a new streak.
    pub fn rebuilt(&mut self) {
        self.rebuilt = true;
    }

    /// Nothing is known of what was taken: a backend must start from the model.
    pub fn lost(&mut self) {
        self.pending = 2;
    }

    /// A backend has taken everything.
    pub fn taken(&mut self) {
        // More than one observation at once was taken from the model, not by its row.
        self.row_known |= self.pending == 1;
        self.pending = 0;
        self.rebuilt = false;
    }

    /// The change, for a model whose open streak has these coefficients over the basis.
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
