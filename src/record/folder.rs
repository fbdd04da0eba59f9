//! An output folder: fresh, to be resumed, or refused.

use super::aside::{is_aside, remove_stale, write_whole};
use super::{Manifest, PartId, check_part};
use crate::error::Error;
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const LOCK_NAME: &str = ".lock";
const SPEC_NAME: &str = "spec.resolved.toml";

/// An output folder in use. While it lives, no other run writes there (where the file system has locks).
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: Option<File>,
}

/// What [`Folder::open`] found.
#[derive(Debug)]
pub struct Opened {
    /// The folder, held until dropped.
    pub folder: Folder,
    /// Parts that are whole and of this spec: not to be computed again.
    pub done: BTreeSet<PartId>,
    /// What earlier runs counted, from the manifest that was there; empty for a fresh folder.
    pub counters: serde_json::Value,
    /// What the user should know: parts that will be computed anew, and why.
    pub warnings: Vec<String>,
}

impl Folder {
    /// Creates the folder, or takes up an existing one of the same spec; writes manifest and `spec.resolved.toml`, and
    /// removes files that a killed run left unfinished. Counters of an existing manifest are kept.
    ///
    /// # Errors
    /// [`Error::Folder`] where the folder holds another spec's results, holds something else, or is in use;
    /// [`Error::Corrupt`] where its manifest cannot be read; [`Error::Io`] where the disk refuses.
    pub fn open(out: &Path, manifest: &Manifest) -> Result<Opened, Error> {
        let cells = out.join("cells");
        let older = match fs::metadata(out) {
            Ok(found) if !found.is_dir() => {
                return Err(refused(out, "is a file, not a folder", "choose another folder with `--out DIR`"));
            }
            Ok(_) => inspect(out, manifest)?,
            Err(source) if source.kind() == ErrorKind::NotFound => None,
            Err(source) => return Err(uncreated(out, "open the folder", source)),
        };
        fs::create_dir_all(&cells).map_err(|source| uncreated(out, "create the folder", source))?;
        let folder = Self { path: out.to_owned(), _lock: lock(out)? };
        remove_stale(out)?;
        remove_stale(&cells)?;
        let (done, mut warnings) = finished(out, manifest)?;
        let mut manifest = manifest.clone();
        if let Some(older) = &older {
            manifest.counters = older.counters.clone();
        }
        if let Some(older) = older.filter(|older| older.program_version != manifest.program_version && !done.is_empty()) {
            warnings.push(format!(
                "{} parts were made by version {}, this is {}; numbers may differ between versions: for one version \
                 throughout, use a new folder",
                done.len(),
                older.program_version,
                manifest.program_version
            ));
        }
        write_whole(&out.join(SPEC_NAME), manifest.spec_text.as_bytes(), "write the resolved spec")?;
        manifest.save(out)?;
        Ok(Opened { folder, done, counters: manifest.counters, warnings })
    }

    /// The manifest and the finished parts of a folder, changing nothing.
    ///
    /// # Errors
    /// [`Error::Folder`] where it is not a results folder, [`Error::Corrupt`] and [`Error::Io`] where it cannot be read.
    pub fn existing(out: &Path) -> Result<(Manifest, BTreeSet<PartId>), Error> {
        let found = fs::metadata(out).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                refused(out, "does not exist", "give a folder that `privateer run` wrote")
            }
            _ => Error::io("open the folder", out, source),
        })?;
        if !found.is_dir() {
            return Err(refused(out, "is a file, not a folder", "give a folder that `privateer run` wrote"));
        }
        if !Manifest::path(out).exists() {
            return Err(not_results(out, "give a folder that `privateer run` wrote"));
        }
        let manifest = Manifest::load(out)?;
        let (done, _) = finished(out, &manifest)?;
        Ok((manifest, done))
    }

    /// The folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The manifest of a folder that may be resumed; `None` for an empty folder.
