//! Reads which share of a sweep a command is for.

use crate::engine::{Shard, UnitList};

/// Reads `I/N`.
pub(super) fn shard(text: &str) -> Result<Shard, String> {
    text.parse::<Shard>().map_err(|diagnostic| diagnostic.to_string().replace("error: ", "").replace('\n', "; "))
}

/// Reads `a-b,c`.
pub(super) fn unit_list(text: &str) -> Result<UnitList, String> {
    text.parse::<UnitList>().map_err(|diagnostic| diagnostic.to_string().replace("error: ", "").replace('\n', "; "))
}
