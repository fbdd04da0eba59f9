//! The newest answer of a deployment, and the file on another disk that knows it.

use super::failure::refused;
use super::file::{DeploymentFile, Side};
use super::seal::{self, Seal};
use privateer_config::error::Error;
use rusqlite::{OptionalExtension, Row};
use std::path::Path;

/// The newest answer of a file: how many there are, and the digest of the last, which depends on all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The number of answers.
    pub number: u64,
    /// Digest of the last one.
    pub name: Seal,
}

impl DeploymentFile {
    /// Returns the newest answer.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn ticket(&self, side: Side) -> Result<Option<Ticket>, Error> {
        let sql = format!("SELECT spend_id, digest FROM {}.spends ORDER BY spend_id DESC LIMIT 1", side.schema());
        let read = |row: &Row<'_>| Ok(Ticket { number: row.get::<_, i64>(0)? as u64, name: row.get(1)? });
        let found = self.statement(&sql)?.query_row([], read).optional();
        found.map_err(|why| refused(self.path_of(side), &why))
    }

    /// Returns the digest of the answer of this number.
    pub(super) fn name_of(&self, side: Side, number: u64) -> Result<Option<Seal>, Error> {
        let sql = format!("SELECT digest FROM {}.spends WHERE spend_id = ?1", side.schema());
        let found = self.statement(&sql)?.query_row([number as i64], |row| row.get(0)).optional();
        found.map_err(|why| refused(self.path_of(side), &why))
    }

    fn anchor_of(&self, side: Side) -> Option<&Path> {
        match (side, &self.shared) {
            (Side::Shared, Some(shared)) => shared.anchor.as_deref(),
            _ => self.anchor.as_deref(),
        }
    }

    /// Compares a file with the newest answer that its anchor knows.
    pub(super) fn check_anchor(&self, side: Side) -> Result<(), Error> {
        let Some(anchor) = self.anchor_of(side) else { return Ok(()) };
        let (path, id) = (self.path_of(side), self.seed(side));
        let corrupt = |problem: String, hint: &str| Err(Error::Corrupt { path: path.to_owned(), problem, hint: hint.to_owned() });
        let text = match std::fs::read_to_string(anchor) {
            Ok(text) => text,
            Err(source) => return Err(Error::io("read the anchor", anchor, source)),
        };
        let mut words = text.split_whitespace();
        let stated =
            (words.next(), words.next().and_then(|number| number.parse::<u64>().ok()), words.next().and_then(seal::bytes));
        let (Some(whose), Some(number), Some(name)) = stated else {
            return Err(Error::Corrupt {
                path: anchor.to_owned(),
                problem: "is not the anchor of a deployment".to_owned(),
                hint: "restore it, as the deployment's last command wrote it".to_owned(),
            });
        };
        if whose != id {
            return corrupt(
                format!("has an anchor, `{}`, that is of another deployment", anchor.display()),
                "restore the anchor",
            );
        }
        let here = self.ticket(side)?.map_or(0, |last| last.number);
        if here < number {
            return corrupt(
                format!("is an older copy: it has made {here} answers, and its anchor `{}` knows of {number}", anchor.display()),
                "go on with the file that made the last answer: what this one would spend, the other has spent already",
            );
        }
        if 0 < number && self.name_of(side, number)? != Some(name) {
            return corrupt(
                format!(
                    "is a copy that went on by itself: answer {number} is not the one that its anchor `{}` knows",
                    anchor.display()
                ),
                "go on with the file that the anchor knows",
            );
        }
        Ok(())
    }

    pub(super) fn write_anchor(&self, side: Side) -> Result<(), Error> {
        let Some(anchor) = self.anchor_of(side) else { return Ok(()) };
        let last = self.ticket(side)?.unwrap_or(Ticket { number: 0, name: [0; seal::N_BYTES] });
        let place = if side == Side::Own { self.path() } else { self.path_of(side) };
        let text = format!("{} {} {} {}\n", self.seed(side), last.number, seal::hex(&last.name), place.display());
        crate::record::write_whole(anchor, text.as_bytes(), "write the anchor")
    }
}

/// Whether an anchor is of the file at this place, before its first answer.
pub(super) fn is_unused(anchor: &Path, place: &Path) -> bool {
    let text = std::fs::read_to_string(anchor).unwrap_or_default();
    let words: Vec<&str> = text.trim_end().splitn(4, ' ').collect();
    matches!(words[..], [_, "0", _, whose] if Path::new(whose) == place)
}
