//! Opens an output folder: a fresh one, one to resume, or a refusal.

use super::digests::{DigestList, FileState};
use super::manifest::ManifestHead;
use super::whole_file::{is_temporary, remove_leftovers, write_whole};
use super::{FOLDER_VERSION, Manifest, Parameters, PartId, disk, part_read, shares_in};
use privateer_config::error::Error;
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const LOCK_NAME: &str = ".lock";
/// Name of the resolved spec in a folder of results.
pub const SPEC_NAME: &str = "spec.resolved.toml";
/// Folders inside a results folder in which files are written.
const INNER_FOLDERS: [&str; 3] = ["cells", "parameters", "plots"];

/// Holds an output folder in use. While it lives, no other run writes there (where the file system has locks).
#[derive(Debug)]
pub struct Folder {
    _lock: Option<File>,
}

/// States what [`Folder::open`] found.
#[derive(Debug)]
pub struct OpenedFolder {
    /// The folder, held until dropped.
    pub folder: Folder,
    /// Parts that are whole and of this spec: not to be computed again.
    pub done: BTreeSet<PartId>,
    /// What the user should know: parts of another version, parts that were not finished.
    pub warnings: Vec<String>,
    /// Files that are not the ones that were written; their parts will be computed again.
    pub altered: Vec<String>,
    /// How many unfinished files of killed commands were removed.
    pub removed: usize,
}

impl Folder {
    /// Creates the folder, or continues an existing one of the same spec; writes manifest and `spec.resolved.toml`, and
    /// removes files that a killed run left unfinished.
    ///
    /// # Errors
    /// [`Error::Folder`] where the folder holds another spec's results, holds something else, or may not be written;
    /// [`Error::InUse`] where another run holds it; [`Error::Corrupt`] where its manifest cannot be read; [`Error::Io`] where the disk refuses.
    pub fn open(out: &Path, manifest: &Manifest) -> Result<OpenedFolder, Error> {
        Self::open_as_found(out, manifest).map_err(|error| not_permitted(out, error))
    }

    fn open_as_found(out: &Path, manifest: &Manifest) -> Result<OpenedFolder, Error> {
        let cells = out.join("cells");
        let older = match fs::metadata(out) {
            Ok(found) if !found.is_dir() => {
                return Err(Error::folder(out, "is a file, not a folder", "choose another folder with `--out DIR`"));
            }
            Ok(_) => inspect(out, manifest)?,
            Err(source) if source.kind() == ErrorKind::NotFound => None,
            Err(source) => return Err(uncreated(out, "open the folder", source)),
        };
        disk::create_folder(&cells).map_err(|source| uncreated(out, "create the folder", source))?;
        let folder = Self { _lock: lock(out)? };
        let removed = remove_unfinished(out)?;
        let PartsFound { done, altered, unlisted } = PartsFound::of(out, manifest)?;
        let again = |(path, problem): (PathBuf, String)| format!("`{}` {problem}; it will be computed again", path.display());
        let altered = altered.into_iter().map(again).collect();
        let mut warnings: Vec<String> = unlisted.into_iter().map(again).collect();
        if let Some(older) = older.filter(|older| *older != manifest.program_version && !done.is_empty()) {
            warnings.push(format!(
                "{} parts were made by version {}, this is {}; numbers may differ between versions: for one version \
                 throughout, use a new folder",
                done.len(),
                older,
                manifest.program_version
            ));
        }
        // The manifest first: a folder that holds anything else of ours also holds a manifest.
        manifest.save(out)?;
        write_whole(&out.join(SPEC_NAME), manifest.spec_text.as_bytes(), "write the resolved spec")?;
        // Parts that will be computed again lose their lines before their files are replaced.
        let listed: BTreeSet<String> = done.iter().flat_map(|id| [id.listed_name(), Parameters::listed_name(*id)]).collect();
        DigestList::rewrite(out, |name| listed.contains(name) || !name.contains('/'))?;
        Ok(OpenedFolder { folder, done, warnings, altered, removed })
    }

