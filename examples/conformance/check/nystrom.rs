//! Nystrom features: embedding, residuals, repeated points, inclusion.

use super::outcome::Outcome;
use super::read::{field, indices, kernel, line, numbers};
use privateer_gp::features::nystrom::nystrom;
use privateer_gp::nystrom::{Embedding, is_included};
use privateer_gp::score::{FeatureTable, GramSource};
use privateer_gp::{KernelGram, tabulated};
use privateer_numerics::linalg::Columns;
use privateer_numerics::linalg::dot;
use serde_json::Value;
use std::sync::Arc;

const INPUTS: [&str; 4] = ["kernel", "X", "dictionary", "K_D"];

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    let of = |section: &Value, read: fn(&FeatureTable) -> Vec<f64>| features(file, section).map(|table| read(&table));
    outcome.compare("K_D", root(file).map(|(covariance, _)| covariance), &file["K_D"]);
    outcome.compare("pinv_sqrt", root(file).map(|(_, root)| root), &file["pinv_sqrt"]);
    outcome.compare("phi", of(file, |table| table.values.clone()), &file["phi"]);
    outcome.compare("residual", of(file, |table| table.residual.clone()), &file["residual"]);
    let products = |table: &FeatureTable| {
        let n = table.n_points;
        (0..n * n).map(|e| dot(table.row(e / n), table.row(e % n))).collect()
    };
    outcome.compare("duplicate gram", of(&file["duplicate"], products), &file["duplicate"]["gram"]);
    for key in ["per_play", "point"] {
        outcome.compare(&format!("inclusion {key}"), inclusion(&file["inclusion"], key), &file["inclusion"][key]);
    }
    outcome.note_rest(file, &[&INPUTS[..], &["pinv_sqrt", "phi", "residual", "duplicate", "inclusion"]].concat());
    outcome
}

fn gram(file: &Value) -> Result<Arc<dyn GramSource>, String> {
    Ok(tabulated(KernelGram::new(kernel(file)?, line(file, "X")?)))
}

fn dictionary(section: &Value, n_points: usize) -> Result<Vec<u32>, String> {
    Ok(indices(section, "dictionary", n_points)?.into_iter().map(|point| point as u32).collect())
}

fn features(file: &Value, section: &Value) -> Result<FeatureTable, String> {
    let gram = gram(file)?;
    nystrom(gram.as_ref(), &dictionary(section, gram.n_points())?).map_err(|error| error.to_string())
}

/// `K_D` and `K_D^{-1/2} = O L^{-1}`.
fn root(file: &Value) -> Result<(Vec<f64>, Vec<f64>), String> {
    let gram = gram(file)?;
    let points = dictionary(file, gram.n_points())?;
    let embedding = Embedding::of(&points, |a, b| gram.entry(a as usize, b as usize));
    let m = embedding.m();
    if m != points.len() {
        return Err("the dictionary is not of full rank".to_owned());
    }
    let covariance = (0..m * m).map(|e| gram.entry(points[e / m] as usize, points[e % m] as usize)).collect();
    let mut inverse = Columns::zeros(m, m);
    (0..m).for_each(|i| inverse.row_mut(i)[i] = 1.0);
    embedding.coordinates(&mut inverse);
    let rotation = embedding.rotation().ok_or("no eigenvalues")?;
    let entry = |i: usize, j: usize| (0..m).map(|k| rotation[i * m + k] * inverse.row(k)[j]).sum();
    Ok((covariance, (0..m * m).map(|e| entry(e / m, e % m)).collect()))
}

/// The largest uniform number that still draws a point: of one play, or of all its plays; by bisection.
fn inclusion(section: &Value, key: &str) -> Result<Vec<f64>, String> {
    let q = field(section, "q")?.as_f64().ok_or("`q` is not a number")?;
    let (variances, counts) = (numbers(section, "sigma2")?, numbers(section, "counts")?);
    let edge = |(variance, count): (&f64, &f64)| {
        let plays = if key == "per_play" { 1.0 } else { *count };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if is_included(q * variance, plays, middle) { low = middle } else { high = middle }
        }
        high
    };
    Ok(variances.iter().zip(&counts).map(edge).collect())
}
