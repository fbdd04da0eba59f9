//! A Cholesky factor that gains rows and whose diagonal can be lowered.
//!
//! `A = L L^T`, `L` lower triangular, columns contiguous.

use crate::linalg::{dot, four_dots};
use crate::vectorised;

/// Returns the factor by which solves with L increase the rounding error of a posterior variance.
///
/// L is the factor of covariances plus `ridge / count`, so `|L^{-1}|` reaches `sqrt(count / ridge)` for the largest
/// count; the right-hand sides are at most the root of the prior variance. The fraction 1/64 is measured: for ridges of
/// 1e-2 to 1e-8 of the prior and counts of 10 to 10⁴, reported changes and model differed by less than half of this
/// bound.
pub fn lost_in_solves(prior: f64, ridge: f64, largest_count: u64) -> f64 {
    1.0 + (prior / ridge * largest_count as f64).sqrt() / 64.0
}

/// The factor of a positive definite matrix, with room to grow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GrowingCholesky {
    n: usize,
    stride: usize,
    /// Column `k` starts at `k * stride`, with entries indexed by row; zero above the diagonal.
    columns: Vec<f64>,
}

impl GrowingCholesky {
    /// Returns the number of rows of the factor.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Creates the factor from the row-major factor of an `n x n` matrix.
    pub fn from_rows(rows: &[f64], n: usize) -> Self {
        let mut factor = Self { n: 0, stride: 0, columns: Vec::new() };
        factor.reserve(n);
        factor.n = n;
        for row in 0..n {
            for column in 0..=row {
                factor.columns[column * factor.stride + row] = rows[row * n + column];
            }
        }
        factor
    }

    fn reserve(&mut self, stride: usize) {
        if stride <= self.stride {
            return;
        }
        let mut columns = vec![0.0; stride * stride];
        for k in 0..self.n {
            columns[k * stride..k * stride + self.n].copy_from_slice(&self.columns[k * self.stride..k * self.stride + self.n]);
        }
        self.columns = columns;
        self.stride = stride;
    }

    /// Adds a row: the last row of `L` is `l` (`n` entries) and `pivot > 0`.
    pub fn push(&mut self, l: &[f64], pivot: f64) {
        if self.n == self.stride {
            // Capacity grows by a quarter only: a trial's memory price is computed from its actual rows.
            self.reserve((self.stride + self.stride / 4 + 1).next_multiple_of(8));
        }
        for (k, &entry) in l.iter().enumerate() {
            self.columns[k * self.stride + self.n] = entry;
        }
        self.columns[self.n * self.stride + self.n] = pivot;
        self.n += 1;
    }

    fn column(&self, k: usize) -> (f64, &[f64]) {
        let start = k * self.stride;
        (self.columns[start + k], &self.columns[start + k + 1..start + self.n])
    }

    /// Returns column k from its entry in this row on.
    #[inline(always)]
    fn below(&self, k: usize, row: usize) -> &[f64] {
        &self.columns[k * self.stride + row..k * self.stride + self.n]
    }

    #[inline(always)]
    fn triangle(&self, k: usize) -> Triangle {
        let mut made = Triangle { inverses: [0.0; TOGETHER], below: [[0.0; TOGETHER]; TOGETHER] };
        for i in 0..TOGETHER {
            let column = &self.below(k + i, k)[..TOGETHER];
            made.inverses[i] = 1.0 / column[i];
            made.below.iter_mut().zip(column).skip(i + 1).for_each(|(row, &entry)| row[i] = entry);
        }
        made
    }

    /// Solves `L x = b` in place; entries of `b` before `first` must be zero and stay zero.
    pub fn solve_lower(&self, b: &mut [f64], first: usize) {
        solve_lower_growing(self, b, first);
    }

    /// Solves `L^T x = b` in place.
    pub fn solve_transposed(&self, b: &mut [f64]) {
        solve_transposed_wide(self, b);
    }

