//! The file of one party of a deployment: an SQLite database, readable by its owner alone.
//!
//! A spend and its answer are one transaction with full durability, also where the budget is in another file: SQLite commits both
//! files or none. That is why the journal is a rollback journal: a write-ahead log commits each file by itself, leaves the newest
//! answers beside the file, where a copy misses them, and does not work on network folders.

use super::anchor::refuse_anchor;
use super::failure::{altered, refused};
use super::identity::{APPLICATION, Identity, VERSION, check_version, head};
use super::place::{place_of, refuse_copy_of, refuse_hard_links, refuse_others, roll_back_killed};
use super::seal::text;
use privateer_config::error::Error;
use privateer_privacy::release::random_name;
use privateer_results::record::once_free;
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, OpenFlags};
use std::cell::Cell;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a command waits at least: several share a file, each for a moment.
const SHARED: Duration = Duration::from_secs(2);
/// How long SQLite tries by itself before the wait is told of.
const TRY: Duration = Duration::from_millis(100);

/// The file of one party, open for one command.
pub struct DeploymentFile {
    pub(super) db: Connection,
    /// Behind links that may lead to it.
    path: PathBuf,
    /// As it was named.
    shown: PathBuf,
    pub(super) identity: Identity,
    /// The file whose budget counts the answers too: its place, and who it is.
    pub(super) shared: Option<(PathBuf, Identity)>,
    /// Whether nothing was committed so far.
    is_new: Cell<bool>,
    /// Keeps the number of a new file from being given to another one; closed last, since closing it frees every lock.
    _held: Option<File>,
}

impl Drop for DeploymentFile {
    fn drop(&mut self) {
        // Nothing is left of a file that was not made. While the transaction is open, nobody else makes it.
        if self.is_new.get() && !self.db.is_autocommit() && self.path.metadata().is_ok_and(|found| found.len() == 0) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Which of the two open files is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Own,
    Shared,
}

impl Side {
    pub fn schema(self) -> &'static str {
        match self {
            Self::Own => "main",
            Self::Shared => "shared",
        }
    }
}

/// Returns the present moment, in seconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

pub fn new_name() -> Result<String, Error> {
    random_name().map_err(|why| Error::failed(why.to_string(), "try again once the system gives entropy"))
}

impl DeploymentFile {
    pub fn refuse_existing(path: &Path) -> Result<(), Error> {
        if Self::is_absent(path) {
            return Ok(());
        }
        let hint = "a deployment is not overwritten: name another file, or delete this one";
        Err(Error::folder(path, "is there already", hint))
    }

    /// Whether nothing is at a path, or what a command left that was killed before its first transaction ended: an empty file.
    #[must_use]
    pub fn is_absent(path: &Path) -> bool {
        roll_back_killed(path);
        path.symlink_metadata().map_or(true, |found| found.is_file() && found.len() == 0)
    }

