//! Records that are named by ids: who is among them, who has joined and who has left.

use super::file::{DeploymentFile, Side, new_name, now};
use super::identity::{Identity, Naming};
use super::seal;
use hmac::{Hmac, KeyInit, Mac};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::input::Input;
use rusqlite::types::Value;
use sha2::Sha256;
use std::path::{Path, PathBuf};

/// What a key is checked by: the keyed hash of this text.
const CHECK: &str = "privateer id key";
/// Least length of a key, in bytes.
const LEAST_KEY: usize = 16;
/// Longest id, in bytes.
const MOST_ID: usize = 256;

/// The key with which ids are hashed, where the file holds no ids.
#[derive(Debug, Clone)]
pub struct IdKey(Vec<u8>);

impl IdKey {
    /// Reads a key: every byte of the file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        read_key(path).map(Self)
    }

    fn hash(&self, text: &str) -> Vec<u8> {
        // A key may have any length.
        let mac = Hmac::<Sha256>::new_from_slice(&self.0);
        mac.map_or_else(|_| Vec::new(), |mac| mac.chain_update(text).finalize().into_bytes()[..seal::N_BYTES].to_vec())
    }

    /// Returns what tells the key from another.
    #[must_use]
    pub fn check(&self) -> Vec<u8> {
        self.hash(CHECK)
    }
}

/// Returns who a new file is, whose records are named by rows, by ids or by their keyed hashes.
pub(super) fn new_identity(by_rows: bool, key: Option<&IdKey>, anchor: Option<&PathBuf>) -> Result<Identity, Error> {
    let naming = match key {
        _ if by_rows => Naming::Rows,
        Some(_) => Naming::Keyed,
        None => Naming::Ids,
    };
    Ok(Identity { id: new_name()?, naming, key_check: key.map(IdKey::check), anchor: anchor.cloned() })
}

pub(super) fn read_key(path: &Path) -> Result<Vec<u8>, Error> {
    let key = Input::small("key", "a file of random bytes, as `head -c 32 /dev/urandom` writes them").read(path)?;
    if key.len() < LEAST_KEY {
        let problem = Diagnostic::new(format!("the key in `{}` has {} bytes", path.display(), key.len()));
        return problem.expected(format!("at least {LEAST_KEY}, as `head -c 32 /dev/urandom` writes them")).refuse();
    }
    Ok(key)
}

/// Why a record cannot be answered about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    Unknown,
    /// With the number of the record.
    Left(u64),
}

impl DeploymentFile {
    /// Fails where ids are hashed with another key, or where a key is stated for nothing.
    pub(super) fn check_key(&self, key: Option<&IdKey>) -> Result<(), Error> {
        let refuse = |problem: String, expected: &str| Diagnostic::new(problem).expected(expected).refuse();
        let shown = self.path().display();
        match (self.identity.naming, key) {
            (Naming::Keyed, None) => refuse(format!("`{shown}` holds keyed hashes of ids"), "`--id-key FILE` with their key"),
            (Naming::Keyed, Some(key)) if self.identity.key_check.as_ref() != Some(&key.check()) => {
                refuse(format!("the key of `--id-key` is not the one of `{shown}`"), "the key that the file was begun with")
            }
            (Naming::Rows | Naming::Ids, Some(_)) => {
                refuse(format!("`{shown}` was begun without a key for ids"), "no `--id-key`")
            }
            _ => Ok(()),
        }
    }

    fn stored(&self, id: &str, key: Option<&IdKey>) -> Value {
        key.map_or_else(|| Value::Text(id.to_owned()), |key| Value::Blob(key.hash(id)))
    }