    /// Writes `L^T x`.
    pub fn transposed_times(&self, x: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend((0..self.n).map(|k| {
            let (pivot, below) = self.column(k);
            pivot * x[k] + dot(below, &x[k + 1..])
        }));
    }

    /// Replaces the factor by that of `A - delta e e^T`, `e` the unit vector of `index`.
    ///
    /// It uses hyperbolic rotations in their stable (mixed) form [Bojanczyk et al. 1987, Linear Algebra and its
    /// Applications 88]. `delta >= 0` must leave the matrix positive definite; `scratch` saves an allocation.
    ///
    /// Returns the magnitudes on which its rounding depends.
    pub fn lower_diagonal(&mut self, index: usize, delta: f64, scratch: &mut Vec<f64>) -> Rotated {
        scratch.clear();
        scratch.resize(self.n, 0.0);
        scratch[index] = delta.sqrt();
        lower_diagonal_wide(self, index, scratch)
    }
}

/// Sums over the rotations of [`GrowingCholesky::lower_diagonal`], with `m` the largest entry of the rotated vector below the
/// pivot, before and after.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rotated {
    /// Sum of the largest squares of the columns after.
    pub entries: f64,
    /// Sum of `(s m / c)²`, of the vector before.
    pub squares: f64,
    /// Sum of `m' (c m + |s| (e + |s| m / c))`, with `m'` of the vector after and `e` the largest entry of the column after.
    pub rest: f64,
}

/// Columns that are processed together: their pivots' latencies overlap, and the data is read once.
const TOGETHER: usize = 4;

/// The triangle of columns that are processed together.
///
/// It holds the inverses of the pivots, and the entries below the pivots by row.
struct Triangle {
    inverses: [f64; TOGETHER],
    below: [[f64; TOGETHER]; TOGETHER],
}

vectorised! {
    fn solve_lower_growing(factor: &GrowingCholesky, b: &mut [f64], first: usize) {
        let (n, mut k) = (factor.n, first);
        while k + TOGETHER <= n {
            let Triangle { inverses, below } = factor.triangle(k);
            let mut x = [0.0; TOGETHER];
            for i in 0..TOGETHER {
                let mut left = b[k + i];
                for j in 0..i {
                    left -= x[j] * below[i][j];
                }
                x[i] = left * inverses[i];
            }
            b[k..k + TOGETHER].copy_from_slice(&x);
            let rest = &mut b[k + TOGETHER..n];
            let column = |i: usize| &factor.below(k + i, k + TOGETHER)[..rest.len()];
            let (c0, c1, c2, c3) = (column(0), column(1), column(2), column(3));
            for (i, b) in rest.iter_mut().enumerate() {
                *b = (((*b - x[0] * c0[i]) - x[1] * c1[i]) - x[2] * c2[i]) - x[3] * c3[i];
            }
            k += TOGETHER;
        }
        for k in k..n {
            let (pivot, below) = factor.column(k);
            b[k] *= 1.0 / pivot;
            let x = b[k];
            for (b, entry) in b[k + 1..].iter_mut().zip(below) {
                *b -= x * entry;
            }
        }
    }
}

vectorised! {
    fn solve_transposed_wide(factor: &GrowingCholesky, b: &mut [f64]) {
        let n = factor.n;
        let whole = n / TOGETHER * TOGETHER;
        for k in (whole..n).rev() {
            let (pivot, below) = factor.column(k);
            b[k] = (b[k] - dot(below, &b[k + 1..n])) * (1.0 / pivot);
        }
        for k in (0..whole).step_by(TOGETHER).rev() {
            let Triangle { inverses, below } = factor.triangle(k);
            let from = k + TOGETHER;
            let below_of = |i: usize| factor.below(k + i, from);
            let sums = four_dots([below_of(0), below_of(1), below_of(2), below_of(3)], &b[from..n]);
            for i in (0..TOGETHER).rev() {
                let mut left = b[k + i] - sums[i];
                for j in i + 1..TOGETHER {
                    left -= below[j][i] * b[k + j];
                }
                b[k + i] = left * inverses[i];
            }
        }
    }
}

