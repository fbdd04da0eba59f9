//! `points-table`: a table of points with values: some columns are coordinates, one is the mean reward.

use super::csv_table::{CsvOptions, read_table};
use super::curated::CuratedLedger;
use super::noise::Noise;
use super::{BuildContext, Environment, EnvironmentPlan, Instance, KernelChoice, Parts, RegretUnit};
use crate::error::{Diagnostic, Error};
use crate::gp::kernel::Kernel;
use crate::gp::{KernelGram, Points, tabulated};
use crate::params::Args;
use crate::privacy::RewardFacts;
use crate::score::GramSource;
use std::sync::Arc;

/// Reads the environment's keys.
pub fn parse(args: &Args<'_>, parts: &dyn Parts) -> Box<dyn EnvironmentPlan> {
    let kernel = match parts.kernel(args, "kernel") {
        Some(KernelChoice::Function(kernel)) => Some(kernel),
        Some(KernelChoice::Empirical(_)) => {
            args.reject(
                "kernel",
                "points with coordinates need a kernel between points",
                "`squared-exponential`, `matern` or `linear`",
            );
            None
        }
        None => None,
    };
    let inputs = args.texts("inputs", "columns that are coordinates").unwrap_or_default();
    if inputs.is_empty() {
        args.missing("inputs", "an array of column names");
    }
    Box::new(PointsTable {
        file: args.required_text("file", "CSV (plain or .gz) with a header"),
        about: args.text("about", "what the file is and where its publisher has it; shown when it is missing"),
        inputs,
        value: args.text(
            "value",
            "column that is the mean reward; without it rewards are told (`privateer init`), and `bound` must be stated",
        ),
        released: args.text("released", "ledger that `privateer curate` wrote: `file` holds images of inputs, with noise"),
        minimise: args.word("goal", "whether large or small values are good", &["maximise", "minimise"], Some("maximise"))
            == "minimise",
        log: args.flag("log", "take the logarithm of the values", false),
        scales: args.numbers("scales", "divide the input columns by these, after standardising: public length-scales"),
        standardise: args.flag(
            "standardise",
            "centre coordinates and values and divide by their standard deviations",
            !args.has("released"),
        ),
        kernel,
        noise: parts.noise(args, "noise"),
        bound: args.number("bound", "B: public bound on |f|").above(0.0).optional("the largest |value|"),
        regret: RegretUnit::parse(args, "raw"),
    })
}

struct PointsTable {
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
    noise: Option<Arc<dyn Noise>>,
    bound: Option<f64>,
    regret: RegretUnit,
}

impl EnvironmentPlan for PointsTable {
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Environment>, Error> {
        let path = context.data.find(&self.file, self.about.as_deref(), false)?;
        let mut columns = self.inputs.clone();
        columns.extend(self.value.clone());
        let options = CsvOptions { columns: Some(columns), header: Some(true), ..CsvOptions::default() };
        let table = read_table(&path, &options)?;
        let (rows, width) = (table.rows, table.columns);
        let column = |j: usize| (0..rows).map(|i| table.values[i * width + j]).collect::<Vec<f64>>();
        let mut inputs: Vec<Vec<f64>> = (0..self.inputs.len()).map(column).collect();
        let values = self.value.as_ref().map(|name| self.values(name, column(width - 1))).transpose()?;
        if self.standardise {
            for (name, column) in self.inputs.iter().zip(&mut inputs) {
                standardise(name, column)?;
            }
        }
        self.scale(&mut inputs)?;
        let coordinates = (0..rows).flat_map(|i| inputs.iter().map(move |column| column[i])).collect();
        let points = Points::new(inputs.len(), coordinates);
        let (Some(kernel), Some(noise)) = (self.kernel.clone(), self.noise.clone()) else {
            return Err(Error::input(Diagnostic::new("the environment has no kernel or no noise")));
        };
        let noise_variance = self.noise_variance(context, inputs.len())?;
        let Some(gram) = KernelGram::of_noisy_rows(&kernel, points.clone(), noise_variance) else {
            return Err(Error::input(
                Diagnostic::new("the covariance given noisy inputs is known for `squared-exponential` kernels alone")
                    .hint("use that kernel for images that `privateer curate` released"),
            ));
        };
        let told = match (&values, self.bound) {
            (_, Some(bound)) => Some(RewardFacts {
                bound,
                noise_bound: noise.bound(),
                range: noise.range(),
                noise_variance: noise.variance(),
                rounds: context.rounds,
            }),
            (Some(_), None) => None,
            (None, None) => {
                return Err(Error::input(
                    Diagnostic::new("without a `value` column nothing bounds the rewards that will be told")
                        .hint("add `bound`: a public bound on |f|, in units of the rewards"),
                ));
            }
        };
        let make = |values| Instance::new(Arc::new(values), noise, self.bound, context.rounds, self.regret);
        Ok(Arc::new(PointsEnvironment {
            // Noisy images are no coordinates of the function: what reads them must know of the noise.
            kernel: (noise_variance == 0.0).then_some(kernel),
            gram: tabulated(gram),
            instance: values.map(make).transpose()?,
            told,
            fingerprint: table.fingerprint(),
            regret: self.regret,
            standardised: self.standardise,
            points,
        }))
    }
}

