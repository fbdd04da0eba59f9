//! Writing a file so that it is either whole or absent: aside, flushed, renamed.

use crate::error::Error;
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Ending of files that are being written; one found at the start of a run is left from a killed one.
pub(super) const ASIDE_SUFFIX: &str = ".tmp";

/// Writes `bytes` to `path`. On failure nothing is left of the file written aside, and an older file stays as it was.
///
/// # Errors
/// [`Error::Io`] naming `action` and `path`.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], action: &str) -> Result<(), Error> {
    write(path, bytes, action, false)
}

/// The same for a file that only its owner may read and write (mode 0600, where there are modes).
///
/// # Errors
/// As [`write_whole`].
pub(crate) fn write_private(path: &Path, bytes: &[u8], action: &str) -> Result<(), Error> {
    write(path, bytes, action, true)
}

fn write(path: &Path, bytes: &[u8], action: &str, private: bool) -> Result<(), Error> {
    let aside = aside_name(path);
    let written = write_and_flush(&aside, bytes, private).and_then(|()| fs::rename(&aside, path));
    if let Err(source) = written {
        // Best effort: the failure to report is the first one.
        let _ = fs::remove_file(&aside);
        return Err(Error::io(action, path, source));
    }
    flush_folder(path);
    Ok(())
}

fn write_and_flush(path: &Path, bytes: &[u8], private: bool) -> std::io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A name in the same folder that no other thread or process uses. Process numbers alone repeat (in containers they
/// often are all 1), so the name has a random part; it is gone after the rename.
fn aside_name(path: &Path) -> PathBuf {
    let nonce = RandomState::new().build_hasher().finish();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{nonce:016x}{ASIDE_SUFFIX}", std::process::id()));
    path.with_file_name(name)
}

/// Makes the rename itself durable. Some file systems refuse; the file is whole either way.
fn flush_folder(path: &Path) {
    if let Some(folder) = path.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
}

/// Removes what killed runs left aside in a folder.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read or such a file not removed.
pub(super) fn remove_stale(folder: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::io("read the folder", folder, source)),
    };
    for entry in entries {
        let path = entry.map_err(|source| Error::io("read the folder", folder, source))?.path();
        if path.is_file() && is_aside(&path) {
            fs::remove_file(&path).map_err(|source| Error::io("remove the unfinished file", &path, source))?;
        }
    }
    Ok(())
}

/// Whether a path has the name of a file being written.
pub(super) fn is_aside(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(ASIDE_SUFFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_nothing_and_keeps_the_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("taken");
        fs::create_dir(&target).expect("a folder in the file's place");
        fs::write(target.join("child"), "x").expect("a child, so that the rename fails");
        let error = write_whole(&target, b"new", "write the part").expect_err("a folder is in the way");
        assert!(error.to_string().contains("cannot write the part"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 1);
    }

    #[test]
    fn stale_files_go_and_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("c0000-b0000.parquet.1-2.tmp"), "half").expect("write");
        write_whole(&folder.path().join("kept"), b"x", "write").expect("write");
        remove_stale(folder.path()).expect("clean");
        let names: Vec<_> = fs::read_dir(folder.path()).expect("folder").map(|e| e.expect("entry").file_name()).collect();
        assert_eq!(names, ["kept"]);
    }
}