vectorised! {
    /// [`GrowingCholesky::lower_diagonal`] with SIMD.
    ///
    /// * `scratch` — the root of delta at `index`, zeros elsewhere.
    fn lower_diagonal_wide(factor: &mut GrowingCholesky, index: usize, scratch: &mut [f64]) -> Rotated {
        let GrowingCholesky { n, stride, columns } = factor;
        let (mut rotated, mut largest) = (Rotated::default(), 0.0f64);
        for k in index..*n {
            let column = &mut columns[k * *stride + k..k * *stride + *n];
            let Some((pivot, below)) = column.split_first_mut() else { return rotated };
            let x = scratch[k];
            // (pivot - x)(pivot + x) keeps the digits that pivot² - x² would lose.
            let lowered = ((*pivot - x) * (*pivot + x)).max(f64::MIN_POSITIVE).sqrt();
            let inverse_c = *pivot / lowered;
            let s = x / *pivot;
            let c = lowered / *pivot;
            *pivot = lowered;
            let before = s * largest * inverse_c;
            let kept = c * largest;
            largest = 0.0;
            let mut top = lowered;
            for (entry, x) in below.iter_mut().zip(&mut scratch[k + 1..]) {
                *entry = (*entry - s * *x) * inverse_c;
                *x = c * *x - s * *entry;
                largest = if largest < x.abs() { x.abs() } else { largest };
                top = if top < entry.abs() { entry.abs() } else { top };
            }
            rotated.entries += top * top;
            rotated.squares += before * before;
            rotated.rest += largest * (kept + s.abs() * (top + before.abs()));
        }
        rotated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(n: usize) -> Vec<f64> {
        let entry =
            |i: usize, j: usize| libm::exp(-0.1 * (i as f64 - j as f64).abs()) + if i == j { 0.5 + 0.1 * i as f64 } else { 0.0 };
        (0..n * n).map(|e| entry(e / n, e % n)).collect()
    }

    fn product(factor: &GrowingCholesky) -> Vec<f64> {
        let n = factor.n();
        let entry = |i: usize, k: usize| factor.columns[k * factor.stride + i];
        (0..n * n).map(|e| (0..=(e / n).min(e % n)).map(|k| entry(e / n, k) * entry(e % n, k)).sum()).collect()
    }

    fn grown(a: &[f64], n: usize) -> GrowingCholesky {
        let mut factor = GrowingCholesky::default();
        for i in 0..n {
            let mut l = a[i * n..i * n + i].to_vec();
            factor.solve_lower(&mut l, 0);
            let pivot = (a[i * n + i] - dot(&l, &l)).sqrt();
            factor.push(&l, pivot);
        }
        factor
    }

    #[test]
    fn growing_gives_the_matrix_back() {
        for n in 0..20 {
            let a = matrix(n);
            let factor = grown(&a, n);
            assert!(product(&factor).iter().zip(&a).all(|(x, y)| (x - y).abs() < 1e-13), "{n}");
        }
    }

    #[test]
    fn solves_invert() {
        let n = 11;
        let a = matrix(n);
        let factor = grown(&a, n);
        for index in 0..n {
            let mut x = vec![0.0; n];
            x[index] = 1.0;
            factor.solve_lower(&mut x, index);
            factor.solve_transposed(&mut x);
            for row in 0..n {
                let back = dot(&a[row * n..(row + 1) * n], &x);
                assert!((back - if row == index { 1.0 } else { 0.0 }).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn lowering_the_diagonal_often_stays_accurate() {
        let n = 9;
        let mut a = matrix(n);
        let mut factor = grown(&a, n);
        let mut scratch = Vec::new();
        for round in 0..2000 {
            let index = (7 * round) % n;
            let delta = 0.4 / (2000.0 / n as f64 + 1.0);
            a[index * n + index] -= delta;
            factor.lower_diagonal(index, delta, &mut scratch);
        }
        assert!(product(&factor).iter().zip(&a).all(|(x, y)| (x - y).abs() < 1e-12));
    }
}
