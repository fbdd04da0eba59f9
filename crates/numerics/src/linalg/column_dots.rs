//! Products of many columns at once, each with the bits of [`super::dot`].

use super::Columns;
use super::dot::LANES;
use crate::vectorised;
use pulp::Simd;

impl Columns {
    /// Creates one column for each of these rows of a row-major matrix with rows of `stride`, from these of its entries.
    pub fn transposed(matrix: &[f64], stride: usize, rows: std::ops::Range<usize>, entries: std::ops::Range<usize>) -> Self {
        let mut columns = Self::zeros(entries.len(), rows.len());
        for (column, row) in rows.enumerate() {
            for (entry, &value) in matrix[row * stride..][entries.clone()].iter().enumerate() {
                columns.row_mut(entry)[column] = value;
            }
        }
        columns
    }

    /// Returns the product of every column with `weights`, padded.
    pub fn dots(&self, weights: &[f64]) -> Vec<f64> {
        debug_assert_eq!(weights.len(), self.n_rows());
        let mut out = vec![0.0; self.stride()];
        dots(self, weights, &mut out);
        out
    }

    /// Adds to every column's number in `out` (padded) the squares of its products with rows of a lower triangular matrix.
    ///
    /// The matrix is `n x n` row-major; the columns stand at its columns from `first` on, and are zero elsewhere. Rows
    /// ascend from `first`.
    pub fn add_squared_products(&self, lower: &[f64], n: usize, first: usize, out: &mut [f64]) {
        debug_assert_eq!((lower.len(), out.len()), (n * n, self.stride()));
        add_squared_products(self, lower, n, first, out);
    }

    /// Returns `c^T A c` of every column c, padded, `A` as its block at `first` of a row-major `n x n` matrix.
    pub fn forms(&self, matrix: &[f64], n: usize, first: usize) -> Vec<f64> {
        debug_assert_eq!(matrix.len(), n * n);
        let mut out = vec![0.0; self.stride()];
        forms(self, matrix, n, first, &mut out);
        out
    }
}

/// Columns in lanes: vector v of row i holds that row's entries of some columns.
#[derive(Clone, Copy)]
struct InLanes<'a, S: Simd> {
    simd: S,
    vectors: &'a [S::f64s],
    vectors_per_row: usize,
    /// Number of rows.
    size: usize,
}

impl<'a, S: Simd> InLanes<'a, S> {
    #[inline(always)]
    fn of(simd: S, columns: &'a Columns) -> Self {
        // Rows are padded to whole vectors of the widest kind.
        let (vectors, vectors_per_row) = (S::as_simd_f64s(columns.values()).0, columns.stride() / S::F64_LANES);
        Self { simd, vectors, vectors_per_row, size: columns.n_rows() }
    }

    /// Returns the products of the columns in vector `v` with `weights`; later entries count as zero.
    #[inline(always)]
    fn products(self, v: usize, weights: &[f64]) -> S::f64s {
        let simd = self.simd;
        // Entry i is added to partial sum i mod 8, as in `dot`.
        let mut sums = [simd.splat_f64s(0.0); LANES];
        let mut entries = self.vectors.get(v..).unwrap_or_default().iter().step_by(self.vectors_per_row.max(1));
        let (blocks, rest) = weights.as_chunks::<LANES>();
        for weights in blocks {
            for (sum, (&weight, &entry)) in sums.iter_mut().zip(weights.iter().zip(&mut entries)) {
                *sum = simd.add_f64s(*sum, simd.mul_f64s(simd.splat_f64s(weight), entry));
            }
        }
        for (sum, (&weight, &entry)) in sums.iter_mut().zip(rest.iter().zip(entries)) {
            *sum = simd.add_f64s(*sum, simd.mul_f64s(simd.splat_f64s(weight), entry));
        }
        let two = |a: usize, b: usize| simd.add_f64s(sums[a], sums[b]);
        simd.add_f64s(simd.add_f64s(two(0, 4), two(2, 6)), simd.add_f64s(two(1, 5), two(3, 7)))
    }

