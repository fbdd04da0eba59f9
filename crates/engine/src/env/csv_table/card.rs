//! Says what the columns of a table hold: sizes, spread, outliers, what they look like.

use super::dialect::is_missing;
use super::read::{CsvOptions, FileHeader, scan};
use privateer_config::error::Error;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// Fewest rows that tell an outlier or an identifier.
const MANY: usize = 10;

/// Largest number of distinct texts that are counted.
const MOST_LEVELS: usize = 10_000;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnCard {
    /// The name in the header, or the number of the column.
    pub name: String,
    /// The numbers, in the order of the rows; NaN for other cells.
    pub values: Vec<f64>,
    /// Number of cells that say that a number is missing.
    pub missing: usize,
    /// Number of cells with texts.
    pub texts: usize,
    levels: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub least: f64,
    pub mean: f64,
    pub greatest: f64,
    /// The population standard deviation.
    pub deviation: f64,
}

impl Spread {
    /// Summarises numbers; `None` without any.
    pub fn of(numbers: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let n = numbers.clone().count() as f64;
        let mean = numbers.clone().sum::<f64>() / n;
        let squares = numbers.clone().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        let (least, greatest) = (numbers.clone().fold(f64::INFINITY, f64::min), numbers.fold(f64::NEG_INFINITY, f64::max));
        (0.0 < n).then(|| Self { least, mean, greatest, deviation: libm::sqrt(squares / n) })
    }

    pub fn words(self) -> String {
        let Self { least, mean, greatest, deviation } = self;
        let [least, mean, greatest, deviation] = [least, mean, greatest, deviation].map(digits);
        format!("from {least} to {greatest} (mean {mean}, standard deviation {deviation})")
    }
}

impl ColumnCard {
    /// Reads every column of a file.
    pub fn read(path: &Path) -> Result<Vec<Self>, Error> {
        let mut columns: Vec<Self> = Vec::new();
        let take = |at: usize, cell: &str, numbers: &mut super::dialect::Numbers| {
            if columns.len() <= at {
                columns.push(Self { name: (at + 1).to_string(), ..Self::default() });
            }
            columns[at].take(cell, numbers.number(cell));
            Ok(())
        };
        let FileHeader { header, .. } = scan(path, &CsvOptions::default(), |_| false, take)?;
        for (column, name) in columns.iter_mut().zip(header.into_iter().flatten()) {
            column.name = name;
        }
        Ok(columns)
    }

    fn take(&mut self, cell: &str, number: Result<f64, String>) {
        self.missing += usize::from(is_missing(cell));
        self.texts += usize::from(number.is_err() && !is_missing(cell));
        if number.is_err() && !is_missing(cell) && self.levels.len() < MOST_LEVELS {
            self.levels.insert(cell.trim().to_owned());
        }
        self.values.push(number.unwrap_or(f64::NAN));
    }

    fn numbers(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        self.values.iter().copied().filter(|value| !value.is_nan())
    }

    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.numbers())
    }

    /// Returns the number of distinct numbers and texts; texts are counted up to ten thousand.
    pub fn n_distinct(&self) -> usize {
        let mut numbers: Vec<f64> = self.numbers().collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        numbers.len() + self.levels.len()
    }

    /// Returns what whoever takes the column as an input, a value or an arm should know.
    pub fn finding(&self) -> Option<ColumnFinding> {
        let n = self.values.len();
        let is_whole = self.numbers().all(|x| x == libm::trunc(x));
        let year = |x: f64| (1700.0..=2200.0).contains(&x);
        if self.texts == 0 && self.missing == 0 && counts_up(&self.values) {
            return Some(if self.values.iter().all(|&x| year(x)) {
                ColumnFinding::CountsYears
            } else {
                ColumnFinding::CountsRows
            });
        }
        match (self.n_distinct(), self.texts) {
            (1, _) if self.missing == 0 => Some(ColumnFinding::Constant),
            (distinct, 0) if is_whole && distinct == n && MANY <= n => Some(ColumnFinding::Identifier),
            (distinct, 0) if is_whole && self.numbers().all(year) && 1 < distinct => Some(ColumnFinding::Years),
            (distinct, texts) if texts == n && distinct == n && MANY <= n => Some(ColumnFinding::TextIdentifier),
            (_, texts) if 0 < texts && texts + self.missing < n => Some(ColumnFinding::NumbersAndTexts),
            _ => outlier(&self.values).map(|(row, share)| ColumnFinding::Outlier { row, share }),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ColumnFinding {
    CountsYears,
    CountsRows,
    Constant,
    Identifier,
    Years,
    TextIdentifier,
    NumbersAndTexts,
    Outlier {
        /// The row, from 0.
        row: usize,
        share: f64,
    },
}

impl fmt::Display for ColumnFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CountsYears => f.write_str("rises by 1 from row to row: years"),
            Self::CountsRows => f.write_str("rises by 1 from row to row: a number of rows"),
            Self::Constant => f.write_str("constant"),
            Self::Identifier => f.write_str("whole numbers, all different: an identifier?"),
            Self::Years => f.write_str("years?"),
            Self::TextIdentifier => f.write_str("texts, all different: an identifier?"),
            Self::NumbersAndTexts => f.write_str("numbers and texts"),
            Self::Outlier { row, share } => write!(f, "row {} has {:.0} % of the variance", row + 1, 100.0 * share),
        }
    }
}

