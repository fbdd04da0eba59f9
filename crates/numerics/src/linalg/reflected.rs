//! Inverse square roots and polar factors, for application to a few vectors.
//!
//! Reflections bring a matrix to tridiagonal or bidiagonal form [Golub & Van Loan 2013, Matrix Computations, 5.4, 8.3],
//! and partial fractions ([`Fractions`]) give the root. No eigenvector is computed.
//!
//! Vectors are stored in rows, padded with zeros to whole SIMD vectors ([`padded_length`]).

use super::columns::{LANES, wide};
use super::rational::{Fractions, ShiftedFactors};
use super::{add_scaled, dot};
use crate::vectorised;

/// Squares below this count as zero relative to a largest entry of 1.
const LEAST_SQUARE: f64 = 1e-290;

/// Returns the length of a row that holds a vector of `n` entries.
#[must_use]
pub fn padded_length(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// A square matrix with padded rows.
struct Padded {
    n: usize,
    stride: usize,
    values: Vec<f64>,
}

impl Padded {
    fn of(a: &[f64], n: usize) -> Self {
        let stride = padded_length(n);
        let mut values = vec![0.0; n * stride];
        for (row, line) in values.chunks_exact_mut(stride.max(1)).zip(a.chunks_exact(n.max(1))) {
            row[..n].copy_from_slice(line);
        }
        Self { n, stride, values }
    }
}

/// Reflections `I - factor_k v_k v_k^T`; the k-th changes only entries 0..=k.
#[derive(Debug, Clone)]
struct Reflections {
    stride: usize,
    /// `v_k` in row k.
    vectors: Vec<f64>,
    factors: Vec<f64>,
}

impl Reflections {
    fn none(n: usize) -> Self {
        let stride = padded_length(n);
        Self { stride, vectors: vec![0.0; n * stride], factors: vec![0.0; n] }
    }

    /// Sets reflection `k` to map `v` (its row, `size` entries) to its last entry, and returns it.
    #[inline(always)]
    fn make(&mut self, k: usize, size: usize, scale: f64) -> f64 {
        let v = &mut self.vectors[k * self.stride..k * self.stride + size];
        let last = size - 1;
        let rest = dot(&v[..last], &v[..last]);
        if rest < LEAST_SQUARE * scale * scale {
            self.factors[k] = 0.0;
            return v[last];
        }
        let norm = (v[last] * v[last] + rest).sqrt();
        let pivot = if v[last] < 0.0 { norm } else { -norm };
        v[last] -= pivot;
        self.factors[k] = 2.0 / (v[last] * v[last] + rest);
        pivot
    }

    /// Applies reflection `k` to every row; at most `size` entries change.
    #[inline(always)]
    fn reflect(&self, k: usize, size: usize, vectors: &mut [f64]) {
        let factor = self.factors[k];
        if factor == 0.0 {
            return;
        }
        let size = padded_length(size);
        let v = &self.vectors[k * self.stride..k * self.stride + size];
        for row in vectors.chunks_exact_mut(self.stride) {
            let row = &mut row[..size];
            let along = factor * dot(row, v);
            add_scaled(row, -along, v);
        }
    }

    /// Applies all reflections, in descending order if `last_first`, otherwise ascending.
    fn apply(&self, vectors: &mut [f64], last_first: bool) {
        wide(Reflect { reflections: self, vectors, last_first });
    }
}

struct Reflect<'a> {
    reflections: &'a Reflections,
    vectors: &'a mut [f64],
    last_first: bool,
}

vectorised! {
    fn call(self: Reflect<'_>) {
        let n = self.reflections.factors.len();
        for i in 0..n {
            let k = if self.last_first { n - 1 - i } else { i };
            self.reflections.reflect(k, k + 1, self.vectors);
        }
    }
}

/// The symmetric `A^{-1/2}`.
#[derive(Debug, Clone)]
pub struct InverseRoot {
    reflections: Reflections,
    shifted: ShiftedFactors,
}

