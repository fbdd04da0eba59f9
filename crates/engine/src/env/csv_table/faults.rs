//! Collects the faults in a file's rows: one message per column, with a count of similar cells.

use super::dialect::{Dialect, is_missing};
use privateer_config::error::{Diagnostic, Error, Place};

/// Largest number of messages for one file.
const SHOWN: usize = 8;

const RAGGED: &str = "quote fields that hold the delimiter, and remove lines that are not part of the table";

/// Holds the faults of one file, in the order of their discovery.
pub(super) struct Faults<'a> {
    file: &'a str,
    dialect: &'a Dialect<'a>,
    /// What to do about rows with a missing number.
    missing: Option<&'static str>,
    found: Vec<CsvFault>,
}

struct CsvFault {
    /// The field, 0-based; `None` for rows of the wrong length.
    field: Option<usize>,
    first: Diagnostic,
    count: usize,
}

impl<'a> Faults<'a> {
    pub(super) fn new(file: &'a str, dialect: &'a Dialect<'a>, missing: Option<&'static str>) -> Self {
        Self { file, dialect, missing, found: Vec::new() }
    }

    /// Records a cell that is not a finite number; `problem` continues "column `name` …".
    pub(super) fn cell(&mut self, record: &csv::StringRecord, field: usize, name: &str, problem: &str) {
        if self.seen(Some(field)) {
            return;
        }
        let mut diagnostic =
            Diagnostic::new(format!("column `{name}` {problem}")).at(self.place(record, field + 1)).expected("a finite number");
        let other = [';', '\t', '|', ' '].into_iter().find(|&other| record.len() == 1 && record[0].contains(other));
        diagnostic.hint = match other {
            Some(other) => Some(format!("fields seem to be separated by `{}`: write `,`", other.escape_default())),
            None => self.missing.filter(|_| is_missing(&record[field])).map(str::to_owned),
        };
        self.found.push(CsvFault { field: Some(field), first: diagnostic, count: 1 });
    }

    /// Records a row of the wrong length.
    pub(super) fn row(&mut self, record: &csv::StringRecord, expected: usize, named: bool) {
        if self.seen(None) {
            return;
        }
        let first = if named { "the header" } else { "the first row" };
        let fields = |n: usize| if n == 1 { "1 field".to_owned() } else { format!("{n} fields") };
        let diagnostic = Diagnostic::new(format!("the row has {}", fields(record.len())))
            .at(self.place(record, record.len().min(expected) + 1))
            .expected(format!("{}, as in {first}", fields(expected)));
        self.found.push(CsvFault { field: None, first: diagnostic, count: 1 });
    }

    /// Returns success, or up to eight messages.
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
        Place {
            file: self.file.to_owned(),
            line: self.dialect.skipped_lines + line_of(&self.dialect.text, record),
            column: field,
            width: 1,
            text: None,
        }
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
