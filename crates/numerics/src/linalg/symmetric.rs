//! Eigenvalues and eigenvectors of symmetric matrices, for symmetric square roots.

use super::{add_scaled, dot};

/// The decomposition `A = sum_i values_i v_i v_i^T`.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigen {
    /// `n` eigenvalues, in no particular order.
    pub values: Vec<f64>,
    /// `n x n`, row-major: row `i` is the unit eigenvector of `values_i`.
    pub vectors: Vec<f64>,
}

/// Largest number of iterations for one eigenvalue; two or three are usual.
const MOST_ITERATIONS: usize = 80;

/// Squares below this count as zero in a matrix whose largest entry is 1.
const LEAST_SQUARE: f64 = 1e-290;

/// Computes the eigenvalues and eigenvectors of a symmetric matrix (`n x n`, row-major).
///
/// The matrix is reduced to tridiagonal form by reflections, followed by implicit QL iterations [Golub & Van Loan 2013,
/// Matrix Computations, 8.3]. Errors are about `n` roundings of the largest eigenvalue. `None` if an entry is not finite
/// or the iterations do not converge.
#[must_use]
pub fn eigen_symmetric(a: &[f64], n: usize) -> Option<Eigen> {
    debug_assert_eq!(a.len(), n * n);
    let scale = a.iter().fold(0.0f64, |most, x| if x.is_finite() { most.max(x.abs()) } else { f64::INFINITY });
    if !scale.is_finite() {
        return None;
    }
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    if scale == 0.0 {
        return Some(Eigen { values: vec![0.0; n], vectors });
    }
    let mut work: Vec<f64> = a.iter().map(|x| x / scale).collect();
    let (mut diagonal, mut beside) = tridiagonal(&mut work, n, &mut vectors);
    iterate(&mut diagonal, &mut beside, &mut vectors)?;
    diagonal.iter_mut().for_each(|value| *value *= scale);
    Some(Eigen { values: diagonal, vectors })
}

/// Reduces `a` to `Q T Q^T`, and writes `Q^T`.
///
/// Returns the diagonal of `T` and the entries next to it (with a trailing 0).
fn tridiagonal(a: &mut [f64], n: usize, transposed: &mut [f64]) -> (Vec<f64>, Vec<f64>) {
    let mut beside = vec![0.0; n];
    // Reflection k acts on coordinates k+1..n: I - factor v v^T, v stored in row k of `a`.
    let mut factors = vec![0.0; n];
    let mut w = vec![0.0; n];
    for k in 0..n.saturating_sub(2) {
        let first = k + 1;
        let (head, rest) = a.split_at_mut(first * n);
        let v = &mut head[k * n + first..(k + 1) * n];
        let below = dot(&v[1..], &v[1..]);
        // A smaller value would overflow the factor, and is negligible relative to the largest entry, which is 1.
        if below < LEAST_SQUARE {
            beside[k] = v[0];
            continue;
        }
        let norm = (v[0] * v[0] + below).sqrt();
        let pivot = if v[0] < 0.0 { norm } else { -norm };
        beside[k] = pivot;
        v[0] -= pivot;
        let factor = 2.0 / (v[0] * v[0] + below);
        factors[k] = factor;
        let size = n - first;
        let w = &mut w[..size];
        for (i, w) in w.iter_mut().enumerate() {
            *w = factor * dot(&rest[i * n + first..(i + 1) * n], v);
        }
        let along = 0.5 * factor * dot(w, v);
        add_scaled(w, -along, v);
        for i in 0..size {
            let row = &mut rest[i * n + first..(i + 1) * n];
            let (vi, wi) = (v[i], w[i]);
            for ((entry, &w), &v) in row.iter_mut().zip(w.iter()).zip(v.iter()) {
                *entry -= vi * w + wi * v;
            }
        }
    }
    if 2 <= n {
        beside[n - 2] = a[(n - 2) * n + n - 1];
    }
    let diagonal = (0..n).map(|i| a[i * n + i]).collect();
    // Q^T = H_last … H_0, built from its left end.
    for k in (0..n.saturating_sub(2)).rev() {
        if factors[k] == 0.0 {
            continue;
        }
        let v = &a[k * n + k + 1..(k + 1) * n];
        for row in transposed.chunks_exact_mut(n).skip(k + 1) {
            let row = &mut row[k + 1..];
            let along = factors[k] * dot(row, v);
            add_scaled(row, -along, v);
        }
    }
    (diagonal, beside)
}

/// Runs implicit QL iterations on a tridiagonal matrix; rotations act on two rows of `vectors`.
fn iterate(diagonal: &mut [f64], beside: &mut [f64], vectors: &mut [f64]) -> Option<()> {
    let n = diagonal.len();
    for low in 0..n {
        for iteration in 0.. {
            let negligible = |i: usize| beside[i].abs() <= f64::EPSILON * (diagonal[i].abs() + diagonal[i + 1].abs());
            let high = (low..n - 1).find(|&i| negligible(i)).unwrap_or(n - 1);
            if high == low {
                break;
            }
            if iteration == MOST_ITERATIONS {
                return None;
            }
            sweep(diagonal, beside, vectors, low, high);
        }
    }
    Some(())
}

