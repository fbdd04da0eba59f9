//! Kernels and empirical covariances.

use super::outcome::Outcome;
use super::read::{field, matrix, points};
use privateer_gp::kernel::empirical::{Normalise, empirical_covariance};
use privateer_gp::kernel::linear::LinearKernel;
use privateer_gp::kernel::matern::Matern;
use privateer_gp::kernel::squared_exponential::SquaredExponential;
use privateer_gp::kernel::{Kernel, Lengthscales};
use serde_json::{Map, Value};

const EMPIRICAL: [(&str, Normalise); 2] =
    [("empirical_correlation", Normalise::Standardised), ("empirical_covariance_over_max", Normalise::CovarianceOverMax)];
const INPUTS: [&str; 4] = ["X", "Y", "grid", "samples"];
const OUTPUTS: [&str; 5] = ["se", "matern", "se_grid_0.2", "matern_grid_l0.2_nu2.5", "linear"];

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    for (key, expected) in entries(file, "se") {
        let kernel = parse_number(key).map(squared_exponential);
        outcome.compare(&format!("se {key}"), kernel.and_then(|k| table(&k, file, "X", "Y")), expected);
    }
    for (key, expected) in entries(file, "matern") {
        outcome.compare(&format!("matern {key}"), parse_matern(key).and_then(|k| table(&k, file, "X", "Y")), expected);
    }
    let grid = squared_exponential(0.2);
    section(&mut outcome, file, "se_grid_0.2", |file| table(&grid, file, "grid", "grid"));
    let grid = Matern::new(2.5, Lengthscales::Isotropic(0.2), 1.0);
    section(&mut outcome, file, "matern_grid_l0.2_nu2.5", |file| table(&grid, file, "grid", "grid"));
    section(&mut outcome, file, "linear", |file| table(&LinearKernel::new(1.0, 0.0), file, "X", "Y"));
    for (name, normalise) in EMPIRICAL {
        section(&mut outcome, file, name, |file| {
            let (n_columns, samples) = matrix(file, "samples")?;
            empirical_covariance(&samples, n_columns, normalise).map_err(|error| error.to_string())
        });
    }
    let known: Vec<&str> = INPUTS.iter().chain(&OUTPUTS).copied().chain(EMPIRICAL.map(|(name, _)| name)).collect();
    outcome.note_rest(file, &known);
    outcome
}

/// A section that a file of this kind may leave out.
fn section(outcome: &mut Outcome, file: &Value, name: &str, compute: impl Fn(&Value) -> Result<Vec<f64>, String>) {
    if let Ok(expected) = field(file, name) {
        outcome.compare(name, compute(file), expected);
    }
}

fn entries<'v>(file: &'v Value, name: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    file.get(name).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn table(kernel: &dyn Kernel, file: &Value, rows: &str, columns: &str) -> Result<Vec<f64>, String> {
    let (rows, columns) = (points(file, rows)?, points(file, columns)?);
    if rows.dimension() != columns.dimension() {
        return Err("rows and columns have points of different dimensions".to_owned());
    }
    let value = |i: usize, j: usize| kernel.value(rows.point(i), columns.point(j));
    Ok((0..rows.n_points()).flat_map(|i| (0..columns.n_points()).map(move |j| (i, j))).map(|(i, j)| value(i, j)).collect())
}

fn squared_exponential(lengthscale: f64) -> SquaredExponential {
    SquaredExponential::new(Lengthscales::Isotropic(lengthscale), 1.0)
}

/// `l=0.2,nu=1.7`
fn parse_matern(key: &str) -> Result<Matern, String> {
    let parts = key.strip_prefix("l=").and_then(|rest| rest.split_once(",nu="));
    let (l, nu) = parts.ok_or_else(|| format!("`{key}` is not of the form `l=…,nu=…`"))?;
    Ok(Matern::new(parse_number(nu)?, Lengthscales::Isotropic(parse_number(l)?), 1.0))
}

fn parse_number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}
