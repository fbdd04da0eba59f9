//! `privateer predict`: posterior mean and standard deviation of a finished run's model at any points. What it knows of rewards are the released parameters
//! alone; the problem is made again from the spec (and its data, where the spec names any).

use super::output::say;
use crate::engine::Preparation;
use crate::env::DataFolder;
use crate::env::csv_table::{CsvOptions, read_table};
use crate::record::Parameters;
use crate::registry::Registry;
use clap::Args;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct PredictArgs {
    /// A file of released parameters, `OUT/parameters/*.json` of a run with `record = { parameters = true }`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// CSV of points, one a row, a column for each coordinate
    #[arg(long, value_name = "CSV")]
    points: PathBuf,
    /// Which of the file's trials [default: its first]
    #[arg(long, value_name = "N")]
    trial: Option<u64>,
    /// Folder that the spec's data files are relative to [default: $PRIVATEER_DATA, else the working folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Prints the points with posterior mean and standard deviation of the function as CSV.
pub fn predict(registry: &Registry, args: &PredictArgs) -> Result<(), Error> {
    let parameters = Parameters::load(&args.file)?;
    let shown = args.file.display();
    let trial = match args.trial {
        None => parameters.trials.first(),
        Some(number) => parameters.trials.iter().find(|trial| trial.trial == number),
    };
    let Some(trial) = trial else {
        let numbers: Vec<u64> = parameters.trials.iter().map(|trial| trial.trial).collect();
        let held = match (numbers.first(), numbers.last()) {
            (Some(first), Some(last)) => format!("trials {first} to {last}"),
            _ => "a file with a trial".to_owned(),
        };
        let diagnostic = Diagnostic::new(format!("`{shown}` has no trial {}", args.trial.unwrap_or(0)));
        return diagnostic.expected(held).refuse();
    };
    let table = read_table(&args.points, &CsvOptions::default())?;
    let sweep = registry.parse(&format!("the spec in {shown}"), &parameters.spec, &[])?;
    let Some(plan) = sweep.cells.get(parameters.cell as usize) else {
        let diagnostic = Diagnostic::new(format!("the spec in `{shown}` has no cell {}", parameters.cell));
        return diagnostic.hint("the file was altered, or is of another version of the program").refuse();
    };
    let data = DataFolder::of_spec(args.data.clone(), Vec::new());
    let backend = Cpu::default();
    let cell = Preparation::new(&sweep, &data, &backend).cell(plan)?;
    let ready = cell.trial(trial.trial)?;
    let moments = cell.maker.predict(&ready.setting, &trial.parameters, table.columns, &table.values)?;
    let names = table.header.clone().unwrap_or_else(|| (1..=table.columns).map(|i| format!("x{i}")).collect());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |source: &dyn std::fmt::Display| {
        Error::failed(format!("the points cannot be written as CSV: {source}"), "please report it with the files")
    };
    let titles = names.into_iter().chain(["mean".to_owned(), "standard_deviation".to_owned()]);
    writer.write_record(titles).map_err(|source| failed(&source))?;
    for (at, moments) in moments.iter().enumerate() {
        let deviation = moments.variance.max(0.0).sqrt();
        let cells = table.row(at).iter().chain([&moments.mean, &deviation]).map(f64::to_string);
        writer.write_record(cells).map_err(|source| failed(&source))?;
    }
    let bytes = writer.into_inner().map_err(|source| failed(&source))?;
    say(&String::from_utf8_lossy(&bytes));
    Ok(())
}
