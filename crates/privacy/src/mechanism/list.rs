//! Lists the mechanisms for single rewards.

use super::{MechanismEntry, duchi, gaussian, hybrid, laplace, none, piecewise, response};
use crate::Epsilon;

/// Mechanisms for one reward under local differential privacy.
pub static MECHANISMS: &[MechanismEntry] =
    &[none::ENTRY, laplace::ENTRY, duchi::ENTRY, piecewise::ENTRY, hybrid::ENTRY, response::ENTRY, gaussian::ENTRY];

/// Returns the name of the pure mechanism for one reward with the least variance at its worst input.
pub fn of_least_variance(epsilon: Epsilon) -> &'static str {
    // Two levels are the bit of `hybrid` at a small epsilon, with another rounding.
    let is_less = response::worst_case(epsilon) < (1.0 - 1e-9) * hybrid::worst_case(epsilon);
    if is_less { response::ENTRY.name } else { hybrid::ENTRY.name }
}
