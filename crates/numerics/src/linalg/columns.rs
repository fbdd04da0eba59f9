//! Matrices with padded rows, whose columns are processed in SIMD lanes ([`pulp`]).
//!
//! No sum crosses columns, so lanes of any width give the same bits; the widest of the processor are used. A column has
//! the same bits alone and among others.

use super::dot::{LANES, sum_of};
use super::reflected::fused;
use super::rows::dot_rows;
use crate::vectorised;

/// Number of lane blocks, or of rows, that stay in registers.
const WIDE: usize = 4;
/// Number of rows of a gram that are computed together.
const GRAM_ROWS: usize = 8;

/// A matrix whose rows are padded with zeros to whole SIMD vectors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Columns {
    n_rows: usize,
    n: usize,
    stride: usize,
    values: Vec<f64>,
}

impl Columns {
    /// Creates a matrix of `n_rows x n` zeros.
    pub fn zeros(n_rows: usize, n: usize) -> Self {
        let stride = n.next_multiple_of(LANES);
        Self { n_rows, n, stride, values: vec![0.0; n_rows * stride] }
    }

    /// Creates a matrix from its rows of `n` numbers, one after the other.
    pub(super) fn of_rows(rows: &[f64], n: usize) -> Self {
        let mut columns = Self::zeros(rows.len() / n.max(1), n);
        rows.chunks_exact(n.max(1)).enumerate().for_each(|(row, line)| columns.row_mut(row).copy_from_slice(line));
        columns
    }

    /// Changes the size to `n_rows x n`; contents are unspecified until every row is written.
    pub fn reshape(&mut self, n_rows: usize, n: usize) {
        let stride = n.next_multiple_of(LANES);
        if stride != self.stride || n != self.n {
            self.values.clear();
        }
        (self.n_rows, self.n, self.stride) = (n_rows, n, stride);
        self.values.resize(n_rows * stride, 0.0);
    }

    /// Becomes a copy, without new memory where the size stays.
    pub fn copy_from(&mut self, other: &Self) {
        (self.n_rows, self.n, self.stride) = (other.n_rows, other.n, other.stride);
        self.values.clone_from(&other.values);
    }

    /// Adds a column.
    pub fn push(&mut self, column: &[f64]) {
        debug_assert_eq!(column.len(), self.n_rows);
        if self.n == self.stride {
            let stride = (2 * self.stride).max(LANES);
            let mut values = vec![0.0; self.n_rows * stride];
            for (row, line) in self.values.chunks_exact(self.stride.max(1)).enumerate() {
                values[row * stride..row * stride + self.n].copy_from_slice(&line[..self.n]);
            }
            (self.stride, self.values) = (stride, values);
        }
        for (row, &value) in column.iter().enumerate() {
            self.values[row * self.stride + self.n] = value;
        }
        self.n += 1;
    }

    /// Returns the number of columns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns the number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Returns a row with its padding.
    pub fn padded(&self, row: usize) -> &[f64] {
        &self.values[row * self.stride..(row + 1) * self.stride]
    }

    /// Returns a row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.stride..row * self.stride + self.n]
    }

    /// Returns a row for writing.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.stride..row * self.stride + self.n]
    }

    /// Returns a column.
    pub fn column(&self, column: usize) -> Vec<f64> {
        (0..self.n_rows).map(|row| self.values[row * self.stride + column]).collect()
    }

    /// Returns all padded rows, one after the other.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns all padded rows for writing; the padding must stay zero.
    pub(super) fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Returns the length of a padded row.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Replaces the columns by `L^{-1}` times the columns.
    ///
    /// `l` is `m x m` row-major, lower triangular, with `m` the number of rows.
    pub fn solve_lower(&mut self, l: &[f64]) {
        let m = self.n_rows();
        debug_assert_eq!(l.len(), m * m);
        solve_lower_columns(l, m, &mut self.values, self.stride);
    }

    /// Writes `sum_f weights_f row_f`; `out` is as long as a padded row.
    pub fn combine(&self, weights: &[f64], out: &mut [f64]) {
        debug_assert_eq!((weights.len(), out.len()), (self.n_rows(), self.stride));
        combine_wide(weights, &self.values, out, false);
    }

    /// Writes the sum of squares of every column; `out` is as long as a padded row.
    pub fn squares(&self, out: &mut [f64]) {
        debug_assert_eq!(out.len(), self.stride);
        combine_wide(&vec![0.0; self.n_rows()], &self.values, out, true);
    }

    /// Returns `row_f · weights` of every row; `weights` is as long as a padded row.
    pub fn products(&self, weights: &[f64]) -> Vec<f64> {
        debug_assert_eq!(weights.len(), self.stride);
        let mut out = vec![0.0; self.n_rows()];
        dot_rows(weights, |row| self.padded(row), &mut out);
        out
    }

    /// Returns `sum_x weights_x c_x c_x^T` over the columns c_x, plus `ridge I`.
    ///
    /// The result is `m x m` row-major, symmetric to the last bit; `weights` is as long as a padded row.
    pub fn weighted_gram(&self, weights: &[f64], ridge: f64) -> Vec<f64> {
        debug_assert_eq!(weights.len(), self.stride);
        let m = self.n_rows();
        let mut out = vec![0.0; m * m];
        let mut weighted = vec![0.0; GRAM_ROWS * self.stride];
        weighted_gram_wide(&self.values, m, weights, &mut weighted, &mut out);
        (0..m).for_each(|i| out[i * m + i] += ridge);
        out
    }
}