pub(in crate::env) fn dropped(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!(", {rows} more left out for a missing number") }
}

/// Formats a number with four significant digits.
pub fn digits(x: f64) -> String {
    let rounded = format!("{x:.3e}").parse::<f64>().unwrap_or(x);
    if rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// Returns whether numbers are whole and rise by one from row to row, as numbers of rows and years do.
pub fn counts_up(values: &[f64]) -> bool {
    3 <= values.len() && libm::trunc(values[0]) == values[0] && values.windows(2).all(|two| two[1] - two[0] == 1.0)
}

/// Returns the row that has over half of the variance of ten values or more, with its share.
///
/// Cells without a number are NaN.
pub fn outlier(values: &[f64]) -> Option<(usize, f64)> {
    let numbers = values.iter().copied().filter(|value| !value.is_nan());
    let n = numbers.clone().count();
    let mean = numbers.clone().sum::<f64>() / n as f64;
    let square = |value: f64| (value - mean) * (value - mean);
    let total = numbers.map(square).sum::<f64>();
    let far = |&(_, value): &(usize, &f64)| total < 2.0 * square(*value);
    let (row, value) = values.iter().enumerate().find(far).filter(|_| MANY <= n)?;
    Some((row, square(*value) / total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_say_what_they_look_like() {
        let mut text = "row,year,id,name,town,same,price,rest\n".to_owned();
        for i in 0..12 {
            let price = if i == 4 { "9000".to_owned() } else { format!("{}.5", 3 * i % 7) };
            text += &format!(
                "{i},{},{},n{i},{},3,{price},{}\n",
                1999 + i,
                977 * (i + 3) % 101,
                ["a", "b"][i % 2],
                if i == 2 { "NA" } else { "1.5" }
            );
        }
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("t.csv"), text).expect("written");
        let columns = ColumnCard::read(&folder.path().join("t.csv")).expect("a table");
        let notes: Vec<_> =
            columns.iter().map(|column| (column.name.as_str(), column.finding().map(|finding| finding.to_string()))).collect();
        let expected = [
            ("row", "rises by 1 from row to row: a number of rows"),
            ("year", "rises by 1 from row to row: years"),
            ("id", "whole numbers, all different: an identifier?"),
            ("name", "texts, all different: an identifier?"),
            ("town", ""),
            ("same", "constant"),
            ("price", "row 5 has 92 % of the variance"),
            ("rest", ""),
        ];
        assert_eq!(notes, expected.map(|(name, note)| (name, (!note.is_empty()).then(|| note.to_owned()))));
        assert_eq!((columns[7].missing, columns[4].texts, columns[4].n_distinct(), columns[6].n_distinct()), (1, 12, 2, 8));
        let spread = columns[0].spread().expect("numbers");
        assert_eq!((spread.least, spread.mean, spread.greatest), (0.0, 5.5, 11.0));
        assert!((spread.deviation * spread.deviation - 143.0 / 12.0).abs() < 1e-12);
    }
}
