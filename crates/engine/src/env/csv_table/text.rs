//! Reads a file as text: unpacks gzip, drops a byte order mark, checks UTF-8, names other formats.

use super::parquet_text::parquet_text;
use flate2::read::MultiGzDecoder;
use privateer_config::error::{Diagnostic, Error, Place};
use privateer_config::input::Input;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Formats other than CSV, by the first bytes of their files.
const OTHERS: [(&[u8], &str, &str); 5] = [
    (b"MATLAB 5.0", "a Matlab file", "export the matrix as CSV"),
    (b"\x89HDF", "an HDF5 or Matlab 7.3 file", "export the matrix as CSV"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet", "unpack it, or save the sheet as CSV"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
];

/// Returns the file's text, of at most `most_bytes` bytes packed and unpacked; of a Parquet file, its rows as CSV.
pub fn read_text(path: &Path, most_bytes: u64) -> Result<String, Error> {
    let input = Input {
        what: "data file",
        expected: "CSV text, plain or gzip, or Parquet",
        most_bytes,
        hint: "keep only the rows and columns that are used; the files of a spec may take an eighth of `limits.memory_gib`",
    };
    let packed = input.read(path)?;
    let bytes = if packed.starts_with(&[0x1f, 0x8b]) { unpack(path, &packed, input)? } else { packed };
    if bytes.starts_with(b"PAR1") {
        return parquet_text(path, bytes, input);
    }
    if let Some((_, format, hint)) = OTHERS.iter().find(|(magic, _, _)| bytes.starts_with(magic)) {
        let message = format!("`{}` is {format}", path.display());
        return Diagnostic::new(message).expected("CSV text, plain or gzip").hint(*hint).refuse();
    }
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(path, error.as_bytes(), error.utf8_error().valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn unpack(path: &Path, packed: &[u8], input: Input<'_>) -> Result<Vec<u8>, Error> {
    // Counted before it is kept: a small file can unpack to more than there is memory.
    let counted = io::copy(&mut MultiGzDecoder::new(packed).take(input.most_bytes + 1), &mut io::sink()).map_err(|error| {
        let problem = if error.kind() == ErrorKind::UnexpectedEof { "is cut off" } else { "is damaged" };
        Diagnostic::new(format!("the gzip file `{}` {problem}", path.display()))
            .hint("fetch the file again, or unpack it")
            .error()
    })?;
    if input.most_bytes < counted {
        return Err(Input { what: "unpacked data file", ..input }.too_large(path));
    }
    input.read_stream(path, MultiGzDecoder::new(packed))
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
    Diagnostic::new(message).at(place).expected("CSV text in UTF-8").hint("save the file as UTF-8").error()
}