vectorised! {
    fn solve_lower_columns(l: &[f64], m: usize, x: &mut [f64], stride: usize) {
        let mut at = 0;
        while at + 2 * LANES <= stride {
            solve_block::<2>(l, m, x, stride, at);
            at += 2 * LANES;
        }
        if at < stride {
            solve_block::<1>(l, m, x, stride, at);
        }
    }
}

/// Solves for the columns of `W` lane blocks: they stay in the L1 cache.
#[inline(always)]
fn solve_block<const W: usize>(l: &[f64], m: usize, x: &mut [f64], stride: usize, at: usize) {
    let mut f = 0;
    while f + WIDE <= m {
        solve_rows::<WIDE, W>(l, m, f, x, stride, at);
        f += WIDE;
    }
    for f in f..m {
        solve_rows::<1, W>(l, m, f, x, stride, at);
    }
}

/// Solves for `R` rows from `first`; their partial sums stay in registers.
#[inline(always)]
fn solve_rows<const R: usize, const W: usize>(l: &[f64], m: usize, first: usize, x: &mut [f64], stride: usize, at: usize) {
    let (above, rest) = x.split_at_mut(first * stride);
    let lines: [&[f64]; R] = std::array::from_fn(|r| &l[(first + r) * m..(first + r) * m + first + r + 1]);
    let mut sums = [[[0.0; LANES]; W]; R];
    for (sums, row) in sums.iter_mut().zip(rest.chunks_exact(stride)) {
        sums.iter_mut().zip(row[at..at + W * LANES].as_chunks::<LANES>().0).for_each(|(sum, target)| *sum = *target);
    }
    let before = lines.map(|line| &line[..first]);
    for (k, row) in above.chunks_exact(stride).enumerate() {
        let row = row[at..at + W * LANES].as_chunks::<LANES>().0;
        for r in 0..R {
            let factor = before[r][k];
            for w in 0..W {
                for lane in 0..LANES {
                    sums[r][w][lane] -= factor * row[w][lane];
                }
            }
        }
    }
    for r in 0..R {
        let (solved, later) = sums.split_at_mut(r);
        let (own, line) = (&mut later[0], lines[r]);
        for (solved, &factor) in solved.iter().zip(&line[first..]) {
            for w in 0..W {
                for lane in 0..LANES {
                    own[w][lane] -= factor * solved[w][lane];
                }
            }
        }
        own.as_flattened_mut().iter_mut().for_each(|sum| *sum /= line[first + r]);
    }
    for (sums, row) in sums.iter().zip(rest.chunks_exact_mut(stride)) {
        row[at..at + W * LANES].copy_from_slice(sums.as_flattened());
    }
}

vectorised! {
    /// Sums the columns, row by row.
    ///
    /// * `squares` — whether to sum squares instead of weighted values.
    fn combine_wide(weights: &[f64], values: &[f64], out: &mut [f64], squares: bool) {
        let stride = out.len();
        let mut at = 0;
        while at + WIDE * LANES <= stride {
            combine_block::<WIDE>(weights, values, out, at, squares);
            at += WIDE * LANES;
        }
        while at < stride {
            combine_block::<1>(weights, values, out, at, squares);
            at += LANES;
        }
    }
}

#[inline(always)]
fn combine_block<const W: usize>(weights: &[f64], values: &[f64], out: &mut [f64], at: usize, squares: bool) {
    let mut sums = [[0.0; LANES]; W];
    for (&weight, row) in weights.iter().zip(values.chunks_exact(out.len())) {
        let (row, _) = row[at..at + W * LANES].as_chunks::<LANES>();
        for w in 0..W {
            for lane in 0..LANES {
                let value = row[w][lane];
                sums[w][lane] += if squares { value } else { weight } * value;
            }
        }
    }
    let (out, _) = out[at..at + W * LANES].as_chunks_mut::<LANES>();
    out.iter_mut().zip(&sums).for_each(|(out, sum)| *out = *sum);
}

vectorised! {
    fn weighted_gram_wide(values: &[f64], m: usize, weights: &[f64], weighted: &mut [f64], out: &mut [f64]) {
        let stride = weights.len();
        let mut first = 0;
        while first + GRAM_ROWS <= m {
            gram_rows::<GRAM_ROWS>(values, m, first, weights, weighted, out);
            first += GRAM_ROWS;
        }
        for first in first..m {
            gram_rows::<1>(values, m, first, weights, &mut weighted[..stride], out);
        }
    }
}

