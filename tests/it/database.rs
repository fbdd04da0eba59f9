//! Reads and alters deployments with another program's eyes: plain SQL.

use rusqlite::Connection;
use rusqlite::types::{FromSql, Value};
use std::path::Path;

pub fn open(folder: &Path, name: &str) -> Connection {
    Connection::open(folder.join(name)).expect("a database")
}

/// The first column of the first row.
pub fn one<T: FromSql>(folder: &Path, name: &str, sql: &str) -> T {
    open(folder, name).query_row(sql, [], |row| row.get(0)).unwrap_or_else(|why| panic!("{sql}: {why}"))
}

/// The first column of all rows.
pub fn all<T: FromSql>(folder: &Path, name: &str, sql: &str) -> Vec<T> {
    let database = open(folder, name);
    let mut statement = database.prepare(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().unwrap_or_else(|why| panic!("{sql}: {why}"))
}

/// Changes a deployment behind the program's back.
pub fn alter(folder: &Path, name: &str, sql: &str) {
    open(folder, name).execute_batch(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
}

/// Everything that a deployment holds but where it stands: each table with its rows.
pub fn content(folder: &Path, name: &str) -> Vec<(String, Vec<Vec<Value>>)> {
    let tables: Vec<String> =
        all(folder, name, "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'deployment' ORDER BY name");
    let database = open(folder, name);
    let rows = |table: String| {
        let mut statement = database.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).expect("a table");
        let n = statement.column_count();
        let rows = statement.query_map([], |row| (0..n).map(|at| row.get(at)).collect()).expect("rows");
        (table, rows.collect::<Result<_, _>>().expect("rows"))
    };
    tables.into_iter().map(rows).collect()
}

/// Whether a number is stored anywhere in a file, as SQLite stores it.
pub fn holds_number(folder: &Path, name: &str, number: f64) -> bool {
    let bytes = std::fs::read(folder.join(name)).expect("a file");
    let text = number.to_string();
    bytes.windows(8).any(|eight| eight == number.to_be_bytes()) || bytes.windows(text.len()).any(|found| found == text.as_bytes())
}
