//! Lists the mechanisms for single rewards.

use super::{MechanismEntry, duchi, gaussian, hybrid, laplace, none, piecewise, response};

/// Mechanisms for one reward under local differential privacy.
pub static MECHANISMS: &[MechanismEntry] =
    &[none::ENTRY, laplace::ENTRY, duchi::ENTRY, piecewise::ENTRY, hybrid::ENTRY, response::ENTRY, gaussian::ENTRY];
