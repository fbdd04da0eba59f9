//! `privateer fit`: kernel and noise by maximum likelihood, as a spec.

use super::columns::ColumnNames;
use super::output::{note, say};
use super::progress::Progress;
use crate::env::Replicates;
use crate::env::csv_table::{CsvOptions, Spread, read_table};
use crate::fit::{LikelihoodForm, fit as maximise, most_evaluations};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use privateer_gp::Points;
use privateer_numerics::rng::{Purpose, Streams};
use std::path::PathBuf;

/// Arguments of `privateer fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// The table (CSV, plain or .gz, with a header, or Parquet)
    #[arg(value_name = "DATA.csv")]
    file: PathBuf,
    /// The input columns, separated by commas, a name with a comma in double quotes
    #[arg(long, value_name = "NAMES", required = true)]
    inputs: Vec<ColumnNames>,
    /// The value column
    #[arg(long, value_name = "NAME")]
    value: String,
    /// Take the logarithm of the values
    #[arg(long)]
    log: bool,
    /// Keep the file's units; columns are otherwise centred and divided by their standard deviations, as `points-table` does
    #[arg(long)]
    raw: bool,
    /// A length-scale for each input
    #[arg(long)]
    per_coordinate: bool,
    /// Fit a Matern kernel of this smoothness instead of the squared exponential
    #[arg(long, value_name = "NU", allow_negative_numbers = true)]
    matern: Option<f64>,
    /// Leave rows with a missing number out
    #[arg(long)]
    drop_missing: bool,
    /// The table is public: a spec with these numbers may state a guarantee
    #[arg(long)]
    public: bool,
    /// Most rows used; more are drawn at random without replacement
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u64).range(3..=5000))]
    subsample: u64,
    /// Seed of the subsample
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