    /// Makes a new file, mode 0600, and begins its first transaction: it appears as a whole when that is committed.
    /// * `odometer` — the file whose budget counts the answers too
    pub fn create(path: &Path, new: &Identity, odometer: Option<&Path>) -> Result<Self, Error> {
        Self::refuse_existing(path)?;
        let action = "write the deployment";
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(|source| Error::io(action, path, source))?;
        let place = path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name));
        place_of(&place)?;
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        if let Some(anchor) = &new.anchor {
            refuse_anchor(anchor, &place)?;
        }
        let held = options.open(&place).map_err(|source| Error::io(action, path, source))?;
        let db = once_free(SHARED, || connect(&place, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|why| refused(path, &why)))?;
        let absolute =
            |anchor: &PathBuf| std::path::absolute(anchor).map_err(|source| Error::io("find the anchor", anchor, source));
        let anchor = new.anchor.as_ref().map(absolute).transpose()?;
        let mut made = Self {
            db,
            path: place.clone(),
            shown: path.to_owned(),
            identity: Identity { anchor, ..new.clone() },
            shared: None,
            is_new: Cell::new(true),
            _held: Some(held),
        };
        if let Some(odometer) = odometer {
            made.share(odometer, None)?;
        }
        made.begin()?;
        // Of two commands that make it at once, one alone does.
        let known = made.db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0));
        if known.map_err(|why| refused(&place, &why))? != 0 {
            made.is_new.set(false);
            Self::refuse_existing(&place)?;
        }
        if !made.is_in_place() {
            // One that gave up has removed it meanwhile.
            made.is_new.set(false);
            return Err(Error::InUse { path: path.to_owned(), holder: "another command", hint: "then try again".to_owned() });
        }
        let refuse = |why: rusqlite::Error| refused(&place, &why);
        made.db.execute_batch(include_str!("schema.sql")).map_err(refuse)?;
        made.db.pragma_update(None, "application_id", APPLICATION).map_err(refuse)?;
        made.db.pragma_update(None, "user_version", VERSION).map_err(refuse)?;
        let Identity { id, naming, key_check, anchor } = &made.identity;
        let row = [
            text(id),
            now().into(),
            text(env!("CARGO_PKG_VERSION")),
            text(place_of(&place)?),
            text(naming.text()),
            key_check.clone().into(),
            anchor.as_deref().map(place_of).transpose()?.map(str::to_owned).into(),
            Value::Integer(0),
        ];
        made.insert(Side::Own, "deployment", row)?;
        // Before the first answer: an anchor that is missing later was taken away.
        made.write_anchor(Side::Own)?;
        Ok(made)
    }

    /// Whether a new file still stands at its place.
    fn is_in_place(&self) -> bool {
        #[cfg(unix)]
        if let Some(held) = &self._held {
            use std::os::unix::fs::MetadataExt;
            let number = |found: std::io::Result<std::fs::Metadata>| found.map(|found| (found.dev(), found.ino())).ok();
            return number(held.metadata()) == number(self.path.metadata());
        }
        true
    }

    /// Counts the transaction under way; returns how many there were with it.
    pub(super) fn count_change(&self) -> Result<i64, Error> {
        self.update(Side::Own, "deployment", "changes = changes + 1", "1", &[])?;
        self.changes()
    }

    pub(super) fn changes(&self) -> Result<i64, Error> {
        self.value("SELECT changes FROM main.deployment", [])
    }

    /// Opens a file to write to it; a transaction must be begun before anything is read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE, true)
    }

    /// Opens a file and begins to read it, also where it cannot be written; copies and older files are read as any other.
    pub fn open_to_read(path: &Path) -> Result<Self, Error> {
        // What a killed command left is rolled back by whoever may write.
        let file = match Self::opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE, false) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                Self::opened(path, OpenFlags::SQLITE_OPEN_READ_ONLY, false)
            }
            outcome => outcome,
        }?;
        file.begin_to_read()?;
        Ok(file)
    }

    /// Whether a file is a deployment: it may be damaged, of another version or a copy.
    pub fn is_one(path: &Path) -> Result<bool, Error> {
        let failed = |source| Error::io("read the file", path, source);
        roll_back_killed(path);
        if !path.metadata().map_err(failed)?.is_file() {
            return Ok(false);
        }
        let mut head = [0; 72];
        let mut file = File::open(path).map_err(failed)?;
        let read = file.read(&mut head).map_err(failed)?;
        // An altered head is no reason to take the file for another's.
        Ok(72 <= read && (head.starts_with(b"SQLite format 3\0") || head[68..72] == APPLICATION.to_be_bytes()))
    }

    fn opened(path: &Path, flags: OpenFlags, to_write: bool) -> Result<Self, Error> {
        let action = "read the deployment";
        // A link is followed once and for all.
        let real = path.canonicalize().map_err(|source| Error::io(action, path, source))?;
        refuse_others(path, &real)?;
        if to_write {
            refuse_hard_links(path, &real)?;
        }
        place_of(&real)?;
        let db = once_free(SHARED, || connect(&real, flags).map_err(|why| refused(path, &why)))?;
        once_free(SHARED, || check_version(&db, Side::Own, path))?;
        let (identity, place) = once_free(SHARED, || head(&db, Side::Own, path))?;
        let (shown, is_new) = (path.to_owned(), Cell::new(false));
        let made = Self { db, path: real.clone(), shown, identity, shared: None, is_new, _held: None };
        if to_write {
            if real != place {
                refuse_copy_of(&made.identity.id, path, &real, &place)?;
                made.begin()?;
                made.update(Side::Own, "deployment", "place = ?1", "1", &[text(place_of(&real)?)])?;
                made.commit()?;
            }
            made.check_anchor(Side::Own)?;
        }
        Ok(made)
    }

    /// Opens the file whose budget counts the answers of this one too, in transactions over both.
    pub(super) fn share(&mut self, path: &Path, id: Option<&str>) -> Result<(), Error> {
        if let Some((_, shared)) = &self.shared {
            // One command is about one session.
            debug_assert!(id.is_none_or(|id| id == shared.id));
            return Ok(());
        }
        let real = path.canonicalize().map_err(|source| Error::io("read the odometer", path, source))?;
        refuse_others(path, &real)?;
        refuse_hard_links(path, &real)?;
        // Read only where the file is: SQLite would make a missing one.
        let uri = place_of(&real)?;
        let attached = self.db.execute("ATTACH DATABASE ?1 AS shared", [uri]).map(drop);
        attached.and_then(|()| self.db.execute_batch("PRAGMA shared.synchronous = EXTRA")).map_err(|why| refused(&real, &why))?;
        once_free(SHARED, || check_version(&self.db, Side::Shared, path))?;
        let (identity, place) = once_free(SHARED, || head(&self.db, Side::Shared, path))?;
        if real != place {
            refuse_copy_of(&identity.id, path, &real, &place)?;
        }
        if id.is_some_and(|id| id != identity.id) {
            let hint = "name the one it was started with, by `--odometer FILE` if it has moved";
            return Err(Error::corrupt(path, "is not the odometer that this session spends from", hint));
        }
        self.shared = Some((real, identity));
        self.check_anchor(Side::Shared)
    }

    /// Returns where the file is, behind links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn path_of(&self, side: Side) -> &Path {
        match (side, &self.shared) {
            (Side::Shared, Some((path, _))) => path,
            _ => &self.shown,
        }
    }

    /// Begins a transaction in all open files, alone among programs until it ends.
    pub fn begin(&self) -> Result<(), Error> {
        once_free(SHARED, || self.db.execute_batch("BEGIN IMMEDIATE").map_err(|why| self.failed(&why)))
    }

    pub fn begin_to_read(&self) -> Result<(), Error> {
        // The first read takes the lock.
        let first = "BEGIN; SELECT id FROM main.deployment";
        once_free(SHARED, || {
            self.db.execute_batch(first).map_err(|why| {
                let _ = self.db.execute_batch("ROLLBACK");
                self.failed(&why)
            })
        })
    }

    /// Ends a transaction: everything of it is on the disk, in all open files and in their anchors.
    /// Where that fails, nothing of it is kept, unless an anchor is named.
    pub fn commit(&self) -> Result<(), Error> {
        once_free(SHARED, || self.db.execute_batch("COMMIT").map_err(|why| self.failed(&why)))?;
        self.is_new.set(false);
        if [Side::Own, Side::Shared].into_iter().all(|side| self.identity_of(side).anchor.is_none()) {
            return Ok(());
        }
        // Of two commands the later one states what both have done: never a lower number after a higher one.
        self.begin()?;
        let written = self.write_anchor(Side::Own);
        let written = written.and_then(|()| if self.shared.is_some() { self.write_anchor(Side::Shared) } else { Ok(()) });
        self.roll_back();
        written
    }

    /// Ends a transaction as if it had not been.
    pub fn roll_back(&self) {
        // Whoever opens the file next would do it.
        let _ = self.db.execute_batch("ROLLBACK");
    }

    /// Begins the transaction under way again, as if it had written nothing.
    pub(super) fn start_again(&self) -> Result<(), Error> {
        self.roll_back();
        self.begin()
    }

    /// Keeps other programs from the files until this one is closed, beyond the transaction under way.
    pub(super) fn hold(&self) -> Result<(), Error> {
        self.db.execute_batch("PRAGMA locking_mode = EXCLUSIVE").map_err(|why| self.failed(&why))
    }

    /// Returns what SQLite refused as an error about this file, or about the shared one where it is named.
    pub(super) fn failed(&self, why: &rusqlite::Error) -> Error {
        refused(&self.shown, why)
    }

    pub(super) fn identity_of(&self, side: Side) -> &Identity {
        match (side, &self.shared) {
            (Side::Shared, Some((_, shared))) => shared,
            _ => &self.identity,
        }
    }

    /// Returns what digests of a file begin with: its random name, so that no row of another file fits.
    pub(super) fn seed(&self, side: Side) -> &str {
        &self.identity_of(side).id
    }

    /// Returns a statement that may be used again.
    pub(super) fn statement(&self, sql: &str) -> Result<CachedStatement<'_>, Error> {
        self.db.prepare_cached(sql).map_err(|why| self.failed(&why))
    }

    /// Fails where SQLite finds the pages of the file damaged, or where a row does not fit its digest.
    ///
    /// Columns, terms, totals and answers are checked by whoever reads them.
    pub(super) fn check_all(&self) -> Result<(), Error> {
        head(&self.db, Side::Own, &self.shown)?;
        for table in ["commands", "people", "refusals", "sessions", "tickets"] {
            self.rows(Side::Own, (table, "1"), &[], |_| Ok(()))?;
        }
        let missing = "SELECT count(*) FROM spends WHERE command_id NOT IN (SELECT command_id FROM commands)";
        if self.value::<i64>(missing, [])? != 0 {
            return Err(self.altered(Side::Own, "the list of its commands"));
        }
        let found: String = self.value("PRAGMA main.integrity_check(1)", [])?;
        if found == "ok" { Ok(()) } else { Err(self.altered(Side::Own, &format!("a page ({found})"))) }
    }

    /// Returns the error for rows that do not belong together.
    pub(super) fn altered(&self, side: Side, what: &str) -> Error {
        altered(self.path_of(side), what)
    }
}

pub(super) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(TRY)?;
    db.set_prepared_statement_cache_capacity(64);
    let settings =
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = EXTRA; PRAGMA temp_store = MEMORY;";
    db.execute_batch(settings)?;
    Ok(db)
}