    /// Returns the number of parts of a folder that this version has made of this spec, if it has all of them, each as it was written.
    ///
    /// Cells are not read. `None` for any other folder, whatever it lacks: opening it says what.
    pub fn n_whole_parts(out: &Path, spec_hash: &str) -> Option<usize> {
        let head = ManifestHead::load(out)?;
        let is_ours = (head.schema_version, head.program_version.as_str(), head.spec_hash.as_str())
            == (FOLDER_VERSION, env!("CARGO_PKG_VERSION"), spec_hash);
        let list = is_ours.then(|| DigestList::load(out).ok()).flatten()?;
        let state = |name: &str| list.state(out, name).unwrap_or(FileState::Altered);
        let is_whole = |id: PartId| {
            state(&id.listed_name()) == FileState::Intact
                && matches!(state(&Parameters::listed_name(id)), FileState::Intact | FileState::Absent)
        };
        head.parts().all(is_whole).then(|| head.parts().len())
    }

    /// Returns the manifest and the finished parts of a folder, changing nothing.
    ///
    /// # Errors
    /// [`Error::Folder`] where it is not a results folder, [`Error::Corrupt`] where a file of it is not the one that was written,
    /// [`Error::Io`] where it cannot be read.
    pub fn existing(out: &Path) -> Result<(Manifest, BTreeSet<PartId>), Error> {
        let manifest = Self::manifest(out)?;
        let done = PartsFound::of(out, &manifest)?.unaltered()?;
        Ok((manifest, done))
    }

    /// Returns the same as [`Folder::existing`] for a caller that reads every part with [`Manifest::read_part`].
    ///
    /// # Errors
    /// As [`Folder::existing`]; a part of another spec or cell goes unnoticed until it is read.
    pub fn unread(out: &Path) -> Result<(Manifest, BTreeSet<PartId>), Error> {
        let manifest = Self::manifest(out)?;
        let done = PartsFound::listed(out, &manifest)?.unaltered()?;
        Ok((manifest, done))
    }

    /// Returns the manifest of a results folder.
    pub fn manifest(out: &Path) -> Result<Manifest, Error> {
        let found = fs::metadata(out).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory if out.to_string_lossy().contains("://") => Error::folder(
                out,
                "is in an object store, and not a folder of this machine",
                "copy it first: `privateer merge ADDRESS --out DIR`",
            ),
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                Error::folder(out, "does not exist", "give a folder that `privateer run` wrote")
            }
            _ => Error::io("open the folder", out, source),
        })?;
        if !found.is_dir() {
            return Err(Error::folder(out, "is a file, not a folder", "give a folder that `privateer run` wrote"));
        }
        if is_missing(&Manifest::path(out))? {
            return Err(match shares_in(out).len() {
                0 => Error::folder(
                    out,
                    "is not a results folder: it has no `manifest.json`",
                    "give a folder that `privateer run` wrote",
                ),
                n => Error::folder(out, format!("holds {n} shards"), "join them first: `privateer merge DIR --out ALL`"),
            });
        }
        Manifest::load(out)
    }
}

/// Removes what killed commands left unfinished in a results folder; returns how many files.
///
/// # Errors
/// [`Error::Io`] where a folder cannot be read or a file not removed.
pub fn remove_unfinished(out: &Path) -> Result<usize, Error> {
    let mut removed = remove_leftovers(out)?;
    for inner in INNER_FOLDERS {
        removed += remove_leftovers(&out.join(inner))?;
    }
    Ok(removed)
}

