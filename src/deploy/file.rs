//! The file of one party of a deployment: an SQLite database, readable by its owner alone.
//!
//! A spend and its answer are one transaction with full durability, also where the budget is in another file: SQLite commits both
//! files or none. That is why the journal is a rollback journal: a write-ahead log commits each file by itself, leaves the newest
//! answers beside the file, where a copy misses them, and does not work on network folders.

use super::rows::is_sealed;
use crate::record::once_free;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::release::random_name;
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, OptionalExtension, Row};
use std::cell::Cell;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the files of this program from other databases.
const APPLICATION: i32 = 0x7072_6976;
/// The version of the schema.
const VERSION: i32 = 1;
/// How long a command waits at least: several share a file, each for a moment.
const SHARED: Duration = Duration::from_secs(2);
/// How long SQLite tries by itself before the wait is told of.
const TRY: Duration = Duration::from_millis(100);

/// What names a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// Its row in the table, from 0.
    Rows,
    /// An id.
    Ids,
    /// A keyed hash of its id: the file holds no ids.
    Keyed,
}

impl Naming {
    const ALL: [Self; 3] = [Self::Rows, Self::Ids, Self::Keyed];

    fn text(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Ids => "ids",
            Self::Keyed => "keyed",
        }
    }
}

/// What a new file states beside its budget.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// What names a record.
    pub naming: Naming,
    /// Tells the key of the ids from another.
    pub key_check: Option<Vec<u8>>,
    /// The file that knows the newest answer, where one is stated.
    pub anchor: Option<PathBuf>,
}

impl Default for NewFile {
    fn default() -> Self {
        Self { naming: Naming::Rows, key_check: None, anchor: None }
    }
}

/// The file of one party, open for one command.
pub struct DeploymentFile {
    pub(super) db: Connection,
    /// Behind links that may lead to it.
    path: PathBuf,
    /// As it was named.
    shown: PathBuf,
    /// Random name of the file.
    pub id: String,
    /// What names a record.
    pub naming: Naming,
    /// Tells the key of the ids from another.
    pub key_check: Option<Vec<u8>>,
    pub(super) anchor: Option<PathBuf>,
    /// The file whose budget counts the answers too: its random name, place and anchor.
    pub(super) shared: Option<SharedFile>,
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

/// Another file that is open beside this one.
pub(super) struct SharedFile {
    pub id: String,
    pub path: PathBuf,
    pub naming: Naming,
    pub anchor: Option<PathBuf>,
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

/// Returns a random name.
///
/// # Errors
/// [`Error::Failed`] without entropy.
pub fn new_name() -> Result<String, Error> {
    random_name()
        .map_err(|why| Error::Failed { problem: why.to_string(), hint: "try again once the system gives entropy".to_owned() })
}

/// Returns what SQLite refused as an error about a file.
pub(super) fn refused(path: &Path, why: &rusqlite::Error) -> Error {
    let corrupt =
        |problem: &str, hint: &str| Error::Corrupt { path: path.to_owned(), problem: problem.to_owned(), hint: hint.to_owned() };
    match why.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::InUse { path: path.to_owned(), holder: "another command", hint: "then try again".to_owned() }
        }
        Some(ErrorCode::NotADatabase) => corrupt("is not a deployment of this program", NAME_ONE),
        Some(ErrorCode::DatabaseCorrupt) => {
            corrupt("is damaged: SQLite cannot read it as it was written", "restore the file from a copy")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            let source = std::io::Error::new(ErrorKind::PermissionDenied, "the file or its folder cannot be written");
            Error::io("write the deployment", path, source)
        }
        Some(ErrorCode::DiskFull) => {
            Error::io("write the deployment", path, std::io::Error::new(ErrorKind::StorageFull, "the disk is full"))
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            Error::io("read or write the deployment", path, std::io::Error::other(why.to_string()))
        }
        _ => Error::Corrupt {
            path: path.to_owned(),
            problem: format!("is not a deployment as this program writes it ({why})"),
            hint: "restore the file from a copy".to_owned(),
        },
    }
}

