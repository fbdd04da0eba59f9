//! The share of the variance that observations explain, as a triangular factor.

use privateer_numerics::linalg::{self, add_scaled, dot};
use privateer_numerics::vectorised;

/// Returns the lower triangular `F` with `F^T F = I - ridge V^{-1}`, or an empty vector on failure.
///
/// `inverse` is `V^{-1}`, `m x m` row-major. The factorization is a Cholesky factorization from the last row up. The
/// matrix is positive semi-definite; where rounding breaks this, its diagonal is raised by at most 1e-14 before the
/// function gives up.
fn explained(mut inverse: Vec<f64>, m: usize, ridge: f64) -> Vec<f64> {
    inverse.iter_mut().for_each(|entry| *entry *= -ridge);
    (0..m).for_each(|i| inverse[i * m + i] += 1.0);
    for jitter in [0.0, 1e-15, 1e-14] {
        let mut rows = inverse.clone();
        (0..m).for_each(|i| rows[i * m + i] += jitter);
        if cholesky_from_below(&mut rows, m) {
            return rows;
        }
    }
    Vec::new()
}

/// Returns `R = F L^{-1}` with the `F` of [`explained`], or an empty vector if `F` is empty.
/// * `l` — `m x m` row-major, lower triangular
pub fn explained_rows(inverse: Vec<f64>, l: &[f64], m: usize, ridge: f64) -> Vec<f64> {
    let mut rows = explained(inverse, m, ridge);
    if !rows.is_empty() {
        solve_rows_from_right(l, m, &mut rows);
    }
    rows
}

vectorised! {
    /// Replaces the symmetric matrix `a` by a lower triangular `F` with `F^T F = a`.
    ///
    /// `a` is `n x n` row-major; entries above the diagonal become zero. Returns false if a pivot is not positive.
    fn cholesky_from_below(a: &mut [f64], n: usize) -> bool {
        for i in (0..n).rev() {
            let (above, rest) = a.split_at_mut(i * n);
            let row = &mut rest[..n];
            let pivot = row[i];
            if !(0.0 < pivot && pivot.is_finite()) {
                return false;
            }
            let root = pivot.sqrt();
            row[..=i].iter_mut().for_each(|entry| *entry /= root);
            row[i + 1..].fill(0.0);
            for (j, line) in above.chunks_exact_mut(n).enumerate() {
                add_scaled(&mut line[..=j], -row[j], &row[..=j]);
            }
        }
        true
    }
}

vectorised! {
    /// Replaces the lower triangular `rows`, `m x m` row-major, by `rows L^{-1}`.
    fn solve_rows_from_right(l: &[f64], m: usize, rows: &mut [f64]) {
        for i in 0..m {
            solve_from_right(l, m, &mut rows[i * m..i * m + i + 1]);
        }
    }
}

/// Replaces the row `b` by `b L^{-1}`.
///
/// `l` is `m x m` row-major, lower triangular; only its leading block of the length of `b` is used.
#[inline(always)]
pub fn solve_from_right(l: &[f64], m: usize, b: &mut [f64]) {
    for r in (0..b.len()).rev() {
        let line = &l[r * m..r * m + r + 1];
        b[r] /= line[r];
        let value = b[r];
        add_scaled(&mut b[..r], -value, &line[..r]);
    }
}

/// Returns the Frobenius norm of the inverse of `l` (`m x m` row-major, lower triangular).
pub fn inverse_norm(l: &[f64], m: usize) -> f64 {
    let mut inverse = vec![0.0; m * m];
    (0..m).for_each(|i| inverse[i * m + i] = 1.0);
    solve_rows_from_right(l, m, &mut inverse);
    dot(&inverse, &inverse).sqrt()
}

/// Returns the lower Cholesky factor of `V` (`m x m` row-major), filled with NaN if there is none.
pub fn lower_factor(precision: &[f64], m: usize) -> Vec<f64> {
    let mut upper = precision.to_vec();
    if linalg::cholesky_upper(&mut upper, m).is_ok() {
        let mut lower = vec![0.0; m * m];
        for i in 0..m {
            for j in i..m {
                lower[j * m + i] = upper[i * m + j];
            }
        }
        return lower;
    }
    // V is at least ridge I, so with finite coordinates it fails only if the ridge is below the rounding of the sums.
    let mut lower = precision.to_vec();
    if linalg::cholesky_repaired(&mut lower, m).is_err() {
        lower.fill(f64::NAN);
    }
    lower
}
