//! Inputs of a reference file; what is missing or of the wrong shape is a message and never a panic.
//!
//! A key is a path of names and indices, such as `params/T` or `noise_matrix/3`.

use privateer_gp::Points;
use privateer_gp::kernel::matern::Matern;
use privateer_gp::kernel::squared_exponential::SquaredExponential;
use privateer_gp::kernel::{Kernel, Lengthscales};
use privateer_privacy::{Delta, Epsilon};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::error::Error;
use std::sync::Arc;

/// A result whose error is a line for the user.
pub type Read<T> = Result<T, Box<dyn Error>>;

/// Fails with this line unless a condition holds.
pub fn ensure(holds: bool, problem: &str) -> Read<()> {
    if holds { Ok(()) } else { Err(problem.into()) }
}

/// Returns the value at a key; null where the file has none.
pub fn at<'v>(value: &'v Value, key: &str) -> &'v Value {
    value.pointer(&format!("/{key}")).unwrap_or(&Value::Null)
}

pub fn get<T: DeserializeOwned>(value: &Value, key: &str) -> Read<T> {
    Ok(T::deserialize(at(value, key)).map_err(|error| format!("`{key}`: {error}"))?)
}

pub fn all<const N: usize>(value: &Value, keys: [&str; N]) -> Read<[f64; N]> {
    let mut numbers = [0.0; N];
    for (number, key) in numbers.iter_mut().zip(keys) {
        *number = get(value, key)?;
    }
    Ok(numbers)
}

/// Reads a list of equally long rows of numbers, as (row length, numbers row by row).
pub fn matrix(value: &Value, key: &str) -> Read<(usize, Vec<f64>)> {
    let rows: Vec<Vec<f64>> = get(value, key)?;
    let width = rows.first().map_or(0, Vec::len);
    let is_matrix = width != 0 && rows.iter().all(|row| row.len() == width);
    if is_matrix { Ok((width, rows.concat())) } else { Err(format!("`{key}` is not a matrix of numbers").into()) }
}

pub fn shaped(value: &Value, key: &str, (n, width): (usize, usize)) -> Read<Vec<f64>> {
    let (found, numbers) = matrix(value, key)?;
    let fits = found == width && numbers.len() == n * width;
    if fits { Ok(numbers) } else { Err(format!("`{key}` is {} x {found}, not {n} x {width}", numbers.len() / found).into()) }
}

pub fn list(value: &Value, key: &str, n: usize) -> Read<Vec<f64>> {
    let numbers: Vec<f64> = get(value, key)?;
    if numbers.len() == n { Ok(numbers) } else { Err(format!("`{key}` has {} numbers, not {n}", numbers.len()).into()) }
}

pub fn points(value: &Value, key: &str) -> Read<Points> {
    matrix(value, key).map(|(dimension, coordinates)| Points::new(dimension, coordinates))
}

pub fn line(value: &Value, key: &str) -> Read<Points> {
    let coordinates: Vec<f64> = get(value, key)?;
    if coordinates.is_empty() { Err(format!("`{key}` has no points").into()) } else { Ok(Points::new(1, coordinates)) }
}

fn whole(value: &Value, key: &str, most: u64) -> Read<u64> {
    let found: f64 = get(value, key)?;
    let is_whole = (1.0..=most as f64).contains(&found) && found.fract() == 0.0;
    Ok(is_whole.then_some(found as u64).ok_or_else(|| format!("`{key}` is {found}, not a whole number from 1 to {most}"))?)
}

pub fn rounds(value: &Value, key: &str) -> Read<u64> {
    whole(value, key, 1 << 40)
}

/// Reads a dimension, or a number of features, nodes or arms.
pub fn size(value: &Value, key: &str) -> Read<usize> {
    whole(value, key, 4096).map(|found| found as usize)
}

/// Reads indices below `n`; whole numbers may be written with a point.
pub fn indices(value: &Value, key: &str, n: usize) -> Read<Vec<usize>> {
    let index = |x: f64| (0.0 <= x && x < n as f64 && x.fract() == 0.0).then_some(x as usize);
    let found: Vec<f64> = get(value, key)?;
    found.into_iter().map(|x| index(x).ok_or_else(|| format!("`{key}` has {x}, not an index below {n}").into())).collect()
}

pub fn budget(value: &Value, keys: [&str; 2]) -> Read<(Epsilon, Delta)> {
    let [epsilon, delta] = all(value, keys)?;
    Ok((Epsilon::try_from(epsilon)?, Delta::try_from(delta)?))
}

/// Creates the squared exponential kernel of variance 1 and lengthscale `l`.
pub fn squared_exponential(value: &Value) -> Read<SquaredExponential> {
    lengthscales(value).map(|lengthscales| SquaredExponential::new(lengthscales, 1.0))
}

pub fn lengthscales(value: &Value) -> Read<Lengthscales> {
    let l: f64 = get(value, "l")?;
    if 0.0 < l { Ok(Lengthscales::Isotropic(l)) } else { Err("`l` is not positive".into()) }
}

/// Creates the kernel `{name: "se", l}` or `{name: "matern", l, nu}`.
pub fn kernel(value: &Value) -> Read<Arc<dyn Kernel>> {
    let kernel = &value["kernel"];
    match kernel["name"].as_str() {
        Some("se") => Ok(Arc::new(squared_exponential(kernel)?)),
        Some("matern") => Ok(Arc::new(Matern::new(get(kernel, "nu")?, lengthscales(kernel)?, 1.0))),
        _ => Err("the kernel is neither `se` nor `matern`".into()),
    }
}

pub fn each(value: &Value, key: &str, compute: impl Fn(&Value) -> Read<Value>) -> Read<Value> {
    at(value, key).as_array().ok_or_else(|| format!("`{key}` is not a list"))?.iter().map(compute).collect()
}

/// Drops those of the computed parts that the file may leave out and does.
pub fn stated(mut found: Value, file: &Value) -> Value {
    if let Value::Object(parts) = &mut found {
        parts.retain(|key, _| !file[key].is_null());
    }
    found
}

/// Returns the largest argument from `low` to `high` at which a monotone condition holds, by bisection: of exponents above 0.
pub fn last_true(mut low: f64, mut high: f64, steps: usize, holds: impl Fn(f64) -> Read<bool>) -> Read<f64> {
    for _ in 0..steps {
        let middle = if 0.0 < low { libm::sqrt(low * high) } else { 0.5 * (low + high) };
        if middle <= low || high <= middle {
            break;
        }
        if holds(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
