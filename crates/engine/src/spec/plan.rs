//! Holds the checked sweep: every cell with its parsed environment, privacy and policy.

use super::cell::{CellPlan, Role};
use super::{Misleading, Recorded};
use privateer_config::input::Input;
use std::sync::Arc;

/// What a spec file is: the largest that is known has some ten kilobytes.
pub const SPEC_FILE: Input<'static> =
    Input { most_bytes: 1 << 20, ..Input::small("spec", "a spec in TOML; ready ones are in `examples/`") };

/// Holds a spec that has been read, expanded and checked.
#[derive(Clone)]
pub struct Sweep {
    /// Name shown on the report; by default the file's name.
    pub name: String,
    /// Seed of all streams.
    pub seed: u64,
    /// Number of trials of every cell.
    pub trials: u64,
    /// Number of trials of one part.
    pub block: u64,
    /// The rounds that are recorded.
    pub recorded: Recorded,
    /// Number of replays of each side in an audit of the run; `None` without an audit.
    pub audit: Option<u64>,
    /// Whether the released parameters of private models are stored.
    pub parameters: bool,
    /// The kinds of misleading settings that the spec means.
    pub accepted: Vec<Misleading>,
    /// Largest size of one shared table or of one trial, in bytes.
    pub memory_bytes: f64,
    /// Cells in canonical order: sweep points in the order of the spec, policies inside; then the references.
    pub cells: Arc<Vec<CellPlan>>,
    /// Number of consecutive cells whose rows share a part file: more than one where cells are many and tiny.
    pub cells_a_part: u32,
    /// The spec after overrides, as canonical TOML.
    pub resolved: String,
    /// SHA-256 of the resolved spec, in hexadecimal.
    pub hash: String,
}

impl Sweep {
    /// Returns the cells that the spec lists; the references that were added to them follow.
    pub fn listed(&self) -> &[CellPlan] {
        &self.cells[..self.cells.partition_point(|cell| cell.role == Role::Listed)]
    }

    /// Returns the first of the cells that share a part file with this one.
    pub fn first_of_part(&self, cell: u32) -> u32 {
        cell - cell % self.cells_a_part.max(1)
    }

    /// Returns the cells that share a part file, of which this is the first.
    pub fn cells_of_part(&self, first: u32) -> &[CellPlan] {
        let first = first as usize;
        &self.cells[first..self.cells.len().min(first + self.cells_a_part.max(1) as usize)]
    }
}