const NAME_ONE: &str = "name a file that `privateer odometer`, `init` or `release` made";

pub(super) fn altered(path: &Path, what: &str) -> Error {
    Error::Corrupt {
        path: path.to_owned(),
        problem: format!("was altered: {what} is not what was written"),
        hint: "restore the file from a copy; rows are added by this program alone".to_owned(),
    }
}

impl DeploymentFile {
    /// Refuses a path where something is already.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub fn refuse_existing(path: &Path) -> Result<(), Error> {
        if Self::is_absent(path) {
            return Ok(());
        }
        let hint = "a deployment is not overwritten: name another file, or delete this one".to_owned();
        Err(Error::Folder { path: path.to_owned(), problem: "is there already".to_owned(), hint })
    }

    /// Whether nothing is at a path, or what a command left that was killed before its first transaction ended: an empty file.
    #[must_use]
    pub fn is_absent(path: &Path) -> bool {
        roll_back_killed(path);
        path.symlink_metadata().map_or(true, |found| found.is_file() && found.len() == 0)
    }

    /// Makes a new file, mode 0600, and begins its first transaction: it appears as a whole when that is committed.
    /// * `odometer` — the file whose budget counts the answers too
    ///
    /// # Errors
    /// [`Error::Folder`] where something is there already; [`Error::Io`] where the disk refuses; those of the odometer.
    pub fn create(path: &Path, new: &NewFile, odometer: Option<&Path>) -> Result<Self, Error> {
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
        Self::begun(path, &place, held, new, odometer)
    }

    fn begun(shown: &Path, place: &Path, held: File, new: &NewFile, odometer: Option<&Path>) -> Result<Self, Error> {
        let db = once_free(SHARED, || connect(place, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|why| refused(shown, &why)))?;
        let anchor = new.anchor.as_ref().map(|anchor| absolute(anchor)).transpose()?;
        let mut made = Self {
            db,
            path: place.to_owned(),
            shown: shown.to_owned(),
            id: new_name()?,
            naming: new.naming,
            key_check: new.key_check.clone(),
            anchor,
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
        if known.map_err(|why| refused(place, &why))? != 0 {
            made.is_new.set(false);
            Self::refuse_existing(place)?;
        }
        if !made.is_in_place() {
            // One that gave up has removed it meanwhile.
            made.is_new.set(false);
            return Err(Error::InUse { path: shown.to_owned(), holder: "another command", hint: "then try again".to_owned() });
        }
        let refuse = |why: rusqlite::Error| refused(place, &why);
        made.db.execute_batch(include_str!("schema.sql")).map_err(refuse)?;
        made.db.pragma_update(None, "application_id", APPLICATION).map_err(refuse)?;
        made.db.pragma_update(None, "user_version", VERSION).map_err(refuse)?;
        let text = |text: &str| Value::Text(text.to_owned());
        made.insert(
            Side::Own,
            "deployment",
            made.seed(Side::Own),
            vec![
                text(&made.id),
                Value::Integer(now()),
                text(env!("CARGO_PKG_VERSION")),
                text(place_of(place)?),
                text(made.naming.text()),
                made.key_check.clone().map_or(Value::Null, Value::Blob),
                made.anchor.as_deref().map(place_of).transpose()?.map_or(Value::Null, text),
                Value::Integer(0),
            ],
        )?;
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
        self.update(Side::Own, "deployment", self.seed(Side::Own), "changes = changes + 1", "1", &[])?;
        self.changes()
    }

    /// Returns how many transactions were counted.
    pub(super) fn changes(&self) -> Result<i64, Error> {
        self.db.query_row("SELECT changes FROM main.deployment", [], |row| row.get(0)).map_err(|why| self.failed(&why))
    }

    /// Opens a file to write to it; a transaction must be begun before anything is read.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read, [`Error::Corrupt`] where it is no deployment, altered, a copy, older than its anchor, or of
    /// a newer version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE, true)
    }

    /// Opens a file to read it, also where it cannot be written; copies and older files are read as any other.
    ///
    /// # Errors
    /// As [`DeploymentFile::open`].
    pub fn open_to_read(path: &Path) -> Result<Self, Error> {
        // What a killed command left is rolled back by whoever may write.
        match Self::opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE, false) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                Self::opened(path, OpenFlags::SQLITE_OPEN_READ_ONLY, false)
            }
            outcome => outcome,
        }
    }

    /// Whether a file is a deployment: it may be damaged, of another version or a copy.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read.
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
        let mut made = Self {
            db,
            path: real.clone(),
            shown: path.to_owned(),
            id: String::new(),
            naming: Naming::Rows,
            key_check: None,
            anchor: None,
            shared: None,
            is_new: Cell::new(false),
            _held: None,
        };
        once_free(SHARED, || made.check_version(Side::Own, path))?;
        let head = once_free(SHARED, || made.head(Side::Own, path))?;
        (made.id, made.naming, made.key_check, made.anchor) = (head.id, head.naming, head.key_check, head.anchor);
        if to_write {
            if real != head.place {
                refuse_copy_of(&made.id, path, &real, &head.place)?;
                made.move_to(&real)?;
            }
            made.check_anchor(Side::Own)?;
        }
        Ok(made)
    }

    /// Opens the file whose budget counts the answers of this one too, in transactions over both.
    ///
    /// # Errors
    /// As [`DeploymentFile::open`]; another file than the one of this random name.
    pub(super) fn share(&mut self, path: &Path, id: Option<&str>) -> Result<(), Error> {
        if let Some(shared) = &self.shared {
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
        once_free(SHARED, || self.check_version(Side::Shared, path))?;
        let head = once_free(SHARED, || self.head(Side::Shared, path))?;
        if real != head.place {
            refuse_copy_of(&head.id, path, &real, &head.place)?;
        }
        if id.is_some_and(|id| id != head.id) {
            return Err(Error::Corrupt {
                path: path.to_owned(),
                problem: "is not the odometer that this session spends from".to_owned(),
                hint: "name the one it was started with, by `--odometer FILE` if it has moved".to_owned(),
            });
        }
        self.shared = Some(SharedFile { id: head.id, path: real, naming: head.naming, anchor: head.anchor });
        self.check_anchor(Side::Shared)
    }

    /// Returns where the file is, behind links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where one of the open files is.
    pub(super) fn path_of(&self, side: Side) -> &Path {
        match (side, &self.shared) {
            (Side::Shared, Some(shared)) => &shared.path,
            _ => &self.shown,
        }
    }

    /// Begins a transaction in all open files, alone among programs until it ends.
    ///
    /// # Errors
    /// [`Error::InUse`] where another program is at it; [`Error::Io`] where it cannot be written.
    pub fn begin(&self) -> Result<(), Error> {
        once_free(SHARED, || self.db.execute_batch("BEGIN IMMEDIATE").map_err(|why| self.failed(&why)))
    }

    /// Begins a transaction that reads.
    ///
    /// # Errors
    /// As [`DeploymentFile::begin`].
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
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses: nothing of it was kept then, unless an anchor is named.
    pub fn commit(&self) -> Result<(), Error> {
        once_free(SHARED, || self.db.execute_batch("COMMIT").map_err(|why| self.failed(&why)))?;
        self.is_new.set(false);
        if self.anchor.is_none() && self.shared.as_ref().is_none_or(|shared| shared.anchor.is_none()) {
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
    ///
    /// # Errors
    /// As [`DeploymentFile::begin`].
    pub(super) fn start_again(&self) -> Result<(), Error> {
        self.roll_back();
        self.begin()
    }

    /// Keeps other programs from the files until this one is closed, beyond the transaction under way.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn hold(&self) -> Result<(), Error> {
        self.db.execute_batch("PRAGMA locking_mode = EXCLUSIVE").map_err(|why| self.failed(&why))
    }

    /// Returns what SQLite refused as an error about this file, or about the shared one where it is named.
    pub(super) fn failed(&self, why: &rusqlite::Error) -> Error {
        refused(&self.shown, why)
    }

    fn check_version(&self, side: Side, path: &Path) -> Result<(), Error> {
        let pragma = |name: &str| -> Result<i32, Error> {
            let found = self.db.query_row(&format!("PRAGMA {}.{name}", side.schema()), [], |row| row.get(0));
            found.map_err(|why| refused(path, &why))
        };
        let corrupt = |problem: String, hint: &str| Err(Error::Corrupt { path: path.to_owned(), problem, hint: hint.to_owned() });
        if pragma("application_id")? != APPLICATION {
            // Also what a command left that was killed before its first transaction ended.
            return corrupt("is not a deployment of this program".to_owned(), NAME_ONE);
        }
        match pragma("user_version")? {
            VERSION => Ok(()),
            version if VERSION < version => corrupt(
                format!("has version {version}; this program reads version {VERSION}"),
                "use the program that wrote it, or a newer one",
            ),
            version => corrupt(format!("has version {version}, which no program has written"), "restore the file from a copy"),
        }
    }

    fn head(&self, side: Side, path: &Path) -> Result<Head, Error> {
        let sql = format!("SELECT * FROM {}.deployment", side.schema());
        let read = |row: &Row<'_>| -> rusqlite::Result<Option<Head>> {
            let id: String = row.get("id")?;
            if !is_sealed(row, "deployment", &[id.as_bytes()])? {
                return Ok(None);
            }
            let naming: String = row.get("naming")?;
            let place: String = row.get("place")?;
            let anchor: Option<String> = row.get("anchor")?;
            let naming = Naming::ALL.into_iter().find(|known| known.text() == naming);
            let key_check = row.get("key_check")?;
            Ok(naming.map(|naming| Head { id, place: place.into(), naming, key_check, anchor: anchor.map(PathBuf::from) }))
        };
        match self.db.query_row(&sql, [], read).optional().map_err(|why| refused(path, &why))? {
            Some(Some(head)) => Ok(head),
            _ => Err(altered(path, "who the file is")),
        }
    }

    /// Notes that the file has moved.
    fn move_to(&self, real: &Path) -> Result<(), Error> {
        self.begin()?;
        self.update(
            Side::Own,
            "deployment",
            self.seed(Side::Own),
            "place = ?1",
            "1",
            &[Value::Text(place_of(real)?.to_owned())],
        )?;
        self.commit()
    }

    /// Returns what digests of a file begin with: its random name, so that no row of another file fits.
    pub(super) fn seed(&self, side: Side) -> &str {
        match (side, &self.shared) {
            (Side::Shared, Some(shared)) => &shared.id,
            _ => &self.id,
        }
    }

    /// Returns a statement that may be used again.
    pub(super) fn statement(&self, sql: &str) -> Result<CachedStatement<'_>, Error> {
        self.db.prepare_cached(sql).map_err(|why| self.failed(&why))
    }

    /// Fails where SQLite finds the pages of the file damaged, or where a row does not fit its digest.
    ///
    /// Columns, terms, totals and answers are checked by whoever reads them.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(super) fn check_all(&self) -> Result<(), Error> {
        self.head(Side::Own, &self.shown)?;
        for table in ["commands", "people", "refusals", "sessions", "tickets"] {
            self.rows(Side::Own, (table, "1"), &[], |_| Ok(()))?;
        }
        let missing = "SELECT count(*) FROM spends WHERE command_id NOT IN (SELECT command_id FROM commands)";
        if self.db.query_row(missing, [], |row| row.get::<_, i64>(0)).map_err(|why| self.failed(&why))? != 0 {
            return Err(self.altered(Side::Own, "the list of its commands"));
        }
        let found: String =
            self.db.query_row("PRAGMA main.integrity_check(1)", [], |row| row.get(0)).map_err(|why| self.failed(&why))?;
        if found == "ok" { Ok(()) } else { Err(self.altered(Side::Own, &format!("a page ({found})"))) }
    }

    /// Returns the error for rows that do not belong together.
    pub(super) fn altered(&self, side: Side, what: &str) -> Error {
        altered(self.path_of(side), what)
    }
}

