//! Who a file is: its version, its random name, its place, and what names a record in it.

use super::failure::{NAME_ONE, RESTORE, altered, refused};
use super::file::Side;
use super::seal::is_sealed;
use privateer_config::error::Error;
use rusqlite::{Connection, OptionalExtension, Row};
use std::path::{Path, PathBuf};

/// Tells the files of this program from other databases.
pub(super) const APPLICATION: i32 = 0x7072_6976;
pub(super) const VERSION: i32 = 1;

/// What names a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// Its row in the table, from 0.
    Rows,
    Ids,
    /// A keyed hash of its id: the file holds no ids.
    Keyed,
}

impl Naming {
    const ALL: [Self; 3] = [Self::Rows, Self::Ids, Self::Keyed];

    pub fn text(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Ids => "ids",
            Self::Keyed => "keyed",
        }
    }
}

/// Who a file is.
#[derive(Debug, Clone)]
pub struct Identity {
    pub id: String,
    pub naming: Naming,
    /// Tells the key of the ids from another.
    pub key_check: Option<Vec<u8>>,
    /// The file that knows the newest answer, where one is stated.
    pub anchor: Option<PathBuf>,
}

/// Fails where a file is no deployment, or of another version.
pub(super) fn check_version(db: &Connection, side: Side, path: &Path) -> Result<(), Error> {
    let pragma = |name: &str| -> Result<i32, Error> {
        let found = db.query_row(&format!("PRAGMA {}.{name}", side.schema()), [], |row| row.get(0));
        found.map_err(|why| refused(path, &why))
    };
    if pragma("application_id")? != APPLICATION {
        // Also what a command left that was killed before its first transaction ended.
        return Err(Error::corrupt(path, "is not a deployment of this program", NAME_ONE));
    }
    match pragma("user_version")? {
        VERSION => Ok(()),
        version if VERSION < version => {
            let problem = format!("has version {version}; this program reads version {VERSION}");
            Err(Error::corrupt(path, problem, "use the program that wrote it, or a newer one"))
        }
        version => Err(Error::corrupt(path, format!("has version {version}, which no program has written"), RESTORE)),
    }
}

/// Returns who a file is, and where it stood.
pub(super) fn head(db: &Connection, side: Side, path: &Path) -> Result<(Identity, PathBuf), Error> {
    let sql = format!("SELECT * FROM {}.deployment", side.schema());
    let read = |row: &Row<'_>| -> rusqlite::Result<Option<(Identity, PathBuf)>> {
        let id: String = row.get("id")?;
        if !is_sealed(row, "deployment", &id)? {
            return Ok(None);
        }
        let naming: String = row.get("naming")?;
        let place: String = row.get("place")?;
        let anchor: Option<String> = row.get("anchor")?;
        let naming = Naming::ALL.into_iter().find(|known| known.text() == naming);
        let key_check = row.get("key_check")?;
        Ok(naming.map(|naming| (Identity { id, naming, key_check, anchor: anchor.map(PathBuf::from) }, place.into())))
    };
    let found = db.query_row(&sql, [], read).optional().map_err(|why| refused(path, &why))?;
    found.flatten().ok_or_else(|| altered(path, "who the file is"))
}
