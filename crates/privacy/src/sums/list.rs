//! Lists the mechanisms for running sums.

use super::{SumsEntry, batch, exponential, joint, local, none, privunit, shuffle};

/// Mechanisms for running sums (joint privacy), each user's own items (local privacy), sums of batches (central and shuffle privacy) and one
/// choice (central privacy).
pub static SUMS: &[SumsEntry] = &[
    none::ENTRY,
    joint::ENTRIES[0],
    joint::ENTRIES[1],
    joint::ENTRIES[2],
    joint::ENTRIES[3],
    joint::ENTRIES[4],
    joint::ENTRIES[5],
    local::ENTRY,
    privunit::ENTRY,
    batch::ENTRIES[0],
    batch::ENTRIES[1],
    shuffle::ENTRY,
    exponential::ENTRY,
];