/// Returns the version that made a folder that may be resumed; `None` for an empty folder.
fn inspect(out: &Path, manifest: &Manifest) -> Result<Option<String>, Error> {
    if is_missing(&Manifest::path(out))? {
        return match foreign_file(out)? {
            None => Ok(None),
            Some(path) => Err(Error::folder(
                out,
                format!("is not a results folder: it has no `manifest.json`, and it holds `{}`", path.display()),
                "choose a new or empty folder with `--out DIR`",
            )),
        };
    }
    let older = Manifest::load(out)?;
    if older.spec_hash != manifest.spec_hash {
        let problem = format!(
            "holds results of another spec, `{}` (hash {}); this one is `{}` (hash {})",
            older.spec_name,
            short(&older.spec_hash),
            manifest.spec_name,
            short(&manifest.spec_hash)
        );
        return Err(Error::folder(out, problem, "choose another folder with `--out DIR`, or delete this one"));
    }
    if older.cells_a_part != manifest.cells_a_part {
        let problem = format!("has parts of {} cells, and this program writes {}", older.cells_a_part, manifest.cells_a_part);
        return Err(Error::folder(out, problem, "choose another folder with `--out DIR`, or delete this one"));
    }
    if older.cells != manifest.cells {
        return Err(Error::folder(
            out,
            "holds results of the same spec over other data, or of a program that reads it differently",
            "name the data folder that it was started with (`--data DIR`), choose another folder with `--out DIR`, or delete this one",
        ));
    }
    Ok(Some(older.program_version))
}

/// Returns the first file, relative to the folder, that a run killed before writing its manifest cannot have left.
fn foreign_file(out: &Path) -> Result<Option<PathBuf>, Error> {
    for path in disk::list(out)? {
        let is_empty_file = || path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == 0);
        if is_temporary(&path) || (path.ends_with(LOCK_NAME) && is_empty_file()) {
            continue;
        }
        let foreign = if path.ends_with("cells") && path.is_dir() {
            disk::list(&path)?.into_iter().find(|inner| !is_temporary(inner))
        } else {
            Some(path)
        };
        if let Some(path) = foreign {
            return Ok(Some(path.strip_prefix(out).unwrap_or(&path).to_owned()));
        }
    }
    Ok(None)
}

/// The parts in a folder, told apart by whether they are those that were written.
#[derive(Debug, Default)]
pub(super) struct PartsFound {
    /// Parts that are whole and belong to the manifest.
    pub(super) done: BTreeSet<PartId>,
    /// Files that are not the ones that were written, and what is wrong with each.
    pub(super) altered: Vec<(PathBuf, String)>,
    /// Parts whose run was stopped before it listed them.
    pub(super) unlisted: Vec<(PathBuf, String)>,
}