    #[inline(always)]
    fn dots(self, weights: &[f64], out: &mut [f64]) {
        for (v, out) in S::as_mut_simd_f64s(out).0.iter_mut().enumerate() {
            *out = self.products(v, weights);
        }
    }

    #[inline(always)]
    fn add_squared_products(self, lower: &[f64], n: usize, first: usize, out: &mut [f64]) {
        for (v, out) in S::as_mut_simd_f64s(out).0.iter_mut().enumerate() {
            for row in first..n {
                let sum = self.products(v, &lower[row * n + first..][..self.size.min(row + 1 - first)]);
                *out = self.simd.add_f64s(*out, self.simd.mul_f64s(sum, sum));
            }
        }
    }
}

vectorised! {
    fn dots(columns: &Columns, weights: &[f64], out: &mut [f64]) where simd: S {
        InLanes::of(simd, columns).dots(weights, out);
    }
}

vectorised! {
    fn add_squared_products(columns: &Columns, lower: &[f64], n: usize, first: usize, out: &mut [f64]) where simd: S {
        InLanes::of(simd, columns).add_squared_products(lower, n, first, out);
    }
}

vectorised! {
    fn forms(columns: &Columns, matrix: &[f64], n: usize, first: usize, out: &mut [f64]) where simd: S {
        let columns = InLanes::of(simd, columns);
        for (v, out) in S::as_mut_simd_f64s(out).0.iter_mut().enumerate() {
            for i in 0..columns.size {
                let sum = columns.products(v, &matrix[(first + i) * n + first..][..columns.size]);
                *out = simd.add_f64s(*out, simd.mul_f64s(columns.vectors[i * columns.vectors_per_row + v], sum));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dot;
    use super::*;

    #[test]
    fn columns_have_the_bits_of_single_ones() {
        for (size, n_columns, first, n) in
            [(0, 20, 1, 3), (1, 1, 0, 1), (12, 33, 12, 36), (7, 8, 3, 12), (16, 5, 0, 20), (25, 17, 5, 31)]
        {
            let value = |e: usize| libm::sin(1.0 + 7.0 * e as f64);
            let matrix: Vec<f64> = (0..n * n).map(value).collect();
            let stride = first + size + 2;
            let points: Vec<f64> = (0..(n_columns + 3) * stride).map(|e| libm::cos(e as f64)).collect();
            let columns = Columns::transposed(&points, stride, 2..2 + n_columns, first..first + size);
            let mut squares = vec![0.5; columns.stride()];
            columns.add_squared_products(&matrix, n, first, &mut squares);
            let (dots, forms) = (columns.dots(&matrix[..size]), columns.forms(&matrix, n, first));
            // The narrowest lanes give the same bits.
            let mut narrow = vec![0.5; columns.stride()];
            let in_lanes = InLanes::of(pulp::Scalar::new(), &columns);
            in_lanes.add_squared_products(&matrix, n, first, &mut narrow);
            assert_eq!(narrow, squares);
            in_lanes.dots(&matrix[..size], &mut narrow);
            assert_eq!(narrow, dots);
            for column in 0..n_columns {
                let c = &points[(2 + column) * stride + first..][..size];
                assert_eq!(dots[column].to_bits(), dot(c, &matrix[..size]).to_bits());
                let mut square = 0.5;
                for row in first..n {
                    let end = (first + size).min(row + 1);
                    let sum = dot(&matrix[row * n + first..row * n + end], &c[..end - first]);
                    square += sum * sum;
                }
                assert_eq!(squares[column].to_bits(), square.to_bits(), "{size} {n_columns}");
                let mut form = 0.0;
                for (i, ci) in (first..).zip(c) {
                    form += ci * dot(c, &matrix[i * n + first..][..size]);
                }
                assert_eq!(forms[column].to_bits(), form.to_bits());
            }
        }
    }
}
