//! Implements `points-table`: a table with columns of coordinates and a column of mean rewards.

use super::csv_table::{CsvOptions, CsvTable, Spread, digits, dropped, drops_missing, read_table};
use super::curated::CuratedLedger;
use super::data_derived::{DataDerived, DeclaredPublic};
use super::function::parse_point_kernel;
use super::instance::within_range;
use super::noise::{Noise, parse_noise};
use super::synthetic::{points_with_values, synthetic_fact};
use super::{BuildContext, Environment, EnvironmentPlan, Instance, MeanRange, RegretUnit, Replicates, ValueUnits};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::kernel::Kernel;
use privateer_gp::{KernelGram, Points, tabulated};
use privateer_numerics::rng::Purpose;
use std::path::Path;
use std::sync::Arc;

pub fn parse(args: &Args<'_>) -> EnvironmentPlan {
    let refusal = "points with coordinates need a kernel between points";
    let kernel = parse_point_kernel(args, refusal, "`squared-exponential`, `matern` or `linear`");
    let inputs = args.texts("inputs", "columns that are coordinates").unwrap_or_default();
    if inputs.is_empty() {
        args.missing("inputs", "an array of column names");
    }
    args.distinct("inputs", &inputs);
    if args.has("scales") && !args.has("standardise") && !args.has("released") {
        args.missing(
            "standardise",
            "`true` if `scales` count in standard deviations of the columns, `false` if in the columns' own units",
        );
    }
    let synthetic = args.flag("synthetic", "use a generated table of the same columns instead of the file", false);
    let rows = args.count("synthetic_rows", "rows of the generated table").between(2, 1_000_000).or(1000);
    if synthetic && args.has("released") {
        args.reject("synthetic", "a generated table has no ledger of a release", "no `released`");
    }
    let value = args.text(
        "value",
        "column that is the mean reward; without it rewards are told (`privateer init`), and `bound` must be stated",
    );
    let log = args.flag("log", "take the logarithm of the values", false);
    if let Some(name) = value.as_ref().filter(|name| inputs.contains(name)) {
        args.reject("value", format!("column `{name}` is an input and the value at once"), "a column that is not among `inputs`");
    }
    let bound = MeanRange::parse(args, "the largest |value|");
    let in_data_units = args.word(
        "units",
        "units of `bound` and `privacy.clip`: of the rewards as they are computed, or of the column `value` in the file",
        &["rewards", "data"],
        Some("rewards"),
    ) == "data";
    if in_data_units && value.is_none() && args.has("file") {
        args.reject("units", "there is no `value` column whose units these could be", "`rewards`, or a column `value`");
    }
    if in_data_units && log && bound.is_some_and(|range| range.low <= 0.0) {
        let expected = "`bound = [lo, hi]` above 0, no `bound`, or `units = \"rewards\"`";
        args.reject("bound", "a bound on |value| says nothing about the logarithm", expected);
    }
    let plan = PointsTable {
        synthetic: synthetic.then_some(rows as usize),
        fitted: args.word(
            "hyperparameters",
            "where kernel and scales come from: `fitted` to this table's own values, which `public` may declare",
            &["stated", "fitted"],
            Some("stated"),
        ) == "fitted",
        file: args.required_text("file", "CSV (plain or .gz) with a header"),
        about: args.text("about", "what the file is and where its publisher has it; shown when it is missing"),
        inputs,
        value,
        released: args.text("released", "ledger that `privateer curate` wrote: `file` holds released inputs, with noise"),
        minimise: args.word("goal", "whether large or small values are good", &["maximise", "minimise"], Some("maximise"))
            == "minimise",
        log,
        scales: args.numbers(
            "scales",
            "divide the input columns by these public length-scales, after `standardise`, which must be stated then",
        ),
        standardise: args.flag(
            "standardise",
            "centre coordinates and values and divide by their standard deviations",
            !args.has("released"),
        ),
        kernel,
        noise: parse_noise(args),
        bound,
        in_data_units,
        drops_missing: drops_missing(args),
        merges: args.word(
            "replicates",
            "rows with equal inputs: one point, whose reward is that of a random one of them, or points of their own in the file's order",
            &["merged", "apart"],
            Some("merged"),
        ) == "merged",
        regret: RegretUnit::parse(args, "raw"),
        public: DeclaredPublic::parse(args, &[DataDerived::Standardisation, DataDerived::Hyperparameters, DataDerived::Range]),
    };
    let files = vec![plan.file.clone()];
    EnvironmentPlan::new(move |context| plan.build(context)).reading(files)
}

