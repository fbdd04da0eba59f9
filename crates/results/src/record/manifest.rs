//! Defines the manifest, which states what was run and by which program.

use super::sealed_text::{SealedWriter, is_sealed_file};
use super::stored_cells::LinesFormatter;
use super::whole_file::write_with;
use super::{CellInfo, FOLDER_VERSION, PartHeader, PartId, Trace, disk, is_sealed, read_part, stored_cells};
use privateer_config::error::Error;
use privateer_config::facts::FactValue;
use privateer_engine::engine::parts;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Serializer;
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

pub(super) const FILE_NAME: &str = "manifest.json";
/// What to do about a fault of this program.
pub(super) const PROGRAM_FAULT: &str = "this is a fault of the program; please report it with the spec";
const HINT: &str = "restore the file, or delete the folder and run the sweep again";

/// Everything about a run that is not in its parts and follows from spec, data and program alone.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Manifest {
    /// Version of the folder's layout: [`FOLDER_VERSION`].
    pub schema_version: u32,
    /// Version of the program that wrote this file.
    pub program_version: String,
    /// Hash of the resolved spec ([`super::hash_text`]).
    pub spec_hash: String,
    /// The spec's name, as a title.
    pub spec_name: String,
    /// The seed, as text: a JSON number could lose digits.
    pub seed: String,
    /// The environment in a few words.
    pub environment_summary: String,
    /// Trials of each cell.
    pub trials: u32,
    /// Rounds of each trial.
    pub rounds: u32,
    /// Trials of each part (the last one may have fewer).
    pub block: u32,
    /// Parts of each cell.
    pub n_blocks: u32,
    /// Number of consecutive cells of a part; the last part may have fewer.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub cells_a_part: u32,
    /// Which rounds are recorded, in words.
    pub recorded: String,
    /// The resolved spec, as TOML.
    pub spec_text: String,
    /// The cells, in canonical order.
    #[serde(with = "stored_cells")]
    pub cells: Vec<CellInfo>,
    /// Learning rates that validation data have chosen, by cell: further runs of the sweep read them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tuned_rates: BTreeMap<u32, f64>,
}

/// What a manifest says of its parts, without the cells themselves.
#[derive(Deserialize)]
pub(super) struct ManifestHead {
    pub(super) schema_version: u32,
    pub(super) program_version: String,
    pub(super) spec_hash: String,
    n_blocks: u32,
    #[serde(default = "one")]
    cells_a_part: u32,
    cells: CellCount,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(count: &u32) -> bool {
    *count == 1
}

#[derive(Deserialize)]
struct CellCount {
    list: Vec<IgnoredAny>,
}

impl ManifestHead {
    /// Reads the head of `manifest.json`; `None` where the file is not there, or not as it was written.
    pub(super) fn load(out: &Path) -> Option<Self> {
        let bytes = disk::read(&Manifest::path(out), "read the manifest").ok()?;
        let text = String::from_utf8(bytes).ok().filter(|text| is_sealed(text, None))?;
        serde_json::from_str(&text).ok()
    }

    /// Returns all parts of the sweep, in canonical order.
    pub(super) fn parts(&self) -> impl ExactSizeIterator<Item = PartId> {
        parts(self.cells.list.len(), self.n_blocks, self.cells_a_part).map(|(cell, block)| PartId { cell, block })
    }
}

/// The version of a manifest of any layout.
#[derive(Deserialize)]
struct Layout {
    #[serde(default)]
    schema_version: FactValue,
}

impl Manifest {
    /// Writes `manifest.json` whole, with its own digest at the end.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses.
    pub fn save(&self, out: &Path) -> Result<(), Error> {
        let path = Self::path(out);
        write_with(&path, "write the manifest", |file| {
            let mut sealed = SealedWriter::new(file);
            self.serialize(&mut Serializer::with_formatter(&mut sealed, LinesFormatter::new()))?;
            sealed.finish().map(drop)
        })
    }

