//! Parses text into numbers: rows, header, and one message per faulty column.

use super::CsvTable;
use super::choice::choose;
use super::dialect::{Dialect, Numbers, is_missing};
use super::faults::Faults;
use super::text::read_text;
use privateer_config::error::{Diagnostic, Error, is_unprintable};
use privateer_config::memory::allow;
use privateer_config::params::Args;
use std::path::Path;

/// Largest size of a text where nothing else is stated: larger than the intended data sets, smaller than usual memory.
pub const MOST_BYTES: u64 = 1 << 30;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether the first row names the columns.
    ///
    /// `None`: it does if none of its cells is a number, if one is a text where the second row has a number, or if it holds a name
    /// that `columns` or `except` lists.
    pub header: Option<bool>,
    /// Whether a row with a missing number is left out; it is otherwise a mistake.
    pub drops_missing: bool,
    /// What to do about a missing number, where it is a mistake.
    pub missing: Option<&'static str>,
    /// The columns to read, in this order; `None` for all.
    ///
    /// Columns are given by name, or by 1-based number where there is no header.
    pub columns: Option<Vec<String>>,
    /// The columns to leave out, where all others are read.
    pub except: Vec<String>,
    /// Largest size of the text, packed and unpacked.
    pub most_bytes: u64,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { header: None, drops_missing: false, missing: None, columns: None, except: Vec::new(), most_bytes: MOST_BYTES }
    }
}

/// Reads a table of finite numbers.
///
/// Only the chosen columns need to be numbers. Blank lines are skipped; space around a number is allowed.
///
/// # Errors
/// [`Error::Input`] with the first mistake of each column, at most eight, with file, line and field (the place's column counts
/// fields, except where the text is not UTF-8); or for a file that is too large; [`Error::Io`] if the operating system refuses
/// access.
pub fn read_table(path: &Path, options: &CsvOptions) -> Result<CsvTable, Error> {
    let mut values = Vec::new();
    let may_drop = |_| options.drops_missing;
    let scanned = scan(path, options, may_drop, |_, cell, numbers| numbers.number(cell).map(|value| values.push(value)))?;
    let FileHeader { header, rows, columns, dropped_rows } = scanned;
    Ok(CsvTable { header, rows, columns, values, dropped_rows })
}

impl CsvOptions {
    pub(in crate::env) fn dropping(drops_missing: bool) -> Self {
        Self { drops_missing, missing: Some(DROP), ..Self::default() }
    }
}

pub(in crate::env) fn drops_missing(args: &Args<'_>) -> bool {
    args.word(
        "missing",
        "rows with a missing number (empty, `NA`, `N/A`, `NaN`, `null`, `None`) are a mistake, or left out",
        &["refuse", "drop"],
        Some("refuse"),
    ) == "drop"
}

const DROP: &str = r#"`missing = "drop"` leaves such rows out"#;

/// Largest number of columns, far above those of any table that is known.
const MOST_COLUMNS: usize = 100_000;

/// Holds the header and the sizes of a file, without its cells.
pub(super) struct FileHeader {
    pub(super) header: Option<Vec<String>>,
    rows: usize,
    columns: usize,
    dropped_rows: Vec<usize>,
}

