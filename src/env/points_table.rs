//! `points-table`: a table of points with values: some columns are coordinates, one is the mean reward.

use super::csv_table::{CsvOptions, read_table};
use super::noise::Noise;
use super::{BuildContext, Environment, EnvironmentPlan, Instance, KernelChoice, Parts, RegretUnit};
use crate::error::{Diagnostic, Error};
use crate::gp::kernel::Kernel;
use crate::gp::{KernelGram, Points, tabulated};
use crate::params::Args;
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
        value: args.required_text("value", "column that is the mean reward"),
        minimise: args.word("goal", "whether large or small values are good", &["maximise", "minimise"], Some("maximise"))
            == "minimise",
        log: args.flag("log", "take the logarithm of the values", false),
        standardise: args.flag("standardise", "centre coordinates and values and divide by their standard deviations", true),
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
    value: String,
    minimise: bool,
    log: bool,
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
        columns.push(self.value.clone());
        let options = CsvOptions { columns: Some(columns), header: Some(true), ..CsvOptions::default() };
        let table = read_table(&path, &options)?;
        let (rows, width) = (table.rows, table.columns);
        let column = |j: usize| (0..rows).map(|i| table.values[i * width + j]).collect::<Vec<f64>>();
        let mut values = column(width - 1);
        if self.log {
            if let Some(row) = values.iter().position(|&value| value <= 0.0) {
                return Err(Error::input(
                    Diagnostic::new(format!(
                        "`{}` is {} in data row {}, which has no logarithm",
                        self.value,
                        values[row],
                        row + 1
                    ))
                    .hint("drop `log = true`, or choose a column of positive values"),
                ));
            }
            values.iter_mut().for_each(|value| *value = libm::log(*value));
        }
        if self.minimise {
            values.iter_mut().for_each(|value| *value = -*value);
        }
        let mut inputs: Vec<Vec<f64>> = (0..width - 1).map(column).collect();
        if self.standardise {
            for (name, column) in self.inputs.iter().zip(&mut inputs).chain([(&self.value, &mut values)]) {
                standardise(name, column)?;
            }
        }
        let fingerprint = table.fingerprint();
        let coordinates = (0..rows).flat_map(|i| inputs.iter().map(move |column| column[i])).collect();
        let points = Points::new(width - 1, coordinates);
        let (Some(kernel), Some(noise)) = (self.kernel.clone(), self.noise.clone()) else {
            return Err(Error::input(Diagnostic::new("the environment has no kernel or no noise")));
        };
        let gram = tabulated(KernelGram::new(Arc::clone(&kernel), points.clone()));
        let instance = Instance::new(Arc::new(values), noise, self.bound, context.rounds, self.regret)?;
        Ok(Arc::new(PointsEnvironment { points, kernel, gram, instance, fingerprint, regret: self.regret }))
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
    kernel: Arc<dyn Kernel>,
    gram: Arc<dyn GramSource>,
    instance: Instance,
    fingerprint: String,
    regret: RegretUnit,
}

impl Environment for PointsEnvironment {
    fn gram(&self) -> &Arc<dyn GramSource> {
        &self.gram
    }

    fn points(&self) -> Option<&Points> {
        Some(&self.points)
    }

    fn kernel(&self) -> Option<&Arc<dyn Kernel>> {
        Some(&self.kernel)
    }

    fn draw(&self, _trial: u64) -> Result<Instance, Error> {
        Ok(self.instance.clone())
    }

    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        let best = self.instance.best();
        vec![
            ("points".into(), self.points.n_points().into()),
            ("dimension".into(), self.points.dimension().into()),
            ("best row (1-based)".into(), (best + 1).into()),
            ("largest value".into(), self.instance.mean(best).into()),
            self.regret.fact(),
            ("fingerprint of the table".into(), self.fingerprint.clone().into()),
        ]
    }
}
