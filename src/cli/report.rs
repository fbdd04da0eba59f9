//! `privateer report` and `privateer compare`: the report of a folder, one figure or table of it, and two folders against each other.

use super::output::{note, print, say, say_report};
use super::progress::metered;
use crate::deploy::say_removed;
use crate::report::{self, Export, ExportFormat, Height};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use std::io::IsTerminal;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write one figure or table in this format, in place of the whole report; `tex` is TikZ for pgfplots, or a booktabs table
    #[arg(long, value_name = "FORMAT", value_parser = ["svg", "csv", "tex", "pdf"])]
    format: Option<String>,
    /// The quantity, such as simple_regret [default: the page's]
    #[arg(long, value_name = "NAME", requires = "format")]
    measure: Option<String>,
    /// The x axis: a swept key, or `round` [default: epsilon]
    #[arg(long, value_name = "KEY", requires = "format", conflicts_with = "table")]
    x: Option<String>,
    /// The y axis: the quantity, or what privacy costs in it
    #[arg(long, requires = "format", conflicts_with = "table", value_parser = ["mean", "excess", "ratio", "share"])]
    y: Option<String>,
    /// The lines: `policy`, or a swept key [default: policy]
    #[arg(long, value_name = "KEY", requires = "format", conflicts_with = "table")]
    by: Option<String>,
    /// The table of results, not a figure; without a format every row of it, on the terminal
    #[arg(long)]
    table: bool,
    /// Where the figure or table goes [default: standard output]
    #[arg(long, value_name = "FILE", requires = "format")]
    out: Option<PathBuf>,
}

/// Writes the report of a folder, or one figure or table of it.
pub fn report(args: &ReportArgs) -> Result<(), Error> {
    let Some(format) = &args.format else {
        let outcome = metered("cells", |each| report::write_report(&args.folder, each))?;
        say_removed(outcome.removed, &note);
        say_report(&outcome, args.table);
        return Ok(());
    };
    let what = Export {
        measure: args.measure.clone(),
        x: args.x.clone(),
        by: args.by.clone().unwrap_or_else(|| "policy".to_owned()),
        y: match args.y.as_deref() {
            Some("excess") => Height::Excess,
            Some("ratio") => Height::Ratio,
            Some("share") => Height::Share,
            _ => Height::Mean,
        },
        is_table: args.table,
        format: match format.as_str() {
            "csv" => ExportFormat::Csv,
            "tex" => ExportFormat::Tex,
            "pdf" => ExportFormat::Pdf,
            _ => ExportFormat::Svg,
        },
    };
    if let Some(file) = &args.out {
        return report::export_to(&args.folder, &what, file);
    }
    if what.format == ExportFormat::Pdf && std::io::stdout().is_terminal() {
        return Diagnostic::new("a PDF does not belong on a terminal").hint("name a file with `--out FILE`").refuse();
    }
    let bytes = report::export(&args.folder, &what)?;
    print(&bytes);
    Ok(())
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The results folder that is the reference
    #[arg(value_name = "DIR")]
    first: PathBuf,
    /// The other results folder
    #[arg(value_name = "OTHER")]
    second: PathBuf,
    /// The quantity, such as simple_regret [default: the page's]
    #[arg(long, value_name = "NAME")]
    measure: Option<String>,
    /// Print the table in this format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "csv", "tex"])]
    format: String,
}

/// Compares the cells that two folders share.
pub fn compare(args: &CompareArgs) -> Result<(), Error> {
    let compared = report::compare_folders(&args.first, &args.second, args.measure.as_deref())?;
    say(&match args.format.as_str() {
        "csv" => compared.csv(),
        "tex" => compared.tex(),
        _ => compared.plain(),
    });
    Ok(())
}