impl InverseRoot {
    /// Computes the root of a symmetric matrix (`n x n`, row-major), eigenvalues >= `least` > 0.
    ///
    /// `None` if the matrix is not finite.
    #[must_use]
    pub fn of(a: &[f64], n: usize, least: f64) -> Option<Self> {
        debug_assert_eq!(a.len(), n * n);
        let (mut reflections, mut diagonal, mut beside) = (Reflections::none(n), vec![0.0; n], vec![0.0; n]);
        let scale = largest(a)?;
        wide(Tridiagonalize {
            a: &mut Padded::of(a, n),
            scale,
            reflections: &mut reflections,
            diagonal: &mut diagonal,
            beside: &mut beside,
        });
        let fractions = Fractions::of(least, bound(&diagonal, &beside).max(least))?;
        Some(Self { reflections, shifted: ShiftedFactors::of_tridiagonal(&fractions, &diagonal, &beside) })
    }

    /// Replaces every row `x` by `A^{-1/2} x`.
    pub fn apply(&self, vectors: &mut [f64]) {
        self.reflections.apply(vectors, true);
        self.shifted.apply(vectors, self.reflections.stride);
        self.reflections.apply(vectors, false);
    }
}

/// Returns the largest absolute entry; `None` if an entry is not finite.
fn largest(a: &[f64]) -> Option<f64> {
    wide(LargestReflected(a))
}

struct LargestReflected<'a>(&'a [f64]);

vectorised! {
    fn call(self: LargestReflected<'_>) -> Option<f64> {
        let (mut most, mut zero) = ([0.0f64; LANES], [0.0f64; LANES]);
        let (blocks, rest) = self.0.as_chunks::<LANES>();
        for block in blocks {
            for lane in 0..LANES {
                let size = block[lane].abs();
                most[lane] = if size > most[lane] { size } else { most[lane] };
                // NaN for entries that are not finite.
                zero[lane] += 0.0 * size;
            }
        }
        let sound = zero.iter().all(|zero| *zero == 0.0) && rest.iter().all(|x| x.is_finite());
        sound.then(|| rest.iter().map(|x| x.abs()).chain(most).fold(0.0, f64::max))
    }
}

/// Bounds the eigenvalues of a tridiagonal matrix by Gershgorin's circles.
fn bound(diagonal: &[f64], beside: &[f64]) -> f64 {
    let n = diagonal.len();
    let at = |i: usize| if i < n.saturating_sub(1) { beside[i].abs() } else { 0.0 };
    (0..n).map(|i| diagonal[i].abs() + at(i) + if i == 0 { 0.0 } else { at(i - 1) }).fold(0.0, f64::max)
}

struct Tridiagonalize<'a> {
    a: &'a mut Padded,
    scale: f64,
    reflections: &'a mut Reflections,
    diagonal: &'a mut [f64],
    beside: &'a mut [f64],
}

vectorised! {
    fn call(self: Tridiagonalize<'_>) {
        let Self { a, scale, reflections, diagonal, beside } = self;
        let (n, stride) = (a.n, a.stride);
        let mut w = vec![0.0; stride];
        for k in (0..n).rev() {
            let (rest, row) = a.values.split_at_mut(k * stride);
            diagonal[k] = row[k];
            if k == 0 {
                break;
            }
            // Reflection k - 1 acts on entries 0..k.
            reflections.vectors[(k - 1) * stride..(k - 1) * stride + k].copy_from_slice(&row[..k]);
            beside[k - 1] = reflections.make(k - 1, k, scale);
            let factor = reflections.factors[k - 1];
            if factor == 0.0 {
                continue;
            }
            let size = padded_length(k);
            let v = &reflections.vectors[(k - 1) * stride..(k - 1) * stride + size];
            let w = &mut w[..size];
            for (w, line) in w.iter_mut().zip(rest.chunks_exact(stride)) {
                *w = factor * dot(&line[..size], v);
            }
            w[k..].fill(0.0);
            let along = 0.5 * factor * dot(w, v);
            add_scaled(w, -along, v);
            for (i, line) in rest.chunks_exact_mut(stride).enumerate() {
                let (vi, wi) = (v[i], w[i]);
                for ((entry, &w), &v) in line[..size].iter_mut().zip(&*w).zip(v) {
                    *entry -= vi * w + wi * v;
                }
            }
        }
    }
}

/// The orthogonal polar factor `O` of a square matrix `L = O (L^T L)^{1/2}`.
#[derive(Debug, Clone)]
pub struct Polar {
    left: Reflections,
    right: Reflections,
    diagonal: Vec<f64>,
    below: Vec<f64>,
    shifted: ShiftedFactors,
}

