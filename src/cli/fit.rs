//! `privateer fit`: kernel and noise by maximum likelihood, as a spec.

use super::columns::ColumnNames;
use super::output::{note, say};
use super::progress::Progress;
use crate::fit::{LikelihoodForm, TableQuestion, most_evaluations, short};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use std::path::PathBuf;

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

pub fn fit(args: &FitArgs) -> Result<(), Error> {
    if args.matern.is_some_and(|nu| !(nu.is_finite() && 0.0 < nu && nu <= 100.0)) {
        return Diagnostic::new("`--matern` is out of range").expected("a smoothness > 0 and <= 100").refuse();
    }
    let question = TableQuestion {
        file: args.file.clone(),
        inputs: ColumnNames::of_all(&args.inputs),
        value: args.value.clone(),
        log: args.log,
        raw: args.raw,
        per_coordinate: args.per_coordinate,
        form: args.matern.map_or(LikelihoodForm::SquaredExponential, LikelihoodForm::Matern),
        drops_missing: args.drop_missing,
        subsample: args.subsample as usize,
        seed: args.seed,
    };
    let progress = Progress::new(most_evaluations(args.per_coordinate, question.inputs.len()), "likelihoods", args.quiet);
    let fitted = question.fit(|| progress.add(1));
    progress.clear();
    let fitted = fitted?;
    let ([all, used], found) = (fitted.rows, &fitted.found);
    let mut lines = vec![format!(
        "# maximum likelihood on {used} of {all} rows{}: log-likelihood {:.3}, {} evaluations",
        if used < all { format!(" (a random subsample, seed {})", args.seed) } else { String::new() },
        found.log_likelihood,
        found.evaluations
    )];
    lines.extend(fitted.scatter.map(|scatter| {
        let n_points = fitted.n_points;
        format!("# {n_points} points: values of equal inputs, in {all} rows, scatter by {}, beside `noise`", short(scatter))
    }));
    lines.push("rounds = 1000\ntrials = 20\n\n[environment]".to_owned());
    lines.extend(fitted.environment(&question, &args.file.display().to_string(), fitted.range));
    lines.extend(args.public.then(|| "public = [\"standardisation\", \"hyperparameters\", \"range\"]".to_owned()));
    let [low, high] = fitted.range;
    lines.push(format!(
        "\n[privacy]\nmechanism = \"auto\"\nepsilon = 2.0\nclip = [{low:?}, {high:?}]\n\n[[policy]]\nkind = \"tgp-ucb\"\n\
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
