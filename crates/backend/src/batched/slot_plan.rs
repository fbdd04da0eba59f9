//! Defines the planned work of a slot in a round.

use crate::device::{Start, Visit};

/// Path that answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotTask {
    /// The device; `from_factor` if its slot was reset to a factor.
    Device { from_factor: bool },
    /// The prior alone.
    Prior,
    /// Exact scores of every point, because the numbers do not fit the device's type.
    Scan,
}

/// A slot's part of a round.
pub struct SlotPlan<'a> {
    /// The reset, step 1 of a round.
    pub start: Start<'a>,
    /// The observation, step 2 of a round.
    pub visit: Option<Visit<'a>>,
}

/// Returns the largest magnitude; NaN if a value is NaN.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| if value.is_nan() { f64::NAN } else { most.max(value.abs()) })
}
