//! Putting the folders of shards together.

use super::aside::write_whole;
use super::{Folder, Manifest, Parameters, PartId, timings};
use crate::error::{Diagnostic, Error};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How many missing parts a message names before it only counts.
const N_NAMED: usize = 8;

/// Copies the parts of all `inputs` into `out`, which becomes the folder of a whole run. Parts already in `out` count.
///
/// # Errors
/// [`Error::Incomplete`] naming the parts that are in no folder, [`Error::Folder`] where the folders are of different
/// specs, [`Error::Corrupt`] where two folders hold different versions of a part, [`Error::Input`] without inputs.
pub fn merge(inputs: &[PathBuf], out: &Path) -> Result<(), Error> {
    let mut manifests = Vec::with_capacity(inputs.len());
    let mut holders: BTreeMap<PartId, Vec<&PathBuf>> = BTreeMap::new();
    for input in inputs {
        let (manifest, done) = Folder::existing(input)?;
        for id in done {
            holders.entry(id).or_default().push(input);
        }
        manifests.push(manifest);
    }
    let Some(first) = manifests.first() else {
        return Err(Error::input(
            Diagnostic::new("nothing to merge").expected("the folders of the shards").hint("give at least one folder"),
        ));
    };
    agree(inputs, &manifests)?;

    let mut merged = first.clone();
    merged.shard = None;
    if 1 < manifests.len() {
        let counters: Vec<_> = manifests.iter().map(|manifest| manifest.counters.clone()).collect();
        merged.counters = serde_json::json!({ "by_folder": counters });
    }
    let already = if Manifest::path(out).exists() { Folder::existing(out)?.1 } else { BTreeSet::new() };
    complete(first, &holders, &already)?;

    let opened = Folder::open(out, &merged)?;
    merged.save(out)?;
    for (id, folders) in &holders {
        copy(*id, folders, &opened)?;
    }
    let foreign: Vec<&PathBuf> = inputs.iter().filter(|input| !same_folder(input, out)).collect();
    append_timings(&foreign, out)
}

