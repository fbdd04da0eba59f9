//! Chooses the inputs of a table: columns of numbers that may say something about the value.

use privateer_config::error::{Diagnostic, Error, suggestion};
use privateer_engine::env::csv_table::{ColumnCard, ColumnFinding, CsvOptions, read_table};
use std::path::Path;

/// Most inputs that are chosen: those with the largest correlations with the value.
const MOST_INPUTS: usize = 10;

/// Cells of a column for each text, above which the texts are taken for mistakes.
const FEW_TEXTS: usize = 20;

#[derive(Debug, Clone, PartialEq)]
pub struct ChosenColumns {
    pub rows: usize,
    /// Names of the input columns, in the file's order.
    pub inputs: Vec<String>,
    /// Names of the columns that are left out, by reason.
    pub left_out: Vec<(String, Vec<String>)>,
}

impl ChosenColumns {
    /// Reads a table and chooses its inputs, unless they are stated.
    pub fn of(file: &Path, value: Option<&str>, stated: &[String]) -> Result<Self, Error> {
        let cards = ColumnCard::read(file)?;
        let shown = file.display();
        let numeric = |card: &&ColumnCard| card.texts == 0 && card.spread().is_some();
        let names: Vec<String> = cards.iter().filter(numeric).map(|card| format!("`{}`", card.name)).collect();
        if names.is_empty() {
            let message = format!("`{shown}` has no column of numbers");
            return Diagnostic::new(message).expected("a table with a column of rewards and one or more inputs").refuse();
        }
        if cards.iter().enumerate().all(|(at, card)| card.name == (at + 1).to_string()) {
            let message = format!("the first row of `{shown}` holds numbers, and names no columns");
            return Diagnostic::new(message).expected("a row of names above the numbers").refuse();
        }
        let known = format!("a column of numbers: {}", listed(&names, 20));
        let Some(value) = value else {
            let message = format!("`{shown}` needs a value: which column is the reward?");
            return Diagnostic::new(message).expected(known).hint("name it with `--value COLUMN`").refuse();
        };
        let card = |name: &str| cards.iter().find(|card| card.name == name);
        for name in [value].into_iter().chain(stated.iter().map(String::as_str)) {
            match card(name) {
                None => {
                    let problem = Diagnostic::new(format!("`{shown}` has no column `{name}`")).expected(known);
                    let hint = suggestion(name, cards.iter().map(|card| card.name.as_str()));
                    return Diagnostic { hint, ..problem }.refuse();
                }
                Some(card) if 0 < card.texts || card.spread().is_none() => {
                    let other = Diagnostic::new(format!("column `{name}` of `{shown}` holds {}", texts(card)));
                    let only = CsvOptions { columns: Some(vec![name.to_owned()]), drops_missing: true, ..CsvOptions::default() };
                    // The reader knows the place and the reason.
                    let found = match read_table(file, &only) {
                        Err(Error::Input(found)) => found.into_iter().next(),
                        _ => None,
                    };
                    return found.unwrap_or(other).expected(known).refuse();
                }
                Some(_) => {}
            }
        }
        if let Some(twice) = stated.iter().enumerate().find_map(|(at, name)| stated[..at].contains(name).then_some(name)) {
            return Diagnostic::new(format!("`--inputs` names `{twice}` twice")).hint("name each column once").refuse();
        }
        if stated.iter().any(|name| name == value) {
            let message = format!("`{value}` is an input and the value at once");
            return Diagnostic::new(message).hint("leave it out of `--inputs`").refuse();
        }
        let rows = cards.first().map_or(0, |card| card.values.len());
        if !stated.is_empty() {
            return Ok(Self { rows, inputs: stated.to_vec(), left_out: Vec::new() });
        }
        let values = card(value).map_or(&[][..], |card| &card.values);
        let mut left_out: Vec<(String, Vec<String>)> = Vec::new();
        let mut leave_out = |name: &str, reason: String| {
            let name = if name.is_empty() { "a column without a name" } else { name }.to_owned();
            match left_out.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(name),
                None => left_out.push((reason, vec![name])),
            }
        };
        let mut inputs: Vec<(&ColumnCard, f64)> = Vec::new();
        for card in cards.iter().filter(|card| card.name != value) {
            match reason(card) {
                Some(reason) => leave_out(&card.name, reason),
                None => inputs.push((card, correlation(&card.values, values).abs())),
            }
        }
        let mut strongest: Vec<f64> = inputs.iter().map(|(_, strength)| *strength).collect();
        strongest.sort_by(|a, b| b.total_cmp(a));
        let least = strongest.get(MOST_INPUTS - 1).copied().unwrap_or(f64::NEG_INFINITY);
        let mut chosen = Vec::new();
        for (card, strength) in inputs {
            if least <= strength && chosen.len() < MOST_INPUTS {
                chosen.push(card.name.clone());
            } else {
                leave_out(&card.name, format!("the correlation with the value is not among the {MOST_INPUTS} largest"));
            }
        }
        if chosen.is_empty() {
            let message = format!("no column of `{shown}` is left for an input beside `{value}`");
            let diagnostic = Diagnostic::new(message).expected("a column of numbers that differ from row to row");
            return diagnostic.hint("name the inputs with `--inputs`").refuse();
        }
        Ok(Self { rows, inputs: chosen, left_out })
    }
}

/// Returns why a column is no input; `None` if it is one.
fn reason(card: &ColumnCard) -> Option<String> {
    match card.finding() {
        _ if 0 < card.texts || card.spread().is_none() => Some(texts(card)),
        _ if card.values.len() < 2 * card.missing => Some("over half of its numbers are missing".to_owned()),
        Some(finding @ (ColumnFinding::Constant | ColumnFinding::CountsRows | ColumnFinding::CountsYears)) => {
            Some(finding.to_string())
        }
        Some(ColumnFinding::Identifier) => Some("whole numbers, all different, as identifiers are".to_owned()),
        _ if card.spread().is_some_and(|spread| spread.deviation == 0.0) => Some("constant".to_owned()),
        _ => None,
    }
}

fn texts(card: &ColumnCard) -> String {
    match card.texts {
        0 => "no numbers".to_owned(),
        n if FEW_TEXTS * n < card.values.len() - card.missing => {
            let present = card.values.len() - card.missing;
            format!("numbers but for {n} of {present} cells: `--inputs` with its name shows where")
        }
        n if n + card.missing < card.values.len() => "numbers and texts".to_owned(),
        _ => "texts".to_owned(),
    }
}

/// Lists the first names for a message, and counts the others.
pub(super) fn listed(names: &[String], most: usize) -> String {
    let more = if most < names.len() { format!(" and {} more", names.len() - most) } else { String::new() };
    format!("{}{more}", names[..names.len().min(most)].join(", "))
}

/// Returns the correlation of two columns over the rows that have both numbers; 0 where none is defined.
fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let pairs = || left.iter().zip(right).filter(|(x, y)| x.is_finite() && y.is_finite());
    let n = pairs().count() as f64;
    let (x, y) = pairs().fold((0.0, 0.0), |(x, y), (a, b)| (x + a / n, y + b / n));
    let sums = pairs().fold([0.0; 3], |[xx, xy, yy], (a, b)| {
        let (a, b) = (a - x, b - y);
        [xx + a * a, xy + a * b, yy + b * b]
    });
    let found = sums[1] / libm::sqrt(sums[0] * sums[2]);
    if found.is_finite() { found } else { 0.0 }
}
