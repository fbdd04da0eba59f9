//! `privateer odometer`: makes the file in which several sessions, releases and curated tables count what each record has spent.

use super::budget_args::{budget, filter};
use super::output::note;
use crate::deploy::{OdometerOptions, Period, odometer as write};
use clap::Args;
use privateer_config::error::Error;
use privateer_privacy::odometer::{BadBudget, BudgetChange, FilterKind};
use std::path::PathBuf;

/// Arguments of `privateer odometer`.
#[derive(Debug, Args)]
pub struct OdometerArgs {
    /// The odometer file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Most that one record may spend over everything that shares the file, as in `epsilon=4,delta=1e-6`
    #[arg(long, value_name = "BUDGET")]
    budget: String,
    /// How losses of adaptively chosen releases add up: sum (of epsilon), zcdp, gaussian-dp
    #[arg(long, value_name = "NAME")]
    filter: String,
    /// The change of a record that the budget holds for: `inputs=RADIUS` (moved by at most that, in released units), `values` or
    /// `record`; it also holds for the largest change that a release names [default: that alone, of one kind]
    #[arg(long, value_name = "CHANGE", value_parser = change)]
    change: Option<BudgetChange>,
    /// Rows of the table: record i is row i in everything that shares the file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), required_unless_present_any = ["ids", "id_key"])]
    rows: Option<u64>,
    /// Name records by ids instead
    #[arg(long, conflicts_with = "rows")]
    ids: bool,
    /// Name records by ids and keep keyed hashes of them alone: the key is every byte of this file, which is kept elsewhere
    #[arg(long, value_name = "FILE", conflicts_with = "rows")]
    id_key: Option<PathBuf>,
    /// Renew the budget each day, week, month or year (UTC): it holds for the answers of one of them, and those of several add up
    #[arg(long, value_name = "PERIOD")]
    per: Option<Period>,
    /// A file on another disk that keeps the newest answer: older copies of the odometer are refused by that
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
    /// Accept a delta of at least one over the number of rows
    #[arg(long)]
    allow_large_delta: bool,
}

/// Writes a new odometer.
///
/// # Errors
/// A budget or filter that cannot be used, a file that is there already, no entropy.
pub fn odometer(args: &OdometerArgs) -> Result<(), Error> {
    let filter = filter(Some(&args.filter))?.unwrap_or(FilterKind::Sum);
    let Some(budget) = budget(Some(&args.budget))? else { return Ok(()) };
    let OdometerArgs { change, rows, per, allow_large_delta, .. } = *args;
    let (id_key, anchor) = (args.id_key.clone(), args.anchor.clone());
    write(&args.file, &OdometerOptions { budget, filter, change, rows, per, id_key, anchor, allow_large_delta })?;
    let file = args.file.display();
    let who = rows.map_or("each person".to_owned(), |rows| format!("each of {rows} records"));
    // People are numbered by one file: no other one can share it.
    let how = if rows.is_some() {
        format!("share it with `--odometer {file}`")
    } else {
        format!("release from it with `--state {file}`")
    };
    note(&format!(
        "{who} may spend {budget}{}{}, added up by the filter `{filter}`: {}\n\
         {how}; `privateer ledger {file}` shows what is spent",
        per.map_or(String::new(), |period| format!(" each {period} (UTC)")),
        change.map_or(String::new(), |change| format!(" for the change `{change}`, and for the largest that a release names")),
        filter.theorem(),
    ));
    Ok(())
}

fn change(text: &str) -> Result<BudgetChange, BadBudget> {
    text.parse()
}