struct PointsTable {
    /// Number of rows of the synthetic substitute, if it replaces the file.
    synthetic: Option<usize>,
    fitted: bool,
    file: String,
    about: Option<String>,
    inputs: Vec<String>,
    value: Option<String>,
    released: Option<String>,
    minimise: bool,
    log: bool,
    scales: Option<Vec<f64>>,
    standardise: bool,
    kernel: Option<Arc<dyn Kernel>>,
    noise: Arc<dyn Noise>,
    bound: Option<MeanRange>,
    /// Whether `bound` and the clip are stated in units of the column of values.
    in_data_units: bool,
    drops_missing: bool,
    merges: bool,
    regret: RegretUnit,
    public: DeclaredPublic,
}

impl PointsTable {
    fn build(&self, context: &BuildContext<'_>) -> Result<Environment, Error> {
        let (mut table, noise_variance) = match self.synthetic {
            Some(rows) => {
                let entries = rows as f64 * (self.inputs.len() + 1) as f64;
                context.allow("the synthetic table", 8.0 * entries, "lower the synthetic rows, or name fewer `inputs`")?;
                (points_with_values(rows, self.inputs.len(), &mut context.streams.shared(Purpose::Domain)), 0.0)
            }
            None => self.read(context)?,
        };
        let fingerprint = table.fingerprint();
        // Whoever tells rewards, or released inputs, counts rows of the file.
        let is_sorted = self.merges && self.value.is_some() && self.released.is_none() && self.synthetic.is_none();
        let replicates = if is_sorted { Replicates::sort(&mut table, self.inputs.len()) } else { Replicates::apart(&table) };
        let (rows, width) = (table.rows, table.columns);
        let column = |j: usize| (0..rows).map(|i| table.values[i * width + j]).collect::<Vec<f64>>();
        let mut inputs: Vec<Vec<f64>> = (0..self.inputs.len()).map(column).collect();
        let made = |name: &String| self.values(name, column(width - 1), &replicates);
        let (values, units) = self.value.as_ref().map(made).transpose()?.unzip();
        let in_file = self.value.is_some().then(|| Spread::of(column(width - 1).into_iter())).flatten();
        let (centre, scale) = units.map_or((0.0, 1.0), |units| (units.centre, units.scale));
        let units = units.filter(|_| self.in_data_units);
        let bound = match (self.bound, units) {
            (Some(MeanRange { low, high }), Some(units)) => {
                let Some((least, most)) = units.rewards(low, high) else {
                    let message = format!("`bound` from {low:e} to {high:e}, in units of the file, gives no finite rewards");
                    return Diagnostic::new(message).hint("state a smaller bound, or `units = \"rewards\"`").refuse();
                };
                Some(MeanRange { low: least, high: most })
            }
            (bound, _) => bound,
        };
        if self.standardise {
            for (name, column) in self.inputs.iter().zip(&mut inputs) {
                standardise(name, column)?;
            }
        }
        self.scale(&mut inputs)?;
        let first_rows = replicates.first_rows().iter();
        let coordinates = first_rows.flat_map(|&row| inputs.iter().map(move |column| column[row])).collect();
        let points = Points::new(inputs.len(), coordinates);
        let noise = Arc::clone(&self.noise);
        let Some(kernel) = self.kernel.clone() else {
            return Diagnostic::new("the environment has no kernel").refuse();
        };
        let Some(gram) = KernelGram::of_noisy_rows(&kernel, points.clone(), noise_variance) else {
            return Diagnostic::new("the covariance given noisy inputs is known for `squared-exponential` kernels alone")
                .hint("use that kernel for released inputs that `privateer curate` released")
                .refuse();
        };
        let noise_scale = noise.sub_gaussian_scale();
        let told = match (&values, bound) {
            // A session stores rewards and not values: it has no units of a file.
            _ if units.is_some() || is_sorted => None,
            (_, Some(bound)) => Some(bound.facts(noise.as_ref(), context.rounds)),
            (Some(_), None) => None,
            (None, None) => {
                return Diagnostic::new("without a `value` column nothing bounds the rewards that will be told")
                    .hint("add `bound`: a public bound on |f|, in units of the rewards")
                    .refuse();
            }
        };
        let scatter = values.as_ref().and_then(|values| replicates.scatter(values));
        let make = |values: Vec<f64>| {
            let hint = "state another noise, or transform the column `value`";
            within_range(&values, noise.as_ref(), hint)?;
            let means = Arc::new(replicates.means(&values));
            let mut made = Instance::new(means, Arc::clone(&noise), bound, context.rounds, RegretUnit::Raw)?.in_units(units);
            if scatter.is_some() {
                made = made.scattered_by(replicates.noise(noise, values));
            }
            // Before standardisation, since the standardised mean is 0.
            if self.regret == RegretUnit::Relative { made.relative(centre, scale) } else { Ok(made) }
        };
        let card = self.synthetic.is_none().then(|| {
            let rows = format!("{}: {rows} rows{}", self.file, dropped(table.dropped_rows.len()));
            let n_points = points.n_points();
            let points = if n_points == table.rows { String::new() } else { format!(", {n_points} points of distinct inputs") };
            let values = match (in_file, &self.value) {
                (Some(spread), Some(name)) if self.standardise && !self.log && self.regret == RegretUnit::Raw => {
                    format!("; `{name}` {}; rewards and regrets count in standard deviations", spread.words())
                }
                (Some(spread), Some(name)) => format!("; `{name}` {}", spread.words()),
                _ => String::new(),
            };
            let scatter = scatter.map_or(String::new(), |scatter| {
                format!("; rewards of equal inputs scatter by {} beside the noise", digits(scatter))
            });
            format!("{rows}{points}{values}{scatter}")
        });
        let (instance, n_points) = (values.map(make).transpose()?, points.n_points());
        let merged_rows = Some(replicates.n_rows()).filter(|&rows| rows != n_points);
        let mut facts = Facts::from([("points", n_points.into()), ("dimension", points.dimension().into())]);
        facts.extend(card.map(|card| ("table", card.into())));
        if let Some(instance) = &instance {
            let best = instance.best();
            facts.push("best row (1-based)", replicates.file_row(best) + 1);
            facts.push("largest value", instance.mean(best));
            facts.extend([self.regret.fact()]);
        }
        if let (Some(rows), Some(scatter)) = (merged_rows, scatter) {
            facts.push("rows of the table", rows);
            facts.push("standard deviation of rewards within a point, beside the noise", scatter);
        }
        facts.push("fingerprint of the table", fingerprint.clone());
        facts.extend(self.synthetic.map(|_| synthetic_fact()));
        let simulates = instance.is_some();
        let draw = move |_| {
            instance.clone().ok_or_else(|| {
                Diagnostic::new("the points have no `value` column, so there is nothing to simulate")
                    .hint("name one, or start a session with `privateer init`, in which rewards are told")
                    .error()
            })
        };
        let derived = |used: &[(DataDerived, bool)]| self.public.split(self.synthetic.is_none(), used.iter().copied());
        Ok(Environment {
            // Noisy released inputs are not coordinates of the function: a model must know their noise to use them.
            kernel: (noise_variance == 0.0).then_some(kernel),
            points: Some(points),
            simulates,
            told_rewards: told,
            told_noise_scale: noise_scale,
            fingerprint: Some(fingerprint),
            file_rows: Some((0..n_points).map(|point| replicates.file_row(point)).collect()),
            merged_rows,
            derived_from_rewards: derived(&[
                (DataDerived::Standardisation, self.standardise && self.value.is_some()),
                (DataDerived::Hyperparameters, self.fitted),
                (DataDerived::Range, bound.is_none() && self.value.is_some()),
            ]),
            derived_from_inputs: derived(&[
                (DataDerived::Standardisation, self.standardise),
                (DataDerived::Hyperparameters, self.fitted),
            ]),
            ..Environment::new(tabulated(gram), facts, draw)
        })
    }

