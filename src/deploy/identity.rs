//! Who a file is: its version, its random name, its place, and what names a record in it.

use super::failure::{NAME_ONE, altered, refused};
use super::file::{DeploymentFile, Side};
use super::place::place_of;
use super::rows::is_sealed;
use privateer_config::error::Error;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row};
use std::path::{Path, PathBuf};

/// Tells the files of this program from other databases.
pub(super) const APPLICATION: i32 = 0x7072_6976;
/// The version of the schema.
pub(super) const VERSION: i32 = 1;
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

    pub fn text(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Ids => "ids",
            Self::Keyed => "keyed",
        }
    }
}

/// Who a file is.
pub(super) struct Head {
    pub id: String,
    pub place: PathBuf,
    pub naming: Naming,
    pub key_check: Option<Vec<u8>>,
    pub anchor: Option<PathBuf>,
}

impl DeploymentFile {
    /// Fails where a file is no deployment, or of another version.
    pub(super) fn check_version(&self, side: Side, path: &Path) -> Result<(), Error> {
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

    /// Returns who a file is.
    pub(super) fn head(&self, side: Side, path: &Path) -> Result<Head, Error> {
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
    pub(super) fn move_to(&self, real: &Path) -> Result<(), Error> {
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
}
