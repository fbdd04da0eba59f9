//! Medians of means, truncation by features, symmetric inverse roots.

use super::outcome::Outcome;
use super::read::{indices, matrix, numbers};
use privateer::policy::moma_gp_ucb::{median_distances, most_central};
use privateer_gp::SortedRewards;
use privateer_numerics::linalg::{cholesky, eigen_symmetric};
use serde_json::Value;

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    for (at, case) in file["mom"].as_array().into_iter().flatten().enumerate() {
        outcome.compare(&format!("mom {at} r"), whitened(case).map(|estimates| median_distances(&estimates)), &case["r"]);
        let chosen = whitened(case).map(|estimates| vec![most_central(&estimates) as f64]);
        outcome.compare(&format!("mom {at} chosen"), chosen, &case["chosen"]);
    }
    outcome.compare("truncation r", truncated(&file["truncation"]), &file["truncation"]["r"]);
    outcome.compare("sym_inv_sqrt root", root(&file["sym_inv_sqrt"]), &file["sym_inv_sqrt"]["root"]);
    outcome.note_rest(file, &["mom", "truncation", "sym_inv_sqrt"]);
    outcome
}

/// `L^T theta_j`, `V = L L^T`: distances there are those in the norm of V.
fn whitened(case: &Value) -> Result<Vec<Vec<f64>>, String> {
    let (n, mut v) = square(case)?;
    cholesky(&mut v, n).map_err(|error| error.to_string())?;
    let (width, theta) = matrix(case, "theta")?;
    if width != n || theta.len() < 3 * n {
        return Err("`theta` does not fit `V`, or has fewer than three rows".to_owned());
    }
    let image = |theta: &[f64]| (0..n).map(|i| (i..n).map(|r| v[r * n + i] * theta[r]).sum()).collect();
    Ok(theta.chunks_exact(n).map(image).collect())
}

fn square(case: &Value) -> Result<(usize, Vec<f64>), String> {
    let (n, v) = matrix(case, "V")?;
    if v.len() == n * n { Ok((n, v)) } else { Err("`V` is not square".to_owned()) }
}

fn truncated(case: &Value) -> Result<Vec<f64>, String> {
    let (n_points, u) = matrix(case, "U")?;
    let mut lists = vec![SortedRewards::default(); n_points];
    let (points, rewards, levels) = (indices(case, "idx", n_points)?, numbers(case, "y")?, numbers(case, "b")?);
    for ((point, &reward), &level) in points.into_iter().zip(&rewards).zip(&levels) {
        lists[point].insert(reward, level);
    }
    Ok(u.chunks_exact(n_points).map(|row| row.iter().zip(&lists).map(|(&u, list)| u * list.kept(u)).sum()).collect())
}

fn root(case: &Value) -> Result<Vec<f64>, String> {
    let (n, v) = square(case)?;
    Ok(eigen_symmetric(&v, n).ok_or("no eigenvalues")?.function(|value| 1.0 / value.sqrt()))
}
