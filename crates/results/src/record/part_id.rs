//! Defines parts, the units in which results are stored.

use std::fmt;
use std::path::{Path, PathBuf};

pub(super) const KEY_SCHEMA: &str = "privateer.schema_version";
pub(super) const KEY_SPEC: &str = "privateer.spec_hash";
pub(super) const KEY_CELL: &str = "privateer.cell";
pub(super) const KEY_BLOCK: &str = "privateer.block";
/// Absent where a part holds one cell.
pub(super) const KEY_CELLS: &str = "privateer.cells";
pub(super) const KEY_ROWS: &str = "privateer.rows_sha256";

/// Version of the layout of parts of one cell and of released parameters. A reader refuses what is newer than itself.
pub const SCHEMA_VERSION: u32 = 1;

/// Version of the layout of parts of several cells.
pub const SHARED_SCHEMA_VERSION: u32 = 2;

/// Version of the layout of a results folder and its manifest; 2 added digests, 3 writes equal ledgers and
/// parameters of cells once, 4 keeps what the machine did in `run.json`, 5 lets tiny cells share parts. A reader refuses every other one.
pub const FOLDER_VERSION: u32 = 5;

/// Names one part: a block of trials of one cell, or of several consecutive ones. Ordered by cell, then by block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId {
    /// The cell, or the first of several.
    pub cell: u32,
    /// The block of trials within it, from 0.
    pub block: u32,
}

impl PartId {
    /// Returns the part's file name, such as `c0003-b0001.parquet`.
    pub fn file_name(self) -> String {
        format!("c{:04}-b{:04}.parquet", self.cell, self.block)
    }

    /// Returns the part's name in the list of digests: `cells/c0003-b0001.parquet`.
    pub fn listed_name(self) -> String {
        format!("cells/{}", self.file_name())
    }

    /// Returns where this part lies in an output folder.
    #[must_use]
    pub fn path(self, out: &Path) -> PathBuf {
        out.join("cells").join(self.file_name())
    }

    /// Returns the part that a file name denotes; `None` for any other name.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let (cell, block) = name.strip_suffix(".parquet")?.strip_prefix('c')?.split_once("-b")?;
        let id = Self { cell: cell.parse().ok()?, block: block.parse().ok()? };
        (id.file_name() == name).then_some(id)
    }
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cell {} block {}", self.cell, self.block)
    }
}

/// States what a part says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartHeader {
    /// Hash of the resolved spec.
    pub spec_hash: String,
    /// The part.
    pub id: PartId,
    /// Number of its cells.
    pub n_cells: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_go_there_and_back() {
        let id = PartId { cell: 3, block: 12345 };
        assert_eq!(id.file_name(), "c0003-b12345.parquet");
        assert_eq!(PartId::from_file_name(&id.file_name()), Some(id));
        for foreign in ["c3-b1.parquet", "c0003-b0001.parquet.7.tmp", "x", "c-b.parquet", "c+003-b0001.parquet"] {
            assert_eq!(PartId::from_file_name(foreign), None, "{foreign}");
        }
    }
}
