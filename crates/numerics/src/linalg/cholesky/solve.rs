//! Solves with a lower Cholesky factor, and the inverse from the factor.

use crate::linalg::{add_scaled, dot};

/// Replaces `b` by `L^{-1} b`, with `l` a lower factor, `n x n` row-major, `n = b.len()`.
pub fn solve_lower(l: &[f64], b: &mut [f64]) {
    let n = b.len();
    debug_assert_eq!(l.len(), n * n);
    for row in 0..n {
        let line = &l[row * n..row * n + n];
        b[row] = (b[row] - dot(&line[..row], &b[..row])) / line[row];
    }
}

/// Replaces `b` by `L^{-T} b`, with `l` a lower factor, `n x n` row-major, `n = b.len()`.
pub fn solve_lower_transposed(l: &[f64], b: &mut [f64]) {
    let n = b.len();
    debug_assert_eq!(l.len(), n * n);
    for row in (0..n).rev() {
        let line = &l[row * n..row * n + n];
        let value = b[row] / line[row];
        b[row] = value;
        // Column by column of L^T, so that memory is read along rows of L.
        add_scaled(&mut b[..row], -value, &line[..row]);
    }
}

/// Replaces `b` by `(L L^T)^{-1} b`.
pub fn solve_spd(l: &[f64], b: &mut [f64]) {
    solve_lower(l, b);
    solve_lower_transposed(l, b);
}

/// Returns `(L L^T)^{-1}` from the lower factor `l`, `n x n` row-major; exactly symmetric.
pub fn inverse_spd(l: &[f64], n: usize) -> Vec<f64> {
    debug_assert_eq!(l.len(), n * n);
    // Row j of `columns` is column j of M = L^{-1}: zero before entry j.
    let mut columns = vec![0.0; n * n];
    for j in 0..n {
        let column = &mut columns[j * n..j * n + n];
        column[j] = 1.0 / l[j * n + j];
        for row in j + 1..n {
            let line = &l[row * n..row * n + n];
            column[row] = -dot(&line[j..row], &column[j..row]) / line[row];
        }
    }
    // (L L^T)^{-1} = M^T M: entry (i, j) is the product of columns i and j, both zero before max(i, j).
    let mut inverse = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let entry = dot(&columns[i * n + i..i * n + n], &columns[j * n + i..j * n + n]);
            inverse[i * n + j] = entry;
            inverse[j * n + i] = entry;
        }
    }
    inverse
}