    /// Reads `manifest.json`.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read, [`Error::Corrupt`] where it is not a manifest, of another layout or not the text that was
    /// written.
    pub fn load(out: &Path) -> Result<Self, Error> {
        let path = Self::path(out);
        let corrupt = |problem: String| Error::corrupt(&path, problem, HINT);
        if let Some(manifest) = Self::load_sealed(&path) {
            manifest.check_counts().map_err(corrupt)?;
            return Ok(manifest);
        }
        // Something is wrong with it.
        let bytes = disk::read(&path, "read the manifest")?;
        let text = String::from_utf8(bytes).map_err(|_| corrupt("is not a text file".to_owned()))?;
        // The version first: another layout may lack or rename any other field.
        let Layout { schema_version: version } =
            serde_json::from_str(&text).map_err(|source| corrupt(format!("is not valid JSON ({source})")))?;
        match version {
            FactValue::Whole(version) if version == u64::from(FOLDER_VERSION) => {}
            FactValue::Whole(version) => {
                let hint = if u64::from(FOLDER_VERSION) < version {
                    "use the program that wrote it, or a newer one"
                } else {
                    "read it with the program that wrote it (`program_version` in the file), or run the spec again into a new folder"
                };
                let problem = format!("has schema version {version}; this program reads version {FOLDER_VERSION}");
                return Err(Error::corrupt(&path, problem, hint));
            }
            _ => return Err(corrupt("has no `schema_version`".to_owned())),
        }
        if !is_sealed(&text, None) {
            return Err(corrupt("is not the file that was written: its SHA-256 is not the one at its end".to_owned()));
        }
        let manifest: Self = serde_json::from_str(&text).map_err(|source| corrupt(format!("is not a manifest ({source})")))?;
        manifest.check_counts().map_err(corrupt)?;
        Ok(manifest)
    }

    /// Reads a manifest as it was written, of this version; `None` for every other file. The text of many cells is not in memory whole.
    fn load_sealed(path: &Path) -> Option<Self> {
        let mut file = disk::open(path).ok()?;
        if disk::MOST_BYTES < file.metadata().ok()?.len() || !is_sealed_file(&mut file).ok()? {
            return None;
        }
        let manifest: Self = serde_json::from_reader(BufReader::with_capacity(1 << 16, file)).ok()?;
        (manifest.schema_version == FOLDER_VERSION).then_some(manifest)
    }

    /// Counts that do not hang together would ask for memory or time that no run of this program needs.
    fn check_counts(&self) -> Result<(), String> {
        if self.block == 0 || self.n_blocks != self.trials.div_ceil(self.block) {
            return Err(format!("states {} blocks for {} trials in blocks of {}", self.n_blocks, self.trials, self.block));
        }
        let may_share = self.n_blocks == 1 && (1..=self.cells.len()).contains(&(self.cells_a_part as usize));
        if self.cells_a_part != 1 && !may_share {
            let (n_cells, n_blocks) = (self.cells.len(), self.n_blocks);
            return Err(format!("states parts of {} cells for {n_cells} cells in {n_blocks} blocks", self.cells_a_part));
        }
        match self.cells.iter().enumerate().find(|(place, cell)| *place as u64 != u64::from(cell.cell)) {
            Some((place, cell)) => Err(format!("has cell {} in place {place}", cell.cell)),
            None => Ok(()),
        }
    }

    /// Reads the rows of each cell of a part of the sweep from its folder.
    ///
    /// # Errors
    /// Those of [`read_part`], and [`Error::Corrupt`] where the part is of another spec or cell.
    pub fn read_part(&self, out: &Path, id: PartId) -> Result<Vec<Trace>, Error> {
        self.read_cells(out, id, self.cells_of(id).len())
    }

    /// Reads a part of this number of cells, for a caller that has taken the cells out.
    pub(crate) fn read_cells(&self, out: &Path, id: PartId, n_cells: usize) -> Result<Vec<Trace>, Error> {
        let path = id.path(out);
        let (header, rows) = read_part(&path, self.most_rows())?;
        self.check_header(&path, id, n_cells, &header)?;
        Ok(rows)
    }

    /// Returns the largest number of rows of a part: trials of a block times rounds times cells.
    pub(super) fn most_rows(&self) -> u64 {
        let of_cell = u64::from(self.block.min(self.trials)) * u64::from(self.rounds);
        of_cell.saturating_mul(self.cells_a_part.into())
    }