/// Prints the fit.
///
/// # Errors
/// Bad data, values without a logarithm, constant columns.
pub fn fit(args: &FitArgs) -> Result<(), Error> {
    if args.matern.is_some_and(|nu| !(nu.is_finite() && 0.0 < nu && nu <= 100.0)) {
        return Err(Error::input(Diagnostic::new("`--matern` is out of range").expected("a smoothness > 0 and <= 100")));
    }
    let mut columns = ColumnNames::of_all(&args.inputs);
    let d = columns.len();
    if columns.contains(&args.value) {
        let message = format!("`{}` is an input and the value at once", args.value);
        return Err(Error::input(Diagnostic::new(message).hint("leave it out of `--inputs`")));
    }
    columns.push(args.value.clone());
    let missing = Some("`--drop-missing` leaves such rows out");
    let drops_missing = args.drop_missing;
    let options =
        CsvOptions { columns: Some(columns.clone()), header: Some(true), drops_missing, missing, ..CsvOptions::default() };
    let mut table = read_table(&args.file, &options)?;
    // The same subsample for any order of the rows.
    let replicates = Replicates::sort(&mut table, d);
    let mut rows: Vec<Vec<f64>> = table.values.chunks_exact(d + 1).map(<[f64]>::to_vec).collect();
    let (low, high) = of_column(&rows, d).map_or((0.0, 0.0), |spread| (spread.least, spread.greatest));
    if args.log {
        for (at, row) in rows.iter_mut().enumerate() {
            if row[d] <= 0.0 {
                let at = replicates.row_in_file(at);
                return Err(Error::input(
                    Diagnostic::new(format!(
                        "`{}` is not positive in data row {}, and has no logarithm there",
                        args.value,
                        at + 1
                    ))
                    .hint("drop `--log`, or choose a column of positive values"),
                ));
            }
            row[d] = libm::log(row[d]);
        }
    }
    let scales = if args.raw {
        unequal(&mut rows, d)
    } else {
        standardise(&mut rows);
        None
    };
    let all_values: Vec<f64> = rows.iter().map(|row| row[d]).collect();
    if let Some(spread) = of_column(&rows, d).filter(|spread| args.raw && 3.0 * spread.deviation < spread.mean.abs()) {
        let message = format!("`{}` lies far from 0, the prior mean of a policy: {}", args.value, spread.words());
        return Err(Error::input(Diagnostic::new(message).hint("leave `--raw` out: columns are centred then")));
    }
    let scatter = replicates.scatter(&all_values);
    // A random subset by a partial shuffle; the order does not matter to the likelihood.
    let (all, used) = (rows.len(), rows.len().min(args.subsample as usize));
    let mut stream = Streams::new(args.seed, "fit").shared(Purpose::Domain);
    for at in 0..used {
        let other = at + stream.index(all - at);
        rows.swap(at, other);
    }
    rows.truncate(used);
    let points = Points::new(d, rows.iter().flat_map(|row| row[..d].iter().copied()).collect());
    let values: Vec<f64> = rows.iter().map(|row| row[d]).collect();
    let form = args.matern.map_or(LikelihoodForm::SquaredExponential, LikelihoodForm::Matern);
    let progress = Progress::new(most_evaluations(args.per_coordinate, d), "likelihoods", args.quiet);
    let found = maximise(form, &points, &values, args.per_coordinate, || progress.add(1));
    progress.clear();
    let found = found?;
    let short = |x: f64| format!("{x:.5e}").parse::<f64>().map_or_else(|_| x.to_string(), |x| x.to_string());
    let list = |numbers: &[f64]| format!("[{}]", numbers.iter().map(|&x| short(x)).collect::<Vec<_>>().join(", "));
    let lengthscales = match found.lengthscales.as_slice() {
        [one] if !args.per_coordinate => format!("lengthscale = {}", short(*one)),
        many => format!("lengthscales = {}", list(many)),
    };
    let kind = args.matern.map_or("\"squared-exponential\"".to_owned(), |nu| format!("\"matern\", nu = {}", short(nu)));
    // Rows of one point scatter by themselves in `points-table`.
    let noise = (found.noise_variance - scatter.map_or(0.0, |scatter| scatter * scatter)).max(0.0);
    let noise = match noise {
        _ if noise <= 1e-6 * found.variance => "\"none\"".to_owned(),
        _ => format!("{{ kind = \"gaussian\", sd = {} }}", short(libm::sqrt(noise))),
    };
    let mut lines = vec![format!(
        "# maximum likelihood on {used} of {all} rows{}: log-likelihood {:.3}, {} evaluations",
        if used < all { format!(" (a random subsample, seed {})", args.seed) } else { String::new() },
        found.log_likelihood,
        found.evaluations
    )];
    lines.extend(scatter.map(|scatter| {
        let (points, rows) = (replicates.n_points(), replicates.n_rows());
        format!("# {points} points: values of equal inputs, in {rows} rows, scatter by {}, beside `noise`", short(scatter))
    }));
    lines.push("rounds = 1000\ntrials = 20\n\n[environment]\nkind = \"points-table\"".to_owned());
    let (value, inputs) = columns.split_last().map_or(("", &[][..]), |(value, inputs)| (value.as_str(), inputs));
    let file = args.file.display().to_string();
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let inputs: Vec<String> = inputs.iter().map(|name| quoted(name)).collect();
    lines.push(format!("file = {}\ninputs = [{}]\nvalue = {}", quoted(&file), inputs.join(", "), quoted(value)));
    lines.extend(args.drop_missing.then(|| "missing = \"drop\"".to_owned()));
    lines.extend(args.log.then(|| "log = true".to_owned()));
    lines.extend(args.raw.then(|| "standardise = false".to_owned()));
    lines.extend(scales.map(|scales| format!("scales = {}   # standard deviations of the inputs, which differ", list(&scales))));
    lines.push(format!(
        "units = \"data\"\nbound = [{low:?}, {high:?}]   # the least and the largest value\n\
         kernel = {{ kind = {kind}, {lengthscales}, variance = {} }}\nnoise = {noise}\nhyperparameters = \"fitted\"",
        short(found.variance)
    ));
    lines.extend(args.public.then(|| "public = [\"standardisation\", \"hyperparameters\", \"range\"]".to_owned()));
    lines.push(format!(
        "\n[privacy]\nmechanism = \"hybrid\"\nepsilon = 2.0\nclip = [{low:?}, {high:?}]\n\n[[policy]]\nkind = \"tgp-ucb\"\n\
         beta = \"tuned\"\nridge = {}",
        short(found.noise_variance)
    ));
    say(&lines.join("\n"));
    note(if args.public {
        "these numbers were taken from a table that is public on your word: the line `public` says so"
    } else {
        "these numbers were taken from the raw data and are not paid for: a spec that holds them states no guarantee, and `privateer init` \
         refuses it; if the table is public, say so with `--public`"
    });
    Ok(())
}

fn of_column(rows: &[Vec<f64>], j: usize) -> Option<Spread> {
    Spread::of(rows.iter().map(|row| row[j]))
}

/// Divides input columns by their standard deviations where one is over three times another; returns these.
fn unequal(rows: &mut [Vec<f64>], n_inputs: usize) -> Option<Vec<f64>> {
    let deviations: Vec<f64> = (0..n_inputs).filter_map(|j| of_column(rows, j)).map(|spread| spread.deviation).collect();
    let (least, most) = deviations.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), &s| (least.min(s), most.max(s)));
    (0.0 < least && most.is_finite() && 3.0 * least < most).then(|| {
        for row in rows.iter_mut() {
            row.iter_mut().zip(&deviations).for_each(|(cell, deviation)| *cell /= deviation);
        }
        deviations
    })
}

/// Centres every column and divides by its standard deviation.
///
/// Columns that are constant, or whose deviation overflows, are left for the fit to refuse.
fn standardise(rows: &mut [Vec<f64>]) {
    for j in 0..rows.first().map_or(0, Vec::len) {
        let Some(Spread { mean, deviation, .. }) = of_column(rows, j) else { continue };
        for row in rows.iter_mut().filter(|_| deviation.is_finite()) {
            row[j] = if 0.0 < deviation { (row[j] - mean) / deviation } else { 0.0 };
        }
    }
}
