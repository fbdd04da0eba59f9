//! `privateer ledger`: what sessions, releases, curated tables and odometers have spent, one by one and together.

use super::output::{note, say};
use crate::deploy::{ledger as read, write_csv, write_page};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::Delta;
use privateer_privacy::odometer::FilterKind;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct LedgerArgs {
    /// Deployments, ledgers of curated tables: all about the same records, row by row
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How losses add up: sum (of epsilon), zcdp, gaussian-dp [default: that of the files, or `sum` where they differ]
    #[arg(long, value_name = "NAME")]
    filter: Option<FilterKind>,
    /// Delta at which concentrated and Gaussian sums are read [default: that of the budget, or else of the releases]
    #[arg(long, value_name = "D")]
    delta: Option<f64>,
    /// Write the books of a deployment as one page for an auditor; it names people
    #[arg(long, value_name = "OUT.html")]
    html: Option<PathBuf>,
    /// Write all answers of a deployment as CSV
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn ledger(args: &LedgerArgs) -> Result<(), Error> {
    let delta =
        args.delta.map(Delta::try_from).transpose().map_err(|why| {
            Diagnostic::new(format!("`--delta` is {}", why.value)).expected("a number above 0 and below 1").error()
        })?;
    if args.html.is_some() || args.csv.is_some() {
        let [state] = &args.files[..] else {
            let problem = Diagnostic::new(format!("{} files are named, and books are of one deployment", args.files.len()));
            return problem.expected("one deployment with `--html` or `--csv`").refuse();
        };
        args.html.as_ref().map(|out| write_page(state, out, delta)).transpose()?;
        args.csv.as_ref().map(|out| write_csv(state, out)).transpose()?;
        [&args.html, &args.csv].into_iter().flatten().for_each(|out| note(&format!("books: {} (confidential)", out.display())));
        return Ok(());
    }
    let report = read(&args.files, args.filter, delta, &note)?;
    if args.json {
        say(&serde_json::json!(report).to_string());
        return Ok(());
    }
    for file in &report.files {
        say(&format!("{} ({})", file.file, file.kind));
        say(&file.page());
    }
    if let Some(all) = report.together {
        say("together, record by record");
        say(&all.page());
    }
    Ok(())
}