impl PartsFound {
    /// Compares every part of a folder with the list of digests and the manifest.
    pub(super) fn of(out: &Path, manifest: &Manifest) -> Result<Self, Error> {
        let mut found = Self::listed(out, manifest)?;
        for id in std::mem::take(&mut found.done) {
            let path = id.path(out);
            let n_cells = manifest.cells_of(id).len();
            match part_read::check_part(&path).and_then(|header| manifest.check_header(&path, id, n_cells, &header)) {
                Ok(()) => drop(found.done.insert(id)),
                Err(Error::Corrupt { problem, .. }) => found.altered.push((path, problem)),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Compares every part of a folder with the list of digests alone.
    fn listed(out: &Path, manifest: &Manifest) -> Result<Self, Error> {
        let list = DigestList::load(out)?;
        let mut found = Self::default();
        for path in disk::list(&out.join("cells"))? {
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(id) = name.and_then(PartId::from_file_name).filter(|id| manifest.has(*id)) else { continue };
            match list.state(out, &id.listed_name())? {
                FileState::Intact => found.add_with_parameters(out, &list, id)?,
                FileState::Absent | FileState::Missing => {}
                state @ FileState::Unlisted => found.unlisted.push((path, state.problem().to_owned())),
                state @ FileState::Altered => found.altered.push((path, state.problem().to_owned())),
            }
        }
        Ok(found)
    }

    /// Returns the parts that are whole; fails where any file was altered.
    pub(super) fn unaltered(self) -> Result<BTreeSet<PartId>, Error> {
        let Some((path, problem)) = self.altered.first() else { return Ok(self.done) };
        let others = match self.altered.len() {
            1 => String::new(),
            n => format!(", and {} more", n - 1),
        };
        let hint = "run the command that made the folder again: altered parts are computed again; `privateer verify DIR` names \
                    them all";
        Err(Error::corrupt(path, format!("{problem}{others}"), hint))
    }

    /// Adds a part that is whole, unless the released parameters that were listed before it are not.
    fn add_with_parameters(&mut self, out: &Path, list: &DigestList, id: PartId) -> Result<(), Error> {
        let name = Parameters::listed_name(id);
        match list.state(out, &name)? {
            state @ (FileState::Altered | FileState::Missing) => self.altered.push((out.join(name), state.problem().to_owned())),
            FileState::Intact | FileState::Unlisted | FileState::Absent => {
                self.done.insert(id);
            }
        }
        Ok(())
    }
}

/// Whether nothing has this name; a folder that cannot be looked into is an error, not an answer.
fn is_missing(path: &Path) -> Result<bool, Error> {
    match path.symlink_metadata() {
        Ok(_) => Ok(false),
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(true),
        Err(source) => Err(Error::io("look for", path, source)),
    }
}

/// Takes the folder for this process. File systems without locks are used without.
fn lock(out: &Path) -> Result<Option<File>, Error> {
    let path = out.join(LOCK_NAME);
    let file = disk::open_lock(&path).map_err(|source| disk::refused(&path, "open the lock file", source))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(Error::InUse {
            path: out.to_owned(),
            holder: "another run",
            hint: "or choose another folder with `--out DIR`".to_owned(),
        }),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Returns the error for a folder that cannot be made: a wrong argument where its place is to blame, a failed run otherwise (a full disk).
fn uncreated(out: &Path, action: &str, source: std::io::Error) -> Error {
    let problem = match source.kind() {
        ErrorKind::PermissionDenied => "cannot be written: permission denied",
        ErrorKind::ReadOnlyFilesystem => "cannot be written: its file system is read-only",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "cannot be a folder: part of its path is a file",
        ErrorKind::NotFound => "cannot be created",
        _ => return Error::io(action, out, source),
    };
    Error::folder(out, problem, "choose another folder with `--out DIR`")
}

/// Returns the error for a folder that this user may not read or write: a wrong argument, as nothing was run. Other errors stay.
fn not_permitted(out: &Path, error: Error) -> Error {
    let Error::Io { path, source, .. } = &error else { return error };
    let reason = match source.kind() {
        ErrorKind::PermissionDenied => "permission denied",
        ErrorKind::ReadOnlyFilesystem => "its file system is read-only",
        _ => return error,
    };
    let at = match path.strip_prefix(out) {
        Ok(inner) if inner != Path::new("") => format!(" (at the file `{}` in it)", inner.display()),
        _ => String::new(),
    };
    Error::folder(
        out,
        format!("is a folder that cannot be used: {reason}{at}"),
        "choose another folder with `--out DIR`, or permit this user to write into it",
    )
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::super::manifest::tests::manifest;
    use super::super::part::tests::rows;
    use super::super::write_part;
    use super::*;
    use crate::record::cell_tests::cell;

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
        // Written and not listed: the run was stopped between the two.
        let unlisted = PartId { cell: 1, block: 1 };
        fs::copy(ids[0].path(&out), unlisted.path(&out)).expect("unlisted");
        for inner in ["", "cells", "plots", "parameters"] {
            let folder = out.join(inner);
            fs::create_dir_all(&folder).expect("folder");
            fs::write(folder.join(".privateer-0123456789abcdef-7-0123456789abcdef.tmp"), "half").expect("left");
            fs::write(folder.join("mine.tmp"), "precious").expect("foreign");
        }

        let again = Folder::open(&out, &manifest).expect("resumed");
        assert_eq!(again.done, BTreeSet::from([ids[0]]));
        assert_eq!((again.altered.len(), again.warnings.len(), again.removed), (2, 1, 4), "{again:?}");
        for inner in ["", "cells", "plots", "parameters"] {
            assert_eq!(fs::read_to_string(out.join(inner).join("mine.tmp")).expect("left alone"), "precious");
        }
        let list = DigestList::load(&out).expect("a list");
        assert_eq!(list.names().collect::<Vec<_>>(), ["cells/c0000-b0000.parquet"]);
        assert_eq!(fs::read_to_string(out.join(SPEC_NAME)).expect("spec"), manifest.spec_text);
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
