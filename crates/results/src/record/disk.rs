//! File operations of this room: each one passes the fault seam, which is empty without the feature `fault-injection`.

use privateer_config::error::Error;
use privateer_config::input::{is_not_regular, open_regular, regular_or_absent};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// A kind of file operation, which tests make fail one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "fault-injection"), expect(dead_code, reason = "only the fault seam reads the kind"))]
pub(super) enum Operation {
    Create,
    Open,
    Read,
    Write,
    Sync,
    Rename,
    Publish,
    Remove,
    List,
    MakeFolder,
}

/// Largest file that is read into memory.
pub(super) const MOST_BYTES: u64 = 1 << 32;

/// Lets the fault seam refuse an operation.
#[inline]
fn announce(operation: Operation, path: &Path) -> io::Result<()> {
    #[cfg(feature = "fault-injection")]
    if let super::fault::FaultVerdict::Refuse(error) = super::fault::announce(operation, path) {
        return Err(error);
    }
    let _ = (operation, path);
    Ok(())
}

/// Creates a file that must not exist yet, for its owner alone (mode 0600) where `private` is set.
pub(super) fn create_new(path: &Path, private: bool) -> io::Result<File> {
    announce(Operation::Create, path)?;
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    options.open(path)
}

/// Opens a file for appending and creates it where it is missing.
pub(super) fn open_append(path: &Path) -> io::Result<File> {
    announce(Operation::Open, path)?;
    regular_or_absent(path)?;
    File::options().create(true).append(true).open(path)
}

/// Opens the lock file of a folder and creates it where it is missing.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    announce(Operation::Open, path)?;
    regular_or_absent(path)?;
    File::options().create(true).truncate(false).write(true).open(path)
}

/// Opens a regular file for reading; a pipe, a device or a folder is refused without being opened.
pub(super) fn open(path: &Path) -> io::Result<File> {
    announce(Operation::Open, path)?;
    open_regular(path)
}

/// Opens a regular file so that it can be locked: network file systems lock only files that are open for writing.
pub(super) fn open_to_lock(path: &Path) -> io::Result<File> {
    announce(Operation::Open, path)?;
    regular_or_absent(path)?;
    File::options().read(true).write(true).open(path)
}

/// Whether a file has other names (hard links); false where that cannot be known.
pub(super) fn has_other_names(file: &File) -> bool {
    #[cfg(unix)]
    return file.metadata().is_ok_and(|found| 1 < std::os::unix::fs::MetadataExt::nlink(&found));
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

/// Reads a whole regular file.
pub(super) fn read(path: &Path, action: &str) -> Result<Vec<u8>, Error> {
    let file = open(path).map_err(|source| refused(path, action, source))?;
    read_all(file, path, action)
}

/// Reads an open file to its end; errors as [`read`].
pub(super) fn read_all(file: File, path: &Path, action: &str) -> Result<Vec<u8>, Error> {
    let read = || {
        announce(Operation::Read, path)?;
        // The stated size of a file spares reading it, and growing what is read.
        let stated = file.metadata()?.len();
        if MOST_BYTES < stated {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(stated as usize)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= MOST_BYTES).then_some(bytes))
    };
    let hint = "check that it is the file you mean: no file of this program is that large";
    read().map_err(|source| refused(path, action, source))?.ok_or_else(|| Error::corrupt(path, "is larger than 4 GiB", hint))
}

/// Returns the error for a refused open or read: bad content is told from a failure of the system, which may pass.
pub(super) fn refused(path: &Path, action: &str, source: io::Error) -> Error {
    if is_not_regular(&source) {
        let hint = "name a regular file, or move the folder, pipe or device of that name away";
        return Error::corrupt(path, "is not a regular file", hint);
    }
    Error::io(action, path, source)
}

pub(super) fn write(file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    #[cfg(feature = "fault-injection")]
    match super::fault::announce(Operation::Write, path) {
        super::fault::FaultVerdict::Proceed => {}
        super::fault::FaultVerdict::Refuse(error) => {
            file.write_all(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        super::fault::FaultVerdict::Tear => {
            file.write_all(&bytes[..bytes.len() / 2])?;
            super::fault::kill();
        }
    }
    let _ = path;
    file.write_all(bytes)
}

pub(super) fn sync(file: &File, path: &Path) -> io::Result<()> {
    announce(Operation::Sync, path)?;
    file.sync_all()
}

/// Flushes everything of the file system of a file; returns false where the system cannot, and each file must be flushed.
pub(super) fn sync_file_system_of(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        let folder = folder_of(path);
        announce(Operation::Sync, folder).is_ok() && File::open(folder).is_ok_and(|folder| rustix::fs::syncfs(folder).is_ok())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        false
    }
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a new name in a folder durable. Some file systems refuse; the file is whole either way.
pub(super) fn sync_folder_of(path: &Path) {
    let folder = folder_of(path);
    if announce(Operation::Sync, folder).is_ok()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    announce(Operation::Rename, to)?;
    fs::rename(from, to)
}

/// Renames a file to a name that must not exist yet; two processes cannot both succeed.
pub(super) fn publish_new(from: &Path, to: &Path) -> io::Result<()> {
    announce(Operation::Publish, to)?;
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system does not know this form of renaming: a link says the same in two steps.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            renamed => return renamed.map_err(io::Error::from),
        }
    }
    fs::hard_link(from, to).map_err(|source| match source.kind() {
        ErrorKind::Unsupported | ErrorKind::PermissionDenied => io::Error::new(
            source.kind(),
            format!("{source}; this file system can neither rename without replacing nor link: name a file on another one"),
        ),
        _ => source,
    })?;
    // The file has its name: a second name that stays is a leftover, which the next command removes.
    let _ = fs::remove_file(from);
    Ok(())
}

/// Removes a file; one that is missing already is no error.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    announce(Operation::Remove, path)?;
    match fs::remove_file(path) {
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the entries of a folder in the order of their names; empty where the folder is missing.
pub(super) fn list(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let listed = || {
        announce(Operation::List, folder)?;
        let mut paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    };
    listed().or_else(|source: io::Error| match source.kind() {
        ErrorKind::NotFound => Ok(Vec::new()),
        _ => Err(Error::io("read the folder", folder, source)),
    })
}

pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    announce(Operation::MakeFolder, folder)?;
    fs::create_dir_all(folder)
}