    /// Reads the file's columns and the variance of the noise on its inputs.
    fn read(&self, context: &BuildContext<'_>) -> Result<(CsvTable, f64), Error> {
        let path = context.data.find(&self.file, self.about.as_deref(), self.value.is_some() && self.released.is_none())?;
        let noise_variance = self.noise_variance(context, &path)?;
        let mut columns = self.inputs.clone();
        columns.extend(self.value.clone());
        let options = CsvOptions {
            columns: Some(columns),
            header: Some(true),
            most_bytes: context.file_bytes(),
            ..CsvOptions::dropping(self.drops_missing)
        };
        Ok((read_table(&path, &options)?, noise_variance))
    }

    /// Converts the column of values to mean rewards; returns how.
    fn values(&self, name: &str, mut values: Vec<f64>, rows: &Replicates) -> Result<(Vec<f64>, ValueUnits), Error> {
        if self.log {
            if let Some(row) = values.iter().position(|&value| value <= 0.0) {
                let row = rows.row_in_file(row) + 1;
                return Diagnostic::new(format!("`{name}` is not positive in data row {row}, and has no logarithm there"))
                    .hint("drop `log = true`, or choose a column of positive values")
                    .refuse();
            }
            values.iter_mut().for_each(|value| *value = libm::log(*value));
        }
        if self.minimise {
            values.iter_mut().for_each(|value| *value = -*value);
        }
        let (centre, scale) = if self.standardise { standardise(name, &mut values)? } else { (0.0, 1.0) };
        Ok((values, ValueUnits { log: self.log, minimise: self.minimise, centre, scale }))
    }