/// Calls `take` on every chosen cell, row by row: the cell's index among the chosen columns, its text, how numbers are read.
///
/// A row with a missing cell is left out where `may_drop` holds of the cell's index.
///
/// An error of `take` becomes a fault with its place in the file.
pub(super) fn scan(
    path: &Path,
    options: &CsvOptions,
    may_drop: impl Fn(usize) -> bool,
    mut take: impl FnMut(usize, &str, &mut Numbers) -> Result<(), String>,
) -> Result<FileHeader, Error> {
    let text = read_text(path, options.most_bytes)?;
    let dialect = Dialect::of(&text);
    let shown = path.display().to_string();
    let fields = |line: &str| line.bytes().filter(|byte| *byte == dialect.separator).count() + 1;
    if let Some((row, line)) =
        dialect.text.lines().enumerate().find(|(_, line)| MOST_COLUMNS < line.len() && MOST_COLUMNS < fields(line))
    {
        let message = format!("line {} of `{shown}` has {} separators", row + 1, fields(line) - 1);
        let hint = "write one row to a line; a table has at most that many columns, and texts hold fewer separators";
        return Diagnostic::new(message).expected(format!("fewer than {MOST_COLUMNS}")).hint(hint).refuse();
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(dialect.separator)
        .from_reader(dialect.text.as_bytes());
    let mut records = reader.records().peekable();
    let broken = |error: csv::Error| Diagnostic::new(format!("`{shown}` is not CSV: {error}")).error();
    let Some(first) = records.next().transpose().map_err(broken)? else {
        return Diagnostic::new(format!("`{shown}` is empty")).expected("rows of numbers").refuse();
    };
    let mut numbers = Numbers::new(dialect.separator);
    let is_number = |cell: &str| numbers.holds(cell);
    let named = options.header.unwrap_or_else(|| {
        let second = records.peek().and_then(|record| record.as_ref().ok());
        let names_numbers = |second: &csv::StringRecord| {
            let mut pairs = first.iter().zip(second);
            first.len() == second.len() && pairs.any(|(name, cell)| !is_missing(name) && !is_number(name) && is_number(cell))
        };
        let listed: Vec<&String> = options.columns.iter().flatten().chain(&options.except).collect();
        let names_columns =
            listed.iter().any(|name| name.parse::<usize>().is_err() && first.iter().any(|cell| cell.trim() == *name));
        !first.iter().any(is_number) || names_columns || second.is_some_and(names_numbers)
    });
    let names: Vec<String> = if named {
        first.iter().map(|name| name.trim().to_owned()).collect()
    } else {
        (1..=first.len()).map(|number| number.to_string()).collect()
    };
    let kept = choose(&shown, &names, named, options.columns.as_deref(), &options.except)?;
    if let Some(&at) = kept.iter().find(|&&at| names[at].contains(is_unprintable)) {
        return Diagnostic::new(format!("`{shown}` has a control character in the name of column {}", at + 1)).refuse();
    }
    let cells = kept.len() as f64 * (1 + dialect.text.bytes().filter(|byte| *byte == b'\n').count()) as f64;
    // A list that grows is held twice for a moment, and the new one has twice the room.
    allow(f64::INFINITY, &format!("the values of `{shown}`"), 24.0 * cells, "keep only the rows and columns that are used")?;

    let mut faults = Faults::new(&shown, &dialect, options.missing);
    let (mut rows, mut dropped_rows) = (0, Vec::new());
    let data = (!named).then(|| Ok(first.clone())).into_iter().chain(records);
    for record in data {
        let record = record.map_err(broken)?;
        if record.len() != names.len() {
            faults.row(&record, names.len(), named);
            continue;
        }
        if kept.iter().enumerate().any(|(index, &at)| may_drop(index) && is_missing(&record[at])) {
            dropped_rows.push(rows + dropped_rows.len());
            continue;
        }
        rows += 1;
        for (index, &at) in kept.iter().enumerate() {
            if let Err(problem) = take(index, &record[at], &mut numbers) {
                faults.cell(&record, at, &names[at], &problem);
            }
        }
    }
    faults.into_result()?;
    if numbers.may_be_thousands() {
        let message = format!("the commas in numbers of `{shown}` have three digits behind each, as between thousands");
        return Diagnostic::new(message).hint("write points in numbers, or no mark where thousands are meant").refuse();
    }
    if rows == 0 {
        let (message, expected) = match dropped_rows.len() {
            0 => (format!("`{shown}` has a header and no rows"), "rows of numbers below the header"),
            _ => (format!("every row of `{shown}` has a missing number"), "rows of numbers, or fewer columns"),
        };
        return Diagnostic::new(message).expected(expected).refuse();
    }
    let header = named.then(|| kept.iter().map(|&at| names[at].clone()).collect());
    Ok(FileHeader { header, rows, columns: kept.len(), dropped_rows })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Finite numbers.
    Number,
    /// Finite numbers, or a missing number.
    NumberOrMissing,
    /// Finite numbers; rows where it is missing are left out.
    NumberOrDropped,
    /// Any text, without the space around it.
    Text,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Numbers; NaN where a number is missing.
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

/// Reads the named columns of a file with a header, each by its kind, in the order of `columns`.
pub fn read_columns(path: &Path, columns: &[(String, CellKind)], most_bytes: u64) -> Result<Vec<Cells>, Error> {
    let names = columns.iter().map(|(name, _)| name.clone()).collect();
    let options = CsvOptions { header: Some(true), columns: Some(names), most_bytes, ..CsvOptions::dropping(false) };
    let mut read: Vec<Cells> = columns
        .iter()
        .map(|(_, kind)| if *kind == CellKind::Text { Cells::Texts(Vec::new()) } else { Cells::Numbers(Vec::new()) })
        .collect();
    let may_drop = |index: usize| columns[index].1 == CellKind::NumberOrDropped;
    scan(path, &options, may_drop, |index, cell, marks| {
        match &mut read[index] {
            Cells::Texts(_) if cell.contains(is_unprintable) => return Err("holds a control character".to_owned()),
            Cells::Texts(texts) => texts.push(cell.trim().to_owned()),
            Cells::Numbers(numbers) => {
                let missing = columns[index].1 == CellKind::NumberOrMissing && is_missing(cell);
                numbers.push(if missing { f64::NAN } else { marks.number(cell)? });
            }
        }
        Ok(())
    })?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::fs;
    use std::io::Write;

    /// Writes the bytes to `t.csv` in a fresh folder and reads them; messages omit the folder.
    fn read(bytes: &[u8], options: &CsvOptions) -> Result<CsvTable, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv");
        fs::write(&path, bytes).expect("a file");
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
            dropped_rows: Vec::new(),
        };
        let text = "a,b\n1,2\n3,-4e1\n";
        for same in [text, "\u{feff}a,b\n1,2\n3,-4e1", "a,b\r\n1,2\r\n3,-4e1\r\n", "a, b\n\n\"1\", 2 \n\n3,-40\n\n"] {
            assert_eq!(plain(same), Ok(expected.clone()), "{same:?}");
        }
        assert_eq!(read(&gzip(text), &CsvOptions::default()), Ok(expected.clone()));
        for same in
            ["a\tb\n1\t2\n3\t-40\n", "a;b\n1;2\n3;-40,0\n", "# by hand\n#a;b\n1,0;2,0\n3;-40\n", "# by hand\na|b\n1|2\n3|-40\n"]
        {
            assert_eq!(plain(same), Ok(expected.clone()), "{same:?}");
        }
        // Years among names, and rows that lack a number.
        assert!(plain("a;b\n1,5;2\n3;1.234\n").expect_err("two marks").contains("numbers before it have `,`"));
        assert!(plain("a;b\n1,234;2\n3;12,500\n").expect_err("thousands?").contains("as between thousands"));
        assert!(plain("a;b\n1,234;2\n3;0,500\n").is_ok());
        assert_eq!(plain("NA,2\n3,4\n").expect_err("missing").matches("NA").count(), 1);
        let mixed = plain("2016,mean\n1,2\n3,-40\n").expect("a table");
        assert_eq!((mixed.header, mixed.values), (Some(vec!["2016".to_owned(), "mean".to_owned()]), expected.values.clone()));
        let dropping = CsvOptions { drops_missing: true, ..CsvOptions::default() };
        let some = read(b"a,b\n1,2\nNA,7\n7,\n3,-40\n", &dropping).expect("a table");
        assert_eq!(some, CsvTable { dropped_rows: vec![1, 2], ..expected.clone() });
        assert_eq!(some.row_in_file(1), 3);
        assert!(read(b"a,b\nNA,7\n", &dropping).expect_err("nothing left").contains("every row"));
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
            ("NaN", "has `NaN` instead of a number"),
            ("\"1,5\"", "has a comma in a number: write a point"),
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
        assert!(refusal("a b\n1 2\n").ends_with("hint: fields seem to be separated by ` `: write `,`"));
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
        assert!(refusal(b"PAR1\x15").contains("Parquet file"));
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
                "error: there is no data file `{}`\nexpected CSV text, plain or gzip, or Parquet\nhint: check the path",
                missing.display()
            )
        );
        assert!(message(folder.path()).contains("is not a regular file\nexpected CSV text, plain or gzip, or Parquet"));
    }

    /// A limit holds of the text as it is stored and as it is unpacked; a text of just its size is read.
    #[test]
    fn no_more_than_the_limit_is_read() {
        let (folder, text) = (tempfile::tempdir().expect("a folder"), format!("x\n{}", "1\n".repeat(5000)));
        let (plain, gz) = (folder.path().join("t.csv"), folder.path().join("t.csv.gz"));
        fs::write(&plain, &text).expect("written");
        fs::write(&gz, gzip(&text)).expect("written");
        for (path, noun) in [(&plain, "the data file"), (&gz, "the unpacked data file")] {
            let read = |most_bytes| read_table(path, &CsvOptions { most_bytes, ..CsvOptions::default() });
            assert_eq!(read(text.len() as u64).expect("a table").rows, 5000);
            let said = read(text.len() as u64 - 1).expect_err("too large").to_string();
            assert!(
                said.contains(noun) && said.contains("larger than the limit of 9.8 KiB") && said.contains("memory_gib"),
                "{said}"
            );
        }
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