fn inspect(out: &Path, manifest: &Manifest) -> Result<Option<Manifest>, Error> {
    let entries = fs::read_dir(out).map_err(|source| Error::io("read the folder", out, source))?;
    let mut holds_something = false;
    for entry in entries {
        let entry = entry.map_err(|source| Error::io("read the folder", out, source))?;
        let path = entry.path();
        // What a run leaves that was killed before its manifest was in place.
        let is_ours = path.ends_with(LOCK_NAME)
            || path.ends_with(SPEC_NAME)
            || is_aside(&path)
            || (path.ends_with("cells") && fs::read_dir(&path).is_ok_and(|mut inside| inside.next().is_none()));
        holds_something |= !is_ours;
    }
    if !Manifest::path(out).exists() {
        let hint = "choose a new or empty folder with `--out DIR`";
        return if holds_something { Err(not_results(out, hint)) } else { Ok(None) };
    }
    let older = Manifest::load(out)?;
    if older.spec_hash != manifest.spec_hash {
        return Err(Error::Folder {
            path: out.to_owned(),
            problem: format!(
                "holds results of another spec, `{}` (hash {}); this one is `{}` (hash {})",
                older.spec_name,
                short(&older.spec_hash),
                manifest.spec_name,
                short(&manifest.spec_hash)
            ),
            hint: "choose another folder with `--out DIR`, or delete this one".to_owned(),
        });
    }
    if older.cells != manifest.cells {
        return Err(Error::Folder {
            path: out.to_owned(),
            problem: "holds results of the same spec over other data, or of a program that reads it differently".to_owned(),
            hint: "name the data folder that it was started with (`--data DIR`), choose another folder with `--out DIR`, or delete this one"
                .to_owned(),
        });
    }
    Ok(Some(older))
}

