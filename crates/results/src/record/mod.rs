//! What a run leaves on disk: one immutable Parquet part per block of trials of a cell (or of several tiny ones), a manifest, the resolved spec,
//! timings; opening such a folder to resume, and merging the folders of shards.
//!
//! A file is written under a temporary name, flushed to the disk and renamed, so that a part either is whole or is not there, and
//! its SHA-256 is listed beside the manifest, so that a part that was altered later is noticed. Parts hold
//! nothing of the machine: the same spec gives the same bytes wherever and however often it was stopped. What a machine
//! knows (time, backend, threads, counts) goes to `run.json` and to `timings.csv`, which have no digest.
//!
//! **Not here:** running anything, aggregating anything. This room neither knows a policy nor computes a mean.

#[cfg(test)]
mod cell_tests;
mod columns;
mod digests;
mod disk;
#[cfg(feature = "fault-injection")]
mod fault;
mod folder;
mod hash;
mod in_use;
mod manifest;
mod merge;
mod parameters;
mod part;
mod part_id;
mod part_read;
mod part_rows;
mod part_writer;
mod run_record;
mod sealed_text;
mod shares;
mod stored_cells;
mod timings;
mod verify;
mod whole_file;
mod written_rows;

#[cfg(test)]
pub(crate) use cell_tests::{cell as test_cell, ledger as test_ledger, resolved};
pub use columns::part_columns;
pub use digests::{DIGESTS_NAME, DigestList, FileState, ListedFile, read_listed, remove_listed, rewrite_listed, write_listed};
pub use folder::{Folder, OpenedFolder, SPEC_NAME, remove_unfinished};
pub use hash::{hash_bytes, hash_text};
pub use in_use::{once_free, wait_at_most};
pub use manifest::Manifest;
#[cfg(test)]
pub(crate) use manifest::tests::manifest as test_manifest;
pub use merge::merge;
pub use parameters::{Parameters, TrialParameters};
pub use part::{part_bytes, write_part};
pub use part_id::{FOLDER_VERSION, PartHeader, PartId, SCHEMA_VERSION, SHARED_SCHEMA_VERSION};
pub use part_read::{check_part, read_part};
pub use part_rows::{FinishedPart, PartRows};
pub use part_writer::PartWriter;
pub use privateer_engine::engine::{
    ByText, CellInfo, CellLedger, GroupedWarnings, Measures, Quantity, Role, Trace, grouped_warnings, is_privacy_key,
};
pub use run_record::{Count, RunRecord};
pub use sealed_text::{is_sealed, seal_text};
pub use shares::shares_in;
pub use timings::{DeviceFigures, FILE_NAME as TIMINGS_NAME, PartTiming};
pub use verify::{Verification, compare_file, verify};
pub use whole_file::{Leftover, PreparedFile, remove_file, remove_leftovers_of, unfinished_of, write_pieces, write_whole};
pub use written_rows::WrittenRows;
