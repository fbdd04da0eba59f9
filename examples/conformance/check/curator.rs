//! Curators [Kharkovskii2020, algorithm 1]: the threshold omega, centring, lifting, released inputs; the largest r on grids.

use super::outcome::{Outcome, Part};
use super::read::{self, matrix, number};
use privateer_gp::Points;
use privateer_privacy::curator::Inputs;
use privateer_privacy::curator::projection::{centred, lifted, released_inputs, singular_values};
use privateer_privacy::printed::kharkovskii2020::{grid_singular_value, omega, omega_as_printed};
use serde_json::Value;
use std::sync::Arc;

pub fn check_omega(file: &Value) -> Outcome {
    with_tolerance(file, &["rows"], |outcome| {
        let rows = file["rows"].as_array().cloned().unwrap_or_default();
        for (key, formula) in [("root", omega as fn(u32, f64, f64) -> f64), ("printed", omega_as_printed)] {
            let found = rows.iter().map(|row| {
                let (r, epsilon, delta) = (number(row, "r")?, number(row, "eps")?, number(row, "delta")?);
                Ok(formula(r as u32, epsilon, delta))
            });
            // Each number is a list of its own.
            let expected = rows.iter().map(|row| Value::Array(vec![row[key].clone()])).collect();
            outcome.compare(key, found.collect(), &Value::Array(expected));
        }
    })
}

pub fn check(file: &Value) -> Outcome {
    with_tolerance(file, &["cases"], |outcome| {
        for (at, case) in file["cases"].as_array().into_iter().flatten().enumerate() {
            let made = Curated::of(case);
            let parts: [Part<Curated>; 6] = [
                ("centered", |made| made.centred.clone()),
                ("singular_values", |made| made.singular.clone()),
                ("sigma_min", |made| made.singular.last().copied().into_iter().collect()),
                ("omega", |made| vec![made.omega]),
                ("lifted", |made| made.lifted.clone()),
                ("Z", |made| made.released_inputs.clone()),
            ];
            outcome.compare_parts(&format!("case {at}"), &made, &parts, case);
            let branch = made.map(|made| f64::from(u8::from(made.singular.last().is_some_and(|&least| made.omega <= least))));
            let stated = Value::from(f64::from(u8::from(case["branch"] == "if")));
            outcome.compare(&format!("case {at} branch"), branch.map(|branch| vec![branch]), &stated);
        }
    })
}

struct Curated {
    centred: Vec<f64>,
    singular: Vec<f64>,
    omega: f64,
    lifted: Vec<f64>,
    released_inputs: Vec<f64>,
}

impl Curated {
    fn of(case: &Value) -> Result<Self, String> {
        let ((d, x), (r, m)) = (matrix(case, "X")?, matrix(case, "M")?);
        if m.len() != d * r {
            return Err("`X` and `M` do not fit".to_owned());
        }
        let centred = centred(&Inputs::new(d, Arc::new(x)));
        let singular = singular_values(&centred, d).ok_or("an input is not finite")?;
        let omega = omega(r as u32, number(case, "eps")?, number(case, "delta")?);
        let lift = case["lift"].as_str().ok_or("the case has no `lift`")?;
        let lifted = match lift {
            "sqrt" => lifted(&centred, d, omega, false).map_err(|refusal| refusal.to_string())?,
            // s + omega is sqrt(s² + omega²) no longer: a reading that only this file has, one singular value at a time.
            "add" => added(&centred, d, &singular, omega)?,
            other => return Err(format!("`lift` is `{other}`")),
        };
        let released_inputs = released_inputs(&lifted, d, &m, r);
        Ok(Self { centred, singular, omega, lifted, released_inputs })
    }
}

/// Singular values lifted to `s + omega`: `centred (I + omega (X^T X)^{-1/2})`, where the least is below omega.
fn added(centred: &[f64], d: usize, singular: &[f64], omega: f64) -> Result<Vec<f64>, String> {
    if singular.last().is_some_and(|&least| omega <= least) {
        return Ok(centred.to_vec());
    }
    let mut gram = vec![0.0; d * d];
    for row in centred.chunks_exact(d) {
        for i in 0..d {
            for j in 0..d {
                gram[i * d + j] += row[i] * row[j];
            }
        }
    }
    let eigen = privateer_numerics::linalg::eigen_symmetric(&gram, d).ok_or("no eigenvalues")?;
    let mut map = vec![0.0; d * d];
    for (value, v) in eigen.values.iter().zip(eigen.vectors.chunks_exact(d)) {
        for i in 0..d {
            for j in 0..d {
                map[i * d + j] += (1.0 + omega / value.max(0.0).sqrt()) * v[i] * v[j];
            }
        }
    }
    let rows = centred.chunks_exact(d);
    Ok(rows.flat_map(|row| (0..d).map(|c| (0..d).map(|k| row[k] * map[k * d + c]).sum()).collect::<Vec<f64>>()).collect())
}

pub fn check_grid(file: &Value) -> Outcome {
    with_tolerance(file, &["m", "max_norm", "singular_values", "closed_form_value", "largest_r"], |outcome| {
        let sizes = || Ok::<_, String>((read::size(file, "m")?, number(file, "max_norm")?));
        let singular = sizes().and_then(|(m, norm)| {
            let a = norm / std::f64::consts::SQRT_2;
            let grid = Points::grid(2, m, -a, a);
            singular_values(&centred(&Inputs::new(2, Arc::clone(grid.coordinates()))), 2).ok_or_else(|| "not finite".to_owned())
        });
        outcome.compare("singular_values", singular.clone(), &file["singular_values"]);
        let closed = sizes().map(|(m, norm)| vec![grid_singular_value(m as u32, norm)]);
        outcome.compare("closed_form_value", closed, &file["closed_form_value"]);
        let least = singular.and_then(|values| values.last().copied().ok_or_else(|| "no singular value".to_owned()));
        let rows = file["largest_r"].as_array().cloned().unwrap_or_default();
        for (key, formula) in [("root", omega as fn(u32, f64, f64) -> f64), ("printed", omega_as_printed)] {
            let largest = |row: &Value| -> Result<f64, String> {
                let (epsilon, delta, least) = (number(row, "log_eps")?.exp(), number(row, "delta")?, least.clone()?);
                let fits = (1..1000u32).take_while(|&r| formula(r, epsilon, delta) <= least).last();
                Ok(fits.map_or(0.0, f64::from))
            };
            let expected = Value::Array(rows.iter().map(|row| row[key].clone()).collect());
            outcome.compare(&format!("largest_r {key}"), rows.iter().map(largest).collect(), &expected);
        }
    })
}

/// A check under the tolerance that the file states.
pub fn with_tolerance(file: &Value, known: &[&str], check: impl FnOnce(&mut Outcome)) -> Outcome {
    let mut outcome = Outcome::stated(file);
    check(&mut outcome);
    outcome.note_rest(file, known);
    outcome
}
