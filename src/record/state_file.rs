//! Reads and writes the file of a session, a release state or an odometer: whole or absent, readable by its owner alone,
//! used by one program at a time.

use super::whole_file::{PreparedFile, remove_leftovers_of, write_private};
use super::{disk, once_free, sealed_text};
use privateer_config::error::Error;
use privateer_config::input::FileHead;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names the kinds of state files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateKind {
    /// A session of one policy.
    Session,
    /// Values that a data holder has released.
    Releases,
    /// What every record of a table has spent.
    Odometer,
}

impl StateKind {
    const ALL: [Self; 3] = [Self::Session, Self::Releases, Self::Odometer];

    /// Returns the text by which a file states its format.
    fn format(self) -> &'static str {
        match self {
            Self::Session => "privateer session",
            Self::Releases => "privateer releases",
            Self::Odometer => "privateer odometer",
        }
    }

    /// Returns the noun of messages.
    fn noun(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Releases => "release state",
            Self::Odometer => "odometer",
        }
    }

    /// Says what to do where a file stands in the way of a new one.
    fn kept(self) -> String {
        let article = if self == Self::Odometer { "an" } else { "a" };
        format!("{article} {} is not overwritten: name another file, or delete this one", self.noun())
    }

    /// Returns the command that writes the first such file.
    fn command(self) -> &'static str {
        match self {
            Self::Session => "privateer init",
            Self::Releases => "privateer release",
            Self::Odometer => "privateer odometer",
        }
    }
}

/// The version of the envelope: 4 since it says where the file stands. What is inside has versions of its own.
const VERSION: u64 = 4;
/// The key under which a file says where it stands, by which a copy is told from a file that has moved.
const PLACE: &str = "place";
/// How long a command waits at least for an odometer: several share it, each for a moment.
const SHARED: Duration = Duration::from_secs(2);

/// An open session file: locked until it is dropped.
#[derive(Debug)]
pub struct StateFile {
    /// The file itself, behind links that may lead to it.
    path: PathBuf,
    kind: StateKind,
    /// Holds the lock.
    file: File,
    /// What was read, to the letter.
    text: String,
    value: serde_json::Value,
    removed: usize,
}

