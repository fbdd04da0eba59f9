//! Fits a kernel to the values of a table, and states the table's problem as a spec does.

use super::likelihood::{FittedHyperparameters, LikelihoodForm, fit};
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::env::Replicates;
use privateer_engine::env::csv_table::{CsvOptions, Spread, read_table};
use privateer_gp::Points;
use privateer_numerics::rng::{Purpose, Streams};
use std::path::PathBuf;

/// States what is fitted: columns of a table, and how they are read.
#[derive(Debug, Clone)]
pub struct TableQuestion {
    /// The table: CSV, plain or `.gz`, with a header, or Parquet.
    pub file: PathBuf,
    /// Names of the input columns.
    pub inputs: Vec<String>,
    /// Name of the value column.
    pub value: String,
    /// Whether the logarithm of the values is taken.
    pub log: bool,
    /// Whether columns keep the file's units; they are otherwise centred and divided by their standard deviations.
    pub raw: bool,
    /// Whether each input has a length-scale of its own.
    pub per_coordinate: bool,
    pub form: LikelihoodForm,
    /// Whether rows with a missing number are left out.
    pub drops_missing: bool,
    /// Most rows used; more are drawn at random without replacement.
    pub subsample: usize,
    /// Seed of that draw.
    pub seed: u64,
}

/// Holds a table's problem: range, kernel and noise.
#[derive(Debug, Clone)]
pub struct FittedTable {
    /// Rows of the table, and those used.
    pub rows: [usize; 2],
    /// Number of points of distinct inputs.
    pub n_points: usize,
    /// Scatter of the values of equal inputs, if there are any.
    pub scatter: Option<f64>,
    /// The least and the greatest value, in the file's units.
    pub range: [f64; 2],
    /// Standard deviations of the inputs by which they are divided, where they differ and keep their units.
    pub scales: Option<Vec<f64>>,
    pub found: FittedHyperparameters,
}

impl TableQuestion {
    /// Fits the table; `computed` is called after each likelihood.
    ///
    /// # Errors
    /// Bad data, values without a logarithm, constant columns.
    pub fn fit(&self, computed: impl Fn()) -> Result<FittedTable, Error> {
        let d = self.inputs.len();
        if self.inputs.contains(&self.value) {
            let message = format!("`{}` is an input and the value at once", self.value);
            return Diagnostic::new(message).hint("leave it out of `--inputs`").refuse();
        }
        let columns = Some(self.inputs.iter().chain([&self.value]).cloned().collect());
        let missing = Some("`--drop-missing` leaves such rows out");
        let options =
            CsvOptions { columns, header: Some(true), drops_missing: self.drops_missing, missing, ..CsvOptions::default() };
        let mut table = read_table(&self.file, &options)?;
        // The same subsample for any order of the rows.
        let replicates = Replicates::sort(&mut table, d);
        let mut rows: Vec<Vec<f64>> = table.values.chunks_exact(d + 1).map(<[f64]>::to_vec).collect();
        let range = of_column(&rows, d).map_or([0.0; 2], |spread| [spread.least, spread.greatest]);
        if self.log {
            for (at, row) in rows.iter_mut().enumerate() {
                if row[d] <= 0.0 {
                    let at = replicates.row_in_file(at) + 1;
                    let message = format!("`{}` is not positive in data row {at}, and has no logarithm there", self.value);
                    let hint = "drop `--log`, or choose a column of positive values";
                    return Diagnostic::new(message).hint(hint).refuse();
                }
                row[d] = libm::log(row[d]);
            }
        }
        let scales = if self.raw {
            unequal(&mut rows, d)
        } else {
            standardise(&mut rows);
            None
        };
        let all_values: Vec<f64> = rows.iter().map(|row| row[d]).collect();
        if let Some(spread) = of_column(&rows, d).filter(|spread| self.raw && 3.0 * spread.deviation < spread.mean.abs()) {
            let message = format!("`{}` lies far from 0, the prior mean of a policy: {}", self.value, spread.words());
            return Diagnostic::new(message).hint("leave `--raw` out: columns are centred then").refuse();
        }
        let scatter = replicates.scatter(&all_values);
        let all = rows.len();
        draw_rows(&mut rows, self.subsample, self.seed, "fit");
        let used = rows.len();
        let points = Points::new(d, rows.iter().flat_map(|row| row[..d].iter().copied()).collect());
        let values: Vec<f64> = rows.iter().map(|row| row[d]).collect();
        let found = fit(self.form, &points, &values, self.per_coordinate, computed)?;
        Ok(FittedTable { rows: [all, used], n_points: replicates.n_points(), scatter, range, scales, found })
    }
}

