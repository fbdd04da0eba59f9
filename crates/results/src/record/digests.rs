//! Keeps the list of digests next to the manifest: SHA-256 of every part, of released parameters and of the audit.
//!
//! `SHA256SUMS` has one line for each file, in the form that `sha256sum -c` reads. A line is appended and flushed after its file is in
//! place, so a file without a line is one whose command was stopped between the two: it counts as unfinished and is made again. A
//! finished folder has its lines in the order of names: equal runs have equal lists.

use super::disk;
use super::hash::{hash_bytes, hash_of};
use super::whole_file::{remove_file, write_all_whole, write_whole};
use privateer_config::error::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Name of the list in a results folder.
pub const DIGESTS_NAME: &str = "SHA256SUMS";

/// One process writes the list line by line from several threads.
static WRITING: Mutex<()> = Mutex::new(());

/// The list as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestList {
    /// Digest of each file, by its name relative to the folder with `/` between.
    by_name: BTreeMap<String, String>,
}

/// States how a file compares with the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Its bytes are those that were written.
    Intact,
    /// It is there, and not listed: the command that wrote it was stopped before its end.
    Unlisted,
    /// Its bytes are not those that were written.
    Altered,
    /// It is listed, and not there.
    Missing,
    /// It is neither there nor listed.
    Absent,
}

impl DigestList {
    /// Returns where the list lies in a results folder.
    pub fn path(out: &Path) -> PathBuf {
        out.join(DIGESTS_NAME)
    }

    /// Reads the list; a missing one is empty. Lines that are not whole count for nothing, so their files count as unfinished.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read, [`Error::Corrupt`] where it is not a regular file.
    pub fn load(out: &Path) -> Result<Self, Error> {
        let path = Self::path(out);
        if path.symlink_metadata().is_err_and(|source| source.kind() == std::io::ErrorKind::NotFound) {
            return Ok(Self::default());
        }
        let bytes = disk::read(&path, "read the list of digests")?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(Self { by_name: text.split_inclusive('\n').filter_map(entry).collect() })
    }

    /// Returns the names that are listed.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Compares a file with the list.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read, [`Error::Corrupt`] where it is not a regular file.
    pub fn state(&self, out: &Path, name: &str) -> Result<FileState, Error> {
        let path = out.join(name);
        let listed = self.by_name.get(name);
        if path.symlink_metadata().is_err_and(|source| source.kind() == std::io::ErrorKind::NotFound) {
            return Ok(if listed.is_some() { FileState::Missing } else { FileState::Absent });
        }
        // Opened also where it is not listed: what is not a regular file is refused.
        let file = disk::open(&path).map_err(|source| disk::refused(&path, "read the file", source))?;
        let Some(listed) = listed else { return Ok(FileState::Unlisted) };
        let found = hash_of(file).map_err(|source| Error::io("read the file", &path, source))?;
        Ok(if found == *listed { FileState::Intact } else { FileState::Altered })
    }

    /// Replaces the list in the folder by one of the files that `keep` names.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses.
    pub fn rewrite(out: &Path, keep: impl Fn(&str) -> bool) -> Result<(), Error> {
        let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list = Self::load(out)?;
        list.by_name.retain(|name, _| keep(name));
        let (path, text) = (Self::path(out), list.text());
        let same = path.exists() && disk::read(&path, "read the list of digests")? == text.as_bytes();
        if same { Ok(()) } else { write_whole(&path, text.as_bytes(), "write the list of digests") }
    }

    /// Puts the lines in the order of names, as a finished folder has them.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses.
    pub fn sort(out: &Path) -> Result<(), Error> {
        Self::rewrite(out, |_| true)
    }

    /// Whether the file, of which this is the list, has nothing but its lines; a run under way may leave half a line at the end.
    pub(super) fn is_sound(&self, out: &Path, is_under_way: bool) -> Result<bool, Error> {
        let path = Self::path(out);
        if !path.exists() {
            return Ok(true);
        }
        let bytes = disk::read(&path, "read the list of digests")?;
        let end = if is_under_way { bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1) } else { bytes.len() };
        // Lines that count for nothing or twice make the file longer than the list.
        Ok(end == self.text().len())
    }

    /// Returns the list as a file, in the order of names.
    fn text(&self) -> String {
        self.by_name.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect()
    }
}

/// Parses one line: the digest in lower-case hexadecimal, two spaces, the name, a line feed.
fn entry(line: &str) -> Option<(String, String)> {
    let (digest, name) = line.strip_suffix('\n')?.split_once("  ")?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_name = !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'/'));
    (is_digest && is_name).then(|| (name.to_owned(), digest.to_owned()))
}

