//! Fits the linear discriminant: the weights of a transcript for which two sides differ most.

use privateer_numerics::linalg::{cholesky, solve_spd};

/// Returns the weights of `width` numbers, from the transcripts of both sides, one after another.
///
/// The weighted sum is the log-likelihood ratio, up to a constant, if both sides are normal with the same covariance.
pub(super) fn discriminant(width: usize, one: &[f64], other: &[f64]) -> Vec<f64> {
    let (mean, other_mean) = (mean(one, width), mean(other, width));
    let mut covariance = vec![0.0; width * width];
    for (rows, mean) in [(one, &mean), (other, &other_mean)] {
        let share = 1.0 / rows.len().max(1) as f64;
        for row in rows.chunks_exact(width) {
            let off: Vec<f64> = row.iter().zip(mean).map(|(x, mean)| x - mean).collect();
            for (i, a) in off.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                covariance[i * width..(i + 1) * width].iter_mut().zip(&off).for_each(|(entry, b)| *entry += share * a * b);
            }
        }
    }
    // The ridge keeps the weights of constant or dependent numbers finite.
    let size = (0..width).map(|i| covariance[i * width + i]).fold(0.0, f64::max);
    let ridge = if 0.0 < size { 1e-9 * size } else { 1.0 };
    (0..width).for_each(|i| covariance[i * width + i] += ridge);
    let mut weights: Vec<f64> = mean.iter().zip(&other_mean).map(|(a, b)| a - b).collect();
    if cholesky(&mut covariance, width).is_ok() {
        solve_spd(&covariance, &mut weights);
    }
    weights
}

fn mean(rows: &[f64], width: usize) -> Vec<f64> {
    let mut mean = vec![0.0; width];
    let share = width as f64 / rows.len().max(1) as f64;
    for row in rows.chunks_exact(width) {
        mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += share * x);
    }
    mean
}
