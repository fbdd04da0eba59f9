//! `privateer curate`: gives out the inputs of a table, by row, with exact noise from the operating system.

use super::budget_args::OccasionArgs;
use super::columns::ColumnNames;
use super::output::note;
use super::wait::WaitArgs;
use crate::deploy::{CurateOptions, curate as released};
use crate::env::csv_table::{CsvOptions, read_table};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::curator::PUBLIC_SEED;
use std::path::{Path, PathBuf};

/// Arguments of `privateer curate`.
#[derive(Debug, Args)]
pub struct CurateArgs {
    /// The table (CSV, plain or .gz, with a header)
    #[arg(value_name = "DATA.csv")]
    file: PathBuf,
    /// The input columns, in this order, separated by commas, a name with a comma in double quotes; every other column stays here
    #[arg(long, value_name = "NAMES", required = true)]
    columns: Vec<ColumnNames>,
    /// Privacy loss of one row
    #[arg(long, allow_negative_numbers = true, value_name = "E")]
    epsilon: f64,
    /// Failure probability, well below one over the number of rows
    #[arg(long, allow_negative_numbers = true, value_name = "D")]
    delta: f64,
    /// Neighbours differ in one row by at most this (L2, in released units); twice the bound protects the whole row
    #[arg(long, allow_negative_numbers = true, value_name = "R")]
    radius: f64,
    /// Public bound on the L2 norm of a row (in released units); longer rows are moved to it
    #[arg(long, allow_negative_numbers = true, value_name = "B", required_unless_present = "public")]
    bound: Option<f64>,
    /// Public numbers taken from the columns first; never the data's own means [default: zeros]
    #[arg(long, allow_hyphen_values = true, value_name = "NUMBERS", value_delimiter = ',')]
    centre: Vec<f64>,
    /// Public numbers that the columns are divided by after that, such as length-scales [default: ones]
    #[arg(long, allow_hyphen_values = true, value_name = "NUMBERS", value_delimiter = ',')]
    scales: Vec<f64>,
    /// A JSON file that its publisher declares public, with `source`, `bound`, and perhaps `centre` and `scales`, instead of the
    /// options of these names; its digest is recorded
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["bound", "centre", "scales"])]
    public: Option<PathBuf>,
    /// The first row names the columns although some of its cells are numbers
    #[arg(long)]
    numeric_header: bool,
    /// Accept a delta of at least one over the number of rows
    #[arg(long)]
    allow_large_delta: bool,
    /// An odometer that `privateer odometer` made: the release spends from its budget of every record
    #[arg(long, value_name = "FILE")]
    odometer: Option<PathBuf>,
    /// Release this many numbers per row behind a public random projection, at most one per column: less noise on each [default:
    /// none]
    #[arg(long, value_name = "COLUMNS")]
    projection: Option<usize>,
    /// Seed of the projection: public, written to the ledger, and chosen without a look at the data
    #[arg(long, value_name = "N", default_value_t = PUBLIC_SEED, requires = "projection")]
    projection_seed: u64,
    /// Where the released inputs go; their ledger goes beside them, to OUT.csv.ledger.json
    #[arg(short, long, value_name = "OUT.csv")]
    out: PathBuf,
    /// Refused: noise from a seed can be subtracted
    #[arg(long, hide = true)]
    seed: Option<String>,
    #[command(flatten)]
    occasion: OccasionArgs,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

/// Releases the inputs of a table.
///
/// # Errors
/// Bad arguments or data; a file that is there already; no entropy.
pub fn curate(args: &CurateArgs) -> Result<(), Error> {
    if args.seed.is_some() {
        return Diagnostic::new("`--seed` is given")
            .expected("no seed")
            .hint("whoever knows the seed of a release can take its noise away: drop `--seed`")
            .refuse();
    }
    let options = CurateOptions {
        columns: ColumnNames::of_all(&args.columns),
        epsilon: args.epsilon,
        delta: args.delta,
        radius: args.radius,
        bound: args.bound,
        centre: args.centre.clone(),
        scales: args.scales.clone(),
        public: args.public.clone(),
        allow_large_delta: args.allow_large_delta,
        odometer: args.odometer.clone(),
        occasion: args.occasion.options(),
        projection: args.projection.map(|columns| (columns, args.projection_seed)),
    };
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
