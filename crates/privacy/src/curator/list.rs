//! Lists the curators.

use super::{CuratorEntry, input_noise, projection};

/// Mechanisms for the inputs of an outsourced problem.
pub static CURATORS: &[CuratorEntry] = &[input_noise::ENTRY, projection::PROJECTION, projection::ALWAYS_LIFT];
