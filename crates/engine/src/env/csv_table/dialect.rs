//! Recognises how a file writes its table: comments before the header, what separates fields, the decimal mark.

use std::borrow::Cow;

const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dialect<'a> {
    /// The text from its first row on.
    pub(super) text: Cow<'a, str>,
    /// Number of lines before that.
    pub(super) skipped_lines: usize,
    pub(super) separator: u8,
}

impl<'a> Dialect<'a> {
    /// Recognises the dialect of a text by its first two rows after comments.
    pub(super) fn of(text: &'a str) -> Self {
        let is_comment = |line: &&str| line.trim_start().starts_with('#') || line.trim().is_empty();
        let comments: Vec<&str> = text.split_inclusive('\n').take_while(is_comment).collect();
        let after: usize = comments.iter().map(|line| line.len()).sum();
        let next = text[after..].lines().find(|line| !line.trim().is_empty());
        // Rows whose first cell begins with the sign, and no comments.
        let separated = next.map(|row| SEPARATORS.map(|sign| row.matches(sign).count()).into_iter().max().unwrap_or(0));
        let like_rows = |line: &&&str| SEPARATORS.iter().any(|&sign| Some(line.matches(sign).count()) == separated);
        let rows = if separated == Some(0) { 0 } else { comments.iter().filter(like_rows).count() };
        if 1 < rows {
            return Self::from_first_row(Cow::Borrowed(text), 0);
        }
        // The last of these lines is the header where it names as many columns as the next row has numbers.
        let header = comments.last().zip(next).filter(|(line, row)| {
            let separator = separator(line.trim_start_matches(['#', ' ']).trim_end(), row);
            let names: Vec<&str> = line.trim_end().split(separator as char).collect();
            let is_name = |name: &&str| name.trim_matches(['#', ' ']).parse::<f64>().is_err();
            names.len() == row.split(separator as char).count()
                && names.iter().all(is_name)
                && row.split(separator as char).any(is_number)
        });
        let (start, skipped_lines) = match header {
            Some((line, _)) => (after - line.len(), comments.len() - 1),
            None => (after, comments.len()),
        };
        let mut body = Cow::Borrowed(&text[start..]);
        if let Some((line, _)) = header {
            // One byte for another: places in messages stay those of the file.
            let signs = line.len() - line.trim_start_matches(['#', ' ']).len();
            let is_name = line[signs..].starts_with(SEPARATORS);
            if !is_name {
                body = Cow::Owned(format!("{}{}", " ".repeat(signs), &text[start + signs..]));
            }
        }
        Self::from_first_row(body, skipped_lines)
    }

    fn from_first_row(text: Cow<'a, str>, skipped_lines: usize) -> Self {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let separator = lines.next().zip(lines.next()).map_or(b',', |(first, second)| separator(first, second));
        Self { text, skipped_lines, separator }
    }
}

/// Returns whether a cell is a number, with either decimal mark.
fn is_number(cell: &str) -> bool {
    cell.trim().replace(',', ".").parse::<f64>().is_ok()
}

/// Returns what separates the fields of two rows.
fn separator(first: &str, second: &str) -> u8 {
    let other = SEPARATORS[1..].iter().find(|&&other| {
        let n_fields = first.split(other).count();
        1 < n_fields
            && n_fields == second.split(other).count()
            && second.split(other).any(is_number)
            && (second.split(other).all(is_number) || !first.contains(','))
    });
    other.map_or(b',', |&other| other as u8)
}

/// Reads numbers; in files with semicolons between fields, their decimal mark may be a comma, but for all of them.
pub(super) struct Numbers {
    may_have_commas: bool,
    /// The decimal mark of the numbers so far.
    mark: Option<char>,
    /// Number of decimal commas, and whether each may stand between thousands.
    commas: (usize, bool),
}

impl Numbers {
    pub(super) fn new(separator: u8) -> Self {
        Self { may_have_commas: separator == b';', mark: None, commas: (0, true) }
    }

    /// Returns whether two commas or more stood in numbers, each where one between thousands would.
    pub(super) fn may_be_thousands(&self) -> bool {
        1 < self.commas.0 && self.commas.1
    }

    /// Returns whether a cell is a finite number.
    pub(super) fn holds(&self, cell: &str) -> bool {
        Self { ..*self }.number(cell).is_ok()
    }

