//! Collects the faults in a file's rows: one message per column, with a count of similar cells.

use privateer_config::error::{Diagnostic, Error, Place};

/// Largest number of messages for one file.
const SHOWN: usize = 8;

/// Advice for rows of different lengths.
const RAGGED: &str = "quote fields that hold the delimiter, and remove lines that are not part of the table";

/// Holds the faults of one file, in the order of their discovery.
#[derive(Debug)]
pub(super) struct Faults<'a> {
    file: &'a str,
    text: &'a str,
    delimiter: u8,
    found: Vec<CsvFault>,
}

#[derive(Debug)]
struct CsvFault {
    /// The field, 0-based; `None` for rows of the wrong length.
    field: Option<usize>,
    first: Diagnostic,
    count: usize,
}

impl<'a> Faults<'a> {
    /// Creates an empty collection; `text` is the file's text, for the line numbers.
    pub(super) fn new(file: &'a str, text: &'a str, delimiter: u8) -> Self {
        Self { file, text, delimiter, found: Vec::new() }
    }

    /// Records a cell that is not a finite number; `problem` continues "column `name` …".
    pub(super) fn cell(&mut self, record: &csv::StringRecord, field: usize, name: &str, problem: &str) {
        if self.seen(Some(field)) {
            return;
        }
        let mut diagnostic =
            Diagnostic::new(format!("column `{name}` {problem}")).at(self.place(record, field + 1)).expected("a finite number");
        let others = [b';', b'\t', b'|', b' '].into_iter().filter(|&other| other != self.delimiter);
        diagnostic.hint = separator_hint(self.text, self.delimiter);
        if diagnostic.hint.is_some() {
            // The separator explains the cell.
        } else if let Some(other) = others.into_iter().find(|&other| record.len() == 1 && record[0].contains(other as char)) {
            let named = |byte: u8| (byte as char).escape_default();
            diagnostic.hint =
                Some(format!("fields seem to be separated by `{}` and not by `{}`", named(other), named(self.delimiter)));
        }
        self.found.push(CsvFault { field: Some(field), first: diagnostic, count: 1 });
    }

    /// Records a row of the wrong length.
    pub(super) fn row(&mut self, record: &csv::StringRecord, expected: usize, named: bool) {
        if self.seen(None) {
            return;
        }
        let first = if named { "the header" } else { "the first row" };
        let fields = |n: usize| if n == 1 { "1 field".to_owned() } else { format!("{n} fields") };
        let mut diagnostic = Diagnostic::new(format!("the row has {}", fields(record.len())))
            .at(self.place(record, record.len().min(expected) + 1))
            .expected(format!("{}, as in {first}", fields(expected)));
        diagnostic.hint = separator_hint(self.text, self.delimiter);
        self.found.push(CsvFault { field: None, first: diagnostic, count: 1 });
    }

    /// Returns success, or up to eight messages.
    ///
    /// # Errors
    /// [`Error::Input`] if any fault was recorded.
    pub(super) fn into_result(self) -> Result<(), Error> {
        if self.found.is_empty() {
            return Ok(());
        }
        Err(Error::Input(self.found.into_iter().take(SHOWN).map(CsvFault::advised).collect()))
    }

    /// Counts one more fault of a known kind; returns false if the kind is new.
    fn seen(&mut self, field: Option<usize>) -> bool {
        let known = self.found.iter_mut().find(|fault| fault.field == field);
        known.map(|fault| fault.count += 1).is_some()
    }

    fn place(&self, record: &csv::StringRecord, field: usize) -> Place {
        Place { file: self.file.to_owned(), line: line_of(self.text, record), column: field, width: 1, text: None }
    }
}

impl CsvFault {
    fn advised(self) -> Diagnostic {
        let Self { field, mut first, count } = self;
        let advice = match (field, count) {
            (Some(_), 1) => "remove the row, or keep other columns".to_owned(),
            (Some(_), _) => {
                format!("{count} cells of this column are not finite numbers: remove their rows, or keep other columns")
            }
            (None, 1) => RAGGED.to_owned(),
            (None, _) => format!("{count} rows have another length: {RAGGED}"),
        };
        first.hint.get_or_insert(advice);
        first
    }
}

/// Returns a hint if the first two lines show that another character separates the fields.
pub(super) fn separator_hint(text: &str, delimiter: u8) -> Option<String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (first, second) = (lines.next()?, lines.next()?);
    let comma = delimiter == b',';
    let is_number = |part: &str| part.trim().replace(if comma { ',' } else { '.' }, ".").parse::<f64>().is_ok();
    let other = [';', '\t', '|'].into_iter().filter(|&other| other != delimiter as char).find(|&other| {
        let n_fields = first.split(other).count();
        1 < n_fields
            && n_fields == second.split(other).count()
            && second.split(other).any(is_number)
            && (second.split(other).all(is_number) || !first.contains(delimiter as char))
    })?;
    let decimal = comma && second.split(other).any(|part| part.contains(',') && is_number(part));
    let mark = if decimal { ", and the decimal mark seems to be `,`: write `,` between fields and `.` in numbers" } else { "" };
    Some(format!(
        "fields seem to be separated by `{}` and not by `{}`{mark}",
        other.escape_default(),
        (delimiter as char).escape_default()
    ))
}

/// Returns the 1-based line on which a record starts.
///
/// The CSV reader's own position stops before line ends and blank lines.
fn line_of(text: &str, record: &csv::StringRecord) -> usize {
    let bytes = text.as_bytes();
    let mut start = record.position().map_or(0, |position| position.byte() as usize).min(bytes.len());
    start += bytes[start..].iter().take_while(|byte| b"\r\n".contains(byte)).count();
    let ends = |at: &usize| bytes[*at] == b'\n' || bytes[*at] == b'\r' && bytes.get(*at + 1) != Some(&b'\n');
    1 + (0..start).filter(ends).count()
}
