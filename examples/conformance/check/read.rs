//! Inputs of a reference file; what is missing or of the wrong shape is a message and never a panic.

use privateer::gp::Points;
use serde_json::Value;

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
