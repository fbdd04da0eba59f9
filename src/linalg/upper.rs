//! The Cholesky factorization by rows of the upper factor, four rows at a time: no sum within a row, so that the compiler runs
//! it in vector lanes. For factors that are made anew every round; its order of operations is not that of
//! [`super::cholesky`].

use super::{NotPositive, add_scaled, dot};

/// Rows that are subtracted at once.
const ROWS: usize = 4;
/// Rows begin and end at multiples of this where they can, so that no lane is left over.
const LANES: usize = 8;

/// Replaces the upper triangle of `a` (`n x n`, row-major, symmetric) by `U` with `U^T U = a`. Only the upper triangle is
/// read; what stands below the diagonal afterwards means nothing.
///
/// # Errors
/// [`NotPositive`] if a pivot is not a positive finite number; `a` is then half-factored and of no use.
pub fn cholesky_upper(a: &mut [f64], n: usize) -> Result<(), NotPositive> {
    debug_assert_eq!(a.len(), n * n);
    pulp::Arch::new().dispatch(Factorization { a, n, least: &[] })
}

/// As [`cholesky_upper`], of the rows that tell something: a row whose pivot is not above its entry of `least` (or is not
/// finite) becomes zero and leaves the later ones alone. Returns the rows that are left, ascending.
#[must_use]
pub fn cholesky_upper_kept(a: &mut [f64], n: usize, least: &[f64]) -> Vec<usize> {
    debug_assert_eq!((a.len(), least.len()), (n * n, n));
    // Nothing is refused where `least` says what to do.
    let _ = pulp::Arch::new().dispatch(Factorization { a, n, least });
    (0..n).filter(|&row| 0.0 < a[row * n + row]).collect()
}

/// The vector lanes of this processor run the loops; the operations and their order are the same in lanes of any width.
struct Factorization<'a> {
    a: &'a mut [f64],
    n: usize,
    /// What a pivot must exceed for its row to be kept; empty where every row must be.
    least: &'a [f64],
}

impl pulp::NullaryFnOnce for Factorization<'_> {
    type Output = Result<(), NotPositive>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        factor_rows(self.a, self.n, self.least)
    }
}

#[inline(always)]
fn factor_rows(a: &mut [f64], n: usize, least: &[f64]) -> Result<(), NotPositive> {
    for first in (0..n).step_by(ROWS) {
        let end = (first + ROWS).min(n);
        let (head, below) = a.split_at_mut(end * n);
        let panel = &mut head[first * n..];
        for row in first..end {
            let (above, rest) = panel.split_at_mut((row - first) * n);
            let current = &mut rest[..n];
            let aligned = row / LANES * LANES;
            for other in above.chunks_exact(n) {
                add_one(&mut current[aligned..], -other[row], &other[aligned..]);
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
            current[row] = root;
            current[row + 1..].iter_mut().for_each(|entry| *entry /= root);
        }
        // A short panel is the last: nothing lies below it.
        for (i, target) in below.chunks_exact_mut(n).enumerate() {
            let row = end + i;
            let factors = [panel[row], panel[n + row], panel[2 * n + row], panel[3 * n + row]].map(|factor| -factor);
            let aligned = row / LANES * LANES;
            let line = |k: usize| &panel[k * n + aligned..(k + 1) * n];
            add_four(&mut target[aligned..], factors, [line(0), line(1), line(2), line(3)]);
        }
    }
    Ok(())
}

/// `y += f_0 x_0 + f_1 x_1 + f_2 x_2 + f_3 x_3`, entry by entry, in this order.
#[inline(always)]
fn add_four(y: &mut [f64], f: [f64; ROWS], x: [&[f64]; ROWS]) {
    let n = y.len();
    let (y, y_rest) = y.as_chunks_mut::<LANES>();
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] = x.map(|x| x[..n].as_chunks::<LANES>());
    for ((((y, a), b), c), d) in y.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        // A copy, so that the lanes are one register.
        let mut sum = *y;
        for l in 0..LANES {
            sum[l] = sum[l] + f[0] * a[l] + f[1] * b[l] + f[2] * c[l] + f[3] * d[l];
        }
        *y = sum;
    }
    for (i, y) in y_rest.iter_mut().enumerate() {
        *y = *y + f[0] * a_rest[i] + f[1] * b_rest[i] + f[2] * c_rest[i] + f[3] * d_rest[i];
    }
}

