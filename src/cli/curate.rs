//! `privateer curate`: gives out the inputs of a table, by row, with exact noise from the operating system.

use super::columns::ColumnNames;
use super::output::note;
use super::wait::WaitArgs;
use crate::deploy::{CurateOptions, curate as released};
use crate::env::csv_table::{CsvOptions, read_table};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct CurateArgs {
    /// The table (CSV, plain or .gz, with a header)
    #[arg(value_name = "DATA.csv")]
    file: PathBuf,
    /// The input columns, in this order, separated by commas, a name with a comma in double quotes; every other column stays here
    #[arg(long, value_name = "NAMES", required = true)]
    columns: Vec<ColumnNames>,
    #[command(flatten)]
    options: CurateOptions,
    /// The first row names the columns although some of its cells are numbers
    #[arg(long)]
    numeric_header: bool,
    /// Where the released inputs go; their ledger goes beside them, to OUT.csv.ledger.json
    #[arg(short, long, value_name = "OUT.csv")]
    out: PathBuf,
    /// Refused: noise from a seed can be subtracted
    #[arg(long, hide = true)]
    seed: Option<String>,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

pub fn curate(args: &CurateArgs) -> Result<(), Error> {
    if args.seed.is_some() {
        return Diagnostic::new("`--seed` is given")
            .expected("no seed")
            .hint("whoever knows the seed of a release can take its noise away: drop `--seed`")
            .refuse();
    }
    let options = CurateOptions { columns: ColumnNames::of_all(&args.columns), ..args.options.clone() };
    let read = |columns: &[String]| {
        if let Some(name) = columns.iter().find(|name| name.trim().parse::<f64>().is_ok())
            && !args.numeric_header
        {
            ask_about_header(&args.file, name)?;
        }
        let options = CsvOptions { columns: Some(columns.to_vec()), header: Some(true), ..CsvOptions::default() };
        read_table(&args.file, &options).map(|table| table.values)
    };
    released(&args.out, &options, read, &note).map(drop)
}

/// Asks whether a first row with numbers is a header; without a terminal it is refused.
fn ask_about_header(path: &Path, name: &str) -> Result<(), Error> {
    use std::io::{BufRead, IsTerminal, Read, stdin};
    let problem = format!("the first row of `{}` has the number `{name}`, and would be released as a name", path.display());
    if stdin().is_terminal() {
        note(&format!("{problem}\nis the first row a header, and not a record? [y/N]"));
        let mut line = String::new();
        stdin().lock().take(100).read_line(&mut line).map_err(|source| Error::io("read the answer", "standard input", source))?;
        if ["y", "yes"].contains(&line.trim().to_lowercase().as_str()) {
            return Ok(());
        }
    }
    Diagnostic::new(problem)
        .expected("a first row of names")
        .hint("add a header to the table; `--numeric-header` says that the first row is one and not a record")
        .refuse()
}
