//! Sums over the entries of lower triangular matrices.

use super::TILE;
use crate::vectorised;

/// Sums over the entries of a lower triangular matrix.
///
/// The entries of column `j` are added to partial sum `j mod 4`, row by row in ascending order.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TriangleSums {
    /// Sum of squares.
    pub squares: f64,
    /// Largest sum of magnitudes of a row.
    pub largest_row: f64,
    /// Largest sum of magnitudes of a column.
    pub largest_column: f64,
}

impl TriangleSums {
    vectorised! {
        /// Returns the sums of the lower triangle of `n x n` numbers, row-major; within a tile of four columns the entries
        /// above the diagonal must be zero.
        pub fn of(rows: &[f64], n: usize) -> TriangleSums {
            debug_assert_eq!(rows.len(), n * n);
            let mut columns = vec![0.0_f64; n.next_multiple_of(TILE)];
            let (mut squares, mut largest_row) = ([0.0; TILE], 0.0_f64);
            for (i, row) in rows.chunks_exact(n.max(1)).enumerate() {
                let mut sums = [0.0; TILE];
                for (entries, columns) in row.chunks(TILE).zip(columns.as_chunks_mut::<TILE>().0).take(i / TILE + 1) {
                    let mut tile = [0.0; TILE];
                    tile[..entries.len()].copy_from_slice(entries);
                    for lane in 0..TILE {
                        let entry = tile[lane].abs();
                        sums[lane] += entry;
                        squares[lane] += entry * entry;
                        columns[lane] += entry;
                    }
                }
                largest_row = larger(sums.iter().sum(), largest_row);
            }
            let largest_column = columns.into_iter().fold(0.0, f64::max);
            TriangleSums { squares: squares.iter().sum(), largest_row, largest_column }
        }
    }

    /// Returns a bound on the square of the largest singular value.
    ///
    /// The bound is the smaller of the squared Frobenius norm and the product of the largest absolute row and column
    /// sums, rounded up.
    pub fn spectral(&self) -> f64 {
        1.000_001 * (self.largest_row * self.largest_column).min(self.squares)
    }
}

/// Returns the larger number; a NaN stays one.
#[inline(always)]
pub(super) fn larger(sum: f64, largest: f64) -> f64 {
    if largest < sum || sum.is_nan() { sum } else { largest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_their_definitions() {
        for n in 0..14 {
            let entry = |i: usize, j: usize| if j <= i { libm::sin((7 * i + 3 * j) as f64) } else { 0.0 };
            let rows: Vec<f64> = (0..n * n).map(|e| entry(e / n, e % n)).collect();
            let found = TriangleSums::of(&rows, n);
            let squares: f64 = rows.iter().map(|x| x * x).sum();
            let row = (0..n).map(|i| (0..n).map(|j| entry(i, j).abs()).sum()).fold(0.0, f64::max);
            let column = (0..n).map(|j| (0..n).map(|i| entry(i, j).abs()).sum()).fold(0.0, f64::max);
            for (found, expected) in [(found.squares, squares), (found.largest_row, row), (found.largest_column, column)] {
                assert!((found - expected).abs() <= 1e-14 * expected, "{n}: {found} {expected}");
            }
        }
    }

    #[test]
    fn nan_entries_give_nan_sums() {
        let found = TriangleSums::of(&[f64::NAN, 0.0, 1.0, 1.0], 2);
        assert!(found.squares.is_nan() && found.largest_row.is_nan());
    }
}
