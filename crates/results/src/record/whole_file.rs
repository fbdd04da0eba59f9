//! Writes a file so that it is either whole or absent: under a temporary name, flushed, renamed.

use super::disk;
use privateer_config::error::Error;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// How every temporary name begins and ends; between stand three numbers (see [`TemporaryName`]).
const PREFIX: &str = ".privateer-";
const SUFFIX: &str = ".tmp";
/// Fewest files that are flushed together with their file system.
const N_TOGETHER: usize = 16;
/// Number of bytes of pieces that are written at once.
const N_BUFFERED: usize = 1 << 20;

/// Writes `bytes` to `path`. On failure nothing is left of the temporary file, and an older file stays as it was.
///
/// # Errors
/// [`Error::Io`] naming `action` and `path`.
pub fn write_whole(path: &Path, bytes: &[u8], action: &str) -> Result<(), Error> {
    PreparedFile::write(path, bytes, action, false)?.replace()
}

/// Writes a text as [`write_whole`] does, piece by piece: a long one is never in memory whole.
///
/// # Errors
/// As [`write_whole`].
pub fn write_pieces(path: &Path, pieces: &mut dyn Iterator<Item = String>, action: &str) -> Result<(), Error> {
    write_with(path, action, |file| {
        for piece in pieces {
            file.write_all(piece.as_bytes())?;
        }
        Ok(())
    })
}

/// Writes what `write` gives, as [`write_whole`] does.
pub(super) fn write_with(
    path: &Path,
    action: &str,
    write: impl FnOnce(&mut BufWriter<PreparedFile>) -> std::io::Result<()>,
) -> Result<(), Error> {
    let io = |source| Error::io(action, path, source);
    let mut file = BufWriter::with_capacity(N_BUFFERED, PreparedFile::started(path, action, false)?);
    write(&mut file).map_err(io)?;
    let prepared = file.into_inner().map_err(|failed| io(failed.into_error()))?;
    prepared.sync()?;
    prepared.replace()
}

impl Write for PreparedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        disk::write(&mut self.file, &self.temporary, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes several files as [`write_whole`] does; many files are flushed together.
pub(super) fn write_all_whole(files: &[(PathBuf, &[u8])], action: &str) -> Result<(), Error> {
    let prepared =
        files.iter().map(|(path, bytes)| PreparedFile::unflushed(path, bytes, action, false)).collect::<Result<Vec<_>, _>>()?;
    if prepared.len() < N_TOGETHER || !disk::sync_file_system_of(&prepared[0].path) {
        prepared.iter().try_for_each(PreparedFile::sync)?;
    }
    prepared.into_iter().try_for_each(|mut file| file.rename())?;
    let folders: BTreeMap<_, _> = files.iter().map(|(path, _)| (path.parent(), path)).collect();
    folders.into_values().for_each(|path| disk::sync_folder_of(path));
    Ok(())
}

/// Holds a file that is written and flushed under a temporary name; it is removed if it is dropped unpublished.
#[derive(Debug)]
pub struct PreparedFile {
    temporary: PathBuf,
    path: PathBuf,
    action: String,
    /// Holds a lock, so that no other process takes the file for one left by a killed process.
    file: File,
    published: bool,
}

impl PreparedFile {
    /// Writes `bytes` beside `path`; `private` keeps other users of the machine from reading them.
    ///
    /// # Errors
    /// [`Error::Io`] naming `action` and `path`.
    pub fn write(path: &Path, bytes: &[u8], action: &str, private: bool) -> Result<Self, Error> {
        let prepared = Self::unflushed(path, bytes, action, private)?;
        prepared.sync()?;
        Ok(prepared)
    }

    fn started(path: &Path, action: &str, private: bool) -> Result<Self, Error> {
        let (temporary, file) = create(path, private).map_err(|source| Error::io(action, path, source))?;
        Ok(Self { temporary, path: path.to_owned(), action: action.to_owned(), file, published: false })
    }

    fn unflushed(path: &Path, bytes: &[u8], action: &str, private: bool) -> Result<Self, Error> {
        let mut prepared = Self::started(path, action, private)?;
        prepared.write_all(bytes).map_err(|source| Error::io(action, path, source))?;
        Ok(prepared)
    }

    fn sync(&self) -> Result<(), Error> {
        disk::sync(&self.file, &self.temporary).map_err(|source| Error::io(&self.action, &self.path, source))
    }

    fn rename(&mut self) -> Result<(), Error> {
        disk::rename(&self.temporary, &self.path).map_err(|source| Error::io(&self.action, &self.path, source))?;
        self.published = true;
        Ok(())
    }

    /// Puts the file in its place, over an older one.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses.
    pub fn replace(mut self) -> Result<(), Error> {
        self.rename()?;
        disk::sync_folder_of(&self.path);
        Ok(())
    }

    /// Puts the file in its place, where nothing may be yet: of two processes at most one succeeds.
    ///
    /// # Errors
    /// [`Error::Folder`] with `hint` where something is there already, [`Error::Io`] where the disk refuses.
    pub fn publish_new(mut self, hint: &str) -> Result<(), Error> {
        disk::publish_new(&self.temporary, &self.path).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => Error::folder(&self.path, "is there already", hint),
            _ => Error::io(&self.action, &self.path, source),
        })?;
        self.published = true;
        disk::sync_folder_of(&self.path);
        Ok(())
    }
}