/// Computes `R` rows of the gram from `first`, up to the diagonal, and their mirror images.
#[inline(always)]
fn gram_rows<const R: usize>(values: &[f64], m: usize, first: usize, weights: &[f64], weighted: &mut [f64], out: &mut [f64]) {
    let stride = weights.len();
    let row = |i: usize| &values[i * stride..(i + 1) * stride];
    for (i, weighted) in (first..).zip(weighted.chunks_exact_mut(stride.max(1))) {
        for ((weighted, &value), &weight) in weighted.iter_mut().zip(row(i)).zip(weights) {
            *weighted = value * weight;
        }
    }
    let rows: [&[f64]; R] = std::array::from_fn(|r| &weighted[r * stride..(r + 1) * stride]);
    for j in 0..first + R {
        for (i, product) in (first..).zip(products_of(rows, row(j))).skip(j.saturating_sub(first)) {
            (out[i * m + j], out[j * m + i]) = (product, product);
        }
    }
}

/// Computes the products of rows with another, in the order of [`super::dot`].
///
/// Each term is fused with the sum before it.
#[inline(always)]
fn products_of<const R: usize>(a: [&[f64]; R], b: &[f64]) -> [f64; R] {
    let (a, b) = (a.map(|a| a.as_chunks::<LANES>().0), b.as_chunks::<LANES>().0);
    let a = a.map(|a| &a[..b.len()]);
    let mut sums = [[0.0; LANES]; R];
    for block in 0..b.len() {
        for r in 0..R {
            sums[r] = fused(&a[r][block], &b[block], sums[r]);
        }
    }
    sums.map(sum_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{add_scaled, dot, solve_lower};
    use crate::rng::{Purpose, Streams};

    fn random(n_rows: usize, n: usize) -> Columns {
        let mut stream = Streams::new(17, "columns").of((n_rows * 1000 + n) as u64, Purpose::Function);
        let mut columns = Columns::zeros(n_rows, n);
        (0..n_rows).for_each(|row| columns.row_mut(row).iter_mut().for_each(|value| *value = stream.normal()));
        columns
    }

    fn padded(values: &[f64], columns: &Columns) -> Vec<f64> {
        let mut values = values.to_vec();
        values.resize(columns.stride(), 0.0);
        values
    }

    #[test]
    fn every_width_gives_the_plain_loops() {
        for m in [0, 1, 2, 5, 9] {
            for n in [1, 7, 8, 31, 32, 33, 45, 100] {
                let x = random(m, n);
                let weights: Vec<f64> = (0..n).map(|i| f64::from(i as u32 % 5)).collect();
                let mut out = vec![f64::NAN; x.stride()];
                let by: Vec<f64> = (0..m).map(|f| 1.0 / (f as f64 + 2.0)).collect();
                x.combine(&by, &mut out);
                let mut expected = vec![0.0; x.stride()];
                (0..m).for_each(|f| add_scaled(&mut expected, by[f], x.padded(f)));
                assert_eq!(out, expected);
                x.squares(&mut out);
                for (column, &square) in out[..n].iter().enumerate() {
                    assert_eq!(square, x.column(column).iter().fold(0.0, |sum, value| sum + value * value));
                }
                let products = x.products(&padded(&weights, &x));
                let gram = x.weighted_gram(&padded(&weights, &x), 0.25);
                for i in 0..m {
                    assert_eq!(products[i].to_bits(), dot(x.row(i), &weights).to_bits());
                    for j in 0..=i {
                        let mut sums = [0.0; LANES];
                        for (at, ((a, b), weight)) in x.row(i).iter().zip(x.row(j)).zip(&weights).enumerate() {
                            sums[at % LANES] = (a * weight).mul_add(*b, sums[at % LANES]);
                        }
                        let expected = sum_of(sums) + if i == j { 0.25 } else { 0.0 };
                        assert_eq!((gram[i * m + j], gram[j * m + i]), (expected, expected));
                    }
                }
            }
        }
    }

    #[test]
    fn columns_can_be_added() {
        let whole = random(3, 20);
        let mut grown = Columns::zeros(3, 0);
        (0..20).for_each(|column| grown.push(&whole.column(column)));
        assert_eq!(grown.n(), 20);
        (0..3).for_each(|row| assert_eq!(grown.row(row), whole.row(row)));
        assert!(grown.padded(2)[20..].iter().all(|x| *x == 0.0));
    }

    #[test]
    fn a_column_alone_has_the_bits_it_has_among_others() {
        let (m, n) = (11, 53);
        let l: Vec<f64> = (0..m * m).map(|e| if e / m < e % m { 0.0 } else { 1.0 + (e as f64 * 0.7).sin() }).collect();
        let before = random(m, n);
        let mut all = before.clone();
        all.solve_lower(&l);
        for column in [0, 8, 31, 40, 52] {
            let mut alone = Columns::zeros(m, 1);
            let values = before.column(column);
            (0..m).for_each(|f| alone.row_mut(f)[0] = values[f]);
            alone.solve_lower(&l);
            assert_eq!(alone.column(0), all.column(column));
            let mut plain = values;
            solve_lower(&l, &mut plain);
            assert!(plain.iter().zip(all.column(column)).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs())));
        }
    }
}
