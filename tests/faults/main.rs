//! Kills and refused file operations, one at a time, at every file operation of every command that writes.
//!
//! A sample runs in continuous integration; `PRIVATEER_FAULTS=all` runs every case. `docs/files.md` says what each state on disk means.

mod campaign;
mod flips;
mod folders;
#[path = "../it/problems.rs"]
mod problems;
mod releases;
mod shim;
mod spends;