impl FittedTable {
    /// Returns the lines of a spec's `[environment]`, from `kind` to `hyperparameters`; values and bound in the file's units.
    ///
    /// * `file` — the table as the spec names it
    /// * `bound` — a range that holds the values
    pub fn environment(&self, question: &TableQuestion, file: &str, bound: [f64; 2]) -> Vec<String> {
        let found = &self.found;
        let list = |numbers: &[f64]| format!("[{}]", numbers.iter().map(|&x| short(x)).collect::<Vec<_>>().join(", "));
        let lengthscales = match found.lengthscales.as_slice() {
            [one] if !question.per_coordinate => format!("lengthscale = {}", short(*one)),
            many => format!("lengthscales = {}", list(many)),
        };
        let kind = match question.form {
            LikelihoodForm::SquaredExponential => "\"squared-exponential\"".to_owned(),
            LikelihoodForm::Matern(nu) => format!("\"matern\", nu = {}", short(nu)),
        };
        // Rows of one point scatter by themselves in `points-table`.
        let noise = (found.noise_variance - self.scatter.map_or(0.0, |scatter| scatter * scatter)).max(0.0);
        let noise = match noise {
            _ if noise <= 1e-6 * found.variance => "\"none\"".to_owned(),
            _ => format!("{{ kind = \"gaussian\", sd = {} }}", short(libm::sqrt(noise))),
        };
        let inputs: Vec<String> = question.inputs.iter().map(|name| quoted(name)).collect();
        let [low, high] = bound;
        let is_own = if bound == self.range { "   # the least and the largest value" } else { "" };
        let mut lines = vec![
            "kind = \"points-table\"".to_owned(),
            format!("file = {}\ninputs = [{}]\nvalue = {}", quoted(file), inputs.join(", "), quoted(&question.value)),
        ];
        lines.extend(question.drops_missing.then(|| "missing = \"drop\"".to_owned()));
        lines.extend(question.log.then(|| "log = true".to_owned()));
        lines.extend(question.raw.then(|| "standardise = false".to_owned()));
        let scales = self.scales.as_deref().map(list);
        lines.extend(scales.map(|scales| format!("scales = {scales}   # standard deviations of the inputs, which differ")));
        lines.push(format!(
            "units = \"data\"\nbound = [{low:?}, {high:?}]{is_own}\n\
             kernel = {{ kind = {kind}, {lengthscales}, variance = {} }}\nnoise = {noise}\nhyperparameters = \"fitted\"",
            short(found.variance)
        ));
        lines
    }
}

/// Draws `n` of some rows at random without replacement, in random order; keeps all if there are no more.
pub fn draw_rows(rows: &mut Vec<Vec<f64>>, n: usize, seed: u64, purpose: &str) {
    let (all, used) = (rows.len(), rows.len().min(n));
    let mut stream = Streams::new(seed, purpose).shared(Purpose::Domain);
    for at in 0..used {
        let other = at + stream.index(all - at);
        rows.swap(at, other);
    }
    rows.truncate(used);
}

/// Formats a number with six significant digits, as TOML and Rust read it.
pub fn short(x: f64) -> String {
    format!("{x:.5e}").parse::<f64>().map_or_else(|_| x.to_string(), |x| x.to_string())
}

/// Formats a text as TOML reads it.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
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