/// Performs one implicit QL step on rows `low..=high`.
fn sweep(diagonal: &mut [f64], beside: &mut [f64], vectors: &mut [f64], low: usize, high: usize) {
    let n = diagonal.len();
    let half = (diagonal[low + 1] - diagonal[low]) / (2.0 * beside[low]);
    let root = (half * half + 1.0).sqrt();
    let mut g = diagonal[high] - diagonal[low] + beside[low] / (half + if half < 0.0 { -root } else { root });
    let (mut sine, mut cosine, mut shift) = (1.0, 1.0, 0.0);
    for i in (low..high).rev() {
        let (f, b) = (sine * beside[i], cosine * beside[i]);
        let r = (f * f + g * g).sqrt();
        beside[i + 1] = r;
        if r == 0.0 {
            diagonal[i + 1] -= shift;
            beside[high] = 0.0;
            return;
        }
        (sine, cosine) = (f / r, g / r);
        let moved = diagonal[i + 1] - shift;
        let step = (diagonal[i] - moved) * sine + 2.0 * cosine * b;
        shift = sine * step;
        diagonal[i + 1] = moved + shift;
        g = cosine * step - b;
        let (above, below) = vectors.split_at_mut((i + 1) * n);
        for (x, y) in above[i * n..].iter_mut().zip(&mut below[..n]) {
            let old = *y;
            *y = sine * *x + cosine * old;
            *x = cosine * *x - sine * old;
        }
    }
    diagonal[low] -= shift;
    beside[low] = g;
    beside[high] = 0.0;
}

impl Eigen {
    /// Returns `f(A) = sum_i f(value_i) v_i v_i^T`, `n x n` row-major, symmetric to the last bit.
    #[must_use]
    pub fn function(&self, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let n = self.values.len();
        let mut out = vec![0.0; n * n];
        for (&value, vector) in self.values.iter().zip(self.vectors.chunks_exact(n.max(1))) {
            let factor = f(value);
            for (i, row) in out.chunks_exact_mut(n).enumerate() {
                add_scaled(&mut row[..=i], factor * vector[i], &vector[..=i]);
            }
        }
        for i in 0..n {
            for j in 0..i {
                out[j * n + i] = out[i * n + j];
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    fn symmetric(n: usize, rank: usize) -> Vec<f64> {
        let mut stream = Streams::new(13, "eigen").of((100 * n + rank) as u64, Purpose::Function);
        let b: Vec<f64> = (0..n * rank).map(|_| stream.normal()).collect();
        let sign = |k: usize| if k % 3 == 2 { -1.0 } else { 1.0 };
        let entry = |i: usize, j: usize| (0..rank).map(|k| sign(k) * b[i * rank + k] * b[j * rank + k]).sum::<f64>();
        (0..n * n).map(|e| entry((e / n).max(e % n), (e / n).min(e % n))).collect()
    }

    #[test]
    fn the_parts_multiply_back_and_are_orthonormal() {
        for n in 0..24 {
            for rank in [0, 1, n / 2, n] {
                let a = symmetric(n, rank);
                let eigen = eigen_symmetric(&a, n).expect("converges");
                let scale = a.iter().fold(1.0f64, |m, x| m.max(x.abs()));
                let back = eigen.function(|value| value);
                assert!(a.iter().zip(&back).all(|(x, y)| (x - y).abs() < 1e-13 * scale * (1.0 + n as f64)), "{n}, rank {rank}");
                for i in 0..n {
                    for j in 0..n {
                        let product = dot(&eigen.vectors[i * n..(i + 1) * n], &eigen.vectors[j * n..(j + 1) * n]);
                        assert!((product - f64::from(u8::from(i == j))).abs() < 1e-13 * (1.0 + n as f64), "{n}: {i}, {j}");
                    }
                }
            }
        }
    }

    /// Covariances of distant points have entries of this size.
    #[test]
    fn entries_whose_squares_underflow_are_no_obstacle() {
        for tiny in [1e-140, 1e-150, 1e-155, 1e-158, 1e-161, 1e-170, 1e-300] {
            let eigen = eigen_symmetric(&[1.0, tiny, tiny, tiny, 1.0, 0.5, tiny, 0.5, 1.0], 3).expect("converges");
            let mut values = eigen.values;
            values.sort_by(f64::total_cmp);
            let close = |found: f64, value: f64| (found - value).abs() < 1e-14;
            assert!(values.iter().zip([0.5, 1.0, 1.5]).all(|(&found, value)| close(found, value)), "{tiny}: {values:?}");
        }
    }

    #[test]
    fn diagonal_matrices_and_what_is_not_finite() {
        let eigen = eigen_symmetric(&[3.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 3.0], 3).expect("diagonal");
        assert_eq!(eigen.values, [3.0, -1.0, 3.0]);
        assert_eq!(eigen_symmetric(&[f64::NAN], 1), None);
        assert_eq!(eigen_symmetric(&[1.0, f64::INFINITY, f64::INFINITY, 1.0], 2), None);
        let large = eigen_symmetric(&[1e300, 1e300, 1e300, 1e300], 2).expect("scaled");
        assert!((large.values[0] + large.values[1] - 2e300).abs() < 1e287);
    }
}