impl PointsTable {
    /// The mean rewards from their column.
    fn values(&self, name: &str, mut values: Vec<f64>) -> Result<Vec<f64>, Error> {
        if self.log {
            if let Some(row) = values.iter().position(|&value| value <= 0.0) {
                return Err(Error::input(
                    Diagnostic::new(format!("`{name}` is {} in data row {}, which has no logarithm", values[row], row + 1))
                        .hint("drop `log = true`, or choose a column of positive values"),
                ));
            }
            values.iter_mut().for_each(|value| *value = libm::log(*value));
        }
        if self.minimise {
            values.iter_mut().for_each(|value| *value = -*value);
        }
        if self.standardise {
            standardise(name, &mut values)?;
        }
        Ok(values)
    }

    /// Divides the columns by their scales.
    fn scale(&self, inputs: &mut [Vec<f64>]) -> Result<(), Error> {
        let Some(scales) = &self.scales else { return Ok(()) };
        if scales.len() != inputs.len() || scales.iter().any(|&scale| scale <= 0.0) {
            return Err(Error::input(
                Diagnostic::new(format!("`scales` are {} numbers for {} input columns", scales.len(), inputs.len()))
                    .hint("give one number > 0 for each of `inputs`"),
            ));
        }
        for (column, scale) in inputs.iter_mut().zip(scales) {
            column.iter_mut().for_each(|x| *x /= scale);
        }
        Ok(())
    }

    /// The variance of the noise on released inputs; 0 where they are no images.
    fn noise_variance(&self, context: &BuildContext<'_>, dimension: usize) -> Result<f64, Error> {
        let Some(name) = &self.released else { return Ok(0.0) };
        if self.standardise || self.scales.is_some() {
            return Err(Error::input(
                Diagnostic::new("released images were scaled by the curator, and their noise is stated in their own units")
                    .hint("drop `standardise` and `scales`, and give the kernel length-scales in units of the images"),
            ));
        }
        let path = context.data.find(name, Some("the ledger that `privateer curate` wrote beside the images"), false)?;
        CuratedLedger::read(&path)?.noise_variance(&path, dimension)
    }
}

/// Centres a column and divides by its population standard deviation.
fn standardise(name: &str, column: &mut [f64]) -> Result<(), Error> {
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    let deviation = libm::sqrt(column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n);
    if deviation == 0.0 {
        return Err(Error::input(
            Diagnostic::new(format!("column `{name}` is constant and cannot be standardised"))
                .hint("drop the column, or set `standardise = false`"),
        ));
    }
    column.iter_mut().for_each(|x| *x = (*x - mean) / deviation);
    Ok(())
}

struct PointsEnvironment {
    points: Points,
    kernel: Option<Arc<dyn Kernel>>,
    gram: Arc<dyn GramSource>,
    instance: Option<Instance>,
    told: Option<RewardFacts>,
    fingerprint: String,
    regret: RegretUnit,
    standardised: bool,
}

impl Environment for PointsEnvironment {
    fn gram(&self) -> &Arc<dyn GramSource> {
        &self.gram
    }

    fn points(&self) -> Option<&Points> {
        Some(&self.points)
    }

    fn kernel(&self) -> Option<&Arc<dyn Kernel>> {
        self.kernel.as_ref()
    }

    fn input_notes(&self) -> Vec<String> {
        let note = "the columns were standardised by their own means and deviations, which are treated as public (E19)";
        self.standardised.then(|| note.to_owned()).into_iter().collect()
    }

    fn told_rewards(&self) -> Option<RewardFacts> {
        self.told.clone()
    }

    fn draw(&self, _trial: u64) -> Result<Instance, Error> {
        self.instance.clone().ok_or_else(|| {
            Error::input(
                Diagnostic::new("the points have no `value` column, so there is nothing to simulate")
                    .hint("name one, or start a session with `privateer init`, in which rewards are told"),
            )
        })
    }

    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        let mut facts: Vec<(String, serde_json::Value)> =
            vec![("points".into(), self.points.n_points().into()), ("dimension".into(), self.points.dimension().into())];
        if let Some(instance) = &self.instance {
            let best = instance.best();
            facts.push(("best row (1-based)".into(), (best + 1).into()));
            facts.push(("largest value".into(), instance.mean(best).into()));
            facts.push(self.regret.fact());
        }
        facts.push(("fingerprint of the table".into(), self.fingerprint.clone().into()));
        facts
    }
}
