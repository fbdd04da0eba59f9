//! Lists the mechanisms for single rewards.

use super::hybrid::Mixture;
use super::on_window::UnitRandomiser;
use super::warped::Warped;
use super::{MechanismEntry, duchi, gaussian, hybrid, laplace, none, piecewise, response, warped};
use crate::Epsilon;

/// Mechanisms for one reward under local differential privacy.
pub static MECHANISMS: &[MechanismEntry] = &[
    none::ENTRY,
    laplace::ENTRY,
    duchi::ENTRY,
    piecewise::ENTRY,
    hybrid::ENTRY,
    response::ENTRY,
    warped::ENTRY,
    gaussian::ENTRY,
];

/// Returns the name of the pure mechanism for one reward with the least variance at its worst input.
pub fn of_least_variance(epsilon: Epsilon) -> &'static str {
    // At the smallest epsilon both are one bit, but for a rounding.
    let is_less = Warped::new(epsilon).variance() < (1.0 - 1e-9) * Mixture::new(epsilon).variance();
    if is_less { warped::ENTRY.name } else { hybrid::ENTRY.name }
}
