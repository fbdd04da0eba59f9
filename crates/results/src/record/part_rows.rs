//! Puts the rows of cells together to those of parts: tiny cells share a part.

use super::{Manifest, PartId, Trace};
use privateer_backend::Counters;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Holds the rows of parts some of whose cells are not finished yet.
#[derive(Debug, Default)]
pub struct PartRows(Mutex<BTreeMap<PartId, FinishedCells>>);

/// Rows, seconds and counters of cells.
type FinishedCells = BTreeMap<u32, (Trace, f64, Counters)>;

/// A part, all of whose cells are finished.
#[derive(Debug)]
pub struct FinishedPart {
    /// The part.
    pub id: PartId,
    /// The rows of each cell.
    pub rows: Vec<Trace>,
    /// Seconds of all cells.
    pub seconds: f64,
    /// Counters of all cells.
    pub counters: Counters,
}

impl PartRows {
    /// Adds a block of trials of a cell; returns its part if that was the last cell.
    pub fn add(
        &self,
        manifest: &Manifest,
        (cell, block): (u32, u32),
        rows: Trace,
        seconds: f64,
        counters: &Counters,
    ) -> Option<FinishedPart> {
        let id = PartId { cell: manifest.first_of_part(cell), block };
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cells = open.entry(id).or_default();
        cells.insert(cell, (rows, seconds, *counters));
        if cells.len() < manifest.cells_of(id).len() {
            return None;
        }
        let cells = open.remove(&id)?;
        drop(open);
        let mut part = FinishedPart { id, rows: Vec::with_capacity(cells.len()), seconds: 0.0, counters: Counters::default() };
        for (rows, seconds, counters) in cells.into_values() {
            part.rows.push(rows);
            part.seconds += seconds;
            part.counters.add(&counters);
        }
        Some(part)
    }
}
