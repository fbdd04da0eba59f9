//! Parses text into numbers: rows, header, choice of columns, and one message per faulty column.

use super::CsvTable;
use super::faults::{Faults, separator_hint};
use super::text::read_text;
use privateer_config::error::{Diagnostic, Error, closest, is_unprintable};
use std::path::Path;

/// Holds the options for parsing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether the first row names the columns; `None`: it does if none of its cells is a number.
    pub header: Option<bool>,
    /// Separator of the fields of a row.
    pub delimiter: u8,
    /// The columns to read, in this order; `None` for all.
    ///
    /// Columns are given by name, or by 1-based number where there is no header.
    pub columns: Option<Vec<String>>,
}

impl Default for CsvOptions {
    /// Returns the defaults: a comma, all columns, and a header if the first row looks like one.
    fn default() -> Self {
        Self { header: None, delimiter: b',', columns: None }
    }
}

/// Reads a table of finite numbers.
///
/// Only the chosen columns need to be numbers. Blank lines are skipped; space around a number is allowed.
///
/// # Errors
/// [`Error::Input`] with the first mistake of each column, at most eight, with file, line and field (the place's column counts
/// fields, except where the text is not UTF-8); [`Error::TooLarge`] beyond 1 GiB; [`Error::Io`] if the operating system refuses
/// access.
pub fn read_table(path: &Path, options: &CsvOptions) -> Result<CsvTable, Error> {
    let mut values = Vec::new();
    let scanned = scan(path, options, |_, cell| number(cell).map(|value| values.push(value)))?;
    Ok(CsvTable { header: scanned.header, rows: scanned.rows, columns: scanned.columns, values })
}

/// Holds the header and the sizes of a file, without its cells.
struct FileHeader {
    header: Option<Vec<String>>,
    rows: usize,
    columns: usize,
}

/// Calls `take` on every chosen cell, row by row, with the cell's index among the chosen columns.
///
/// An error of `take` becomes a fault with its place in the file.
fn scan(path: &Path, options: &CsvOptions, mut take: impl FnMut(usize, &str) -> Result<(), String>) -> Result<FileHeader, Error> {
    let text = read_text(path)?;
    let shown = path.display().to_string();
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(options.delimiter).from_reader(text.as_bytes());
    let mut records = reader.records();
    let mistake = |message: String| Err(Error::input(Diagnostic::new(message)));
    let Some(first) = records.next() else {
        return Err(Error::input(Diagnostic::new(format!("`{shown}` is empty")).expected("rows of numbers")));
    };
    let first = match first {
        Ok(record) => record,
        Err(error) => return mistake(format!("`{shown}` is not CSV: {error}")),
    };
    let named = options.header.unwrap_or_else(|| first.iter().all(|cell| cell.trim().parse::<f64>().is_err()));
    let names: Vec<String> = if named {
        first.iter().map(|name| name.trim().to_owned()).collect()
    } else {
        (1..=first.len()).map(|number| number.to_string()).collect()
    };
    let kept = choose(&shown, &names, named, options.columns.as_deref(), separator_hint(&text, options.delimiter))?;
    if let Some(&at) = kept.iter().find(|&&at| names[at].contains(is_unprintable)) {
        return mistake(format!("`{shown}` has a control character in the name of column {}", at + 1));
    }

    let mut faults = Faults::new(&shown, &text, options.delimiter);
    let mut rows = 0;
    let data = (!named).then(|| Ok(first.clone())).into_iter().chain(records);
    for record in data {
        let record = match record {
            Ok(record) => record,
            Err(error) => return mistake(format!("`{shown}` is not CSV: {error}")),
        };
        rows += 1;
        if record.len() != names.len() {
            faults.row(&record, names.len(), named);
            continue;
        }
        for (index, &at) in kept.iter().enumerate() {
            if let Err(problem) = take(index, &record[at]) {
                faults.cell(&record, at, &names[at], &problem);
            }
        }
    }
    faults.into_result()?;
    if rows == 0 {
        let message = format!("`{shown}` has a header and no rows");
        return Err(Error::input(Diagnostic::new(message).expected("rows of numbers below the header")));
    }
    let header = named.then(|| kept.iter().map(|&at| names[at].clone()).collect());
    Ok(FileHeader { header, rows, columns: kept.len() })
}

