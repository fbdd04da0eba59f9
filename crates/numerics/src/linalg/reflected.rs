//! Inverse square roots and polar factors, for application to a few vectors.
//!
//! Reflections bring a matrix to tridiagonal or bidiagonal form [Golub & Van Loan 2013, Matrix Computations, 5.4, 8.3],
//! and partial fractions ([`Fractions`]) give the root. No eigenvector is computed.
//!
//! Vectors are stored in rows, padded with zeros to whole SIMD vectors ([`padded_length`]).

use super::columns::{LANES, wide};
use super::dot::sum_of;
use super::rational::{Fractions, ShiftedFactors};
use super::{add_scaled, dot, four_dots};
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

    /// Returns the vector of reflection `k` for rows of `size` entries, padded; zeros from entry `k + 1` on.
    #[inline(always)]
    fn vector(&self, k: usize, size: usize) -> &[f64] {
        &self.vectors[k * self.stride..k * self.stride + padded_length(size)]
    }

    /// Applies reflection `k` to a row; at most `k + 1` entries change.
    #[inline(always)]
    fn reflect(&self, k: usize, row: &mut [f64]) {
        let factor = self.factors[k];
        if factor != 0.0 {
            let v = self.vector(k, k + 1);
            let row = &mut row[..v.len()];
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
        let Self { reflections, vectors, last_first } = self;
        let n = reflections.factors.len();
        let order = (0..n).map(|i| if last_first { n - 1 - i } else { i }).filter(|&k| reflections.factors[k] != 0.0);
        // Four rows pass all reflections together: they stay in the L1 cache.
        let mut fours = vectors.chunks_exact_mut((4 * reflections.stride).max(1));
        for rows in &mut fours {
            reflect_four(reflections, rows, order.clone());
        }
        for row in fours.into_remainder().chunks_exact_mut(reflections.stride.max(1)) {
            order.clone().for_each(|k| reflections.reflect(k, row));
        }
    }
}

/// Applies reflections to four rows; each row has the bits of [`Reflections::reflect`], one after another.
#[inline(always)]
fn reflect_four(reflections: &Reflections, rows: &mut [f64], mut order: impl Iterator<Item = usize>) {
    let Some(mut k) = order.next() else { return };
    let stride = reflections.stride;
    let (a, rest) = rows.split_at_mut(stride);
    let (b, rest) = rest.split_at_mut(stride);
    let (c, d) = rest.split_at_mut(stride);
    let mut dots = four_dots([a, b, c, d], reflections.vector(k, k + 1));
    for next in order {
        let size = k.max(next) + 1;
        let factors = dots.map(|dot| -(reflections.factors[k] * dot));
        let (x, y) = (reflections.vector(k, size), reflections.vector(next, size));
        dots = add_scaled_and_dot([a, b, c, d], factors, x, y);
        k = next;
    }
    for (row, dot) in [a, b, c, d].into_iter().zip(dots) {
        let v = reflections.vector(k, k + 1);
        add_scaled(&mut row[..v.len()], -(reflections.factors[k] * dot), v);
    }
}

/// Adds multiples of `x` to the rows, and returns their products with `y`, bit by bit as [`add_scaled`] and [`dot`].
///
/// Both vectors have one padded length, and may be shorter than the rows.
#[inline(always)]
fn add_scaled_and_dot(rows: [&mut [f64]; 4], factors: [f64; 4], x: &[f64], y: &[f64]) -> [f64; 4] {
    let [a, b, c, d] = rows.map(|row| row.as_chunks_mut::<LANES>().0);
    let (x, y) = (x.as_chunks::<LANES>().0, y.as_chunks::<LANES>().0);
    let (mut of_a, mut of_b, mut of_c, mut of_d) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for ((((x, y), (a, b)), c), d) in x.iter().zip(y).zip(a.iter_mut().zip(b)).zip(c).zip(d) {
        of_a = add_scaled_and_dot_block(a, factors[0], x, y, of_a);
        of_b = add_scaled_and_dot_block(b, factors[1], x, y, of_b);
        of_c = add_scaled_and_dot_block(c, factors[2], x, y, of_c);
        of_d = add_scaled_and_dot_block(d, factors[3], x, y, of_d);
    }
    [sum_of(of_a), sum_of(of_b), sum_of(of_c), sum_of(of_d)]
}