    fn scale(&self, inputs: &mut [Vec<f64>]) -> Result<(), Error> {
        let Some(scales) = &self.scales else { return Ok(()) };
        if scales.len() != inputs.len() || scales.iter().any(|&scale| scale <= 0.0) {
            return Diagnostic::new(format!("`scales` are {} numbers for {} input columns", scales.len(), inputs.len()))
                .hint("give one number > 0 for each of `inputs`")
                .refuse();
        }
        for (column, scale) in inputs.iter_mut().zip(scales) {
            column.iter_mut().for_each(|x| *x /= scale);
        }
        Ok(())
    }

    /// Returns the variance of the noise on released inputs; 0 for inputs that are not released.
    fn noise_variance(&self, context: &BuildContext<'_>, released_inputs: &Path) -> Result<f64, Error> {
        let Some(name) = &self.released else { return Ok(0.0) };
        if self.standardise || self.scales.is_some() {
            return Diagnostic::new("released inputs were scaled by the curator, and their noise is stated in their own units")
                .hint("drop `standardise` and `scales`, and give the kernel length-scales in units of the released inputs")
                .refuse();
        }
        let path = context.data.find(name, Some("the ledger that `privateer curate` wrote beside the released inputs"), false)?;
        let ledger = CuratedLedger::read(&path)?;
        if ledger.projection.is_some() && self.kernel.as_ref().is_some_and(|kernel| kernel.dimension().is_some()) {
            return Diagnostic::new("a projection mixes the coordinates, and the kernel has a length-scale for each of them")
                .hint("give the kernel one `lengthscale`: the curator's `--scales` have divided the inputs by theirs")
                .refuse();
        }
        ledger.noise_variance(&path, released_inputs, &self.inputs)
    }
}

/// Centres a column and divides it by its population standard deviation; returns mean and deviation.
fn standardise(name: &str, column: &mut [f64]) -> Result<(f64, f64), Error> {
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    let deviation = libm::sqrt(column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n);
    if !deviation.is_finite() {
        let message = format!("the standard deviation of column `{name}` overflows f64, so it cannot be standardised");
        return Diagnostic::new(message).hint("look for a mistyped cell, or state the column in other units").refuse();
    }
    if deviation == 0.0 {
        let (what, hint) = if column.len() == 1 {
            ("has one row", "give a longer table: one row leaves nothing to choose between")
        } else {
            ("is constant", "drop the column, or set `standardise = false`")
        };
        let message = format!("column `{name}` {what} and cannot be standardised");
        return Diagnostic::new(message).hint(hint).refuse();
    }
    column.iter_mut().for_each(|x| *x = (*x - mean) / deviation);
    Ok((mean, deviation))
}