impl Polar {
    /// Computes the factor of an invertible matrix (`n x n`, row-major).
    ///
    /// `None` if the matrix is not finite or not invertible in f64.
    #[must_use]
    pub fn of(l: &[f64], n: usize) -> Option<Self> {
        debug_assert_eq!(l.len(), n * n);
        let scale = largest(l)?;
        let (mut left, mut right) = (Reflections::none(n), Reflections::none(n));
        let (mut diagonal, mut below) = (vec![0.0; n], vec![0.0; n]);
        wide(Bidiagonalize {
            a: &mut Padded::of(l, n),
            scale,
            left: &mut left,
            right: &mut right,
            diagonal: &mut diagonal,
            below: &mut below,
        });
        // The squared norm of the inverse, row by row: (1 + e_(k-1)² r_(k-1)) / d_k².
        let (mut row, mut inverse) = (0.0, 0.0);
        for k in 0..n {
            let e = if k == 0 { 0.0 } else { below[k - 1] };
            row = (1.0 + e * e * row) / (diagonal[k] * diagonal[k]);
            inverse += row;
        }
        let squares: Vec<f64> = (0..n).map(|k| diagonal[k] * diagonal[k] + below[k] * below[k]).collect();
        let couplings: Vec<f64> = (0..n).map(|k| if k + 1 < n { below[k] * diagonal[k + 1] } else { 0.0 }).collect();
        let most = bound(&squares, &couplings);
        let least = if n == 0 { 1.0 } else { 0.99 / inverse };
        let fractions = Fractions::of(least, most.max(least))?;
        let shifted = ShiftedFactors::of_bidiagonal(&fractions, &diagonal, &below);
        Some(Self { left, right, diagonal, below, shifted })
    }

    /// Replaces every row `x` by `O x`.
    pub fn apply(&self, vectors: &mut [f64]) {
        self.right.apply(vectors, true);
        self.shifted.apply(vectors, self.right.stride);
        let n = self.diagonal.len();
        for row in vectors.chunks_exact_mut(self.right.stride.max(1)) {
            for k in (0..n).rev() {
                row[k] = self.diagonal[k] * row[k] + if k == 0 { 0.0 } else { self.below[k - 1] * row[k - 1] };
            }
        }
        self.left.apply(vectors, false);
    }

    /// Replaces every row `x` by `O^T x`.
    pub fn apply_transposed(&self, vectors: &mut [f64]) {
        self.left.apply(vectors, true);
        let n = self.diagonal.len();
        for row in vectors.chunks_exact_mut(self.right.stride.max(1)) {
            for k in 0..n {
                row[k] = self.diagonal[k] * row[k] + if k + 1 < n { self.below[k] * row[k + 1] } else { 0.0 };
            }
        }
        self.shifted.apply(vectors, self.right.stride);
        self.right.apply(vectors, false);
    }
}

struct Bidiagonalize<'a> {
    a: &'a mut Padded,
    scale: f64,
    left: &'a mut Reflections,
    right: &'a mut Reflections,
    diagonal: &'a mut [f64],
    below: &'a mut [f64],
}

