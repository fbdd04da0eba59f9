//! The Cholesky factorization, strict and repaired.

use crate::linalg::dot;
use std::fmt;

/// A matrix that is not positive definite to working precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotPositive {
    /// Row (0-based) at which the factorization stopped.
    pub row: usize,
    /// The pivot of that row: zero, negative or NaN.
    pub pivot: f64,
}

impl fmt::Display for NotPositive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the matrix is not positive definite: pivot {:e} in row {}", self.pivot, self.row)
    }
}

impl std::error::Error for NotPositive {}

/// Replaces the lower triangle of `a` (`n x n`, row-major, symmetric) by `L` with `L L^T = a`.
///
/// The strict upper triangle becomes zero. Only the lower triangle is read.
///
/// # Errors
/// [`NotPositive`] if a pivot is not a positive finite number; the contents of `a` are then unspecified.
pub fn cholesky(a: &mut [f64], n: usize) -> Result<(), NotPositive> {
    debug_assert_eq!(a.len(), n * n);
    for row in 0..n {
        let (above, rest) = a.split_at_mut(row * n);
        let current = &mut rest[..n];
        for column in 0..row {
            let other = &above[column * n..column * n + n];
            current[column] = (current[column] - dot(&current[..column], &other[..column])) / other[column];
        }
        let pivot = current[row] - dot(&current[..row], &current[..row]);
        if !(0.0 < pivot && pivot.is_finite()) {
            return Err(NotPositive { row, pivot });
        }
        current[row] = libm::sqrt(pivot);
        current[row + 1..].fill(0.0);
    }
    Ok(())
}

/// Factors as [`cholesky`] does, and adds a multiple of the identity if that fails.
///
/// The first attempt adds `2^-40` of the mean diagonal entry, each next one 16 times more, up to ten times (a sixteenth
/// of the mean diagonal). Returns the added amount in the units of the matrix, 0 if it needed no repair.
///
/// # Errors
/// [`NotPositive`] of the last attempt, with `a` unchanged.
pub fn cholesky_repaired(a: &mut [f64], n: usize) -> Result<f64, NotPositive> {
    let original: Vec<f64> = a.to_vec();
    let Err(mut failure) = cholesky(a, n) else {
        return Ok(0.0);
    };
    let mean = (0..n).map(|i| original[i * n + i]).sum::<f64>() / n as f64;
    // 2^-40: far above the rounding of a factorization of some thousand rows, far below any ridge in use.
    let mut jitter = mean.abs() / 1_099_511_627_776.0;
    for _ in 0..10 {
        a.copy_from_slice(&original);
        for i in 0..n {
            a[i * n + i] += jitter;
        }
        match cholesky(a, n) {
            Ok(()) => return Ok(jitter),
            Err(next) => failure = next,
        }
        jitter *= 16.0;
    }
    a.copy_from_slice(&original);
    Err(failure)
}

/// Returns `ln det(L L^T) = 2 Σ ln L_ii` of a lower factor `l`, `n x n` row-major.
pub fn log_determinant(l: &[f64], n: usize) -> f64 {
    (0..n).map(|i| 2.0 * libm::log(l[i * n + i])).sum()
}

#[cfg(test)]
#[path = "tests.rs"]
pub(super) mod tests;