    /// Returns the number of a record by its name: a row, or an id.
    pub(super) fn record(&self, name: &str, key: Option<&IdKey>) -> Result<Result<u64, Absence>, Error> {
        let name = name.trim();
        let known = |whose: &str, value: Value| -> Result<Option<(i64, Option<i64>)>, Error> {
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(3)?));
            Ok(self.rows(Side::Own, ("people", whose), &[value], read)?.into_iter().next())
        };
        if self.identity.naming == Naming::Rows {
            let Some(row) = name.parse::<u64>().ok().filter(|row| *row < 1 << 62) else {
                let problem = Diagnostic::new(format!("the record `{}` is not a row", shortened(name)));
                return problem
                    .expected("the row of the record, from 0")
                    .hint("a deployment that is begun with `--ids` names records by ids")
                    .refuse();
            };
            let found = known("record = ?1", Value::Integer(row as i64))?;
            return Ok(if found.is_some_and(|(_, left)| left.is_some()) { Err(Absence::Left(row)) } else { Ok(row) });
        }
        if name.is_empty() || MOST_ID < name.len() {
            let problem = Diagnostic::new(format!("an id has {} bytes", name.len()));
            return problem.expected(format!("1 to {MOST_ID}")).refuse();
        }
        Ok(match known("id = ?1", self.stored(name, key))? {
            None => Err(Absence::Unknown),
            Some((record, Some(_))) => Err(Absence::Left(record as u64)),
            Some((record, None)) => Ok(record as u64),
        })
    }

    pub(super) fn has_left(&self, side: Side, record: u64) -> Result<bool, Error> {
        let whose = ("people", "record = ?1 AND left_at IS NOT NULL");
        Ok(!self.rows(side, whose, &[Value::Integer(record as i64)], |_| Ok(()))?.is_empty())
    }

    /// Takes a person in, or back; returns the number of the record and whether it is new.
    pub(super) fn join(&self, name: &str, key: Option<&IdKey>, time: i64) -> Result<(u64, bool), Error> {
        let name = name.trim();
        match self.record(name, key)? {
            Ok(record) => return Ok((record, false)),
            Err(Absence::Left(record)) => {
                self.set_left(record as i64, None)?;
                return Ok((record, true));
            }
            Err(Absence::Unknown) => {}
        }
        let record: i64 = self.value("SELECT coalesce(max(record), -1) + 1 FROM people", [])?;
        self.insert(Side::Own, "people", [record.into(), self.stored(name, key), time.into(), Value::Null])?;
        Ok((record as u64, true))
    }

    /// Lets a person go: no answer about them is given any more. What they have spent stays.
    pub(super) fn leave(&self, name: &str, key: Option<&IdKey>, time: i64) -> Result<bool, Error> {
        match self.record(name, key)? {
            Err(Absence::Left(_)) => Ok(false),
            Err(Absence::Unknown) => Err(self.unknown(name)),
            Ok(record) if self.identity.naming == Naming::Rows => {
                // Rows of a table stand here once they have left, and have neither ids nor days on which they joined.
                let row = [(record as i64).into(), Value::Null, Value::Null, time.into()];
                self.insert(Side::Own, "people", row).map(|()| true)
            }
            Ok(record) => self.set_left(record as i64, Some(time)).map(|()| true),
        }
    }

    fn set_left(&self, record: i64, time: Option<i64>) -> Result<(), Error> {
        self.update(Side::Own, "people", "left_at = ?1", &format!("record = {record}"), &[time.into()])
    }

    pub(super) fn unknown(&self, name: &str) -> Error {
        let shown = self.path().display();
        Diagnostic::new(format!("`{shown}` knows no record `{}`", shortened(name)))
            .expected("the id of a record that has joined")
            .hint(format!(
                "`privateer people {shown} --join ID` takes a person in; `release --join` takes everybody of a table in"
            ))
            .error()
    }

    pub(super) fn gone(&self, side: Side, name: &str) -> Error {
        let shown = self.path_of(side).display();
        let record = shortened(name);
        let why = format!("record `{record}` has left");
        let hint = Some(format!("`privateer people {shown} --join ID` takes a person back"));
        Error::NotReleased { record, spent: String::new(), budget: String::new(), why, hint }
    }
}

fn shortened(name: &str) -> String {
    let short: String = name.chars().filter(|letter| !letter.is_control()).take(40).collect();
    if short.len() < name.len() { format!("{short}…") } else { short }
}

/// Takes people in and lets people go; returns how many of each.
pub fn people(state: &Path, join: &[String], leave: &[String], key: Option<&Path>) -> Result<(u64, u64), Error> {
    let key = key.map(IdKey::read).transpose()?;
    let file = DeploymentFile::open(state)?;
    file.check_key(key.as_ref())?;
    file.begin()?;
    let (mut joined, mut left) = (0, 0);
    let time = now();
    for name in join {
        joined += u64::from(file.join(name, key.as_ref(), time)?.1);
    }
    for name in leave {
        left += u64::from(file.leave(name, key.as_ref(), time)?);
    }
    file.commit()?;
    Ok((joined, left))
}
