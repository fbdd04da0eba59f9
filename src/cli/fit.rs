//! `privateer fit`: kernel and noise by maximum likelihood, as lines of a spec.

use super::columns::ColumnNames;
use super::commands::{note, say};
use crate::env::csv_table::{CsvOptions, read_table};
use crate::fit::{LikelihoodForm, fit as maximise};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use privateer_gp::Points;
use privateer_numerics::rng::{Purpose, Streams};
use std::path::PathBuf;

/// Arguments of `privateer fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// The table (CSV, plain or .gz, with a header)
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
    /// Centre columns and divide by their standard deviations, as `points-table` does
    #[arg(long)]
    standardise: bool,
    /// A length-scale for each input
    #[arg(long)]
    per_coordinate: bool,
    /// Fit a Matern kernel of this smoothness instead of the squared exponential
    #[arg(long, value_name = "NU", allow_negative_numbers = true)]
    matern: Option<f64>,
    /// The table is public: a spec with these numbers may state a guarantee
    #[arg(long)]
    public: bool,
    /// Most rows used; more are drawn at random without replacement
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u64).range(3..=5000))]
    subsample: u64,
    /// Seed of the subsample
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
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
    columns.push(args.value.clone());
    let options = CsvOptions { columns: Some(columns), header: Some(true), ..CsvOptions::default() };
    let table = read_table(&args.file, &options)?;
    let mut rows: Vec<Vec<f64>> = table.values.chunks_exact(d + 1).map(<[f64]>::to_vec).collect();
    if args.log {
        for (at, row) in rows.iter_mut().enumerate() {
            if row[d] <= 0.0 {
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
    if args.standardise {
        standardise(&mut rows);
    }
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
    let found = maximise(form, &points, &values, args.per_coordinate)?;
    let short = |x: f64| format!("{x:.5e}").parse::<f64>().map_or_else(|_| x.to_string(), |x| x.to_string());
    let scales = match found.lengthscales.as_slice() {
        [one] if !args.per_coordinate => format!("lengthscale = {}", short(*one)),
        many => format!("lengthscales = [{}]", many.iter().map(|&l| short(l)).collect::<Vec<_>>().join(", ")),
    };
    let kind = args.matern.map_or("\"squared-exponential\"".to_owned(), |nu| format!("\"matern\", nu = {}", short(nu)));
    say(&format!(
        "# maximum likelihood on {used} of {all} rows{}: log-likelihood {:.3}, {} evaluations\n\
         kernel = {{ kind = {kind}, {scales}, variance = {} }}\nnoise = {{ kind = \"gaussian\", sd = {} }}\n\
         hyperparameters = \"fitted\"\n{}ridge = {}",
        if used < all { format!(" (a random subsample, seed {})", args.seed) } else { String::new() },
        found.log_likelihood,
        found.evaluations,
        short(found.variance),
        short(libm::sqrt(found.noise_variance)),
        if args.public { "public = [\"standardisation\", \"hyperparameters\", \"range\"]\n" } else { "" },
        short(found.noise_variance),
    ));
    note(if args.public {
        "these numbers were taken from a table that is public on your word: the line `public` says so"
    } else {
        "these numbers were taken from the raw data and are not paid for: a spec that holds them states no guarantee, and `privateer init` \
         refuses it; if the table is public, say so with `--public`"
    });
    Ok(())
}

/// Centres every column and divides by its standard deviation.
///
/// Columns that are constant, or whose deviation overflows, are left for the fit to refuse.
fn standardise(rows: &mut [Vec<f64>]) {
    let n = rows.len() as f64;
    for j in 0..rows.first().map_or(0, Vec::len) {
        let mean = rows.iter().map(|row| row[j]).sum::<f64>() / n;
        let deviation = libm::sqrt(rows.iter().map(|row| (row[j] - mean) * (row[j] - mean)).sum::<f64>() / n);
        for row in rows.iter_mut().filter(|_| deviation.is_finite()) {
            row[j] = if 0.0 < deviation { (row[j] - mean) / deviation } else { 0.0 };
        }
    }
}