/// States how the cells of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Finite numbers.
    Number,
    /// Finite numbers; an empty cell or `NA` is a missing number.
    NumberOrMissing,
    /// Any text, without the space around it.
    Text,
}

/// Holds the cells of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Numbers; NaN where a number is missing.
    Numbers(Vec<f64>),
    /// Texts.
    Texts(Vec<String>),
}

/// Reads the named columns of a file with a header, each by its kind, in the order of `columns`.
///
/// # Errors
/// As [`read_table`].
pub fn read_columns(path: &Path, columns: &[(String, CellKind)]) -> Result<Vec<Cells>, Error> {
    let names = columns.iter().map(|(name, _)| name.clone()).collect();
    let options = CsvOptions { header: Some(true), columns: Some(names), ..CsvOptions::default() };
    let mut read: Vec<Cells> = columns
        .iter()
        .map(|(_, kind)| if *kind == CellKind::Text { Cells::Texts(Vec::new()) } else { Cells::Numbers(Vec::new()) })
        .collect();
    scan(path, &options, |index, cell| {
        match &mut read[index] {
            Cells::Texts(_) if cell.contains(is_unprintable) => return Err("holds a control character".to_owned()),
            Cells::Texts(texts) => texts.push(cell.trim().to_owned()),
            Cells::Numbers(numbers) => {
                let missing = columns[index].1 == CellKind::NumberOrMissing && matches!(cell.trim(), "" | "NA");
                numbers.push(if missing { f64::NAN } else { number(cell)? });
            }
        }
        Ok(())
    })?;
    Ok(read)
}

/// Returns the fields of the wanted columns.
///
/// * `separator` — advice if another character than the delimiter separates the fields
fn choose(
    file: &str,
    names: &[String],
    named: bool,
    wanted: Option<&[String]>,
    separator: Option<String>,
) -> Result<Vec<usize>, Error> {
    let Some(wanted) = wanted else {
        return Ok((0..names.len()).collect());
    };
    let known = if named {
        format!("one of {}", listed(names))
    } else {
        format!("a number from 1 to {}: the file has no header", names.len())
    };
    let (mut kept, mut mistakes) = (Vec::new(), Vec::new());
    if wanted.is_empty() {
        mistakes.push(Diagnostic::new(format!("no columns of `{file}` are chosen")).expected(known.clone()));
    }
    for name in wanted {
        let mut found = names.iter().enumerate().filter(|(_, known)| *known == name).map(|(at, _)| at);
        match (found.next(), found.next()) {
            (Some(at), None) => kept.push(at),
            (Some(_), Some(_)) => mistakes.push(
                Diagnostic::new(format!("`{file}` has more than one column `{name}`")).hint("rename one of them in the header"),
            ),
            (None, _) => {
                let mut diagnostic = Diagnostic::new(format!("`{file}` has no column `{name}`")).expected(known.clone());
                // A name with a comma that was taken for two names.
                let whole =
                    names.iter().find(|known| known.contains(',') && known.split(',').any(|part| part.trim() == name.trim()));
                diagnostic.hint = separator.clone().or_else(|| match whole {
                    Some(whole) => {
                        Some(format!("did you mean the one column \"{whole}\"? In a list, write its name in double quotes"))
                    }
                    None => closest(name, names.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?")),
                });
                mistakes.push(diagnostic);
            }
        }
    }
    if mistakes.is_empty() { Ok(kept) } else { Err(Error::Input(mistakes)) }
}

/// Lists at most a dozen names.
pub(in crate::env) fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("`{name}`")).collect();
    let rest = names.len().saturating_sub(12);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}