/// Who a file is.
struct Head {
    id: String,
    place: PathBuf,
    naming: Naming,
    key_check: Option<Vec<u8>>,
    anchor: Option<PathBuf>,
}

/// Refuses an anchor that is there already, but for one that a killed command left of the same file before its first answer.
fn refuse_anchor(anchor: &Path, place: &Path) -> Result<(), Error> {
    if anchor.symlink_metadata().is_err() || super::anchor::is_unused(anchor, place) {
        return Ok(());
    }
    let hint = "an anchor belongs to one deployment and overwrites nothing: name another file, or delete this one".to_owned();
    Err(Error::Folder { path: anchor.to_owned(), problem: "is there already".to_owned(), hint })
}

/// Rolls back what a killed command left in a file, if it did: the journal beside it says so.
fn roll_back_killed(path: &Path) {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    if Path::new(&journal).exists()
        && let Ok(db) = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    {
        // The first read does it. Where it cannot be done now, whoever opens the file says why.
        let _ = db.query_row("PRAGMA schema_version", [], |row| row.get::<_, i64>(0));
    }
}

fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(TRY)?;
    db.set_prepared_statement_cache_capacity(64);
    let settings =
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = EXTRA; PRAGMA temp_store = MEMORY;";
    db.execute_batch(settings)?;
    Ok(db)
}