/// The parts that are whole and belong to the manifest, and what to say about the others.
fn finished(out: &Path, manifest: &Manifest) -> Result<(BTreeSet<PartId>, Vec<String>), Error> {
    let cells = out.join("cells");
    let entries = match fs::read_dir(&cells) {
        Ok(entries) => entries,
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok((BTreeSet::new(), Vec::new())),
        Err(source) => return Err(Error::io("read the folder", &cells, source)),
    };
    let mut found = BTreeSet::new();
    for entry in entries {
        let name = entry.map_err(|source| Error::io("read the folder", &cells, source))?.file_name();
        found.extend(name.to_str().and_then(PartId::from_file_name));
    }
    let expected: BTreeSet<PartId> = manifest.parts().collect();
    let (mut done, mut warnings) = (BTreeSet::new(), Vec::new());
    for id in found.intersection(&expected).copied() {
        let path = id.path(out);
        match check_part(&path) {
            Ok(header) if header.spec_hash != manifest.spec_hash => {
                warnings.push(format!("`{}` is of another spec and will be computed anew", path.display()));
            }
            Ok(header) if (header.cell, header.block) != (id.cell, id.block) => {
                warnings.push(format!(
                    "`{}` holds cell {} block {} and will be computed anew",
                    path.display(),
                    header.cell,
                    header.block
                ));
            }
            Ok(_) => {
                done.insert(id);
            }
            Err(Error::Corrupt { problem, .. }) => {
                warnings.push(format!("`{}` {problem}; it will be computed anew", path.display()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((done, warnings))
}

/// Takes the folder for this process. File systems without locks are used without.
fn lock(out: &Path) -> Result<Option<File>, Error> {
    let path = out.join(LOCK_NAME);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|source| Error::io("write into the folder", &path, source))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(Error::Folder {
            path: out.to_owned(),
            problem: "is in use by another run".to_owned(),
            hint: "wait for it to end, or choose another folder with `--out DIR`".to_owned(),
        }),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn not_results(out: &Path, hint: &str) -> Error {
    refused(out, "is not a results folder: it has no `manifest.json`", hint)
}

fn refused(out: &Path, problem: &str, hint: &str) -> Error {
    Error::Folder { path: out.to_owned(), problem: problem.to_owned(), hint: hint.to_owned() }
}

/// A folder that cannot be made: a wrong argument where its place is to blame, a failed run otherwise (a full disk).
fn uncreated(out: &Path, action: &str, source: std::io::Error) -> Error {
    let problem = match source.kind() {
        ErrorKind::PermissionDenied => "cannot be written: permission denied",
        ErrorKind::ReadOnlyFilesystem => "cannot be written: its file system is read-only",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "cannot be a folder: part of its path is a file",
        ErrorKind::NotFound => "cannot be created",
        _ => return Error::io(action, out, source),
    };
    refused(out, problem, "choose another folder with `--out DIR`")
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::super::cell::tests::cell;
    use super::super::manifest::tests::manifest;
    use super::super::part::tests::rows;
    use super::super::write_part;
    use super::*;

    fn two_cells() -> Manifest {
        manifest(vec![cell(0, "a", 0.5), cell(1, "b", 0.5)])
    }

    #[test]
    fn a_killed_run_resumes_with_whole_parts_only() {
        let root = tempfile::tempdir().expect("a folder");
        let out = root.path().join("deep/out");
        let manifest = two_cells();
        let opened = Folder::open(&out, &manifest).expect("fresh");
        assert!(opened.done.is_empty() && opened.warnings.is_empty());
        drop(opened);

        let ids = [PartId { cell: 0, block: 0 }, PartId { cell: 0, block: 1 }, PartId { cell: 1, block: 0 }];
        for id in ids {
            write_part(&out, &manifest.spec_hash, id, &cell(id.cell, "a", 0.5), &rows(0..2, 9, |_, _| 1.0)).expect("written");
        }
        let cut = fs::read(ids[1].path(&out)).expect("bytes");
        fs::write(ids[1].path(&out), &cut[..cut.len() / 2]).expect("cut");
        fs::copy(ids[0].path(&out), ids[2].path(&out)).expect("misnamed");
        let stale = out.join("cells/c0001-b0001.parquet.9-9.tmp");
        fs::write(&stale, "half").expect("stale");

        let again = Folder::open(&out, &manifest).expect("resumed");
        assert_eq!(again.done, BTreeSet::from([ids[0]]));
        assert_eq!(again.warnings.len(), 2, "{:?}", again.warnings);
        assert!(!stale.exists());
        assert_eq!(fs::read_to_string(out.join(SPEC_NAME)).expect("spec"), manifest.spec_text);
    }

    #[test]
    fn other_contents_are_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let manifest = two_cells();
        let mut other = manifest.clone();
        other.spec_hash = "0".repeat(64);
        other.spec_name = "elsewhere".to_owned();

        let taken = root.path().join("taken");
        drop(Folder::open(&taken, &other).expect("fresh"));
        let error = Folder::open(&taken, &manifest).expect_err("another spec").to_string();
        assert!(error.contains("another spec, `elsewhere`") && error.contains("--out"), "{error}");

        let junk = root.path().join("junk");
        fs::create_dir(&junk).expect("folder");
        fs::write(junk.join("thesis.tex"), "x").expect("file");
        let error = Folder::open(&junk, &manifest).expect_err("junk");
        assert!(matches!(&error, Error::Folder { problem, .. } if problem.contains("not a results folder")), "{error}");
        assert!(Folder::existing(&junk).is_err());
        assert_eq!(fs::read_dir(&junk).expect("folder").count(), 1);

        let file = root.path().join("file");
        fs::write(&file, "x").expect("file");
        for place in [file.clone(), file.join("below")] {
            assert!(matches!(Folder::open(&place, &manifest), Err(Error::Folder { .. })));
            assert!(matches!(Folder::existing(&place), Err(Error::Folder { .. })));
        }
        assert!(matches!(Folder::existing(&root.path().join("absent")), Err(Error::Folder { .. })));
    }

    #[test]
    fn two_runs_cannot_share_a_folder() {
        let root = tempfile::tempdir().expect("a folder");
        let first = Folder::open(root.path(), &two_cells()).expect("fresh");
        let error = Folder::open(root.path(), &two_cells()).expect_err("in use").to_string();
        assert!(error.contains("in use"), "{error}");
        drop(first);
        assert!(Folder::open(root.path(), &two_cells()).is_ok());
    }

    #[test]
    fn another_program_version_is_mentioned() {
        let root = tempfile::tempdir().expect("a folder");
        let mut manifest = two_cells();
        drop(Folder::open(root.path(), &manifest).expect("fresh"));
        let id = PartId { cell: 0, block: 0 };
        write_part(root.path(), &manifest.spec_hash, id, &manifest.cells[0], &rows(0..2, 9, |_, _| 1.0)).expect("written");
        manifest.program_version = "9.9.9".to_owned();
        let opened = Folder::open(root.path(), &manifest).expect("resumed");
        assert!(opened.warnings[0].contains("version 0.1.0, this is 9.9.9"), "{:?}", opened.warnings);
    }
}
