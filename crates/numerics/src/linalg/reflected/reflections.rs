//! Reflections.

use super::super::dot::{LANES, sum_of};
use super::super::norms::Norm;
use crate::vectorised;
use pulp::Simd;

/// Squares up to this count as zero relative to a largest entry of 1.
const LEAST_SQUARE: f64 = 1e-290;

pub type Lanes = [f64; LANES];

/// Returns the length of a row that holds a vector of `n` entries.
pub fn padded_length(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// Computes the product of [`super::super::dot`], each term fused with the sum before it.
#[inline(always)]
pub fn fused_dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        sums = fused(a, b, sums);
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] = a.mul_add(*b, sums[lane]);
    }
    sum_of(sums)
}

/// Computes `y += factor * x`, entry by entry, each fused.
#[inline(always)]
pub fn fused_add(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = factor.mul_add(*x, *y);
    }
}

/// Returns `sums + a b`, lane by lane.
#[inline(always)]
pub fn fused(a: &Lanes, b: &Lanes, mut sums: Lanes) -> Lanes {
    for lane in 0..LANES {
        sums[lane] = a[lane].mul_add(b[lane], sums[lane]);
    }
    sums
}

/// Returns `sums + factor x`, lane by lane.
#[inline(always)]
pub fn fused_scaled(factor: f64, x: &Lanes, sums: Lanes) -> Lanes {
    fused(&[factor; LANES], x, sums)
}

/// Returns the largest absolute entry; `None` if an entry is not finite.
pub fn largest(a: &[f64]) -> Option<f64> {
    Some(Norm::MAX.size(a)).filter(|largest| largest.is_finite())
}

/// Bounds the eigenvalues of a tridiagonal matrix by Gershgorin's circles.
pub fn bound(diagonal: &[f64], beside: &[f64]) -> f64 {
    let n = diagonal.len();
    let at = |i: usize| if i < n.saturating_sub(1) { beside[i].abs() } else { 0.0 };
    (0..n).map(|i| diagonal[i].abs() + at(i) + if i == 0 { 0.0 } else { at(i - 1) }).fold(0.0, f64::max)
}

/// Reflections `I - factor_k v_k v_k^T`; the k-th changes only entries 0..=k.
#[derive(Debug, Clone)]
pub struct Reflections {
    n: usize,
    stride: usize,
    /// `v_k` in row k; rows and factors are an even number.
    vectors: Vec<f64>,
    factors: Vec<f64>,
    /// `v_k · v_(k+1)` for even k.
    overlaps: Vec<f64>,
}

impl Reflections {
    pub fn none(n: usize) -> Self {
        let (stride, rows) = (padded_length(n), n.next_multiple_of(2));
        Self { n, stride, vectors: vec![0.0; rows * stride], factors: vec![0.0; rows], overlaps: vec![0.0; rows / 2] }
    }

    /// Returns the number of reflections, and of entries that they change.
    pub fn n(&self) -> usize {
        self.n
    }

    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the first `size` entries of the row of reflection `k`, for writing.
    #[inline(always)]
    pub fn row_mut(&mut self, k: usize, size: usize) -> &mut [f64] {
        &mut self.vectors[k * self.stride..k * self.stride + size]
    }

    /// Sets reflection `k` to map `v` (its row, `size` entries) to its last entry.
    ///
    /// Returns the last entry of the image, and what was added to the last entry of the row.
    #[inline(always)]
    pub fn make(&mut self, k: usize, size: usize, scale: f64) -> (f64, f64) {
        let v = &mut self.vectors[k * self.stride..k * self.stride + size];
        let last = size - 1;
        let rest = fused_dot(&v[..last], &v[..last]);
        // Equal where both are zero: the square of a small scale underflows.
        if rest <= LEAST_SQUARE * scale * scale {
            self.factors[k] = 0.0;
            return (v[last], 0.0);
        }
        let norm = v[last].mul_add(v[last], rest).sqrt();
        let pivot = if v[last] < 0.0 { norm } else { -norm };
        v[last] -= pivot;
        self.factors[k] = 2.0 / v[last].mul_add(v[last], rest);
        (pivot, -pivot)
    }

    /// Returns the factor of reflection `k`; 0 if it changes nothing.
    #[inline(always)]
    pub fn factor(&self, k: usize) -> f64 {
        self.factors[k]
    }

    /// Returns the first `size` entries of the vector of reflection `k`; zeros from entry `k + 1` on.
    #[inline(always)]
    pub fn vector(&self, k: usize, size: usize) -> &[f64] {
        &self.vectors[k * self.stride..k * self.stride + size]
    }

    /// Prepares the reflections for [`Reflections::apply`]; all must have been made.
    pub fn pair(&mut self) {
        pair_wide(self);
    }