impl Drop for PreparedFile {
    fn drop(&mut self) {
        if !self.published {
            // Best effort: the failure to report is the one that led here, and a file left is found by the next command.
            let _ = disk::remove(&self.temporary);
        }
    }
}

/// Creates and locks a temporary file for `path`.
fn create(path: &Path, private: bool) -> std::io::Result<(PathBuf, File)> {
    loop {
        let temporary = TemporaryName::new(path).beside(path);
        let file = disk::create_new(&temporary, private)?;
        if claim(&temporary, &file) {
            return Ok((temporary, file));
        }
    }
}

/// Locks a file that was just created; returns whether it can be used.
///
/// It cannot where a command that looks for leftovers came between creation and lock. That command may leave it in its place, so it
/// is removed here.
fn claim(temporary: &Path, file: &File) -> bool {
    if is_held_by_another(file) {
        // Best effort: a file left is found by the next command.
        let _ = disk::remove(temporary);
        return false;
    }
    is_regular(temporary)
}

/// The name of a temporary file: `.privateer-TARGET-PROCESS-RANDOM.tmp`.
///
/// `TARGET` is the head of the SHA-256 of the name that the file will get, so that a command finds what belongs to its own file.
/// Process numbers repeat (in containers they often are all 1), so a random part follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TemporaryName {
    target: u64,
    process: u32,
    random: u64,
}

impl TemporaryName {
    fn new(path: &Path) -> Self {
        Self { target: target(path), process: std::process::id(), random: RandomState::new().build_hasher().finish() }
    }

    /// Reads a name; `None` for every other one.
    fn parse(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let mut fields = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split('-');
        let (target, process, random) = (fields.next()?, fields.next()?, fields.next()?);
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let read = Self { target: hex(target)?, process: process.parse().ok()?, random: hex(random)? };
        // Writing it again must give the same name, to the letter.
        (read.name() == name).then_some(read)
    }

    fn name(self) -> String {
        format!("{PREFIX}{:016x}-{}-{:016x}{SUFFIX}", self.target, self.process, self.random)
    }

    fn beside(self, path: &Path) -> PathBuf {
        path.with_file_name(self.name())
    }
}

/// Tells temporary files of one target from those of another.
fn target(path: &Path) -> u64 {
    let digest = Sha256::digest(path.file_name().unwrap_or_default().as_encoded_bytes());
    digest.iter().take(8).fold(0, |head, byte| head << 8 | u64::from(*byte))
}

/// Whether a path has the name of a temporary file of this program.
pub(super) fn is_temporary(path: &Path) -> bool {
    TemporaryName::parse(path).is_some()
}

/// Removes a file; one that is missing already is no error.
///
/// # Errors
/// [`Error::Io`] naming `action` and `path`.
pub fn remove_file(path: &Path, action: &str) -> Result<(), Error> {
    disk::remove(path).map_err(|source| Error::io(action, path, source))
}

/// Removes what killed commands left unfinished in a folder; returns how many files.
pub(super) fn remove_leftovers(folder: &Path) -> Result<usize, Error> {
    remove_those(folder, |_| true)
}

/// Removes what killed commands left unfinished of one file; returns how many files.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read or a leftover not removed.
pub fn remove_leftovers_of(path: &Path) -> Result<usize, Error> {
    let target = target(path);
    remove_those(disk::folder_of(path), |name| name.target == target)
}