/// All manifests must speak of the same cells.
fn agree(inputs: &[PathBuf], manifests: &[Manifest]) -> Result<(), Error> {
    let first = &manifests[0];
    for (input, manifest) in inputs.iter().zip(manifests) {
        let refuse = |problem: String, hint: &str| Err(Error::Folder { path: input.clone(), problem, hint: hint.to_owned() });
        if manifest.spec_hash != first.spec_hash {
            return refuse(
                format!("is of another spec, `{}`, than `{}`, `{}`", manifest.spec_name, inputs[0].display(), first.spec_name),
                "merge only the shards of one spec",
            );
        }
        if manifest.cells != first.cells || manifest.n_blocks != first.n_blocks {
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
    let total = manifest.parts().count();
    let missing: Vec<String> =
        manifest.parts().filter(|id| !holders.contains_key(id) && !already.contains(id)).map(|id| id.to_string()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut named = missing.iter().take(N_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if N_NAMED < missing.len() {
        named += &format!(" and {} more", missing.len() - N_NAMED);
    }
    let verb = if missing.len() == 1 { "is" } else { "are" };
    Err(Error::Incomplete {
        done: total - missing.len(),
        total,
        reason: format!("{named} {verb} in no folder"),
        hint: "name the folders of all shards, and finish those that were stopped with the command that started them".to_owned(),
    })
}

/// Copies one part, having compared all copies of it.
fn copy(id: PartId, folders: &[&PathBuf], opened: &super::Opened) -> Result<(), Error> {
    let read = |folder: &Path| {
        let path = id.path(folder);
        fs::read(&path).map_err(|source| Error::io("read the part", &path, source))
    };
    let out = opened.folder.path();
    let bytes = read(folders[0])?;
    let in_place = opened.done.contains(&id).then_some(out);
    for folder in folders[1..].iter().map(|folder| folder.as_path()).chain(in_place) {
        if read(folder)? != bytes {
            return Err(Error::Corrupt {
                path: id.path(folder),
                problem: format!("differs from `{}`", id.path(folders[0]).display()),
                hint: "one of the two is altered or from another version of the program: delete it and run that shard again"
                    .to_owned(),
            });
        }
    }
    // Released parameters lie beside a part, where the spec asks for them.
    for folder in folders {
        let (from, to) = (Parameters::path(folder, id), Parameters::path(out, id));
        if from.exists() && !to.exists() {
            Parameters::load(&from)?.save(out, id)?;
        }
    }
    if in_place.is_some() { Ok(()) } else { write_whole(&id.path(out), &bytes, "write the part") }
}

fn append_timings(inputs: &[&PathBuf], out: &Path) -> Result<(), Error> {
    for input in inputs {
        // Timings are a convenience; a shard without them merges all the same.
        if let Ok(text) = fs::read_to_string(input.join(timings::FILE_NAME)) {
            timings::append(out, text.strip_prefix(timings::HEADER).unwrap_or(&text))?;
        }
    }
    Ok(())
}

fn same_folder(left: &Path, right: &Path) -> bool {
    match (fs::canonicalize(left), fs::canonicalize(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::tests::cell;
    use super::super::manifest::tests::manifest;
    use super::super::part::tests::rows;
    use super::super::{append_timing, write_part};
    use super::*;

    fn shard(out: &Path, name: &str, parts: &[(u32, u32)], slope: f64) -> PathBuf {
        let path = out.join(name);
        let mut manifest = manifest(vec![cell(0, "a", 0.5), cell(1, "b", 0.5)]);
        manifest.shard = Some(name.to_owned());
        drop(Folder::open(&path, &manifest).expect("fresh"));
        for &(cell, block) in parts {
            let id = PartId { cell, block };
            let rows = rows(block * 2..block * 2 + 2, 9, |_, round| slope * f64::from(round));
            write_part(&path, &manifest.spec_hash, id, &manifest.cells[cell as usize], &rows).expect("written");
            append_timing(&path, id, 1.0, 2, 9).expect("timed");
        }
        path
    }

    #[test]
    fn shards_become_one_folder_with_the_same_bytes() {
        let root = tempfile::tempdir().expect("a folder");
        let inputs =
            [shard(root.path(), "1of2", &[(0, 0), (1, 1)], 1.0), shard(root.path(), "2of2", &[(0, 1), (1, 0), (1, 1)], 1.0)];
        let out = root.path().join("all");
        for _ in 0..2 {
            merge(&inputs, &out).expect("merged");
        }
        let (manifest, done) = Folder::existing(&out).expect("whole");
        assert_eq!((manifest.shard, done.len()), (None, 4));
        let id = PartId { cell: 1, block: 0 };
        assert_eq!(fs::read(id.path(&out)).expect("copy"), fs::read(id.path(&inputs[1])).expect("original"));
    }

    #[test]
    fn missing_parts_are_named() {
        let root = tempfile::tempdir().expect("a folder");
        let inputs = [shard(root.path(), "1of2", &[(0, 0), (0, 1), (1, 0)], 1.0)];
        let error = merge(&inputs, &root.path().join("all")).expect_err("incomplete");
        assert!(error.to_string().contains("3 of 4 blocks are done; cell 1 block 1 is in no folder"), "{error}");
        assert!(!root.path().join("all").exists());
        assert!(matches!(merge(&[], root.path()), Err(Error::Input(_))));
    }

    #[test]
    fn different_copies_and_specs_are_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let whole = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let first = shard(root.path(), "a", &whole, 1.0);
        let second = shard(root.path(), "b", &[(1, 1)], 2.0);
        let error = merge(&[first.clone(), second.clone()], &root.path().join("all")).expect_err("differs");
        assert!(matches!(&error, Error::Corrupt { problem, .. } if problem.contains("differs")), "{error}");

        let mut other = Manifest::load(&second).expect("manifest");
        other.spec_hash = "0".repeat(64);
        other.save(&second).expect("saved");
        let error = merge(&[first, second], &root.path().join("all2")).expect_err("another spec");
        assert!(matches!(&error, Error::Folder { problem, .. } if problem.contains("another spec")), "{error}");
    }
}
