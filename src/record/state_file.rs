//! The file of a session: whole or absent, for its owner's eyes, one program at a time.

use super::aside::write_private;
use crate::error::Error;
use std::fs::{File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Tells such files from others.
const FORMAT: &str = "privateer session";
/// The version of the envelope; what is inside has versions of its own.
const VERSION: u64 = 1;

/// An open session file: locked until it is dropped.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
    /// What was read, to the letter.
    text: String,
    value: serde_json::Value,
}

impl StateFile {
    /// Writes a new file, mode 0600; `content` is an object.
    ///
    /// # Errors
    /// [`Error::Folder`] where something is there already, [`Error::Io`] where the disk refuses.
    pub fn create(path: &Path, content: serde_json::Value) -> Result<(), Error> {
        if path.symlink_metadata().is_ok() {
            return Err(Error::Folder {
                path: path.to_owned(),
                problem: "is there already".to_owned(),
                hint: "a session is not overwritten: name another file, or delete this one".to_owned(),
            });
        }
        write_private(path, enveloped(content).as_bytes(), "write the session")
    }

    /// Opens, locks and reads a file.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read, [`Error::Corrupt`] where it is no session, of a newer version, or in use.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let corrupt = |problem: &str, hint: &str| {
            Err(Error::Corrupt { path: path.to_owned(), problem: problem.to_owned(), hint: hint.to_owned() })
        };
        let mut file = File::open(path).map_err(|source| Error::io("read the session", path, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return corrupt("is being used by another command", "wait for it, then try again");
            }
            // Some file systems know no locks: the file is still whole at every moment.
            Err(TryLockError::Error(_)) => {}
        }
        let mut text = String::new();
        if file.read_to_string(&mut text).is_err() {
            return corrupt("is not a text file", "name a file that `privateer init` wrote");
        }
        // Whoever held the lock before may have put a newer file in this one's place.
        if std::fs::read_to_string(path).ok().as_deref() != Some(text.as_str()) {
            return corrupt("was changed by another command just now", "try again");
        }
        let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) else {
            return corrupt("is not a session (no JSON)", "name a file that `privateer init` wrote");
        };
        if value["format"] != FORMAT {
            return corrupt("is not a session of this program", "name a file that `privateer init` wrote");
        }
        match value["version"].as_u64() {
            Some(VERSION) => Ok(Self { path: path.to_owned(), _file: file, text, value }),
            Some(version) if VERSION < version => corrupt(
                &format!("has version {version}; this program reads up to {VERSION}"),
                "use the program that wrote it, or a newer one",
            ),
            _ => corrupt("has no version that this program knows", "name a file that `privateer init` wrote"),
        }
    }

    /// What the file holds under a key; null where there is none.
    #[must_use]
    pub fn get(&self, key: &str) -> &serde_json::Value {
        &self.value[key]
    }

    /// Replaces what the file holds under a key, and the file as a whole.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where another command has replaced the file since it was read, as can happen where the file system knows no
    /// locks; [`Error::Io`] where the disk refuses. The file is then as it was.
    pub fn replace(&mut self, key: &str, content: serde_json::Value) -> Result<(), Error> {
        let now = std::fs::read_to_string(&self.path).map_err(|source| Error::io("read the session", &self.path, source))?;
        if now != self.text {
            let revision = |value: &serde_json::Value| value[key]["revision"].as_u64().map_or("?".to_owned(), |n| n.to_string());
            let other = serde_json::from_str::<serde_json::Value>(&now).unwrap_or_default();
            return Err(Error::Corrupt {
                path: self.path.clone(),
                problem: format!(
                    "was changed by another command while this one worked: revision {} was read, and now it is {}",
                    revision(&self.value),
                    revision(&other)
                ),
                hint: "nothing of this command was kept; ask for the row again, and use one command at a time".to_owned(),
            });
        }
        self.value[key] = content;
        let text = format!("{}\n", self.value);
        write_private(&self.path, text.as_bytes(), "write the session")?;
        self.text = text;
        Ok(())
    }
}

fn enveloped(mut content: serde_json::Value) -> String {
    content["format"] = FORMAT.into();
    content["version"] = VERSION.into();
    content["program_version"] = env!("CARGO_PKG_VERSION").into();
    format!("{content}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where there are no locks two commands can hold one file: the later one to write is refused, and what the first wrote stays.
    #[test]
    fn the_later_of_two_writers_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        StateFile::create(&path, serde_json::json!({ "session": { "revision": 1 } })).expect("written");
        let mut first = StateFile::open(&path).expect("a session");
        assert!(StateFile::open(&path).expect_err("locked").to_string().contains("used by another command"));
        // A second command as on a file system without locks: the same text, read before the first one wrote.
        let value = first.value.clone();
        let mut second =
            StateFile { path: path.clone(), _file: File::open(&path).expect("a file"), text: first.text.clone(), value };
        first.replace("session", serde_json::json!({ "revision": 2, "told": "first" })).expect("nobody came between");
        let kept = std::fs::read_to_string(&path).expect("a file");
        let refused = second.replace("session", serde_json::json!({ "revision": 2, "told": "second" })).expect_err("too late");
        let said = refused.to_string();
        assert!(said.contains("revision 1 was read, and now it is 2") && said.contains("hint: "), "{said}");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), kept);
        // Writing twice in one command is no conflict.
        first.replace("session", serde_json::json!({ "revision": 3 })).expect("its own file");
        drop(first);
        assert_eq!(StateFile::open(&path).expect("a session").get("session")["revision"], 3);
    }
}
