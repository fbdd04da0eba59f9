//! `privateer odometer`: makes the file in which several sessions, releases and curated tables count what each record has spent.

use super::output::note;
use crate::deploy::{OdometerOptions, odometer as write};
use clap::Args;
use privateer_config::error::Error;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct OdometerArgs {
    /// The odometer file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    options: OdometerOptions,
    /// Name records by ids instead
    #[arg(long, conflicts_with = "rows")]
    ids: bool,
}

pub fn odometer(args: &OdometerArgs) -> Result<(), Error> {
    let OdometerOptions { budget, filter, change, rows, per, .. } = args.options;
    write(&args.file, &args.options)?;
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
