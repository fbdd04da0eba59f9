//! Describes a file before its numbers are read: columns, rows, and the hash of its text.

use super::MOST_BYTES;
use super::text::read_text;
use privateer_config::error::{Diagnostic, Error};
use sha2::{Digest, Sha256};
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvShape {
    /// Names of the columns, from the header.
    pub columns: Vec<String>,
    /// Number of rows, without the header.
    pub rows: usize,
    /// SHA-256 of the text (unpacked, without a byte order mark), in hexadecimal.
    pub sha256: String,
}

impl CsvShape {
    /// Computes the shape of a file, plain or gzip.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = read_text(path, MOST_BYTES)?;
        let refused = |error: csv::Error| Diagnostic::new(format!("`{}` is not CSV: {error}", path.display())).error();
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let header = reader.headers().map_err(refused)?;
        let columns = header.iter().map(|name| name.trim().to_owned()).collect();
        let rows = reader.records().try_fold(0, |rows, record| record.map(|_| rows + 1)).map_err(refused)?;
        Ok(Self { columns, rows, sha256: text_sha256(&text) })
    }
}

/// Returns the SHA-256 of a text, in hexadecimal.
pub fn text_sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