/// Fails where a file is no deployment.
fn refuse_others(shown: &Path, real: &Path) -> Result<(), Error> {
    if DeploymentFile::is_one(real)? {
        return Ok(());
    }
    let (problem, hint) = if DeploymentFile::is_absent(real) {
        ("is empty: a command that was killed before it made anything leaves such a file", "make it again: it counts as absent")
    } else {
        ("is not a deployment of this program", NAME_ONE)
    };
    Err(Error::Corrupt { path: shown.to_owned(), problem: problem.to_owned(), hint: hint.to_owned() })
}

fn refuse_hard_links(shown: &Path, real: &Path) -> Result<(), Error> {
    #[cfg(unix)]
    if real.metadata().is_ok_and(|found| 1 < std::os::unix::fs::MetadataExt::nlink(&found)) {
        return Err(Error::Corrupt {
            path: shown.to_owned(),
            problem: "is one file under several names (hard links)".to_owned(),
            hint: "delete the other hard links: a write through one name would not be seen through another".to_owned(),
        });
    }
    let _ = (shown, real);
    Ok(())
}

/// Fails where the file of this random name still stands where this one was.
fn refuse_copy_of(id: &str, shown: &Path, real: &Path, place: &Path) -> Result<(), Error> {
    let Some(place) = place.canonicalize().ok().filter(|place| place != real) else { return Ok(()) };
    if !DeploymentFile::is_one(&place).unwrap_or(true) {
        return Ok(());
    }
    let other = connect(&place, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let other = other.ok().and_then(|db| db.query_row("SELECT id FROM deployment", [], |row| row.get::<_, String>(0)).ok());
    // What stands there and cannot be read may be the original.
    if other.is_some_and(|other| other != id) {
        return Ok(());
    }
    Err(Error::Corrupt {
        path: shown.to_owned(),
        problem: format!("is a copy: the deployment still stands at `{}`", place.display()),
        hint: format!(
            "go on with `{}`, or delete it if this one takes its place: what one of the two spends, the other would not know",
            place.display()
        ),
    })
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| Error::io("find the anchor", path, source))
}

/// Returns a path as the text that a file keeps of it.
fn place_of(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| {
        let hint =
            "rename the folder or the file: a deployment keeps its place as text, to tell a copy from a file that has moved";
        Error::input(Diagnostic::new(format!("`{}` is a path that is not UTF-8", path.display())).hint(hint))
    })
}
