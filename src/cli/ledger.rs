//! `privateer ledger`: what sessions, releases, curated tables and odometers have spent, one by one and together.

use super::budget_args::filter;
use super::output::{note, say};
use crate::deploy::ledger as read;
use clap::Args;
use privateer_config::error::Error;
use std::path::PathBuf;

/// Arguments of `privateer ledger`.
#[derive(Debug, Args)]
pub struct LedgerArgs {
    /// Sessions, release states, odometers, ledgers of curated tables: all about the same records, row by row
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How losses add up: sum (of epsilon), zcdp, gaussian-dp [default: that of the files, or `sum` where they differ]
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Shows each file, and all of them together.
///
/// # Errors
/// A file that states no spends, or is damaged; files about tables of different sizes.
pub fn ledger(args: &LedgerArgs) -> Result<(), Error> {
    let report = read(&args.files, filter(args.filter.as_deref())?, &note)?;
    if args.json {
        say(&serde_json::json!(report).to_string());
        return Ok(());
    }
    for file in &report.files {
        say(&format!("{} ({})", file.file, file.kind));
        say(&file.ledger.page());
    }
    if let Some(all) = report.together {
        say("together, record by record");
        say(&all.page());
    }
    Ok(())
}