    /// Applies all reflections to vectors in lanes, in descending order if `last_first`, otherwise ascending.
    ///
    /// Two at a time: each entry passes a pair, and is multiplied by the vectors of the next pair, while it is in a
    /// register.
    #[inline(always)]
    pub fn apply<S: Simd>(&self, simd: S, entries: &mut [[S::f64s; 2]], last_first: bool) {
        let pairs = self.overlaps.len();
        let mut order = (0..pairs).map(|i| if last_first { pairs - 1 - i } else { i });
        let Some(mut pair) = order.next() else { return };
        let end = |pair: usize| (2 * pair + 2).min(self.n);
        let vectors = |pair: usize, size: usize| [self.vector(2 * pair, size), self.vector(2 * pair + 1, size)];
        let zeros = [[simd.splat_f64s(0.0); 2]; 2];
        // The first pair is only multiplied with, by adding no multiple of itself.
        let first = vectors(pair, end(pair));
        let mut products = add_and_multiply(simd, entries, zeros, first, first);
        for next in order {
            let size = end(pair).max(end(next));
            let multiples = self.multiples(simd, pair, products, last_first);
            products = add_and_multiply(simd, entries, multiples, vectors(pair, size), vectors(next, size));
            pair = next;
        }
        let last = vectors(pair, end(pair));
        add_and_multiply(simd, entries, self.multiples(simd, pair, products, last_first), last, last);
    }

    /// Returns the multiples of the vectors of a pair that its reflections add.
    #[inline(always)]
    fn multiples<S: Simd>(&self, simd: S, pair: usize, products: [[S::f64s; 2]; 2], last_first: bool) -> [[S::f64s; 2]; 2] {
        let (one, two) = if last_first { (1, 0) } else { (0, 1) };
        let factor = |which: usize| simd.splat_f64s(-self.factors[2 * pair + which]);
        let overlap = simd.splat_f64s(self.overlaps[pair]);
        let mut multiples = products;
        for v in 0..2 {
            multiples[one][v] = simd.mul_f64s(factor(one), products[one][v]);
            // The second reflects what the first has left.
            let left = simd.mul_add_f64s(multiples[one][v], overlap, products[two][v]);
            multiples[two][v] = simd.mul_f64s(factor(two), left);
        }
        multiples
    }
}

vectorised! {
    fn pair_wide(reflections: &mut Reflections) {
        for pair in 0..reflections.overlaps.len() {
            let size = reflections.stride;
            reflections.overlaps[pair] = fused_dot(reflections.vector(2 * pair, size), reflections.vector(2 * pair + 1, size));
        }
    }
}

/// Adds multiples of two vectors `x` to vectors in lanes, and returns their products with two vectors `y`.
///
/// Even and odd entries have sums of their own.
#[inline(always)]
fn add_and_multiply<S: Simd>(
    simd: S,
    entries: &mut [[S::f64s; 2]],
    multiples: [[S::f64s; 2]; 2],
    x: [&[f64]; 2],
    y: [&[f64]; 2],
) -> [[S::f64s; 2]; 2] {
    let mut sums = [[[simd.splat_f64s(0.0); 2]; 2]; 2];
    let n = x[0].len();
    let (pairs, last) = entries[..n].as_chunks_mut::<2>();
    let ([x0, x1], [y0, y1]) = (x.map(|x| x[..n].as_chunks::<2>()), y.map(|y| y[..n].as_chunks::<2>()));
    let numbers = x0.0.iter().zip(x1.0).zip(y0.0.iter().zip(y1.0));
    for (pair, ((x0, x1), (y0, y1))) in pairs.iter_mut().zip(numbers) {
        for odd in 0..2 {
            sums[odd] = one_entry(simd, &mut pair[odd], multiples, [x0[odd], x1[odd]], [y0[odd], y1[odd]], sums[odd]);
        }
    }
    if let ([entry], [x0], [x1], [y0], [y1]) = (last, x0.1, x1.1, y0.1, y1.1) {
        sums[0] = one_entry(simd, entry, multiples, [*x0, *x1], [*y0, *y1], sums[0]);
    }
    let [even, odd] = sums;
    let mut products = even;
    for which in 0..2 {
        for v in 0..2 {
            products[which][v] = simd.add_f64s(even[which][v], odd[which][v]);
        }
    }
    products
}

/// Adds to one entry of the vectors, and to their products.
#[inline(always)]
fn one_entry<S: Simd>(
    simd: S,
    entry: &mut [S::f64s; 2],
    multiples: [[S::f64s; 2]; 2],
    x: [f64; 2],
    y: [f64; 2],
    mut sums: [[S::f64s; 2]; 2],
) -> [[S::f64s; 2]; 2] {
    let (x, y) = (x.map(|x| simd.splat_f64s(x)), y.map(|y| simd.splat_f64s(y)));
    for v in 0..2 {
        let new = simd.mul_add_f64s(multiples[0][v], x[0], entry[v]);
        let new = simd.mul_add_f64s(multiples[1][v], x[1], new);
        entry[v] = new;
        for which in 0..2 {
            sums[which][v] = simd.mul_add_f64s(new, y[which], sums[which][v]);
        }
    }
    sums
}

/// Returns the padded rows of an identity matrix.
#[cfg(test)]
pub fn identity(n: usize) -> Vec<f64> {
    let stride = padded_length(n);
    let mut rows = vec![0.0; n * stride];
    (0..n).for_each(|i| rows[i * stride + i] = 1.0);
    rows
}
