//! Lists the mechanisms for running sums.

use super::{SumsEntry, joint, local, none};

/// Mechanisms for running sums (joint privacy) and for each user's own items (local privacy).
pub static SUMS: &[SumsEntry] =
    &[none::ENTRY, joint::ENTRIES[0], joint::ENTRIES[1], joint::ENTRIES[2], joint::ENTRIES[3], local::ENTRY];