/// Returns the finite number in a cell, or a description of the fault, which does not repeat the cell: it may be raw data.
fn number(cell: &str) -> Result<f64, String> {
    let cell = cell.trim();
    if cell.is_empty() {
        return Err("has an empty cell".to_owned());
    }
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err("has a number that is not finite".to_owned()),
        Err(_) => Err("has text instead of a number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    /// Writes the bytes to `t.csv` in a fresh folder and reads them; messages omit the folder.
    fn read(bytes: &[u8], options: &CsvOptions) -> Result<CsvTable, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv");
        std::fs::write(&path, bytes).expect("a file");
        read_table(&path, options).map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    }

    fn plain(text: &str) -> Result<CsvTable, String> {
        read(text.as_bytes(), &CsvOptions::default())
    }

    fn only(columns: &[&str]) -> CsvOptions {
        CsvOptions { columns: Some(columns.iter().map(|&name| name.to_owned()).collect()), ..CsvOptions::default() }
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    }

    fn refusal(text: &str) -> String {
        plain(text).expect_err("a mistake")
    }

    #[test]
    fn all_the_spellings_of_one_table() {
        let expected = CsvTable {
            header: Some(vec!["a".to_owned(), "b".to_owned()]),
            rows: 2,
            columns: 2,
            values: vec![1.0, 2.0, 3.0, -40.0],
        };
        let text = "a,b\n1,2\n3,-4e1\n";
        for same in [text, "\u{feff}a,b\n1,2\n3,-4e1", "a,b\r\n1,2\r\n3,-4e1\r\n", "a, b\n\n\"1\", 2 \n\n3,-40\n\n"] {
            assert_eq!(plain(same), Ok(expected.clone()), "{same:?}");
        }
        assert_eq!(read(&gzip(text), &CsvOptions::default()), Ok(expected.clone()));
        let tabs = CsvOptions { delimiter: b'\t', ..CsvOptions::default() };
        assert_eq!(read(b"a\tb\n1\t2\n3\t-40\n", &tabs), Ok(expected.clone()));
        assert_eq!(plain("1,2\n3,-40"), Ok(CsvTable { header: None, ..expected.clone() }));
        // A header of numbers must be declared.
        let announced = CsvOptions { header: Some(true), ..CsvOptions::default() };
        let years = read(b"2016,2017\n1,2\n", &announced).expect("a table");
        assert_eq!((years.header, years.rows), (Some(vec!["2016".to_owned(), "2017".to_owned()]), 1));
    }

    #[test]
    fn columns_by_name() {
        let text = b"when,price,size\nMay,10,1\nJune,20,2\n";
        let table = read(text, &only(&["size", "price"])).expect("a table");
        assert_eq!((table.values, table.header), (vec![1.0, 10.0, 2.0, 20.0], Some(vec!["size".to_owned(), "price".to_owned()])));
        let table = read(b"1,2\n3,4\n", &only(&["2"])).expect("a table");
        assert_eq!((table.values, table.header), (vec![2.0, 4.0], None));
        assert_eq!(
            read(text, &only(&["prcie"])).expect_err("unknown"),
            "error: `t.csv` has no column `prcie`\nexpected one of `when`, `price`, `size`\nhint: did you mean `price`?"
        );
        assert_eq!(
            read(b"\"height, cm\",weight\n1,2\n", &only(&["height"])).expect_err("unknown"),
            "error: `t.csv` has no column `height`\nexpected one of `height, cm`, `weight`\n\
             hint: did you mean the one column \"height, cm\"? In a list, write its name in double quotes"
        );
        assert_eq!(
            read(b"1,2\n3,4\n", &only(&["price"])).expect_err("unknown"),
            "error: `t.csv` has no column `price`\nexpected a number from 1 to 2: the file has no header"
        );
        assert_eq!(
            read(b"a,a\n1,2\n", &only(&["a"])).expect_err("twice"),
            "error: `t.csv` has more than one column `a`\nhint: rename one of them in the header"
        );
        assert_eq!(
            read(text, &only(&[])).expect_err("none"),
            "error: no columns of `t.csv` are chosen\nexpected one of `when`, `price`, `size`"
        );
    }

    #[test]
    fn empty_files() {
        assert_eq!(refusal(""), "error: `t.csv` is empty\nexpected rows of numbers");
        assert_eq!(refusal("\n\n"), "error: `t.csv` is empty\nexpected rows of numbers");
        assert_eq!(refusal("a,b\n"), "error: `t.csv` has a header and no rows\nexpected rows of numbers below the header");
    }

    #[test]
    fn bad_cells() {
        let hint = "expected a finite number\nhint: remove the row, or keep other columns";
        for (cell, problem) in [
            ("abc", "has text instead of a number"),
            ("", "has an empty cell"),
            ("NaN", "has a number that is not finite"),
            ("-inf", "has a number that is not finite"),
            ("1e999", "has a number that is not finite"),
        ] {
            let text = format!("a,b\r\n1,2\r\n\r\n3,{cell}\r\n");
            assert_eq!(refusal(&text), format!("error: column `b` {problem}\n --> t.csv:4:2\n{hint}"), "{cell}");
        }
        // One message per column, with the number of its faulty cells.
        let many = refusal("a,b,c\n1,May,2\n1,June,x\n1,July,2\n");
        assert_eq!(many.matches("error: ").count(), 2);
        assert!(many.contains("hint: 3 cells of this column are not finite numbers: remove their rows, or keep other columns"));
        assert!(refusal("a;b\n1;2\n").ends_with("hint: fields seem to be separated by `;` and not by `,`"));
    }

    #[test]
    fn ragged_rows() {
        let hint = "hint: quote fields that hold the delimiter, and remove lines that are not part of the table";
        assert_eq!(
            refusal("a,b\n1,2\n1,2,3\n"),
            format!("error: the row has 3 fields\n --> t.csv:3:3\nexpected 2 fields, as in the header\n{hint}")
        );
        assert_eq!(
            refusal("1,2\n1\n"),
            format!("error: the row has 1 field\n --> t.csv:2:2\nexpected 2 fields, as in the first row\n{hint}")
        );
    }

    #[test]
    fn files_that_are_not_csv() {
        let refusal = |bytes: &[u8]| read(bytes, &CsvOptions::default()).expect_err("not CSV");
        let expected = "expected CSV text, plain or gzip\nhint: ";
        assert_eq!(refusal(b"PAR1\x15"), format!("error: `t.csv` is a Parquet file\n{expected}export it as CSV"));
        assert_eq!(
            refusal(b"MATLAB 5.0 MAT-file"),
            format!("error: `t.csv` is a Matlab file\n{expected}export the matrix as CSV")
        );
        assert_eq!(refusal(b"\xff\xfea\0"), format!("error: `t.csv` is UTF-16 text\n{expected}save it as UTF-8"));
        assert_eq!(
            refusal(b"a,b\n1,\xe9\n"),
            "error: `t.csv` is not UTF-8: byte 0xe9\n --> t.csv:2:3\nexpected CSV text in UTF-8\nhint: save the file as UTF-8"
        );
        let packed = gzip(&"a,b\n1,2\n".repeat(500));
        assert_eq!(
            refusal(&packed[..packed.len() - 9]),
            "error: the gzip file `t.csv` is cut off\nhint: fetch the file again, or unpack it"
        );
        let mut damaged = packed.clone();
        let last = damaged.len() - 6;
        damaged[last] ^= 0xff;
        assert_eq!(refusal(&damaged), "error: the gzip file `t.csv` is damaged\nhint: fetch the file again, or unpack it");
    }

    #[test]
    fn files_that_are_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("no.csv");
        let message = |path: &Path| read_table(path, &CsvOptions::default()).expect_err("no file").to_string();
        assert_eq!(
            message(&missing),
            format!(
                "error: no data file `{}`\nhint: name the folder that holds it with `--data DIR` or PRIVATEER_DATA",
                missing.display()
            )
        );
        assert!(message(folder.path()).contains("is a folder\nexpected CSV text, plain or gzip\nhint: name a CSV file in it"));
    }

    /// Any bytes give a table of finite numbers or a message, and never a panic.
    #[test]
    fn any_bytes() {
        use proptest::prelude::*;
        let config = ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(text in "[0-9a,;\"\r\n. -]{0,40}", noise in proptest::collection::vec(any::<u8>(), 0..40))| {
            for bytes in [text.as_bytes(), &noise] {
                if let Ok(table) = read(bytes, &CsvOptions::default()) {
                    prop_assert_eq!(table.values.len(), table.rows * table.columns);
                    prop_assert!(!table.values.is_empty() && table.values.iter().all(|x| x.is_finite()));
                }
            }
        });
    }
}
