//! Answers as they were kept: each is checked against its digest, which depends on all before it.

use super::anchor::Ticket;
use super::failure::refused;
use super::file::{DeploymentFile, Side};
use super::seal::{self, Seal};
use privateer_config::error::Error;
use privateer_engine::engine::ToldRound;
use privateer_privacy::release::KeptRelease;
use rusqlite::types::ValueRef;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpendRow {
    pub column: i64,
    pub record: i64,
    pub time: i64,
    /// The number of the command that made it.
    pub command: i64,
    /// The name of the answer: that of whoever made it.
    pub name: Seal,
}

impl DeploymentFile {
    /// Returns the answer about a record in a round, with its ticket; `None` where there was none.
    pub(super) fn released(&self, column: i64, record: u64, round: u64) -> Result<Option<(KeptRelease, Ticket)>, Error> {
        let sql = "SELECT spend_id FROM releases WHERE column_id = ?1 AND record = ?2 AND round = ?3";
        let whose = [column, record as i64, round as i64];
        let Some(number) = self.first(Side::Own, sql, whose, |row| row.get::<_, i64>(0))? else { return Ok(None) };
        let (_, kept, name) = self.answer(number)?;
        Ok(Some((kept, Ticket { number: number as u64, name })))
    }

    fn answer(&self, number: i64) -> Result<(SpendRow, KeptRelease, Seal), Error> {
        let mut found = None;
        self.each_answer(Side::Own, Some(number), |row, kept, name| found = Some((row, kept, name)))?;
        match found {
            Some((row, Some(kept), name)) => Ok((row, kept, name)),
            _ => Err(self.altered(Side::Own, "an answer")),
        }
    }

    /// Returns the rounds that a column was told, in order.
    pub(super) fn told(&self, column: i64) -> Result<Vec<ToldRound>, Error> {
        let sql = "SELECT spend_id, round FROM releases WHERE column_id = ?1 ORDER BY round";
        let found: Vec<(i64, i64)> = self.all(sql, [column], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let told = found.into_iter().zip(1..).map(|((number, round), expected)| {
            if round != expected {
                return Err(self.altered(Side::Own, "the order of its rounds"));
            }
            let (row, kept, _) = self.answer(number)?;
            Ok(ToldRound { row: row.record as u64, kept })
        });
        told.collect()
    }

    /// Takes the newest answer back, which must be of this column.
    pub(super) fn take_back(&self, column: i64) -> Result<bool, Error> {
        let sql = "SELECT spend_id, record FROM spends WHERE column_id = ?1 AND spend_id = (SELECT max(spend_id) FROM spends)";
        let found: Option<(i64, i64)> = self.first(Side::Own, sql, [column], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((number, record)) = found else { return Ok(false) };
        for sql in ["DELETE FROM spends WHERE spend_id = ?1", "DELETE FROM releases WHERE spend_id = ?1"] {
            self.db.execute(sql, [number]).map_err(|why| self.failed(&why))?;
        }
        for (table, whose) in
            [("accounts", format!("record = {record} AND column_id = {column}")), ("columns", format!("column_id = {column}"))]
        {
            self.update(Side::Own, table, "n = n - 1", &whose, &[])?;
        }
        Ok(true)
    }

    /// Goes through the answers of a file, or the one of this number: each is checked against the digest of the one before.
    ///
    /// * `each` — takes the answer, what is kept of it here, and its digest
    pub(super) fn each_answer(
        &self,
        side: Side,
        only: Option<i64>,
        mut each: impl FnMut(SpendRow, Option<KeptRelease>, Seal),
    ) -> Result<(), Error> {
        let (schema, path) = (side.schema(), self.path_of(side).to_owned());
        let sql = format!(
            "SELECT s.spend_id, s.column_id, s.record, s.time, s.command_id, s.name, s.salt, \
             r.column_id, r.round, r.released, r.reward, r.noise_key, r.item, s.digest, r.record = s.record \
             FROM {schema}.spends s LEFT JOIN {schema}.releases r USING (spend_id) \
             WHERE ?1 IS NULL OR s.spend_id = ?1 ORDER BY s.spend_id"
        );
        let sql = if only.is_some() { sql.replace("?1 IS NULL OR ", "") } else { sql };
        let mut last = 0;
        let mut before = None;
        if let Some(number) = only.filter(|number| 1 < *number) {
            last = number - 1;
            before = Some(self.name_of(side, last as u64)?.ok_or_else(|| self.altered(side, "an answer"))?);
        }
        let mut statement = self.statement(&sql)?;
        let refuse = |why: rusqlite::Error| refused(&path, &why);
        let mut rows = statement.query([only]).map_err(refuse)?;
        while let Some(row) = rows.next().map_err(refuse)? {
            let n_values = if matches!(row.get_ref(7).map_err(refuse)?, ValueRef::Null) { 7 } else { 13 };
            let values = (0..n_values).map(|at| row.get_ref(at)).collect::<rusqlite::Result<Vec<_>>>().map_err(refuse)?;
            let sealed = chained(self.seed(side), before, values);
            let is_its_own = matches!(row.get_ref(13).map_err(refuse)?, ValueRef::Blob(bytes) if bytes == sealed);
            let is_whole = is_its_own && !matches!(row.get_ref(14).map_err(refuse)?, ValueRef::Integer(0));
            if !is_whole {
                return Err(self.altered(side, &format!("answer {}", last + 1)));
            }
            let read = || -> rusqlite::Result<_> {
                let number: i64 = row.get(0)?;
                let name = row.get::<_, Option<Seal>>(5)?.unwrap_or(sealed);
                let spend = SpendRow { column: row.get(1)?, record: row.get(2)?, time: row.get(3)?, command: row.get(4)?, name };
                let kept = match (row.get(9)?, row.get(10)?, row.get(11)?, row.get::<_, Option<Vec<u8>>>(12)?) {
                    (Some(released), None, None, None) => Some(KeptRelease::Reward(released)),
                    (None, Some(reward), Some(key), None) => Some(KeptRelease::Raw { reward, key }),
                    (None, None, None, Some(item)) => Some(KeptRelease::Item(unpacked(&item))),
                    _ => None,
                };
                Ok((number, spend, kept))
            };
            let (number, spend, kept) = read().map_err(refuse)?;
            if number != last + 1 {
                return Err(self.altered(side, &format!("answer {}", last + 1)));
            }
            (last, before) = (number, Some(sealed));
            each(spend, kept, sealed);
        }
        Ok(())
    }
}

/// Returns the digest of an answer, which depends on all answers before it.
pub(super) fn chained<'a>(seed: &str, before: Option<Seal>, values: impl IntoIterator<Item = ValueRef<'a>>) -> Seal {
    let before = before.unwrap_or([0; seal::N_BYTES]);
    seal::seal(&[b"spends", seed.as_bytes(), &before], values)
}

fn unpacked(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|eight| f64::from_le_bytes(std::array::from_fn(|at| eight[at]))).collect()
}