impl StateFile {
    /// Refuses a path where something is already.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub fn refuse_existing(path: &Path, kind: StateKind) -> Result<(), Error> {
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        Err(Error::Folder { path: path.to_owned(), problem: "is there already".to_owned(), hint: kind.kept() })
    }

    /// Writes a new file, mode 0600; `content` is an object. Returns how many unfinished files of killed commands were removed.
    ///
    /// # Errors
    /// [`Error::Folder`] where something is there already, also where another command created it just now; [`Error::Io`] where the disk
    /// refuses.
    pub fn create(path: &Path, kind: StateKind, content: serde_json::Value) -> Result<usize, Error> {
        Self::refuse_existing(path, kind)?;
        let hint = kind.kept();
        let removed = remove_leftovers_of(path)?;
        let action = format!("write the {}", kind.noun());
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(|source| Error::io(action.as_str(), path, source))?;
        let place = path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name));
        let place = place_of(&place).map_err(|(problem, hint)| Error::Folder { path: path.to_owned(), problem, hint })?;
        PreparedFile::write(path, enveloped(kind, content, place).as_bytes(), &action, true)?.publish_new(&hint)?;
        Ok(removed)
    }

    /// Opens, locks and reads a file, and removes what killed commands left unfinished of it.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read, [`Error::Corrupt`] where it is no session, altered or of another version,
    /// [`Error::InUse`] where another command holds it.
    pub fn open(path: &Path, kind: StateKind) -> Result<Self, Error> {
        let least = if kind == StateKind::Odometer { SHARED } else { Duration::ZERO };
        once_free(least, || {
            Self::open_unless_busy(path, kind)?.ok_or_else(|| Error::InUse {
                path: path.to_owned(),
                holder: "another command",
                hint: "then try again".to_owned(),
            })
        })
    }

    /// As [`StateFile::open`]; `None` where another command holds the file or has just replaced it.
    fn open_unless_busy(path: &Path, kind: StateKind) -> Result<Option<Self>, Error> {
        let action = format!("read the {}", kind.noun());
        let corrupt = |(problem, hint)| Error::Corrupt { path: path.to_owned(), problem, hint };
        // A link is followed once and for all: replacing it by a copy would let the session go on in two files.
        let real = path.canonicalize().map_err(|source| Error::io(action.as_str(), path, source))?;
        // Who may read and not write still sees which row is the best.
        let file = disk::open_to_lock(&real).or_else(|source| match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => disk::open(&real).map_err(|_| source),
            _ => Err(source),
        });
        let file = file.map_err(|source| disk::refused(path, &action, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Several commands share an odometer: without a lock two of them could spend the same budget.
            Err(TryLockError::Error(source)) if kind == StateKind::Odometer => {
                return Err(Error::io("lock the odometer", path, source));
            }
            // Some file systems know no locks: a session is still whole at every moment, and the later of two writers is refused.
            Err(TryLockError::Error(_)) => {}
        }
        if disk::has_other_names(&file) {
            let hint = "delete the other hard links: a write through one name would not be seen through another".to_owned();
            return Err(corrupt(("is one file under several names (hard links)".to_owned(), hint)));
        }
        let copy = file.try_clone().map_err(|source| Error::io(action.as_str(), path, source))?;
        let Ok(text) = String::from_utf8(disk::read_all(copy, path, &action)?) else {
            return Err(corrupt(("is not a text file".to_owned(), format!("name a file that `{}` wrote", kind.command()))));
        };
        // Whoever held the lock before may have put a newer file in this one's place.
        if disk::read(&real, &action)? != text.as_bytes() {
            return Ok(None);
        }
        let value = Self::parse(&text, kind).map_err(corrupt)?;
        place_of(&real).map_err(corrupt)?;
        if let Some(place) = standing_original(&real, kind, &value) {
            let hint = format!(
                "go on with `{}`, or delete it if this one takes its place: what one of the two spends, the other would not know",
                place.display()
            );
            return Err(corrupt((format!("is a copy: the {} still stands at `{}`", kind.noun(), place.display()), hint)));
        }
        let removed = remove_leftovers_of(&real)?;
        Ok(Some(Self { path: real, kind, file, text, value, removed }))
    }

    /// Returns what a state file of any kind holds, without a lock; `None` where the file is not a state file.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read, [`Error::Corrupt`] where it is altered or of another version.
    pub fn peek(path: &Path) -> Result<Option<(StateKind, serde_json::Value)>, Error> {
        let Ok(text) = String::from_utf8(disk::read(path, "read the file")?) else { return Ok(None) };
        let kind = match serde_json::from_str::<FileHead>(&text) {
            Ok(head) => StateKind::ALL.into_iter().find(|kind| head.format == kind.format()),
            // An altered head is no reason to take the file for another's.
            Err(error) if error.is_data() => StateKind::ALL.into_iter().find(|kind| text.contains(kind.format())),
            Err(_) => None,
        };
        let Some(kind) = kind else { return Ok(None) };
        let corrupt = |(problem, hint)| Error::Corrupt { path: path.to_owned(), problem, hint };
        Self::parse(&text, kind).map(|value| Some((kind, value))).map_err(corrupt)
    }

    /// Returns the content of the text of a file of this kind, or what is wrong with it and what to do.
    ///
    /// # Errors
    /// A text of another kind, altered or of another version.
    pub fn parse(text: &str, kind: StateKind) -> Result<serde_json::Value, (String, String)> {
        let noun = kind.noun();
        let refuse = |problem: String| Err((problem, format!("name a file that `{}` wrote", kind.command())));
        let article = if kind == StateKind::Odometer { "an" } else { "a" };
        // What is not sealed is not worth the memory that its values take.
        let head = match serde_json::from_str::<FileHead>(text) {
            Ok(head) if head.format == kind.format() => head,
            Err(error) if !error.is_data() => return refuse(format!("is not {article} {noun} (no JSON)")),
            _ => return refuse(format!("is not {article} {noun} of this program")),
        };
        match head.version() {
            Some(VERSION) => {}
            Some(version) => {
                let hint = if VERSION < version {
                    "use the program that wrote it, or a newer one".to_owned()
                } else {
                    let start = kind.command();
                    format!(
                        "go on with the program that wrote it (`program_version` in the file), or start a {noun} with `{start}`"
                    )
                };
                return Err((format!("has version {version}; this program reads version {VERSION}"), hint));
            }
            None => return refuse("has no version that this program knows".to_owned()),
        }
        if !sealed_text::is_intact(text) {
            return Err((
                "is not the file that was written: its SHA-256 is not the one at its end".to_owned(),
                "restore the file from a copy".to_owned(),
            ));
        }
        serde_json::from_str(text).or_else(|_| refuse(format!("is not {article} {noun} (no JSON)")))
    }

    /// Returns the text of a state file that holds an object: with its digest at the end.
    #[must_use]
    pub fn text(mut value: serde_json::Value) -> String {
        sealed(&mut value)
    }

    /// Returns how many unfinished files of killed commands were removed when this file was opened.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// Returns what the file holds under a key; null where there is none.
    #[must_use]
    pub fn get(&self, key: &str) -> &serde_json::Value {
        &self.value[key]
    }

    /// Returns where the file is, behind links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets what the file will hold under a key once it is replaced.
    pub fn set(&mut self, key: &str, content: serde_json::Value) {
        self.value[key] = content;
    }

    /// Replaces what the file holds under a key, and the file as a whole, with everything that was set before.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where another command has replaced the file since it was read, as can happen where the file system knows no
    /// locks; [`Error::Io`] where the disk refuses. The file is then as it was.
    pub fn replace(&mut self, key: &str, content: serde_json::Value) -> Result<(), Error> {
        let now = disk::read(&self.path, &format!("read the {}", self.kind.noun()))?;
        if now != self.text.as_bytes() {
            let revision = |value: &serde_json::Value| value[key]["revision"].as_u64().map_or("?".to_owned(), |n| n.to_string());
            let other = serde_json::from_slice::<serde_json::Value>(&now).unwrap_or_default();
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
        self.value[PLACE] = self.path.display().to_string().into();
        let text = sealed(&mut self.value);
        // The new file is locked from before it stands here: no other command comes between two writes of this one.
        self.file = write_private(&self.path, text.as_bytes(), &format!("write the {}", self.kind.noun()))?;
        self.text = text;
        Ok(())
    }
}

