//! The generalised Gaussian law, and the levels that its formulas give.

use super::outcome::Outcome;
use super::read::{self, matrix, number, numbers};
use super::stored::norm;
use privateer_numerics::linalg::Norm;
use privateer_privacy::accounting::sensitivity::from_lq;
use privateer_privacy::gradients::GeneralizedGaussian;
use privateer_privacy::printed::{han2022_choice, han2022_tree};
use privateer_privacy::{Delta, Epsilon, gdp_mu};
use serde_json::Value;

/// Dual exponent, exponent, multiplier and kappa of the smooth norm.
fn smooth(row: &Value) -> Result<(f64, f64, f64, f64), String> {
    let (q, d) = (norm(row, "p")?.dual().exponent(), read::size(row, "d")?);
    if 2.0 <= q {
        let (exponent, kappa) = han2022_tree::lemma_3_2_corrected(q, d);
        return Ok((q, exponent, 1.0, kappa));
    }
    let (multiplier, kappa) = han2022_tree::lemma_3_3(q, d);
    Ok((q, 2.0, multiplier, kappa))
}

pub fn check_law(file: &Value) -> Outcome {
    let mut outcome = Outcome::stated(file);
    for (at, row) in file["rows"].as_array().into_iter().flatten().enumerate() {
        let found = smooth(row).map(|(q, exponent, multiplier, kappa)| {
            vec![("q", q), ("plus_exponent", exponent), ("plus_multiplier", multiplier), ("kappa", kappa)]
        });
        outcome.compare_named(&format!("rows {at}"), found, row);
        outcome.compare(&format!("rows {at} y"), scaled(row), &row["y"]);
        outcome.compare(&format!("rows {at} plus_norm_squared_of_y"), squares(row), &row["plus_norm_squared_of_y"]);
    }
    for (at, row) in file["moments"].as_array().into_iter().flatten().enumerate() {
        // Gamma(d/2, scale 2 sigma²): shape times scale, shape times scale².
        let gamma = number(row, "d").and_then(|d| Ok((0.5 * d, 2.0 * number(row, "sigma")?.powi(2))));
        let found = gamma.map(|(shape, scale)| vec![("mean", shape * scale), ("var", shape * scale.powi(2))]);
        outcome.compare_named(&format!("moments {at}"), found, row);
    }
    outcome.note_rest(file, &["rows", "moments"]);
    outcome
}

fn scaled(row: &Value) -> Result<Vec<f64>, String> {
    let (_, exponent, multiplier, _) = smooth(row)?;
    let law = GeneralizedGaussian::new(exponent, multiplier, 1.0);
    let ((d, mut directions), squares) = (matrix(row, "direction")?, numbers(row, "r2")?);
    if squares.len() * d != directions.len() {
        return Err("`direction` and `r2` are not equally long".to_owned());
    }
    for (direction, square) in directions.chunks_exact_mut(d).zip(&squares) {
        law.scale(square.sqrt(), direction);
    }
    Ok(directions)
}

fn squares(row: &Value) -> Result<Vec<f64>, String> {
    let (_, exponent, multiplier, _) = smooth(row)?;
    let norm = Norm::of(exponent).ok_or("the exponent is below 1")?;
    let y = scaled(row)?;
    Ok(y.chunks(read::size(row, "d")?).map(|y| (multiplier * norm.size(y)).powi(2)).collect())
}

pub fn check_levels(file: &Value) -> Outcome {
    let mut outcome = Outcome::stated(file);
    for (at, row) in file["rows"].as_array().into_iter().flatten().enumerate() {
        outcome.compare_named(&format!("rows {at}"), levels(row), row);
    }
    outcome.note_rest(file, &["rows"]);
    outcome
}

fn levels(row: &Value) -> Result<Vec<(&'static str, f64)>, String> {
    let of = |name: &str| number(row, name);
    let (n, d, beta, lipschitz, diameter) = (of("n")? as u64, of("d")? as usize, of("beta")?, of("L")?, of("D")?);
    let epsilon = Epsilon::try_from(of("eps")?).map_err(|error| error.to_string())?;
    let delta = Delta::try_from(of("delta")?).map_err(|error| error.to_string())?;
    let (q, _, _, kappa) = smooth(row)?;
    let (e, p, s) = (epsilon.get(), delta.get(), 2.0 * (beta * diameter + lipschitz));
    let mu = gdp_mu(epsilon, delta);
    let nodes = f64::from(n.max(1).ilog2() + 1);
    Ok(vec![
        ("h", f64::from(han2022_tree::levels(n))),
        ("kappa", kappa),
        ("sigma_plus", han2022_tree::theorem_3_1(kappa, s, n, e, p)),
        ("laplace_scale_t1", han2022_choice::laplace_scale(diameter, beta, lipschitz, n, 1, e, p)),
        ("gdp_mu", mu),
        ("sigma_gdp", from_lq(s, q, d) * nodes.sqrt() / mu),
    ])
}
