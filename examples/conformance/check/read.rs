//! Inputs of a reference file; what is missing or of the wrong shape is a message and never a panic.

use privateer_gp::Points;
use privateer_gp::kernel::matern::Matern;
use privateer_gp::kernel::squared_exponential::SquaredExponential;
use privateer_gp::kernel::{Kernel, Lengthscales};
use serde_json::Value;
use std::sync::Arc;

/// A field.
pub fn field<'v>(value: &'v Value, name: &str) -> Result<&'v Value, String> {
    value.get(name).ok_or_else(|| format!("the file has no `{name}`"))
}

/// A list of equally long rows of numbers, as (row length, numbers row by row).
pub fn matrix(value: &Value, name: &str) -> Result<(usize, Vec<f64>), String> {
    let problem = || format!("`{name}` is not a matrix of numbers");
    let rows = field(value, name)?.as_array().ok_or_else(problem)?;
    let mut width = None;
    let mut numbers = Vec::new();
    for row in rows {
        let row = row.as_array().ok_or_else(problem)?;
        if *width.get_or_insert(row.len()) != row.len() || row.is_empty() {
            return Err(problem());
        }
        for entry in row {
            numbers.push(entry.as_f64().filter(|x| x.is_finite()).ok_or_else(problem)?);
        }
    }
    Ok((width.ok_or_else(problem)?, numbers))
}

/// A matrix whose rows are points.
pub fn points(value: &Value, name: &str) -> Result<Points, String> {
    matrix(value, name).map(|(dimension, coordinates)| Points::new(dimension, coordinates))
}

/// A list of finite numbers.
pub fn numbers(value: &Value, name: &str) -> Result<Vec<f64>, String> {
    let problem = || format!("`{name}` is not a list of numbers");
    let items = field(value, name)?.as_array().ok_or_else(problem)?;
    items.iter().map(|item| item.as_f64().filter(|x| x.is_finite()).ok_or_else(problem)).collect()
}

/// One finite number.
pub fn number(value: &Value, name: &str) -> Result<f64, String> {
    field(value, name)?.as_f64().filter(|x| x.is_finite()).ok_or_else(|| format!("`{name}` is not a number"))
}

/// Largest number of rounds or samples that a file may state.
const MOST_ROUNDS: u64 = 1 << 40;
/// Largest dimension or number of features that a file may state.
const MOST_SIZE: u64 = 4096;

fn whole(value: &Value, name: &str, most: u64) -> Result<u64, String> {
    let found = number(value, name)?;
    let is_whole = (1.0..=most as f64).contains(&found) && found.fract() == 0.0;
    is_whole.then_some(found as u64).ok_or_else(|| format!("`{name}` is {found}, not a whole number from 1 to {most}"))
}

/// A number of rounds.
pub fn rounds(value: &Value, name: &str) -> Result<u64, String> {
    whole(value, name, MOST_ROUNDS)
}

/// A dimension, or a number of features, nodes or arms.
pub fn size(value: &Value, name: &str) -> Result<usize, String> {
    whole(value, name, MOST_SIZE).map(|found| found as usize)
}

/// A number that the file may leave out or say to be absent.
pub fn optional_number(value: &Value, name: &str) -> Result<Option<f64>, String> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => number(value, name).map(Some),
    }
}

/// A list of indices below `n`; whole numbers may be written with a point.
pub fn indices(value: &Value, name: &str, n: usize) -> Result<Vec<usize>, String> {
    let index = |x: f64| (0.0 <= x && x < n as f64 && x.fract() == 0.0).then_some(x as usize);
    let found = numbers(value, name)?;
    found.into_iter().map(|x| index(x).ok_or_else(|| format!("`{name}` has {x}, not an index below {n}"))).collect()
}

/// Points on a line, one number each.
pub fn line(value: &Value, name: &str) -> Result<Points, String> {
    let coordinates = numbers(value, name)?;
    if coordinates.is_empty() { Err(format!("`{name}` has no points")) } else { Ok(Points::new(1, coordinates)) }
}

/// `{name: "se", l}` or `{name: "matern", l, nu}`.
pub fn kernel(value: &Value) -> Result<Arc<dyn Kernel>, String> {
    let kernel = field(value, "kernel")?;
    let lengthscale = number(kernel, "l")?;
    if lengthscale <= 0.0 {
        return Err("`l` is not positive".to_owned());
    }
    let lengthscales = Lengthscales::Isotropic(lengthscale);
    match kernel["name"].as_str() {
        Some("se") => Ok(Arc::new(SquaredExponential::new(lengthscales, 1.0))),
        Some("matern") => Ok(Arc::new(Matern::new(number(kernel, "nu")?, lengthscales, 1.0))),
        _ => Err("the kernel is neither `se` nor `matern`".to_owned()),
    }
}
