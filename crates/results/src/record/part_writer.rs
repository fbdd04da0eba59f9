//! Writes the parts of a run in groups: many small parts share the flushes to the disk.

use super::digests::{ListedFile, write_listed};
use super::part::part_bytes;
use super::timings::{self, PartTiming};
use super::{CellInfo, PartId, Trace};
use privateer_config::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest time between two groups; a part that is finished later, or took longer itself, is written at once.
const GROUP: Duration = Duration::from_millis(25);
/// Largest group, in bytes.
const MOST_BYTES: usize = 1 << 22;

/// Writes the parts of one run into its folder. Parts that are not written yet are lost if the process is killed, and written by
/// [`PartWriter::finish`] otherwise.
#[derive(Debug)]
pub struct PartWriter {
    out: PathBuf,
    group: Mutex<PartGroup>,
}

#[derive(Debug)]
struct PartGroup {
    files: Vec<ListedFile>,
    n_bytes: usize,
    timings: String,
    begun: Instant,
}

impl PartWriter {
    /// Creates the writer of the parts of a folder.
    pub fn new(out: &Path) -> Self {
        Self { out: out.to_owned(), group: Mutex::default() }
    }

    /// Adds a part, and writes the group if it is due.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses, and those of [`part_bytes`].
    pub fn add(&self, spec_hash: &str, id: PartId, cells: &[CellInfo], rows: &[Trace], timing: PartTiming) -> Result<(), Error> {
        let bytes = part_bytes(spec_hash, id, cells, rows)?;
        // What took long is not left to wait for the next part.
        let is_small = timing.seconds <= GROUP.as_secs_f64();
        let mut group = self.group();
        group.n_bytes += bytes.len();
        group.files.push(ListedFile { name: id.listed_name(), bytes });
        group.timings.push_str(&timings::line(id, timing));
        if is_small && group.n_bytes <= MOST_BYTES && group.begun.elapsed() <= GROUP {
            return Ok(());
        }
        // Other threads go on with the next group.
        let due = std::mem::take(&mut *group);
        drop(group);
        due.write(&self.out)
    }

    /// Writes the parts that wait.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses.
    pub fn finish(&self) -> Result<(), Error> {
        std::mem::take(&mut *self.group()).write(&self.out)
    }

    fn group(&self) -> MutexGuard<'_, PartGroup> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartGroup {
    fn write(self, out: &Path) -> Result<(), Error> {
        if self.files.is_empty() {
            return Ok(());
        }
        write_listed(out, &self.files, "write the part")?;
        timings::append(out, &self.timings)
    }
}

impl Default for PartGroup {
    fn default() -> Self {
        Self { files: Vec::new(), n_bytes: 0, timings: String::new(), begun: Instant::now() }
    }
}