vectorised! {
    fn call(self: Bidiagonalize<'_>) {
        let Self { a, scale, left, right, diagonal, below } = self;
        let (n, stride) = (a.n, a.stride);
        let mut w = vec![0.0; stride];
        for k in (0..n).rev() {
            // The reflection reduces column k to its diagonal entry.
            for row in 0..=k {
                left.vectors[k * stride + row] = a.values[row * stride + k];
            }
            diagonal[k] = left.make(k, k + 1, scale);
            let factor = left.factors[k];
            if factor != 0.0 {
                let size = padded_length(k + 1);
                let v = &left.vectors[k * stride..k * stride + k + 1];
                let w = &mut w[..size];
                w.fill(0.0);
                let four = v.as_chunks::<4>();
                for (v, lines) in four.0.iter().zip(a.values.chunks_exact(4 * stride)) {
                    let [l0, l1, l2, l3] = [0, 1, 2, 3].map(|q| &lines[q * stride..q * stride + size]);
                    for ((((w, a), b), c), d) in w.iter_mut().zip(l0).zip(l1).zip(l2).zip(l3) {
                        *w = *w + v[0] * a + v[1] * b + v[2] * c + v[3] * d;
                    }
                }
                for (&v, line) in four.1.iter().zip(a.values.chunks_exact(stride).skip(4 * four.0.len())) {
                    add_scaled(w, v, &line[..size]);
                }
                for (&v, line) in v.iter().zip(a.values.chunks_exact_mut(stride)) {
                    add_scaled(&mut line[..size], -factor * v, w);
                }
                (0..k).for_each(|row| a.values[row * stride + k] = 0.0);
            }
            if k == 0 {
                break;
            }
            // The reflection reduces row k to the entry next to the diagonal.
            let (rest, row) = a.values.split_at_mut(k * stride);
            right.vectors[(k - 1) * stride..(k - 1) * stride + k].copy_from_slice(&row[..k]);
            below[k - 1] = right.make(k - 1, k, scale);
            right.reflect(k - 1, k, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::eigen_symmetric;
    use crate::rng::{Purpose, Streams};

    fn rows_of(vectors: &[f64], n: usize) -> Vec<f64> {
        vectors.chunks_exact(padded_length(n).max(1)).flat_map(|row| row[..n].to_vec()).collect()
    }

    fn identity(n: usize) -> Vec<f64> {
        let stride = padded_length(n);
        let mut rows = vec![0.0; n * stride];
        (0..n).for_each(|i| rows[i * stride + i] = 1.0);
        rows
    }

    /// Returns B B^T + least I.
    fn positive(n: usize, rank: usize, least: f64) -> Vec<f64> {
        let mut stream = Streams::new(23, "reflected").of((100 * n + rank) as u64, Purpose::Function);
        let b: Vec<f64> = (0..n * rank).map(|_| 10.0 * stream.normal()).collect();
        let entry = |i: usize, j: usize| dot(&b[i * rank..(i + 1) * rank], &b[j * rank..(j + 1) * rank]);
        (0..n * n).map(|e| entry(e / n, e % n) + if e / n == e % n { least } else { 0.0 }).collect()
    }

    #[test]
    fn the_root_agrees_with_eigenvectors() {
        for n in [0, 1, 2, 3, 7, 8, 9, 20, 33] {
            for rank in [0, 1, n] {
                let a = positive(n, rank, 3.0);
                let expected = eigen_symmetric(&a, n).expect("converges").function(|value| 1.0 / value.max(3.0).sqrt());
                let mut found = identity(n);
                InverseRoot::of(&a, n, 3.0).expect("finite").apply(&mut found);
                let found = rows_of(&found, n);
                assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{n}, rank {rank}");
            }
        }
        assert!(InverseRoot::of(&[f64::NAN], 1, 1.0).is_none());
    }

    #[test]
    fn the_polar_factor_is_orthogonal_and_leaves_a_symmetric_factor() {
        for n in [0, 1, 2, 3, 8, 13, 40] {
            // Cholesky factors of smooth covariances, with pivots down to 1e-5.
            let mut l: Vec<f64> = (0..n * n).map(|e| libm::exp(-0.03 * ((e / n) as f64 - (e % n) as f64).abs())).collect();
            (0..n).for_each(|i| l[i * n + i] += 1e-9);
            crate::linalg::cholesky(&mut l, n).expect("positive");
            let polar = Polar::of(&l, n).expect("invertible");
            let stride = padded_length(n);
            let mut transposed = identity(n);
            // Row j: O e_j, column j of O.
            polar.apply(&mut transposed);
            let mut rows = identity(n);
            polar.apply_transposed(&mut rows);
            for i in 0..n {
                for j in 0..n {
                    assert!((rows[i * stride + j] - transposed[j * stride + i]).abs() < 1e-12, "{n}: transposed");
                    let product = dot(&rows[i * stride..i * stride + n], &rows[j * stride..j * stride + n]);
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12, "{n}: orthogonal, {product}");
                    let root = |i: usize, j: usize| dot(&rows[i * stride..i * stride + n], &l[j * n..(j + 1) * n]);
                    assert!((root(i, j) - root(j, i)).abs() < 1e-12, "{n}: symmetric, {} {}", root(i, j), root(j, i));
                }
            }
        }
        assert!(Polar::of(&[1.0, 0.0, 1.0, 0.0], 2).is_none(), "not invertible");
    }
}