    /// Returns the finite number in a cell, or a description of the fault, which does not repeat the cell: it may be raw data.
    pub(super) fn number(&mut self, cell: &str) -> Result<f64, String> {
        let cell = cell.trim();
        if is_missing(cell) {
            let shown = if cell.is_empty() { "an empty cell".to_owned() } else { format!("`{cell}` instead of a number") };
            return Err(format!("has {shown}"));
        }
        let with_point = cell.replace(',', ".");
        let found = if self.may_have_commas { with_point.parse::<f64>() } else { cell.parse::<f64>() };
        match found {
            Ok(value) if value.is_finite() => {
                let mark = cell.chars().find(|sign| [',', '.'].contains(sign));
                if let (Some(mark), Some(before)) = (mark, self.mark)
                    && mark != before
                {
                    return Err(format!(
                        "has a number with `{mark}`, and numbers before it have `{before}`: write a point in all"
                    ));
                }
                self.mark = self.mark.or(mark);
                if let Some((whole, fraction)) = cell.split_once(',') {
                    let whole = whole.trim_start_matches(['-', '+']);
                    let may_be = fraction.len() == 3 && (1..=3).contains(&whole.len()) && !whole.starts_with('0');
                    self.commas = (self.commas.0 + 1, self.commas.1 && may_be);
                }
                Ok(value)
            }
            Ok(_) => Err("has a number that is not finite".to_owned()),
            Err(_) if with_point.parse::<f64>().is_ok() => Err("has a comma in a number: write a point".to_owned()),
            Err(_) => Err(format!("has {}", what_is_written(cell))),
        }
    }
}

/// Signs that stand beside numbers.
const SIGNS: [char; 6] = ['%', '‰', '$', '€', '£', '¥'];

/// What stands between thousands, or before a fraction.
const MARKS: [char; 8] = [',', '.', '\'', '’', '_', ' ', '\u{a0}', '\u{202f}'];

/// Longest text that may be a number in other clothes, in bytes.
const LONGEST: usize = 64;

/// Says why a text is not a number; the text itself may be private and is left out.
fn what_is_written(cell: &str) -> &'static str {
    if LONGEST < cell.len() {
        return "text instead of a number";
    }
    let bare = cell.replace(SIGNS, "");
    let parts: Vec<&str> = bare.trim().trim_start_matches(['-', '+']).trim().split(MARKS).collect();
    let is_whole = parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    let is_grouped = match parts[..] {
        [first, group] => first.len() <= 3 && group.len() == 3,
        // Behind the last mark may be a fraction.
        [first, ref groups @ .., _] => first.len() <= 3 && groups.iter().all(|group| group.len() == 3),
        _ => false,
    };
    match cell.to_ascii_lowercase().as_str() {
        "true" | "false" | "yes" | "no" => "a truth value: write 1 and 0",
        _ if is_whole && cell.contains(SIGNS) => "a sign beside the number, as of percent or money: write the number alone",
        _ if is_whole && is_grouped => "marks between thousands: write the number without them",
        _ => "text instead of a number",
    }
}

/// Returns whether a cell says that its number is missing, as Python, R and SQL write it.
pub(super) fn is_missing(cell: &str) -> bool {
    matches!(cell.trim(), "" | "NA" | "N/A" | "NaN" | "nan" | "null" | "NULL" | "None")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_place_of_a_number_is_named() {
        let cases = [
            ("1,352.73", "thousands"),
            ("1.352,73", "thousands"),
            ("-1 352", "thousands"),
            ("12'000", "thousands"),
            ("10 000 000", "thousands"),
            ("01.05.2026", "text instead"),
            ("1.5.26", "text instead"),
            ("33%", "percent"),
            ("33.5 %", "percent"),
            ("$352.10", "money"),
            ("-$1,352", "money"),
            ("12,50 €", "money"),
            ("TRUE", "truth"),
            ("no", "truth"),
            ("5 rooms", "text instead"),
            ("2024-01-02", "text instead"),
            ("-", "text instead"),
            ("%", "text instead"),
        ];
        for (cell, word) in cases {
            let said = Numbers::new(b',').number(cell).expect_err(cell);
            assert!(said.contains(word) && !said.contains(cell), "{cell}: {said}");
        }
    }

    #[test]
    fn dialects_are_recognised() {
        let cases = [
            ("x,y\n1,2\n", b',', 0, "x,y"),
            ("x;y\n1;2\n", b';', 0, "x;y"),
            ("x;y\n1,5;2,5\n", b';', 0, "x;y"),
            ("x\ty\n1\t2\n", b'\t', 0, "x\ty"),
            ("# made by hand\n# in May\nx,y\n1,2\n", b',', 2, "x,y"),
            ("# made by hand\n# x,y\n1,2\n", b',', 1, "  x,y"),
            ("#x;y\n1,5;2\n", b';', 0, " x;y"),
            ("# weather, town\nx,y\n1,2\n", b',', 1, "x,y"),
            ("# by hand\n\n# in May\nx,y\n1,2\n", b',', 3, "x,y"),
            ("#a,1,2\n#b,2,3\nc,4,9\n", b',', 0, "#a,1,2"),
            ("#,x\n1,2\n", b',', 0, "#,x"),
            ("x,y,cost;net\n0,1,2\n", b',', 0, "x,y,cost;net"),
            ("name,\"a;b\"\nq,\"1;2\"\n", b',', 0, "name,\"a;b\""),
            ("", b',', 0, ""),
        ];
        for (text, separator, skipped, first) in cases {
            let found = Dialect::of(text);
            assert_eq!((found.separator, found.skipped_lines), (separator, skipped), "{text:?}");
            assert_eq!(found.text.lines().next().unwrap_or(""), first, "{text:?}");
        }
    }
}
