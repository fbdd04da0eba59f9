//! Rows of a deployment, each with the digest of its values at its end.

use super::failure::{altered, refused};
use super::file::{DeploymentFile, Side};
use super::seal::{self, Seal};
use privateer_config::error::Error;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Row, params_from_iter};

impl DeploymentFile {
    /// Adds a row of these values, with their digest at its end.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn insert(&self, side: Side, table: &str, seed: &str, mut values: Vec<Value>) -> Result<(), Error> {
        let sealed = seal::seal(&[table.as_bytes(), seed.as_bytes()], values.iter().map(ValueRef::from));
        values.push(Value::Blob(sealed.to_vec()));
        let places = vec!["?"; values.len()].join(", ");
        let sql = format!("INSERT OR REPLACE INTO {}.{table} VALUES ({places})", side.schema());
        self.statement(&sql)?.execute(params_from_iter(values)).map(drop).map_err(|why| self.failed(&why))
    }

    /// Changes one row, and its digest.
    pub(super) fn update(
        &self,
        side: Side,
        table: &str,
        seed: &str,
        set: &str,
        whose: &str,
        values: &[Value],
    ) -> Result<(), Error> {
        // A digest of an altered row would make it a good one.
        self.rows(side, (table, whose), &[], |_| Ok(()))?;
        let schema = side.schema();
        let change = format!("UPDATE {schema}.{table} SET {set} WHERE {whose}");
        self.statement(&change)?.execute(params_from_iter(values)).map_err(|why| self.failed(&why))?;
        let read = |row: &Row<'_>| row_seal(row, table, &[seed.as_bytes()]);
        let select = format!("SELECT * FROM {schema}.{table} WHERE {whose}");
        let sealed = self.db.query_row(&select, [], read).map_err(|why| self.failed(&why))?;
        let seal = format!("UPDATE {schema}.{table} SET digest = ?1 WHERE {whose}");
        self.statement(&seal)?.execute([sealed.to_vec()]).map(drop).map_err(|why| self.failed(&why))
    }

    /// Reads rows of a table, each of which must fit its digest.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for an altered row.
    pub(super) fn rows<T>(
        &self,
        side: Side,
        (table, whose): (&str, &str),
        values: &[Value],
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let seed = self.seed(side).to_owned();
        let sql = format!("SELECT * FROM {}.{table} WHERE {whose}", side.schema());
        let mut statement = self.statement(&sql)?;
        let found = statement.query_map(params_from_iter(values), |row| {
            let fits = is_sealed(row, table, &[seed.as_bytes()])?;
            Ok(if fits { Some(read(row)?) } else { None })
        });
        let found: Vec<Option<T>> = found.and_then(Iterator::collect).map_err(|why| refused(self.path_of(side), &why))?;
        let whole: Option<Vec<T>> = found.into_iter().collect();
        whole.ok_or_else(|| altered(self.path_of(side), &format!("a row of its table `{table}`")))
    }
}

/// Returns the digest of a row: of its values but the last.
fn row_seal(row: &Row<'_>, table: &str, seed: &[&[u8]]) -> rusqlite::Result<Seal> {
    let n = row.as_ref().column_count() - 1;
    let values = (0..n).map(|at| row.get_ref(at)).collect::<rusqlite::Result<Vec<_>>>()?;
    let seeds: Vec<&[u8]> = std::iter::once(table.as_bytes()).chain(seed.iter().copied()).collect();
    Ok(seal::seal(&seeds, values))
}

/// Whether a row fits the digest at its end.
pub(super) fn is_sealed(row: &Row<'_>, table: &str, seed: &[&[u8]]) -> rusqlite::Result<bool> {
    let last = row.get_ref(row.as_ref().column_count() - 1)?;
    Ok(matches!(last, ValueRef::Blob(bytes) if bytes == row_seal(row, table, seed)?))
}
