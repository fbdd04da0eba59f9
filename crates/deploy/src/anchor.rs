//! The newest answer of a deployment, and the file on another disk that knows it.

use super::file::{DeploymentFile, Side};
use super::seal::{self, Seal};
use privateer_config::error::Error;
use rusqlite::Row;
use std::path::Path;

/// The newest answer of a file: how many there are, and the digest of the last, which depends on all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub number: u64,
    pub name: Seal,
}

impl DeploymentFile {
    pub(super) fn ticket(&self, side: Side) -> Result<Option<Ticket>, Error> {
        let sql = format!("SELECT spend_id, digest FROM {}.spends ORDER BY spend_id DESC LIMIT 1", side.schema());
        let read = |row: &Row<'_>| Ok(Ticket { number: row.get::<_, i64>(0)? as u64, name: row.get(1)? });
        self.first(side, &sql, [], read)
    }

    pub(super) fn name_of(&self, side: Side, number: u64) -> Result<Option<Seal>, Error> {
        let sql = format!("SELECT digest FROM {}.spends WHERE spend_id = ?1", side.schema());
        self.first(side, &sql, [number as i64], |row| row.get(0))
    }

    /// Compares a file with the newest answer that its anchor knows.
    pub(super) fn check_anchor(&self, side: Side) -> Result<(), Error> {
        let Some(anchor) = &self.identity_of(side).anchor else { return Ok(()) };
        let (path, id) = (self.path_of(side), self.seed(side));
        let text = std::fs::read_to_string(anchor).map_err(|source| Error::io("read the anchor", anchor, source))?;
        let mut words = text.split_whitespace();
        let stated =
            (words.next(), words.next().and_then(|number| number.parse::<u64>().ok()), words.next().and_then(seal::bytes));
        let (Some(whose), Some(number), Some(name)) = stated else {
            let hint = "restore it, as the deployment's last command wrote it";
            return Err(Error::corrupt(anchor, "is not the anchor of a deployment", hint));
        };
        let shown = anchor.display();
        if whose != id {
            let problem = format!("has an anchor, `{shown}`, that is of another deployment");
            return Err(Error::corrupt(path, problem, "restore the anchor"));
        }
        let here = self.ticket(side)?.map_or(0, |last| last.number);
        if here < number {
            let problem = format!("is an older copy: it has made {here} answers, and its anchor `{shown}` knows of {number}");
            let hint = "go on with the file that made the last answer: what this one would spend, the other has spent already";
            return Err(Error::corrupt(path, problem, hint));
        }
        if 0 < number && self.name_of(side, number)? != Some(name) {
            let problem =
                format!("is a copy that went on by itself: answer {number} is not the one that its anchor `{shown}` knows");
            return Err(Error::corrupt(path, problem, "go on with the file that the anchor knows"));
        }
        Ok(())
    }

    pub(super) fn write_anchor(&self, side: Side) -> Result<(), Error> {
        let Some(anchor) = &self.identity_of(side).anchor else { return Ok(()) };
        let last = self.ticket(side)?.unwrap_or(Ticket { number: 0, name: [0; seal::N_BYTES] });
        let place = if side == Side::Own { self.path() } else { self.path_of(side) };
        let text = format!("{} {} {} {}\n", self.seed(side), last.number, seal::hex(&last.name), place.display());
        privateer_results::record::write_whole(anchor, text.as_bytes(), "write the anchor")
    }
}

/// Refuses an anchor that is there already, but for one that a killed command left of the same file before its first answer.
pub(super) fn refuse_anchor(anchor: &Path, place: &Path) -> Result<(), Error> {
    let text = std::fs::read_to_string(anchor).unwrap_or_default();
    let words: Vec<&str> = text.trim_end().splitn(4, ' ').collect();
    let is_unused = matches!(words[..], [_, "0", _, whose] if Path::new(whose) == place);
    if is_unused || anchor.symlink_metadata().is_err() {
        return Ok(());
    }
    let hint = "an anchor belongs to one deployment and overwrites nothing: name another file, or delete this one";
    Err(Error::folder(anchor, "is there already", hint))
}
