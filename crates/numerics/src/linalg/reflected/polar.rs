//! The orthogonal polar factor of a matrix.

use super::super::columns::Columns;
use super::super::dot::{LANES, sum_of};
use super::Fractions;
use super::reflections::{Reflections, bound, fused, fused_add, fused_scaled, largest, padded_length};
use super::shifted::ShiftedFactors;
use super::together::{Step, Vectors, take};
use crate::vectorised;

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
    pub fn of(l: &[f64], n: usize) -> Option<Self> {
        debug_assert_eq!(l.len(), n * n);
        let scale = largest(l)?;
        let (mut left, mut right) = (Reflections::none(n), Reflections::none(n));
        let (mut diagonal, mut below) = (vec![0.0; n], vec![0.0; n]);
        bidiagonalize(&mut Columns::of_rows(l, n), scale, &mut left, &mut right, &mut diagonal, &mut below);
        left.pair();
        right.pair();
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
    pub fn apply(&self, rows: &mut [f64]) {
        let steps = [
            Step::Reflect { reflections: &self.right, last_first: true },
            Step::Root(&self.shifted),
            Step::Bidiagonal { diagonal: &self.diagonal, below: &self.below },
            Step::Reflect { reflections: &self.left, last_first: false },
        ];
        take(&steps, Vectors::Rows { values: rows, stride: self.right.stride() }, self.right.n());
    }

    /// Replaces every row `x` by `O^T x`.
    pub fn apply_transposed(&self, rows: &mut [f64]) {
        let steps = [
            Step::Reflect { reflections: &self.left, last_first: true },
            Step::BidiagonalTransposed { diagonal: &self.diagonal, below: &self.below },
            Step::Root(&self.shifted),
            Step::Reflect { reflections: &self.right, last_first: false },
        ];
        take(&steps, Vectors::Rows { values: rows, stride: self.right.stride() }, self.right.n());
    }
}

vectorised! {
    fn bidiagonalize(
        a: &mut Columns,
        scale: f64,
        left: &mut Reflections,
        right: &mut Reflections,
        diagonal: &mut [f64],
        below: &mut [f64],
    ) {
        let (n, stride, values) = (a.n(), a.stride(), a.values_mut());
        // `A^T v` of the coming left reflection, whose vector is column k but for its last entry.
        let (mut along, mut next) = (vec![0.0; stride], vec![0.0; stride]);
        if let Some(last) = n.checked_sub(1) {
            for line in values.chunks_exact(stride) {
                fused_add(&mut along, line[last], line);
            }
        }
        for k in (0..n).rev() {
            let size = padded_length(k + 1);
            // The reflection reduces column k to its diagonal entry.
            for (entry, line) in left.row_mut(k, k + 1).iter_mut().zip(values.chunks_exact(stride)) {
                *entry = line[k];
            }
            let (pivot, moved) = left.make(k, k + 1, scale);
            diagonal[k] = pivot;
            let (v, factor) = (left.vector(k, k + 1), left.factor(k));
            let (rest, row) = values.split_at_mut(k * stride);
            let row = &mut row[..size];
            fused_add(&mut along[..size], moved, row);
            fused_add(row, -factor * v[k], &along[..size]);
            if k == 0 {
                break;
            }
            // The reflection reduces row k to the entry next to the diagonal.
            right.row_mut(k - 1, k).copy_from_slice(&row[..k]);
            below[k - 1] = right.make(k - 1, k, scale).0;
            let (y, turn) = (right.vector(k - 1, size), -right.factor(k - 1));
            // Each row passes both reflections, and enters the coming product, while it is in the L1 cache.
            next[..size].fill(0.0);
            let pass = Pass { along: &along[..size], y, turn, last: k };
            let (mut fours, v_fours) = (rest.chunks_exact_mut(4 * stride), v[..k].as_chunks::<4>());
            for (four, v) in (&mut fours).zip(v_fours.0) {
                let (one, four) = four.split_at_mut(stride);
                let (two, four) = four.split_at_mut(stride);
                let (three, four) = four.split_at_mut(stride);
                let rows = [one, two, three, four].map(|row| &mut row[..size]);
                pass.rows(rows, v.map(|v| -factor * v), &mut next[..size]);
            }
            for (line, v) in fours.into_remainder().chunks_exact_mut(stride).zip(v_fours.1) {
                pass.rows([&mut line[..size]], [-factor * v], &mut next[..size]);
            }
            std::mem::swap(&mut along, &mut next);
        }
    }
}

/// A left and a right reflection of rows of one padded length.
#[derive(Clone, Copy)]
struct Pass<'a> {
    /// `A^T v`.
    along: &'a [f64],
    /// The vector of the right reflection, and minus its factor.
    y: &'a [f64],
    turn: f64,
    /// The column that the left reflection has reduced; the next one is before it.
    last: usize,
}

impl Pass<'_> {
    /// Reflects rows, and adds them to `next`, multiplied by their entries of the coming left reflection.
    #[inline(always)]
    fn rows<const R: usize>(self, rows: [&mut [f64]; R], multiples: [f64; R], next: &mut [f64]) {
        let (along, y) = (self.along.as_chunks::<LANES>().0, self.y.as_chunks::<LANES>().0);
        let next = next.as_chunks_mut::<LANES>().0;
        let blocks = along.len();
        let (y, next) = (&y[..blocks], &mut next[..blocks]);
        let rows = rows.map(|row| &mut row.as_chunks_mut::<LANES>().0[..blocks]);
        let mut products = [[0.0; LANES]; R];
        for block in 0..blocks {
            for r in 0..R {
                let new = fused_scaled(multiples[r], &along[block], rows[r][block]);
                rows[r][block] = new;
                products[r] = fused(&new, &y[block], products[r]);
            }
        }
        let turns = products.map(|product| self.turn * sum_of(product));
        let (block, lane) = ((self.last - 1) / LANES, (self.last - 1) % LANES);
        let coming: [f64; R] = std::array::from_fn(|r| turns[r].mul_add(y[block][lane], rows[r][block][lane]));
        for block in 0..blocks {
            let mut sums = next[block];
            for r in 0..R {
                let new = fused_scaled(turns[r], &y[block], rows[r][block]);
                rows[r][block] = new;
                sums = fused_scaled(coming[r], &new, sums);
            }
            next[block] = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reflections::identity;
    use super::*;
    use crate::linalg::dot;

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
