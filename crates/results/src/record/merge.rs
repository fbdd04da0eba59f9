//! Merges the folders of shards into one.

use super::folder::PartsFound;
use super::hash::hash_of;
use super::{DigestList, Folder, ListedFile, Manifest, Parameters, PartId, RunRecord, disk, once_free, timings, write_listed};
use privateer_config::error::{Diagnostic, Error};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most copies that are held before they are written: files, and bytes. A flush costs more than a small file.
const MOST_FILES: usize = 256;
const MOST_BYTES: usize = 32 << 20;

/// How many missing parts a message names before it only counts.
const N_NAMED: usize = 8;

/// Copies the parts of all `inputs` into `out`, which becomes the folder of a whole run. Parts already in `out` count.
///
/// # Errors
/// [`Error::Incomplete`] naming the parts that are in no folder, [`Error::Folder`] where the folders are of different
/// specs, [`Error::Corrupt`] where two folders hold different versions of a part, [`Error::Input`] without inputs.
pub fn merge(inputs: &[PathBuf], out: &Path) -> Result<(), Error> {
    let Some(first_input) = inputs.first() else {
        return Diagnostic::new("nothing to merge")
            .expected("the folders of the shards")
            .hint("give at least one folder")
            .refuse();
    };
    let first = &Folder::manifest(first_input)?;
    agree(inputs, first)?;
    let mut holders: BTreeMap<PartId, Vec<&PathBuf>> = BTreeMap::new();
    for input in inputs {
        for id in PartsFound::of(input, first)?.unaltered()? {
            holders.entry(id).or_default().push(input);
        }
    }

    let already = if Manifest::path(out).exists() { Folder::existing(out)?.1 } else { BTreeSet::new() };
    complete(first, &holders, &already)?;

    let records: Vec<RunRecord> = inputs.iter().filter_map(|input| RunRecord::of(input)).collect();
    let opened = once_free(Duration::ZERO, || Folder::open(out, first))?;
    if let Some(record) = RunRecord::joined(&records) {
        record.save(out)?;
    }
    let mut copies = Copies { out, files: Vec::new(), n_bytes: 0 };
    for (id, folders) in &holders {
        copy(*id, folders, &opened, &mut copies)?;
    }
    copies.write()?;
    DigestList::sort(out)?;
    let foreign: Vec<&PathBuf> = inputs.iter().filter(|input| !same_folder(input, out)).collect();
    append_timings(&foreign, out)
}

/// All manifests must speak of the same cells; one at a time is in memory, unless it is the file of the first.
fn agree(inputs: &[PathBuf], first: &Manifest) -> Result<(), Error> {
    let digest = |input: &Path| hash_of(disk::open(&Manifest::path(input)).ok()?).ok();
    let known = digest(&inputs[0]);
    for input in &inputs[1..] {
        if known.is_some() && digest(input) == known {
            continue;
        }
        let manifest = Folder::manifest(input)?;
        let refuse = |problem: String, hint: &str| Err(Error::folder(input, problem, hint));
        if manifest.spec_hash != first.spec_hash {
            return refuse(
                format!("is of another spec, `{}`, than `{}`, `{}`", manifest.spec_name, inputs[0].display(), first.spec_name),
                "merge only the shards of one spec",
            );
        }
        let counts = |manifest: &Manifest| (manifest.n_blocks, manifest.cells_a_part);
        if manifest.cells != first.cells || counts(&manifest) != counts(first) {
            return refuse(
                format!(
                    "lists other cells than `{}` (versions {} and {})",
                    inputs[0].display(),
                    manifest.program_version,
                    first.program_version
                ),
                "run all shards with the same version of the program",
            );
        }
    }
    Ok(())
}

fn complete(manifest: &Manifest, holders: &BTreeMap<PartId, Vec<&PathBuf>>, already: &BTreeSet<PartId>) -> Result<(), Error> {
    let total = manifest.parts().len();
    let done = already.iter().chain(holders.keys()).collect::<BTreeSet<_>>().len();
    if done == total {
        return Ok(());
    }
    let missing = manifest.parts().filter(|id| !holders.contains_key(id) && !already.contains(id));
    let mut named = missing.take(N_NAMED).map(|id| id.to_string()).collect::<Vec<_>>().join(", ");
    let n_missing = total - done;
    if N_NAMED < n_missing {
        named += &format!(" and {} more", n_missing - N_NAMED);
    }
    let verb = if n_missing == 1 { "is" } else { "are" };
    Err(Error::Incomplete {
        done,
        total,
        reason: format!("{named} {verb} in no folder"),
        hint: "name the folders of all shards, and finish those that were stopped with the command that started them".to_owned(),
    })
}

/// Files that are flushed to the disk together.
struct Copies<'a> {
    out: &'a Path,
    files: Vec<ListedFile>,
    n_bytes: usize,
}