    /// Refuses a part of another spec or of other cells.
    pub(super) fn check_header(&self, path: &Path, id: PartId, n_cells: usize, header: &PartHeader) -> Result<(), Error> {
        let problem = if header.spec_hash != self.spec_hash {
            "is of another spec".to_owned()
        } else if header.id != id {
            format!("holds {}", header.id)
        } else if header.n_cells as usize != n_cells {
            format!("holds {} cells in place of {n_cells}", header.n_cells)
        } else {
            return Ok(());
        };
        Err(Error::corrupt(path, problem, "delete the file and run the same command again"))
    }

    /// Returns where the manifest lies in an output folder.
    pub fn path(out: &Path) -> PathBuf {
        out.join(FILE_NAME)
    }

    /// Whether a part belongs to the sweep.
    pub fn has(&self, id: PartId) -> bool {
        (id.cell as usize) < self.cells.len() && id.cell == self.first_of_part(id.cell) && id.block < self.n_blocks
    }

    /// Returns the first cell of the parts that hold a cell.
    pub fn first_of_part(&self, cell: u32) -> u32 {
        cell - cell % self.cells_a_part.max(1)
    }

    /// Returns the cells of a part of the sweep.
    pub fn cells_of(&self, id: PartId) -> &[CellInfo] {
        let cells = self.cells.get(id.cell as usize..).unwrap_or_default();
        &cells[..cells.len().min(self.cells_a_part as usize)]
    }

    /// Returns all parts of the sweep, in canonical order.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = PartId> + use<> {
        parts(self.cells.len(), self.n_blocks, self.cells_a_part).map(|(cell, block)| PartId { cell, block })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::{hash_text, seal_text};
    use super::*;
    use crate::record::cell_tests::cell;
    use std::fs;

    /// Returns a manifest of `cells`, 4 trials in 2 blocks of 2, 50 rounds.
    pub(crate) fn manifest(cells: Vec<CellInfo>) -> Manifest {
        Manifest {
            schema_version: FOLDER_VERSION,
            program_version: "0.1.0".to_owned(),
            spec_hash: hash_text("spec"),
            spec_name: "invented".to_owned(),
            seed: "18446744073709551615".to_owned(),
            environment_summary: "rkhs".to_owned(),
            trials: 4,
            rounds: 50,
            block: 2,
            n_blocks: 2,
            cells_a_part: 1,
            recorded: "every round".to_owned(),
            spec_text: "seed = 7\n".to_owned(),
            cells,
            tuned_rates: BTreeMap::new(),
        }
    }

    #[test]
    fn newer_and_broken_manifests_say_so() {
        let folder = tempfile::tempdir().expect("a folder");
        for (text, part) in [
            ("{\"schema_version\": 7}", "schema version 7; this program reads version 5"),
            ("{\"schema_version\": 1}", "schema version 1; this program reads version 5"),
            ("{\"schema_version\": 5}", "is not the file that was written"),
            (&seal_text("{\"schema_version\": 5}", None), "is not a manifest"),
            ("{}", "no `schema_version`"),
            ("{", "is not valid JSON"),
        ] {
            fs::write(Manifest::path(folder.path()), text).expect("written");
            let error = Manifest::load(folder.path()).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        manifest(vec![cell(0, "a", 0.1)]).save(folder.path()).expect("saved");
        let whole = fs::read(Manifest::path(folder.path())).expect("bytes");
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(Manifest::path(folder.path()), flipped).expect("written");
            assert!(matches!(Manifest::load(folder.path()), Err(Error::Corrupt { .. })), "bit {bit}");
        }
    }

    #[test]
    fn counts_that_do_not_hang_together_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let sound = manifest(vec![cell(0, "a", 0.1)]);
        for (wrong, said) in [
            (Manifest { n_blocks: u32::MAX, ..sound.clone() }, "states 4294967295 blocks"),
            (Manifest { block: 0, ..sound.clone() }, "in blocks of 0"),
            (Manifest { cells_a_part: 0, ..sound.clone() }, "states parts of 0 cells"),
            (Manifest { cells_a_part: 2, ..sound.clone() }, "states parts of 2 cells for 1 cells in 2 blocks"),
            (Manifest { cells: vec![cell(7, "a", 0.1)], ..sound }, "has cell 7 in place 0"),
        ] {
            wrong.save(folder.path()).expect("saved");
            let error = Manifest::load(folder.path()).expect_err(said).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
