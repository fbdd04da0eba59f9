//! `privateer release`: the data holder's side of a session. A value leaves with exact noise, once for each record and round.

use super::output::{note, say};
use super::session::number;
use super::wait::WaitArgs;
use crate::deploy::{RecordValue, ReleaseOptions, TableRow, release as released, release_table};
use crate::env::csv_table::{CellKind, Cells, MOST_BYTES, read_columns};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct ReleaseArgs {
    #[command(flatten)]
    options: ReleaseOptions,
    /// The deployment: what was released, and what each record has spent; the first value makes it
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// The round in which the session asks for the record (`privateer ask --json` names it) [default: 1; stated with `--table`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    round: Option<u64>,
    /// Release the values of a table in one transaction: a line of JSON for each, refused records are listed
    #[arg(long, value_name = "TABLE.csv", requires = "value_column", conflicts_with_all = ["row", "value"])]
    table: Option<PathBuf>,
    /// The column of the table that is released
    #[arg(long = "value", value_name = "COLUMN", requires = "table")]
    value_column: Option<String>,
    /// The column of the table that names the records [default: record i is row i, from 0]
    #[arg(long, value_name = "COLUMN", requires = "table")]
    record: Option<String>,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
    /// Take a value that lies far outside of the clip: it spends as any other. Stated always, an exit code says nothing of a value
    #[arg(long)]
    yes: bool,
    /// The record: its row, from 0, or its id
    #[arg(value_name = "ROW", required_unless_present = "table")]
    row: Option<String>,
    /// Its value; `-` reads it from standard input, where other users of the machine do not see it
    #[arg(value_name = "VALUE", allow_hyphen_values = true, required_unless_present = "table")]
    value: Option<String>,
}

/// Releases one value, or those of a table; gives out again what was released for this record and round before.
pub fn release(args: &ReleaseArgs) -> Result<(), Error> {
    let options = &args.options;
    let (Some(row), Some(value)) = (&args.row, &args.value) else { return of_table(args, options) };
    let record =
        RecordValue { record: row.clone(), round: args.round.unwrap_or(1), value: number("value", value)?, yes: args.yes };
    say(&released(&args.state, &record, options, &note)?);
    Ok(())
}

/// Refused records that are listed one by one.
const MOST_LISTED: usize = 20;

fn of_table(args: &ReleaseArgs, options: &ReleaseOptions) -> Result<(), Error> {
    let (Some(table), Some(value)) = (&args.table, &args.value_column) else { return Ok(()) };
    let Some(round) = args.round else {
        return Diagnostic::new("`--round` is not stated, and a table may be released again").expected("the round or the day of the table").hint(
                "a value is released once for each record and round: the same table in the same round gives the same answers and spends nothing",
            ).refuse();
    };
    let rows = table_rows(table, value, args.record.as_deref())?;
    let found = release_table(&args.state, &rows, (round, args.yes), options, &note)?;
    found.answers.iter().for_each(|answer| say(answer.trim_end()));
    for refused in found.refused.iter().take(MOST_LISTED) {
        note(&format!("refused: line {}, record `{}`: {}", refused.line, refused.record, refused.why));
    }
    if MOST_LISTED < found.refused.len() {
        note(&format!("and {} more; `SELECT * FROM refusals` names those of a budget", found.refused.len() - MOST_LISTED));
    }
    let words = format!(
        "{} of {} values were released{}",
        found.answers.len(),
        rows.len(),
        if found.repeated == 0 {
            String::new()
        } else {
            format!(", {} of them before: they spend nothing again", found.repeated)
        }
    );
    if found.refused.is_empty() {
        note(&words);
        return Ok(());
    }
    Err(Error::CheckSaidNo(format!(
        "{words}, and {} records were refused: nothing else of the table is lost",
        found.refused.len()
    )))
}

/// Returns the name of each record of a table, and its value or why it has none.
fn table_rows(table: &Path, value: &str, record: Option<&str>) -> Result<Vec<TableRow>, Error> {
    let columns: Vec<(String, CellKind)> =
        [Some(value), record].into_iter().flatten().map(|name| (name.to_owned(), CellKind::Text)).collect();
    let mut cells = read_columns(table, &columns, MOST_BYTES)?.into_iter().map(|cells| match cells {
        Cells::Texts(texts) => texts,
        Cells::Numbers(_) => Vec::new(),
    });
    let values = cells.next().unwrap_or_default();
    let names = cells.next().unwrap_or_else(|| (0..values.len()).map(|row| row.to_string()).collect());
    // A message never repeats a value.
    let number = |text: String| text.parse::<f64>().map_err(|_| "its value is missing, or is not a number".to_owned());
    Ok(names.into_iter().zip(values.into_iter().map(number)).collect())
}
