//! Quadrature and random Fourier features. Of these only the random ones are computed so far.

use super::outcome::Outcome;
use super::read::{matrix, points};
use privateer::gp::features::random_fourier::random_fourier;
use serde_json::Value;

pub fn recognise(file: &Value) -> bool {
    ["d1", "d2", "rff"].iter().all(|key| file.get(key).is_some())
}

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    let section = &file["rff"];
    outcome.compare("rff", random(section), &section["features"]);
    outcome.note_rest(file, &["rff"]);
    outcome
}

fn random(section: &Value) -> Result<Vec<f64>, String> {
    let points = points(section, "X")?;
    let (dimension, frequencies) = matrix(section, "W")?;
    if dimension != points.dimension() {
        return Err("`X` and `W` have different dimensions".to_owned());
    }
    Ok(random_fourier(&points, &frequencies, 1.0, None).values)
}
