//! Defines the planned work of a slot in a round.

use crate::device::{Start, Visit};
use privateer_gp::score::Factor;

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

/// A reset of a slot, with its data.
pub enum OwnedStart<'a> {
    Keep,
    Prior,
    Upload(Vec<f64>, Vec<f64>),
    Factor(Factor<'a>),
}

/// A slot's part of a round, with its data.
pub struct SlotPlan<'a> {
    /// The reset, step 1 of a round.
    pub start: OwnedStart<'a>,
    /// The observation, step 2 of a round.
    pub visit: Option<Visit<'a>>,
}

impl OwnedStart<'_> {
    /// Returns the form that the device accepts.
    pub fn borrowed(&self) -> Start<'_> {
        match self {
            Self::Keep => Start::Keep,
            Self::Prior => Start::Prior,
            Self::Upload(mean, variance) => Start::Upload { mean, variance },
            Self::Factor(factor) => Start::Factor(factor),
        }
    }
}

/// Returns the largest magnitude; NaN if a value is NaN.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| if value.is_nan() { f64::NAN } else { most.max(value.abs()) })
}