/// `y += factor * x`, entry by entry.
#[inline(always)]
fn add_one(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// Writes `scale U^{-T}` (lower triangular, `n x n` row-major, zeros above the diagonal) of the upper factor `u`.
pub fn inverse_of_upper_transposed(u: &[f64], n: usize, scale: f64, out: &mut [f64]) {
    debug_assert_eq!((u.len(), out.len()), (n * n, n * n));
    pulp::Arch::new().dispatch(Inversion { u, n, scale, out });
}

struct Inversion<'a> {
    u: &'a [f64],
    n: usize,
    scale: f64,
    out: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Inversion<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        invert_rows(self.u, self.n, self.scale, self.out);
    }
}

#[inline(always)]
fn invert_rows(u: &[f64], n: usize, scale: f64, out: &mut [f64]) {
    // Row i of X = U^{-T}: (e_i - sum_{k<i} U_ki X_k) / U_ii.
    for i in 0..n {
        let (above, rest) = out.split_at_mut(i * n);
        let current = &mut rest[..n];
        current.fill(0.0);
        let mut k = 0;
        while k + ROWS <= i {
            let factors = [0, 1, 2, 3].map(|q| -u[(k + q) * n + i]);
            // X_k ends at its own column: rows k..k+4 are zero from column k+4.
            let end = (k + ROWS).next_multiple_of(LANES).min(n);
            let line = |q: usize| &above[(k + q) * n..(k + q) * n + end];
            add_four(&mut current[..end], factors, [line(0), line(1), line(2), line(3)]);
            k += ROWS;
        }
        for k in k..i {
            add_one(&mut current[..=k], -u[k * n + i], &above[k * n..=k * n + k]);
        }
        current[i] = scale;
        let pivot = u[i * n + i];
        current[..=i].iter_mut().for_each(|entry| *entry /= pivot);
    }
}

/// Replaces `b` by `(U^T U)^{-1} b`.
pub fn solve_upper(u: &[f64], b: &mut [f64]) {
    let n = b.len();
    debug_assert_eq!(u.len(), n * n);
    for k in 0..n {
        let value = b[k] / u[k * n + k];
        b[k] = value;
        add_scaled(&mut b[k + 1..], -value, &u[k * n + k + 1..(k + 1) * n]);
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - dot(&u[k * n + k + 1..(k + 1) * n], &b[k + 1..])) / u[k * n + k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{cholesky, solve_spd};
    use crate::rng::{Purpose, Streams};

    /// `B B^T + I/2` for a random square B.
    fn random_spd(n: usize) -> Vec<f64> {
        let mut stream = Streams::new(3, "upper").of(n as u64, Purpose::Function);
        let b: Vec<f64> = (0..n * n).map(|_| stream.normal()).collect();
        let entry = |i: usize, j: usize| dot(&b[i * n..(i + 1) * n], &b[j * n..(j + 1) * n]) + if i == j { 0.5 } else { 0.0 };
        (0..n * n).map(|e| entry(e / n, e % n)).collect()
    }

    #[test]
    fn it_agrees_with_the_factor_by_dots() {
        for n in 0..27 {
            let a = random_spd(n);
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
        let mut a = random_spd(9);
        a[6 * 9 + 6] = -1.0;
        assert_eq!(cholesky_upper(&mut a, 9).map_err(|refused| refused.row), Err(6));
        assert!(cholesky_upper(&mut [f64::NAN], 1).is_err());
    }
}
