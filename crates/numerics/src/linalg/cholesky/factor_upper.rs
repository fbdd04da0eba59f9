//! The Cholesky factorization by rows of the upper factor, and the inverse of the factor.
//!
//! Factors and inverses use fused products and sums, which every machine rounds alike; solves do not.
//!
//! Four rows are processed at a time. No sum crosses SIMD lanes, so lanes of any width give the same bits. It serves
//! factors that are recomputed every round; its order of operations differs from [`super::cholesky`].

use super::NotPositive;
use crate::linalg::reflected::fused_add;
use crate::linalg::{add_scaled, dot};
use crate::vectorised;
use pulp::Simd;

/// Number of rows computed at once.
const ROWS: usize = 4;
/// Vectors of a row computed at once: with four rows, eight partial sums that stay in registers.
const VECTORS: usize = 2;

/// Replaces the upper triangle of `a` (`n x n`, row-major, symmetric) by `U` with `U^T U = a`.
///
/// Only the upper triangle is read; the entries below the diagonal are unspecified afterwards.
///
/// # Errors
/// [`NotPositive`] if a pivot is not a positive finite number; the contents of `a` are then unspecified.
pub fn cholesky_upper(a: &mut [f64], n: usize) -> Result<(), NotPositive> {
    debug_assert_eq!(a.len(), n * n);
    factorize(a, n, &[])
}

/// Factors as [`cholesky_upper`] does, without dependent rows; returns the retained rows.
///
/// A row whose pivot is not finite or does not exceed its entry of `least` becomes zero and does not affect later rows.
/// The retained rows are ascending.
pub fn cholesky_upper_kept(a: &mut [f64], n: usize, least: &[f64]) -> Vec<usize> {
    debug_assert_eq!((a.len(), least.len()), (n * n, n));
    // With `least`, no row is an error.
    let _ = factorize(a, n, least);
    (0..n).filter(|&row| 0.0 < a[row * n + row]).collect()
}

vectorised! {
    /// Factors in SIMD lanes of any width: the operations on an entry and their order are the same in all of them.
    ///
    /// * `least` — bounds that the pivots of retained rows exceed; empty if every row must be retained
    fn factorize(a: &mut [f64], n: usize, least: &[f64]) -> Result<(), NotPositive> where simd: S {
        for first in (0..n).step_by(ROWS) {
            let end = (first + ROWS).min(n);
            let (above, rest) = a.split_at_mut(first * n);
            let panel = &mut rest[..(end - first) * n];
            reduce(simd, above, above, panel, UpperPart { n, first, from: first, to: n });
            for row in first..end {
                let (made, rest) = panel.split_at_mut((row - first) * n);
                let current = &mut rest[..n];
                for other in made.chunks_exact(n) {
                    fused_add(&mut current[row..], -other[row], &other[row..]);
                }
                let pivot = current[row];
                let floor = least.get(row).copied().unwrap_or(0.0);
                if !(floor < pivot && pivot.is_finite()) {
                    if least.is_empty() {
                        return Err(NotPositive { row, pivot });
                    }
                    current[row..].fill(0.0);
                    continue;
                }
                let root = pivot.sqrt();
                let inverse = 1.0 / root;
                current[row] = root;
                current[row + 1..].iter_mut().for_each(|entry| *entry *= inverse);
            }
        }
        Ok(())
    }
}

/// The part of a matrix with rows of `n` that is computed.
///
/// It is the panel that begins in row `first`, columns `from..to`.
#[derive(Clone, Copy)]
struct UpperPart {
    n: usize,
    first: usize,
    from: usize,
    to: usize,
}

/// Computes `panel[r][j] -= sum_k factors[k][first + r] rows[k][j]`, `k` ascending.
///
/// `j` covers the columns of the part; `panel` has up to [`ROWS`] rows.
#[inline(always)]
fn reduce<S: Simd>(simd: S, factors: &[f64], rows: &[f64], panel: &mut [f64], part: UpperPart) {
    if panel.len() != ROWS * part.n {
        for (r, row) in panel.chunks_exact_mut(part.n.max(1)).enumerate() {
            let one = UpperPart { first: part.first + r, ..part };
            tiles::<S, 1>(simd, factors, rows, row, one);
        }
        return;
    }
    tiles::<S, ROWS>(simd, factors, rows, panel, part);
}

#[inline(always)]
fn tiles<S: Simd, const R: usize>(simd: S, factors: &[f64], rows: &[f64], panel: &mut [f64], part: UpperPart) {
    let UpperPart { n, first, from, to } = part;
    let width = VECTORS * S::F64_LANES;
    let mut at = from;
    while at + width <= to {
        let mut sums = [[simd.splat_f64s(0.0); VECTORS]; R];
        for (sums, row) in sums.iter_mut().zip(panel.chunks_exact(n)) {
            let (vectors, _) = S::as_simd_f64s(&row[at..at + width]);
            sums.copy_from_slice(vectors);
        }
        for (factors, row) in factors.chunks_exact(n).zip(rows.chunks_exact(n)) {
            let (vectors, _) = S::as_simd_f64s(&row[at..at + width]);
            let x: [S::f64s; VECTORS] = std::array::from_fn(|v| vectors[v]);
            let factors = &factors[first..first + R];
            for r in 0..R {
                let factor = simd.splat_f64s(-factors[r]);
                for v in 0..VECTORS {
                    sums[r][v] = simd.mul_add_f64s(factor, x[v], sums[r][v]);
                }
            }
        }
        for (sums, row) in sums.iter().zip(panel.chunks_exact_mut(n)) {
            let (vectors, _) = S::as_mut_simd_f64s(&mut row[at..at + width]);
            vectors.copy_from_slice(sums);
        }
        at += width;
    }
    // The rest: vectors that may be partially filled.
    while at < to {
        let end = to.min(at + S::F64_LANES);
        let mut sums = [simd.splat_f64s(0.0); R];
        for (sum, row) in sums.iter_mut().zip(panel.chunks_exact(n)) {
            *sum = simd.partial_load_f64s(&row[at..end]);
        }
        for (factors, row) in factors.chunks_exact(n).zip(rows.chunks_exact(n)) {
            let x = simd.partial_load_f64s(&row[at..end]);
            let factors = &factors[first..first + R];
            for r in 0..R {
                sums[r] = simd.mul_add_f64s(simd.splat_f64s(-factors[r]), x, sums[r]);
            }
        }
        for (sum, row) in sums.iter().zip(panel.chunks_exact_mut(n)) {
            simd.partial_store_f64s(&mut row[at..end], *sum);
        }
        at = end;
    }
}

