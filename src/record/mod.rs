//! What a run leaves on disk: one immutable Parquet part per block of trials of a cell, a manifest, the resolved spec,
//! timings; opening such a folder to resume, and merging the folders of shards.
//!
//! A file is written aside, flushed to the disk and renamed, so that a part either is whole or is not there. Parts hold
//! nothing of the machine: the same spec gives the same bytes wherever and however often it was stopped. What a machine
//! knows (time, backend, threads) goes to the manifest and to `timings.csv`.
//!
//! **Not here:** running anything, aggregating anything. This room neither knows a policy nor computes a mean.

mod aside;
mod cell;
mod columns;
mod folder;
mod manifest;
mod merge;
mod parameters;
mod part;
mod part_read;
mod state_file;
mod timings;

pub(crate) use aside::write_whole;
pub use cell::{CellInfo, Measures, PartHeader, PartId, PartRows, SCHEMA_VERSION, unify_swept};
pub use folder::{Folder, Opened};
pub use manifest::{Manifest, hash_bytes, hash_text};
pub use merge::merge;
pub use parameters::{Parameters, TrialParameters};
pub use part::{remove_part, write_part};
pub use part_read::{check_part, read_part};
pub use state_file::StateFile;
pub use timings::append_timing;
