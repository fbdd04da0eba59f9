//! `privateer look`: what a table holds, before anything is asked of it.

use super::columns::ColumnNames;
use super::output::say;
use crate::env::Replicates;
use crate::env::csv_table::{ColumnCard, CsvOptions, Spread, digits, outlier, read_table};
use crate::report::Grid;
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct LookArgs {
    /// The table (CSV, plain or .gz, or Parquet)
    #[arg(value_name = "TABLE")]
    file: PathBuf,
    /// Columns that would be inputs, separated by commas: how many rows have equal ones
    #[arg(long, value_name = "NAMES", requires = "value")]
    inputs: Vec<ColumnNames>,
    /// The column that would be the value: its outliers, and the scatter of rows with equal inputs
    #[arg(long, value_name = "NAME")]
    value: Option<String>,
    /// A range to which values would be clipped: the share of rows outside
    #[arg(long, value_name = "LO,HI", requires = "value", value_delimiter = ',', allow_hyphen_values = true)]
    clip: Vec<f64>,
    /// A column of propensities of a log: the least one, and how many rows a policy would learn from
    #[arg(long, value_name = "NAME")]
    propensity: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn look(args: &LookArgs) -> Result<(), Error> {
    if !matches!(args.clip[..], [] | [_, _]) || args.clip.windows(2).any(|ends| ends[1] <= ends[0]) {
        return Diagnostic::new("`--clip` is no range").expected("two numbers LO,HI with LO < HI").refuse();
    }
    let columns = ColumnCard::read(&args.file)?;
    let rows = columns.first().map_or(0, |column| column.values.len());
    let file = args.file.display();
    let mut facts = Vec::new();
    if let Some(value) = &args.value {
        let inputs = ColumnNames::of_all(&args.inputs);
        facts.extend(of_points(&args.file, &inputs, value, &args.clip)?);
    }
    if let Some(propensity) = &args.propensity {
        let numbers = of_columns(&args.file, vec![propensity.clone()])?.values;
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let expected = digits(libm::floor(least.clamp(0.0, 1.0) * rows as f64));
        facts.push(format!(
            "the least propensity is {}: a policy learns from about {expected} of the rows, whatever it does",
            digits(least)
        ));
    }
    if args.json {
        let column = |card: &ColumnCard| {
            let numbers = card
                .spread()
                .map(|s| json!({ "least": s.least, "mean": s.mean, "greatest": s.greatest, "deviation": s.deviation }));
            json!({
                "name": card.name, "missing": card.missing, "texts": card.texts, "distinct": card.n_distinct(),
                "numbers": numbers, "note": card.finding().map(|finding| finding.to_string()),
            })
        };
        let all: Vec<_> = columns.iter().map(column).collect();
        say(&json!({ "file": file.to_string(), "rows": rows, "columns": all, "facts": facts }).to_string());
        return Ok(());
    }
    say(&format!("{file}: {rows} rows, columns: {}", columns.len()));
    let titles = ["column", "missing", "texts", "distinct", "least", "mean", "greatest", "deviation", ""];
    let line = |card: &ColumnCard| {
        let number = |pick: fn(Spread) -> f64| card.spread().map_or(String::new(), |spread| digits(pick(spread)));
        let count = |n: usize| if n == 0 { String::new() } else { n.to_string() };
        vec![
            card.name.clone(),
            count(card.missing),
            count(card.texts),
            card.n_distinct().to_string(),
            number(|spread| spread.least),
            number(|spread| spread.mean),
            number(|spread| spread.greatest),
            number(|spread| spread.deviation),
            card.finding().map(|finding| finding.to_string()).unwrap_or_default(),
        ]
    };
    let titles = titles.into_iter().enumerate().map(|(at, title)| (title, !matches!(at, 0 | 8)));
    say(&Grid::of(titles, columns.iter().map(line).collect()).plain());
    facts.iter().for_each(|fact| say(fact));
    Ok(())
}

/// Reads columns of numbers; rows that lack one are left out.
fn of_columns(file: &Path, columns: Vec<String>) -> Result<crate::env::csv_table::CsvTable, Error> {
    let options = CsvOptions { columns: Some(columns), header: Some(true), drops_missing: true, ..CsvOptions::default() };
    read_table(file, &options)
}

/// Says what is known of a table as points with values.
fn of_points(file: &Path, inputs: &[String], value: &str, clip: &[f64]) -> Result<Vec<String>, Error> {
    let columns = inputs.iter().cloned().chain([value.to_owned()]).collect();
    let mut table = of_columns(file, columns)?;
    let values = |rows: &[f64]| rows.iter().skip(inputs.len()).step_by(inputs.len() + 1).copied().collect::<Vec<f64>>();
    let in_file = values(&table.values);
    let mut facts = Vec::new();
    if let Some((row, share)) = outlier(&in_file) {
        let row = table.row_in_file(row) + 1;
        facts.push(format!("row {row} has {} % of the variance of `{value}`: an outlier?", digits(100.0 * share)));
    }
    if let &[low, high] = clip {
        let outside = in_file.iter().filter(|value| !(low..=high).contains(*value)).count();
        let share = digits(100.0 * outside as f64 / in_file.len() as f64);
        facts.push(format!("{share} % of the rows have a `{value}` outside of the clip"));
    }
    if !inputs.is_empty() {
        let replicates = Replicates::sort(&mut table, inputs.len());
        let scatter = replicates
            .scatter(&values(&table.values))
            .map_or(String::new(), |scatter| format!(", whose values scatter by {} where inputs are equal", digits(scatter)));
        facts.push(format!("{} distinct inputs in {} rows{scatter}", replicates.n_points(), table.rows));
    }
    Ok(facts)
}