/// Takes what killed commands left unfinished of one file.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read.
pub fn unfinished_of(path: &Path) -> Result<Unfinished, Error> {
    let target = target(path);
    let mut found = Unfinished::default();
    for outcome in unfinished(disk::folder_of(path), |name| name.target == target)? {
        match outcome {
            LockOutcome::Leftover(leftover) => found.leftovers.push(leftover),
            LockOutcome::InUse => found.in_use = true,
            LockOutcome::Gone => {}
        }
    }
    Ok(found)
}

fn remove_those(folder: &Path, which: impl Fn(TemporaryName) -> bool) -> Result<usize, Error> {
    let mut removed = 0;
    for outcome in unfinished(folder, which)? {
        if let LockOutcome::Leftover(leftover) = outcome {
            leftover.remove()?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Tries to take the unfinished files of a folder.
///
/// Each is opened when it is asked for: a killed run can leave more than a process may open.
fn unfinished(folder: &Path, which: impl Fn(TemporaryName) -> bool) -> Result<impl Iterator<Item = LockOutcome>, Error> {
    let names = disk::list(folder)?.into_iter().filter(move |path| TemporaryName::parse(path).is_some_and(&which));
    Ok(names.filter(|path| is_regular(path)).map(|path| Leftover::open(path).map_or_else(|outcome| outcome, Leftover::lock)))
}

/// Unfinished files of one file.
#[derive(Debug, Default)]
pub struct Unfinished {
    /// Leftovers of killed commands, each locked.
    pub leftovers: Vec<Leftover>,
    /// Whether another command holds an unfinished file, or this user may not open one.
    pub in_use: bool,
}

/// Holds an unfinished file of a killed command; no other process takes it meanwhile.
#[derive(Debug)]
pub struct Leftover {
    path: PathBuf,
    /// Holds the lock, and is read in place of the path.
    file: File,
}

/// What the attempt to lock an unfinished file found.
#[derive(Debug)]
enum LockOutcome {
    Leftover(Leftover),
    InUse,
    Gone,
}

impl Leftover {
    fn open(path: PathBuf) -> Result<Self, LockOutcome> {
        // Another user's file may be readable alone; most file systems lock it all the same.
        match disk::open_to_lock(&path).or_else(|_| disk::open(&path)) {
            Ok(file) => Ok(Self { path, file }),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => Err(LockOutcome::Gone),
            // Nothing tells whether its command lives.
            Err(_) => Err(LockOutcome::InUse),
        }
    }

    fn lock(self) -> LockOutcome {
        if is_held_by_another(&self.file) {
            return LockOutcome::InUse;
        }
        // Its process may have published or removed it since it was opened, and ended: an opened file outlives its name.
        if is_regular(&self.path) { LockOutcome::Leftover(self) } else { LockOutcome::Gone }
    }

    /// Reads the whole file.
    ///
    /// # Errors
    /// [`Error::Io`] where the system refuses, [`Error::Corrupt`] for a file too large to be read.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        const ACTION: &str = "read the unfinished file";
        let from_start = || {
            let mut file = self.file.try_clone()?;
            file.rewind()?;
            Ok(file)
        };
        let file = from_start().map_err(|source| Error::io(ACTION, &self.path, source))?;
        disk::read_all(file, &self.path, ACTION)
    }

    /// Gives the file another temporary name; returns false where it was published, under another name or beside its own.
    ///
    /// Its process cannot publish it any more, also where it lives unnoticed because the file system has no locks.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses.
    pub fn withdraw(&mut self) -> Result<bool, Error> {
        let Some(name) = TemporaryName::parse(&self.path).filter(|_| !disk::has_other_names(&self.file)) else {
            return Ok(false);
        };
        let other = TemporaryName { target: name.target, ..TemporaryName::new(&self.path) }.beside(&self.path);
        match disk::rename(&self.path, &other) {
            Ok(()) => self.path = other,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(Error::io("rename the unfinished file", &self.path, source)),
        }
        Ok(true)
    }

    /// Removes the file.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses.
    pub fn remove(self) -> Result<(), Error> {
        remove_file(&self.path, "remove the unfinished file")
    }
}

/// Takes the lock of a file; returns true where another process holds it.
///
/// Some file systems have no locks: nobody holds one there.
fn is_held_by_another(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Whether a regular file is there; not for a link to one.
fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path) -> Vec<String> {
        let paths = disk::list(folder).expect("folder");
        paths.iter().map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_failed_write_leaves_nothing_and_keeps_the_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("taken");
        fs::create_dir(&target).expect("a folder in the file's place");
        fs::write(target.join("child"), "x").expect("a child, so that the rename fails");
        let error = write_whole(&target, b"new", "write the part").expect_err("a folder is in the way");
        assert!(error.to_string().contains("cannot write the part"), "{error}");
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn only_names_of_the_exact_pattern_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let ours = TemporaryName::new(Path::new("c0000-b0000.parquet")).name();
        let foreign = [
            "thesis.tmp".to_owned(),
            "c0000-b0000.parquet.1-2.tmp".to_owned(),
            ".privateer-thesis.tmp".to_owned(),
            ours.replace(".privateer-", ".privateer-+"),
            ours.to_uppercase(),
            ours.replace(".tmp", ".tmp.tmp"),
        ];
        for name in foreign.iter().chain([&ours]) {
            fs::write(folder.path().join(name), "precious").expect("written");
        }
        // A folder and a link of our pattern are not files that a killed command leaves.
        let folder_name = TemporaryName::new(Path::new("x")).name();
        fs::create_dir(folder.path().join(&folder_name)).expect("a folder");
        assert_eq!(remove_leftovers(folder.path()).expect("clean"), 1);
        let mut expected: Vec<String> = foreign.into_iter().chain([folder_name]).collect();
        expected.sort();
        assert_eq!(names(folder.path()), expected);
    }

    #[test]
    fn leftovers_of_one_file_are_told_from_others_and_from_living_writers() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mine, other) = (folder.path().join("mine"), folder.path().join("other"));
        for path in [&mine, &other] {
            fs::write(TemporaryName::new(path).beside(path), "half").expect("written");
        }
        let living = PreparedFile::write(&mine, b"whole", "write", true).expect("written");
        let mut first = unfinished_of(&mine).expect("read");
        assert_eq!(first.leftovers.iter().map(|leftover| leftover.read().expect("read")).collect::<Vec<_>>(), [b"half"]);
        let second = unfinished_of(&mine).expect("read");
        assert!(second.leftovers.is_empty() && first.in_use && second.in_use, "of two commands one takes it");
        assert_eq!(first.leftovers[0].read().expect("read again"), b"half");
        let second_name = folder.path().join("published");
        fs::hard_link(&first.leftovers[0].path, &second_name).expect("linked");
        assert!(!first.leftovers[0].withdraw().expect("asked"), "it was published by a link");
        fs::remove_file(&second_name).expect("removed");
        assert!(first.leftovers[0].withdraw().expect("renamed"));
        drop(first);
        assert_eq!(remove_leftovers_of(&mine).expect("removed"), 1);
        assert_eq!(names(folder.path()).len(), 2, "the other file's and the living writer's stay");
        living.publish_new("").expect("nothing is there");
        assert_eq!(fs::read(&mine).expect("a file"), b"whole");
    }

    #[test]
    fn a_file_published_while_another_command_looks_is_no_leftover() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("release");
        let living = PreparedFile::write(&path, b"whole", "write", false).expect("written");
        let opened = Leftover::open(living.temporary.clone()).expect("a file");
        let mut unnoticed = Leftover::open(living.temporary.clone()).expect("a file");
        living.publish_new("").expect("nothing is there");
        assert!(!unnoticed.withdraw().expect("asked"), "as where no lock tells that its process lives");
        assert!(matches!(opened.lock(), LockOutcome::Gone), "the lock is that of the published file");
    }

    #[test]
    fn a_file_taken_between_creation_and_lock_is_given_up_and_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("release");
        let temporary = TemporaryName::new(&path).beside(&path);
        let file = disk::create_new(&temporary, false).expect("created");
        let taken = unfinished_of(&path).expect("read");
        assert_eq!(taken.leftovers.len(), 1);
        assert!(!claim(&temporary, &file), "another command holds the lock");
        drop(taken);
        assert!(!claim(&temporary, &file), "its name is gone");
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn of_two_that_publish_one_succeeds() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("release");
        let [first, second] =
            [b"first", b"other"].map(|bytes| PreparedFile::write(&path, bytes, "write", false).expect("written"));
        first.publish_new("").expect("nothing is there");
        let error = second.publish_new("name another file").expect_err("too late");
        assert!(matches!(&error, Error::Folder { problem, .. } if problem == "is there already"), "{error}");
        assert_eq!(fs::read(&path).expect("a file"), b"first");
        assert_eq!(names(folder.path()), ["release"]);
    }
}
