//! Inputs of a reference file; what is missing or of the wrong shape is a message and never a panic.
//!
//! A key is a path of names and indices, such as `params/T` or `noise_matrix/3`. The names that several files here use come from this one.

use super::bandit::built;
pub use privateer::policy::moma_gp_ucb::median_distances;
pub use privateer::policy::{Policy, Problem, Setting};
use privateer_config::params::find;
pub use privateer_gp::kernel::linear::LinearKernel;
use privateer_gp::kernel::{KERNELS, KernelBuild};
pub use privateer_gp::kernel::{Kernel, Lengthscales};
pub use privateer_gp::posterior::Posterior;
pub use privateer_gp::score::{FeatureTable, Moments};
pub use privateer_gp::{KernelGram, Points, tabulated};
pub use privateer_numerics::linalg::{cholesky, dot, eigen_symmetric};
pub use privateer_numerics::rng::Stream;
pub use privateer_privacy::gradients::Start;
pub use privateer_privacy::noise::Noise;
pub use privateer_privacy::printed::{dubey2021, dubey2021_local};
pub use privateer_privacy::streams::tree::Tree;
pub use privateer_privacy::streams::{Factorisation, PrefixSums, Shape};
pub use privateer_privacy::{Budget, Calibration, Raw, Request, gdp_mu};
use privateer_privacy::{Delta, Epsilon};
use serde::de::DeserializeOwned;
pub use serde_json::{Value, json};
pub use std::collections::VecDeque;
use std::error::Error;
pub use std::sync::Arc;

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

/// Reads the numbers at these keys, which spaces separate.
pub fn numbers<const N: usize>(value: &Value, keys: &str) -> Read<[f64; N]> {
    let mut numbers = [0.0; N];
    for (number, key) in numbers.iter_mut().zip(keys.split(' ')) {
        *number = get(value, key)?;
    }
    Ok(numbers)
}

/// Reads a list of equally long rows of numbers, as (row length, numbers row by row); numbers alone are rows of one.
pub fn matrix(value: &Value, key: &str) -> Read<(usize, Vec<f64>)> {
    let column = get::<Vec<f64>>(value, key).map(|column| column.into_iter().map(|x| vec![x]).collect());
    let rows: Vec<Vec<f64>> = column.or_else(|_| get(value, key))?;
    let width = rows.first().map_or(0, Vec::len);
    let is_matrix = width != 0 && rows.iter().all(|row| row.len() == width);
    if is_matrix { Ok((width, rows.concat())) } else { Err(format!("`{key}` is not a matrix of numbers").into()) }
}

pub fn shaped(value: &Value, key: &str, (n, width): (usize, usize)) -> Read<Vec<f64>> {
    let (found, numbers) = matrix(value, key)?;
    let fits = found == width && numbers.len() == n * width;
    if fits { Ok(numbers) } else { Err(format!("`{key}` is {} x {found}, not {n} x {width}", numbers.len() / found).into()) }
}

pub fn points(value: &Value, key: &str) -> Read<Points> {
    matrix(value, key).map(|(dimension, coordinates)| Points::new(dimension, coordinates))
}

/// The most rounds of a run.
pub const ROUNDS: u64 = 1 << 40;
/// The largest dimension, and the most features, nodes or arms.
pub const SIZE: u64 = 4096;

/// Reads a whole number from 1.
pub fn whole<T: TryFrom<u64>>(value: &Value, key: &str, most: u64) -> Read<T> {
    let found: f64 = get(value, key)?;
    let is_whole = (1.0..=most as f64).contains(&found) && found.fract() == 0.0;
    let read = is_whole.then(|| T::try_from(found as u64).ok()).flatten();
    Ok(read.ok_or_else(|| format!("`{key}` is {found}, not a whole number from 1 to {most}"))?)
}

/// Reads indices below `n`; whole numbers may be written with a point.
pub fn indices(value: &Value, key: &str, n: usize) -> Read<Vec<usize>> {
    let index = |x: f64| (0.0 <= x && x < n as f64 && x.fract() == 0.0).then_some(x as usize);
    let found: Vec<f64> = get(value, key)?;
    found.into_iter().map(|x| index(x).ok_or_else(|| format!("`{key}` has {x}, not an index below {n}").into())).collect()
}

pub fn budget(value: &Value, keys: &str) -> Read<(Epsilon, Delta)> {
    let [epsilon, delta] = numbers(value, keys)?;
    Ok((Epsilon::try_from(epsilon)?, Delta::try_from(delta)?))
}

/// Creates the registered kernel `{name: "se", l, sigma_y2}` or `{name: "matern", l, nu}`; that of no name is squared exponential,
/// its variance 1 unless stated.
pub fn kernel(value: &Value) -> Read<Arc<dyn Kernel>> {
    let name = value["name"].as_str().filter(|name| *name != "se").unwrap_or("squared-exponential");
    let keys = json!({ "lengthscale": value["l"], "variance": value["sigma_y2"], "nu": value["nu"] });
    match find(KERNELS, name).map(|entry| entry.build) {
        Some(KernelBuild::Function(build)) => built(&stated(keys.clone(), &keys), build),
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
pub fn last_true(mut low: f64, mut high: f64, holds: impl Fn(f64) -> Read<bool>) -> Read<f64> {
    for _ in 0..100 {
        let middle = if 0.0 < low { libm::sqrt(low * high) } else { 0.5 * (low + high) };
        if middle <= low || high <= middle {
            break;
        }
        *(if holds(middle)? { &mut low } else { &mut high }) = middle;
    }
    Ok(low)
}
