//! Fits a ridge-penalised logistic regression by Newton steps.

use privateer_numerics::linalg::{add_scaled, cholesky, dot, solve_spd};

/// Returns the weights for rows of `width` numbers; `labels` are true for the first side.
///
/// The penalty is half the squared length of the weights.
pub(super) fn fit(rows: &[f64], width: usize, labels: &[bool]) -> Vec<f64> {
    let mut weights = vec![0.0; width];
    for _ in 0..8 {
        let mut gradient = weights.clone();
        let mut curvature = vec![0.0; width * width];
        for i in 0..width {
            curvature[i * width + i] = 1.0;
        }
        for (row, &label) in rows.chunks_exact(width).zip(labels) {
            let p = 1.0 / (1.0 + libm::exp(-dot(row, &weights)));
            add_scaled(&mut gradient, p - if label { 1.0 } else { 0.0 }, row);
            let weight = p * (1.0 - p);
            // Updates the lower triangle only; most entries of a row are zero.
            for (i, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                add_scaled(&mut curvature[i * width..i * width + i + 1], weight * x, &row[..=i]);
            }
        }
        if cholesky(&mut curvature, width).is_err() {
            break;
        }
        solve_spd(&curvature, &mut gradient);
        add_scaled(&mut weights, -1.0, &gradient);
        if dot(&gradient, &gradient) < 1e-10 {
            break;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the optimum the gradient of the penalised likelihood is zero.
    #[test]
    fn the_fit_is_stationary() {
        let rows: Vec<f64> = (0..60).flat_map(|i| [1.0, f64::from(i % 7) - 3.0, f64::from(i * i % 5)]).collect();
        let labels: Vec<bool> = (0..60).map(|i| i % 7 < 3 || i % 11 == 0).collect();
        let weights = fit(&rows, 3, &labels);
        for j in 0..3 {
            let gradient: f64 = rows
                .chunks_exact(3)
                .zip(&labels)
                .map(|(row, label)| row[j] * (1.0 / (1.0 + libm::exp(-dot(row, &weights))) - if *label { 1.0 } else { 0.0 }))
                .sum();
            assert!((gradient + weights[j]).abs() < 1e-6, "{j}: {gradient}");
        }
        assert!(weights[1] < -0.3, "{weights:?}");
    }
}