/// Returns where the file of this content stands, if that is another place than `real` and the file is still there.
fn standing_original(real: &Path, kind: StateKind, value: &serde_json::Value) -> Option<PathBuf> {
    // A session without a mechanism has no filter and spends nothing: copies of it do no harm.
    let name = |value: &serde_json::Value| {
        let deployment = &value["deployment"];
        let name = if deployment["filter"].is_null() { &value["id"] } else { &deployment["id"] };
        name.as_str().map(str::to_owned)
    };
    let place = Path::new(value[PLACE].as_str()?).canonicalize().ok().filter(|place| place != real)?;
    name(value)?;
    match StateFile::peek(&place) {
        Ok(Some((other_kind, other))) => (other_kind == kind && name(&other) == name(value)).then_some(place),
        Ok(None) => None,
        // What stands there cannot be read: it may be the original.
        Err(_) => Some(place),
    }
}

/// Returns a path as the text that a file keeps of it.
fn place_of(path: &Path) -> Result<&str, (String, String)> {
    path.to_str().ok_or_else(|| {
        let hint =
            "rename the folder or the file: a state file keeps its place as text, to tell a copy from a file that has moved";
        ("has a path that is not UTF-8".to_owned(), hint.to_owned())
    })
}

fn enveloped(kind: StateKind, mut content: serde_json::Value, place: &str) -> String {
    content[PLACE] = place.into();
    content["format"] = kind.format().into();
    content["version"] = VERSION.into();
    content["program_version"] = env!("CARGO_PKG_VERSION").into();
    sealed(&mut content)
}