/// Holds a file that is to be written and listed.
#[derive(Debug)]
pub struct ListedFile {
    /// Name relative to the folder, with `/` between.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Writes files of a results folder whole, in inner folders that are made as needed, and lists their digests.
///
/// # Errors
/// [`Error::Io`] where the disk refuses; files may then be in place without a line, and count as unfinished.
pub fn write_listed(out: &Path, files: &[ListedFile], action: &str) -> Result<(), Error> {
    let named: Vec<_> = files.iter().map(|file| (out.join(&file.name), file.bytes.as_slice())).collect();
    for folder in named.iter().filter_map(|(path, _)| path.parent()).collect::<BTreeSet<_>>() {
        disk::create_folder(folder).map_err(|source| Error::io("create the folder", folder, source))?;
    }
    write_all_whole(&named, action)?;
    let lines: String = files.iter().map(|file| format!("{}  {}\n", hash_bytes(&file.bytes), file.name)).collect();
    let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let path = DigestList::path(out);
    let append = || {
        let mut file = disk::open_append(&path)?;
        disk::write(&mut file, &path, lines.as_bytes())?;
        disk::sync(&file, &path)
    };
    append().map_err(|source| Error::io("write the list of digests", &path, source))
}

/// Writes a file that may have been written and listed before.
///
/// # Errors
/// [`Error::Io`] where the disk refuses.
pub fn rewrite_listed(out: &Path, name: &str, bytes: &[u8], action: &str) -> Result<(), Error> {
    DigestList::rewrite(out, |listed| listed != name)?;
    write_listed(out, &[ListedFile { name: name.to_owned(), bytes: bytes.to_vec() }], action)
}

/// Removes a listed file that is not to be believed; it need not be there.
///
/// # Errors
/// [`Error::Io`] where the disk refuses.
pub fn remove_listed(out: &Path, name: &str, action: &str) -> Result<(), Error> {
    DigestList::rewrite(out, |listed| listed != name)?;
    remove_file(&out.join(name), action)
}

/// Reads a listed file; `None` where it is neither there nor listed.
///
/// # Errors
/// [`Error::Corrupt`] where it is altered, missing or not listed; [`Error::Io`] where it cannot be read.
pub fn read_listed(out: &Path, name: &str, action: &str) -> Result<Option<Vec<u8>>, Error> {
    let path = out.join(name);
    let problem = match DigestList::load(out)?.state(out, name)? {
        FileState::Absent => return Ok(None),
        FileState::Intact => return disk::read(&path, action).map(Some),
        state => state.problem(),
    };
    Err(Error::corrupt(&path, problem, "run the same command again: it is then written again"))
}

impl FileState {
    /// Returns what a message says about a file in this state.
    pub fn problem(self) -> &'static str {
        match self {
            Self::Intact => "is intact",
            Self::Unlisted => "is not listed in `SHA256SUMS`: its command was stopped before the end",
            Self::Altered => "is not the file that was written: its SHA-256 is not the one in `SHA256SUMS`",
            Self::Missing | Self::Absent => "is missing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_flipped_bit_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path();
        rewrite_listed(out, "cells.bin", b"some bytes", "write").expect("written");
        let state = || DigestList::load(out).expect("a list").state(out, "cells.bin").expect("readable");
        assert_eq!(state(), FileState::Intact);
        for name in ["cells.bin", DIGESTS_NAME] {
            let whole = fs::read(out.join(name)).expect("bytes");
            for bit in 0..8 * whole.len() {
                let mut flipped = whole.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                fs::write(out.join(name), &flipped).expect("written");
                assert_ne!(state(), FileState::Intact, "{name} bit {bit}");
            }
            fs::write(out.join(name), &whole).expect("restored");
        }
        fs::remove_file(out.join("cells.bin")).expect("removed");
        assert_eq!(state(), FileState::Missing);
    }

    #[test]
    fn a_torn_line_counts_for_nothing_and_is_cleared_away() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path();
        rewrite_listed(out, "a", b"1", "write").expect("written");
        let whole = fs::read_to_string(DigestList::path(out)).expect("a list");
        for kept in 1..whole.len() {
            fs::write(DigestList::path(out), format!("{whole}{}", whole[..kept].replace("  a", "  b"))).expect("torn");
            assert_eq!(DigestList::load(out).expect("a list").names().collect::<Vec<_>>(), ["a"]);
        }
        DigestList::rewrite(out, |_| true).expect("rewritten");
        assert_eq!(fs::read_to_string(DigestList::path(out)).expect("a list"), whole);
        rewrite_listed(out, "a", b"2", "write").expect("written again");
        assert_eq!(read_listed(out, "a", "read").expect("intact").expect("there"), b"2");
        assert_eq!(read_listed(out, "b", "read").expect("absent"), None);
    }
}
