//! Eigenvalues and eigenvectors of symmetric matrices, for symmetric square roots.

use super::add_scaled;
use nalgebra::{DMatrix, SymmetricEigen};

/// The decomposition `A = sum_i values_i v_i v_i^T`.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigen {
    /// `n` eigenvalues, in no particular order.
    pub values: Vec<f64>,
    /// `n x n`, row-major: row `i` is the unit eigenvector of `values_i`.
    pub vectors: Vec<f64>,
}

/// Largest number of iterations in all, per row.
const ITERATIONS_PER_ROW: usize = 80;

/// Scales a matrix to entries of at most 1, so that no square overflows; `None` if an entry is not finite.
fn scaled(a: &[f64], n: usize) -> Option<(f64, DMatrix<f64>)> {
    debug_assert_eq!(a.len(), n * n);
    let most = a.iter().fold(0.0f64, |most, x| if x.is_finite() { most.max(x.abs()) } else { f64::INFINITY });
    let scale = if most == 0.0 { 1.0 } else { most };
    // A symmetric matrix is its own transpose.
    scale.is_finite().then(|| (scale, DMatrix::from_iterator(n, n, a.iter().map(|x| x / scale))))
}

/// Computes the eigenvalues of a symmetric matrix (`n x n`, row-major), in no particular order.
///
/// They are the bits of [`eigen_symmetric`], for a third of its time. `None` if an entry is not finite.
pub fn eigenvalues_symmetric(a: &[f64], n: usize) -> Option<Vec<f64>> {
    if n == 0 {
        return Some(Vec::new());
    }
    let (scale, scaled) = scaled(a, n)?;
    Some(scaled.symmetric_eigenvalues().iter().map(|value| value * scale).collect())
}

/// Computes the eigenvalues and eigenvectors of a symmetric matrix (`n x n`, row-major).
///
/// Errors are about `n` roundings of the largest eigenvalue. `None` if an entry is not finite or the iterations do not converge.
pub fn eigen_symmetric(a: &[f64], n: usize) -> Option<Eigen> {
    if n == 0 {
        return Some(Eigen { values: Vec::new(), vectors: Vec::new() });
    }
    let (scale, scaled) = scaled(a, n)?;
    let eigen = SymmetricEigen::try_new(scaled, f64::EPSILON, ITERATIONS_PER_ROW * n)?;
    // Columns of the library's matrix are the rows of this one.
    let values: Vec<f64> = eigen.eigenvalues.iter().map(|value| value * scale).collect();
    let vectors = eigen.eigenvectors.as_slice().to_vec();
    let finite = values.iter().chain(&vectors).all(|x| x.is_finite());
    finite.then_some(Eigen { values, vectors })
}

impl Eigen {
    /// Returns `f(A) = sum_i f(value_i) v_i v_i^T`, `n x n` row-major, symmetric to the last bit.
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
    use super::super::dot;
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
                assert_eq!(eigenvalues_symmetric(&a, n).as_ref(), Some(&eigen.values), "the same bits");
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
        assert_eq!(eigenvalues_symmetric(&[f64::NAN], 1), None);
        assert_eq!(eigen_symmetric(&[1.0, f64::INFINITY, f64::INFINITY, 1.0], 2), None);
        let large = eigen_symmetric(&[1e300, 1e300, 1e300, 1e300], 2).expect("scaled");
        assert!((large.values[0] + large.values[1] - 2e300).abs() < 1e287);
    }
}