/// Number of columns computed together; the rows above them are zero there.
const COLUMNS: usize = 16;

vectorised! {
    /// Writes `scale U^{-T}` (lower triangular, `n x n` row-major) of the upper factor `u`.
    ///
    /// Entries above the diagonal are zero.
    pub fn inverse_of_upper_transposed(u: &[f64], n: usize, scale: f64, out: &mut [f64]) where simd: S {
        debug_assert_eq!((u.len(), out.len()), (n * n, n * n));
        out.fill(0.0);
        // Row i of X = scale U^{-T}: (scale e_i - sum_{k<i} U_ki X_k) / U_ii.
        for first in (0..n).step_by(ROWS) {
            let end = (first + ROWS).min(n);
            let (above, rest) = out.split_at_mut(first * n);
            let panel = &mut rest[..(end - first) * n];
            (first..end).for_each(|row| panel[(row - first) * n + row] = scale);
            for from in (0..end).step_by(COLUMNS) {
                let (to, rows) = ((from + COLUMNS).min(n), from.min(first));
                reduce(simd, &u[rows * n..first * n], &above[rows * n..], panel, UpperPart { n, first, from, to });
            }
            for row in first..end {
                let (made, rest) = panel.split_at_mut((row - first) * n);
                let current = &mut rest[..=row];
                for (k, other) in made.chunks_exact(n).enumerate() {
                    fused_add(current, -u[(first + k) * n + row], &other[..=row]);
                }
                let inverse = 1.0 / u[row * n + row];
                current.iter_mut().for_each(|entry| *entry *= inverse);
            }
        }
    }
}

#[inline(always)]
fn forward(u: &[f64], b: &mut [f64]) {
    debug_assert_eq!(u.len(), b.len() * b.len());
    let n = b.len();
    for k in 0..n {
        let value = b[k] / u[k * n + k];
        b[k] = value;
        add_scaled(&mut b[k + 1..], -value, &u[k * n + k + 1..(k + 1) * n]);
    }
}

vectorised! {
    /// Replaces `b` by `U^{-T} b`, with `u` an upper factor, `n x n` row-major, `n = b.len()`.
    pub fn solve_upper_transposed(u: &[f64], b: &mut [f64]) {
        forward(u, b);
    }
}

vectorised! {
    /// Replaces `b` by `(U^T U)^{-1} b`.
    pub fn solve_upper(u: &[f64], b: &mut [f64]) {
        forward(u, b);
        let n = b.len();
        for k in (0..n).rev() {
            b[k] = (b[k] - dot(&u[k * n + k + 1..(k + 1) * n], &b[k + 1..])) / u[k * n + k];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::cholesky::random_spd;
    use crate::linalg::{cholesky, solve_spd};
    use crate::rng::{Purpose, Streams};

    fn random(n: usize) -> Vec<f64> {
        random_spd(n, &mut Streams::new(3, "upper").of(n as u64, Purpose::Function))
    }

    #[test]
    fn it_agrees_with_the_factor_by_dots() {
        for n in 0..27 {
            let a = random(n);
            let (mut upper, mut lower) = (a.clone(), a.clone());
            cholesky_upper(&mut upper, n).expect("positive definite");
            cholesky(&mut lower, n).expect("positive definite");
            let scale = 1.0 + n as f64;
            for i in 0..n {
                for j in 0..=i {
                    assert!((upper[j * n + i] - lower[i * n + j]).abs() < 1e-12 * scale, "{n}: {i}, {j}");
                }
            }
            let mut inverse = vec![f64::NAN; n * n];
            inverse_of_upper_transposed(&upper, n, 2.0, &mut inverse);
            for i in 0..n {
                for j in 0..n {
                    let entry: f64 = (0..n).map(|k| inverse[i * n + k] * lower[k * n + j]).sum();
                    let expected = if i == j { 2.0 } else { 0.0 };
                    assert!((entry - expected).abs() < 1e-10 * scale, "{n}: {i}, {j}: {entry}");
                }
            }
            let b: Vec<f64> = (0..n).map(|i| 1.0 - i as f64).collect();
            let (mut x, mut y) = (b.clone(), b);
            solve_upper(&upper, &mut x);
            solve_spd(&lower, &mut y);
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-9 * (1.0 + y.abs())), "{n}");
        }
    }

    #[test]
    fn what_is_not_positive_is_refused() {
        let mut a = random(9);
        a[6 * 9 + 6] = -1.0;
        assert_eq!(cholesky_upper(&mut a, 9).map_err(|refused| refused.row), Err(6));
        assert!(cholesky_upper(&mut [f64::NAN], 1).is_err());
    }
}
