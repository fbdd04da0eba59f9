//! Rows of a deployment, each with the digest of its values at its end.

use super::failure::{altered, refused};
use super::file::{DeploymentFile, Side};
use super::seal::{self, is_sealed, row_seal};
use privateer_config::error::Error;
use rusqlite::types::{FromSql, Value, ValueRef};
use rusqlite::{OptionalExtension, Params, Row, params_from_iter};

impl DeploymentFile {
    /// Returns the only value that a query gives.
    pub(super) fn value<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<T, Error> {
        self.statement(sql)?.query_row(params, |row| row.get(0)).map_err(|why| self.failed(&why))
    }

    /// Returns the first row that a query gives.
    ///
    /// * `side` — the file that a failure names
    pub(super) fn first<T>(
        &self,
        side: Side,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        self.statement(sql)?.query_row(params, read).optional().map_err(|why| refused(self.path_of(side), &why))
    }

    /// Returns every row that a query gives.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.statement(sql)?;
        let found = statement.query_map(params, read);
        found.and_then(Iterator::collect).map_err(|why| self.failed(&why))
    }

    /// Returns the number of the next row of a table, from 1.
    pub(super) fn next(&self, side: Side, table: &str, number: &str) -> Result<i64, Error> {
        self.value(&format!("SELECT coalesce(max({number}), 0) + 1 FROM {}.{table}", side.schema()), [])
    }

    /// Adds a row of these values, with their digest at its end.
    pub(super) fn insert(&self, side: Side, table: &str, values: impl Into<Vec<Value>>) -> Result<(), Error> {
        let mut values = values.into();
        let sealed = seal::seal(&[table.as_bytes(), self.seed(side).as_bytes()], values.iter().map(ValueRef::from));
        values.push(Value::Blob(sealed.to_vec()));
        let places = vec!["?"; values.len()].join(", ");
        let sql = format!("INSERT OR REPLACE INTO {}.{table} VALUES ({places})", side.schema());
        self.statement(&sql)?.execute(params_from_iter(values)).map(drop).map_err(|why| self.failed(&why))
    }

    /// Changes one row, and its digest.
    pub(super) fn update(&self, side: Side, table: &str, set: &str, whose: &str, values: &[Value]) -> Result<(), Error> {
        // A digest of an altered row would make it a good one.
        self.rows(side, (table, whose), &[], |_| Ok(()))?;
        let schema = side.schema();
        let change = format!("UPDATE {schema}.{table} SET {set} WHERE {whose}");
        self.statement(&change)?.execute(params_from_iter(values)).map_err(|why| self.failed(&why))?;
        let read = |row: &Row<'_>| row_seal(row, table, self.seed(side));
        let select = format!("SELECT * FROM {schema}.{table} WHERE {whose}");
        let sealed = self.db.query_row(&select, [], read).map_err(|why| self.failed(&why))?;
        let seal = format!("UPDATE {schema}.{table} SET digest = ?1 WHERE {whose}");
        self.statement(&seal)?.execute([sealed.to_vec()]).map(drop).map_err(|why| self.failed(&why))
    }

    /// Reads rows of a table, each of which must fit its digest.
    pub(super) fn rows<T>(
        &self,
        side: Side,
        (table, whose): (&str, &str),
        values: &[Value],
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let sql = format!("SELECT * FROM {}.{table} WHERE {whose}", side.schema());
        let mut statement = self.statement(&sql)?;
        let found = statement.query_map(params_from_iter(values), |row| {
            let fits = is_sealed(row, table, self.seed(side))?;
            Ok(if fits { Some(read(row)?) } else { None })
        });
        let found: Vec<Option<T>> = found.and_then(Iterator::collect).map_err(|why| refused(self.path_of(side), &why))?;
        let whole: Option<Vec<T>> = found.into_iter().collect();
        whole.ok_or_else(|| altered(self.path_of(side), &format!("a row of its table `{table}`")))
    }
}
