//! Reads a file as text: unpacks gzip, drops a byte order mark, checks UTF-8, names other formats.

use super::parquet_text::parquet_text;
use crate::env::similar_file;
use flate2::read::MultiGzDecoder;
use privateer_config::error::{Diagnostic, Error, Place};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Largest accepted text, unpacked: larger than the intended data sets, smaller than usual memory.
const LIMIT_BYTES: u64 = 1 << 30;

/// Formats other than CSV, by the first bytes of their files.
const OTHERS: [(&[u8], &str, &str); 5] = [
    (b"MATLAB 5.0", "a Matlab file", "export the matrix as CSV"),
    (b"\x89HDF", "an HDF5 or Matlab 7.3 file", "export the matrix as CSV"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet", "unpack it, or save the sheet as CSV"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
];

/// Returns the file's text; of a Parquet file, its rows as CSV.
///
/// # Errors
/// An input error if the file is missing, is a folder, is truncated gzip, is too large, has another format or is not UTF-8;
/// otherwise the operating system's error.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let shown = path.display();
    let file = File::open(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => Error::input(Diagnostic::new(format!("no data file `{shown}`")).hint(match similar_file(path) {
            Some(near) => format!("did you mean `{}`?", near.display()),
            None => "name the folder that holds it with `--data DIR` or PRIVATEER_DATA".to_owned(),
        })),
        _ => Error::io("read the data file", path, source),
    })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(not_csv(path, "a folder", "name a CSV file in it"));
    }
    let packed = limited(file).map_err(|source| Error::io("read the data file", path, source))?;
    let bytes = if packed.starts_with(&[0x1f, 0x8b]) { unpack(path, &packed)? } else { packed };
    if LIMIT_BYTES < bytes.len() as u64 {
        return Err(Error::TooLarge {
            what: format!("the table in `{shown}`"),
            needs_bytes: bytes.len() as f64,
            limit_bytes: LIMIT_BYTES as f64,
            hint: "keep only the rows and columns that are used".to_owned(),
        });
    }
    if bytes.starts_with(b"PAR1") {
        return parquet_text(path, bytes);
    }
    if let Some((_, format, hint)) = OTHERS.iter().find(|(magic, _, _)| bytes.starts_with(magic)) {
        return Err(not_csv(path, format, hint));
    }
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(path, error.as_bytes(), error.utf8_error().valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Reads everything, or one byte more than the limit.
fn limited(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(LIMIT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unpack(path: &Path, packed: &[u8]) -> Result<Vec<u8>, Error> {
    limited(MultiGzDecoder::new(packed)).map_err(|error| {
        let problem = if error.kind() == ErrorKind::UnexpectedEof { "is cut off" } else { "is damaged" };
        Error::input(
            Diagnostic::new(format!("the gzip file `{}` {problem}", path.display())).hint("fetch the file again, or unpack it"),
        )
    })
}

fn not_csv(path: &Path, found: &str, hint: &str) -> Error {
    let message = format!("`{}` is {found}", path.display());
    Error::input(Diagnostic::new(message).expected("CSV text, plain or gzip").hint(hint))
}

fn not_utf8(path: &Path, bytes: &[u8], at: usize) -> Error {
    let lead = &bytes[..at];
    let line_start = lead.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
    let place = Place {
        file: path.display().to_string(),
        line: lead.iter().filter(|&&b| b == b'\n').count() + 1,
        column: String::from_utf8_lossy(&lead[line_start..]).chars().count() + 1,
        width: 1,
        text: None,
    };
    let message = format!("`{}` is not UTF-8: byte 0x{:02x}", path.display(), bytes.get(at).copied().unwrap_or(0));
    Error::input(Diagnostic::new(message).at(place).expected("CSV text in UTF-8").hint("save the file as UTF-8"))
}