impl Copies<'_> {
    fn add(&mut self, name: String, bytes: Vec<u8>) {
        self.n_bytes += bytes.len();
        self.files.push(ListedFile { name, bytes });
    }

    fn write(&mut self) -> Result<(), Error> {
        if !self.files.is_empty() {
            write_listed(self.out, &self.files, "write the parts")?;
        }
        self.files.clear();
        self.n_bytes = 0;
        Ok(())
    }
}

/// Takes one part and its released parameters, having compared all copies.
fn copy(id: PartId, folders: &[&PathBuf], opened: &super::OpenedFolder, copies: &mut Copies<'_>) -> Result<(), Error> {
    let out = copies.out;
    let is_in_place = opened.done.contains(&id);
    let all = || folders.iter().map(|folder| folder.as_path()).chain(is_in_place.then_some(out));
    // Released parameters lie beside a part, where the spec asks for them; they are listed before it.
    if let Some(bytes) = agreed(all().map(|folder| Parameters::path(folder, id)).filter(|path| path.exists()))?
        && !(is_in_place && Parameters::path(out, id).exists())
    {
        copies.add(Parameters::listed_name(id), bytes);
    }
    if let Some(bytes) = agreed(all().map(|folder| id.path(folder)))?
        && !is_in_place
    {
        copies.add(id.listed_name(), bytes);
    }
    // Both files of a part go together.
    if MOST_FILES <= copies.files.len() || MOST_BYTES <= copies.n_bytes {
        copies.write()?;
    }
    Ok(())
}

/// Returns the bytes that all files have; `None` where there are no files.
fn agreed(mut paths: impl Iterator<Item = PathBuf>) -> Result<Option<Vec<u8>>, Error> {
    let Some(first) = paths.next() else { return Ok(None) };
    let bytes = disk::read(&first, "read the part")?;
    for path in paths {
        if disk::read(&path, "read the part")? != bytes {
            let hint = "one of the two is altered or from another version of the program: delete it and run that shard again";
            return Err(Error::corrupt(&path, format!("differs from `{}`", first.display()), hint));
        }
    }
    Ok(Some(bytes))
}

fn append_timings(inputs: &[&PathBuf], out: &Path) -> Result<(), Error> {
    for input in inputs {
        // Timings are a convenience; a shard without them merges all the same.
        if let Ok(bytes) = disk::read(&input.join(timings::FILE_NAME), "read the timings") {
            let text = String::from_utf8_lossy(&bytes);
            timings::append_missing(out, text.strip_prefix(timings::HEADER).unwrap_or(&text))?;
        }
    }
    Ok(())
}

fn same_folder(left: &Path, right: &Path) -> bool {
    match (left.canonicalize(), right.canonicalize()) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::super::manifest::tests::manifest;
    use super::super::part::tests::rows;
    use super::super::{PartTiming, write_part};
    use super::*;
    use crate::record::cell_tests::cell;
    use std::fs;

    fn shard(out: &Path, name: &str, parts: &[(u32, u32)], slope: f64) -> PathBuf {
        let path = out.join(name);
        let manifest = manifest(vec![cell(0, "a", 0.5), cell(1, "b", 0.5)]);
        drop(Folder::open(&path, &manifest).expect("fresh"));
        for &(cell, block) in parts {
            let id = PartId { cell, block };
            let rows = rows(block * 2..block * 2 + 2, 9, |_, round| slope * f64::from(round));
            write_part(&path, &manifest.spec_hash, id, &manifest.cells[cell as usize], &rows).expect("written");
            let timing = PartTiming { seconds: 1.0, n_trials: 2, n_rounds: 9, device: None };
            timings::append(&path, &timings::line(id, timing)).expect("timed");
        }
        path
    }

    #[test]
    fn timings_are_taken_once() {
        let root = tempfile::tempdir().expect("a folder");
        let inputs =
            [shard(root.path(), "1of2", &[(0, 0), (1, 1)], 1.0), shard(root.path(), "2of2", &[(0, 1), (1, 0), (1, 1)], 1.0)];
        let out = root.path().join("all");
        for _ in 0..2 {
            merge(&inputs, &out).expect("merged");
        }
        // One header, and each shard's lines once.
        let timings = fs::read_to_string(out.join(timings::FILE_NAME)).expect("timings");
        assert_eq!(timings.lines().count(), 1 + 4, "{timings}");
        assert!(matches!(merge(&[], root.path()), Err(Error::Input(_))));
    }

    #[test]
    fn different_copies_are_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let whole = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let first = shard(root.path(), "a", &whole, 1.0);
        let second = shard(root.path(), "b", &[(1, 1)], 2.0);
        let error = merge(&[first, second], &root.path().join("all")).expect_err("differs");
        assert!(matches!(&error, Error::Corrupt { problem, .. } if problem.contains("differs")), "{error}");
    }
}