/// Values in the lanes of a vector.
type Lanes = [f64; LANES];

#[inline(always)]
fn add_scaled_and_dot_block(row: &mut Lanes, factor: f64, x: &Lanes, y: &Lanes, mut sums: Lanes) -> Lanes {
    let mut new = *row;
    for lane in 0..LANES {
        new[lane] += factor * x[lane];
    }
    *row = new;
    for lane in 0..LANES {
        sums[lane] += new[lane] * y[lane];
    }
    sums
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
        // The reflection before: its vector v and w, for the update `A - v w^T - w v^T` that is due.
        let (mut v, mut w, mut next) = (vec![0.0; stride], vec![0.0; stride], vec![0.0; stride]);
        for k in (0..n).rev() {
            let (rest, row) = a.values.split_at_mut(k * stride);
            let size = padded_length(k + 1);
            update(&mut row[..size], [v[k], w[k]], [&v[..size], &w[..size]]);
            diagonal[k] = row[k];
            if k == 0 {
                break;
            }
            // Reflection k - 1 acts on entries 0..k.
            reflections.vectors[(k - 1) * stride..(k - 1) * stride + k].copy_from_slice(&row[..k]);
            beside[k - 1] = reflections.make(k - 1, k, scale);
            let (factor, next_v) = (reflections.factors[k - 1], reflections.vector(k - 1, k + 1));
            // Each row is updated and multiplied by the new vector while it is in the L1 cache.
            for (i, line) in rest.chunks_exact_mut(stride).enumerate() {
                next[i] = factor * update_and_dot(&mut line[..size], [v[i], w[i]], [&v[..size], &w[..size]], next_v);
            }
            next[k..].fill(0.0);
            v[..next_v.len()].copy_from_slice(next_v);
            std::mem::swap(&mut w, &mut next);
            if factor == 0.0 {
                w.fill(0.0);
                continue;
            }
            let w = &mut w[..next_v.len()];
            let along = 0.5 * factor * dot(w, next_v);
            add_scaled(w, -along, next_v);
        }
    }
}

/// Subtracts `vi w + wi v` from a row.
#[inline(always)]
fn update(row: &mut [f64], [vi, wi]: [f64; 2], [v, w]: [&[f64]; 2]) {
    for ((entry, &w), &v) in row.iter_mut().zip(w).zip(v) {
        *entry -= vi * w + wi * v;
    }
}

/// Subtracts as [`update`], and returns the row's product with `y` as [`dot`]; all have one padded length.
#[inline(always)]
fn update_and_dot(row: &mut [f64], [vi, wi]: [f64; 2], [v, w]: [&[f64]; 2], y: &[f64]) -> f64 {
    let (row, y) = (row.as_chunks_mut::<LANES>().0, y.as_chunks::<LANES>().0);
    let (v, w) = (v.as_chunks::<LANES>().0, w.as_chunks::<LANES>().0);
    let mut sums = [0.0; LANES];
    for (((row, v), w), y) in row.iter_mut().zip(v).zip(w).zip(y) {
        let mut new = *row;
        for lane in 0..LANES {
            new[lane] -= vi * w[lane] + wi * v[lane];
        }
        *row = new;
        for lane in 0..LANES {
            sums[lane] += new[lane] * y[lane];
        }
    }
    sum_of(sums)
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
            }
            let (v, w) = (&left.vectors[k * stride..k * stride + k + 1], &w[..padded_length(k + 1)]);
            let (rest, row) = a.values.split_at_mut(k * stride);
            if factor != 0.0 {
                add_scaled(&mut row[..w.len()], -factor * v[k], w);
            }
            if k == 0 {
                break;
            }
            // The reflection reduces row k to the entry next to the diagonal.
            right.vectors[(k - 1) * stride..(k - 1) * stride + k].copy_from_slice(&row[..k]);
            below[k - 1] = right.make(k - 1, k, scale);
            // Each row passes both reflections while it is in the L1 cache.
            for (&v, line) in v.iter().zip(rest.chunks_exact_mut(stride)) {
                if factor != 0.0 {
                    add_scaled(&mut line[..w.len()], -factor * v, w);
                    line[k] = 0.0;
                }
                right.reflect(k - 1, line);
            }
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
