//! `privateer odometer`: makes the file in which several sessions, releases and curated tables count what each record has spent.

use super::deployment::{bad_budget, budget, filter, new_name};
use super::output::{note, say_removed};
use crate::record::{StateFile, StateKind};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{BadBudget, BudgetChange, FilterKind, Odometer};
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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Accept a delta of at least one over the number of rows
    #[arg(long)]
    allow_large_delta: bool,
}

/// Writes a new odometer.
///
/// # Errors
/// A budget or filter that cannot be used, a file that is there already, no entropy.
pub fn odometer(args: &OdometerArgs) -> Result<(), Error> {
    let kind = filter(Some(&args.filter))?.unwrap_or(FilterKind::Sum);
    let Some(limit) = budget(Some(&args.budget))? else { return Ok(()) };
    refuse_large_delta(limit.delta.map_or(0.0, privateer_privacy::Delta::get), args.rows, args.allow_large_delta)?;
    let odometer = Odometer::new(kind, Some(limit), Some(args.rows)).map_err(|why| bad_budget(&why))?.protecting(args.change);
    let content = serde_json::json!({ "id": new_name()?, "odometer": odometer });
    say_removed(StateFile::create(&args.file, StateKind::Odometer, content)?);
    note(&format!(
        "each of {} records may spend {limit}{}, added up by the filter `{kind}`: {}\n\
         share it with `--odometer {}`; `privateer ledger {}` shows what is spent",
        args.rows,
        args.change
            .map_or(String::new(), |change| format!(" for the change `{change}`, and for the largest that a release names")),
        kind.theorem(),
        args.file.display(),
        args.file.display()
    ));
    Ok(())
}

fn change(text: &str) -> Result<BudgetChange, BadBudget> {
    text.parse()
}

/// Refuses a delta that allows records to be given out as they are.
///
/// # Errors
/// A delta of at least one over the number of rows, unless it is allowed.
pub fn refuse_large_delta(delta: f64, rows: u64, allowed: bool) -> Result<(), Error> {
    let most = 1.0 / rows as f64;
    if allowed || delta < most {
        return Ok(());
    }
    Err(Error::input(
        Diagnostic::new(format!("delta = {delta} is not below one over the number of rows ({rows})"))
            .expected(format!("a delta far below {most:e}: this one allows a row to be released unchanged"))
            .hint("state a smaller delta; `--allow-large-delta` takes this one"),
    ))
}