/// Returns the text of a file with its digest at the end.
fn sealed(value: &mut serde_json::Value) -> String {
    if let Some(members) = value.as_object_mut() {
        members.remove("sha256");
    }
    sealed_text::sealed(&value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where there are no locks two commands can hold one file: the later one to write is refused, and what the first wrote stays.
    #[test]
    fn the_later_of_two_writers_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        StateFile::create(&path, StateKind::Session, serde_json::json!({ "session": { "revision": 1 } })).expect("written");
        let mut first = StateFile::open(&path, StateKind::Session).expect("a session");
        assert!(
            StateFile::open(&path, StateKind::Session).expect_err("locked").to_string().contains("in use by another command")
        );
        // A second command as on a file system without locks: the same text, read before the first one wrote.
        let value = first.value.clone();
        let mut second = StateFile {
            path: path.clone(),
            kind: StateKind::Session,
            file: File::open(&path).expect("a file"),
            text: first.text.clone(),
            value,
            removed: 0,
        };
        first.replace("session", serde_json::json!({ "revision": 2, "told": "first" })).expect("nobody came between");
        let kept = std::fs::read_to_string(&path).expect("a file");
        let refused = second.replace("session", serde_json::json!({ "revision": 2, "told": "second" })).expect_err("too late");
        let said = refused.to_string();
        assert!(said.contains("revision 1 was read, and now it is 2") && said.contains("hint: "), "{said}");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), kept);
        // Writing twice in one command is no conflict.
        first.replace("session", serde_json::json!({ "revision": 3 })).expect("its own file");
        drop(first);
        assert_eq!(StateFile::open(&path, StateKind::Session).expect("a session").get("session")["revision"], 3);
    }

    /// A session behind a link goes on in the file that the link leads to.
    #[cfg(unix)]
    #[test]
    fn a_link_to_a_session_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("state"), folder.path().join("link"));
        StateFile::create(&path, StateKind::Session, serde_json::json!({ "session": { "revision": 1 } })).expect("written");
        std::os::unix::fs::symlink("state", &link).expect("a link");
        StateFile::open(&link, StateKind::Session)
            .expect("a session")
            .replace("session", serde_json::json!({ "revision": 2 }))
            .expect("written");
        assert!(link.symlink_metadata().expect("there").is_symlink());
        assert_eq!(StateFile::open(&path, StateKind::Session).expect("a session").get("session")["revision"], 2);
        assert!(StateFile::create(&link, StateKind::Session, serde_json::json!({})).is_err());
    }

    #[test]
    fn every_flipped_bit_and_every_other_version_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        StateFile::create(&path, StateKind::Session, serde_json::json!({ "session": { "told": [0.5, 0.25] } })).expect("written");
        let whole = std::fs::read(&path).expect("bytes");
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, flipped).expect("written");
            assert!(matches!(StateFile::open(&path, StateKind::Session), Err(Error::Corrupt { .. })), "bit {bit}");
        }
        for version in [2, 9] {
            let text = format!("{{\"format\":\"privateer session\",\"version\":{version}}}");
            std::fs::write(&path, text).expect("written");
            let error = StateFile::open(&path, StateKind::Session).expect_err("another version").to_string();
            assert!(error.contains(&format!("version {version}; this program reads version 4")), "{error}");
        }
    }
}
