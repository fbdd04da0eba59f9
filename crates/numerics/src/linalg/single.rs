//! Rows in single precision, which find where the largest product with a vector can be.

use crate::vectorised;

/// Rows that are multiplied at once.
const LANES: usize = 16;

/// Blocks of rows that are multiplied at once, to hide the latency of an addition.
const BLOCKS: usize = 4;

/// A matrix in single precision.
#[derive(Debug, Clone)]
pub struct SingleRows {
    n_rows: usize,
    n_columns: usize,
    /// Blocks of rows, each column after column, [`BLOCKS`] or a multiple of it; rows beyond the last are zero.
    columns: Vec<[f32; LANES]>,
    /// Largest Euclidean length of a row.
    longest: f64,
}

impl SingleRows {
    /// Rounds a row-major matrix.
    pub fn new(n_columns: usize, values: &[f64]) -> Self {
        let n_rows = values.len() / n_columns.max(1);
        let mut columns = vec![[0.0; LANES]; n_rows.div_ceil(BLOCKS * LANES) * BLOCKS * n_columns];
        let mut longest: f64 = 0.0;
        for (row, entries) in values.chunks_exact(n_columns.max(1)).enumerate() {
            let block = row / LANES * n_columns;
            entries.iter().enumerate().for_each(|(column, entry)| columns[block + column][row % LANES] = *entry as f32);
            longest = longest.max(super::dot(entries, entries));
        }
        Self { n_rows, n_columns, columns, longest: libm::sqrt(longest) }
    }

    /// Lists the rows, ascending, whose product with `c` can be the largest.
    ///
    /// All of them are listed where single precision cannot tell.
    /// A product of n entries rounds both factors, n products and n - 1 sums: its error is at most `(n + 2) u |c| |row|` and higher
    /// orders, with u = 2^-24, and what is lost below the smallest normal number.
    ///
    /// * `products` — memory that is used again
    pub fn largest(&self, c: &[f64], products: &mut Vec<f32>) -> Vec<usize> {
        let length = libm::sqrt(super::dot(c, c));
        let most = length * self.longest;
        if !(length < 1e15 && self.longest < 1e15) {
            return (0..self.n_rows).collect();
        }
        let n = self.n_columns as f64;
        let error = 1.01 * (n + 2.0) * (0.5 * f64::from(f32::EPSILON)) * most + n * 1e-37 * (1.0 + length + self.longest);
        let single: Vec<f32> = c.iter().map(|&entry| entry as f32).collect();
        products.resize(self.columns.len() / self.n_columns.max(1) * LANES, 0.0);
        multiply(&self.columns, &single, products);
        let products = &products[..self.n_rows];
        let least = f64::from(greatest(products)) - 2.0 * error;
        // The threshold in single precision is rounded down.
        let least = least as f32;
        let least = if least.is_finite() { least.next_down() } else { f32::NEG_INFINITY };
        let mut found = Vec::new();
        for (at, block) in products.chunks(LANES).enumerate() {
            if greatest(block) < least {
                continue;
            }
            found.extend((at * LANES..).zip(block).filter(|(_, product)| least <= **product).map(|(row, _)| row));
        }
        found
    }
}

vectorised! {
    fn multiply(columns: &[[f32; LANES]], c: &[f32], products: &mut [f32]) {
        let n = c.len();
        let (products, _) = products.as_chunks_mut::<LANES>();
        let (products, _) = products.as_chunks_mut::<BLOCKS>();
        for (blocks, products) in columns.chunks_exact(BLOCKS * n.max(1)).zip(products) {
            let ((a, b), (d, e)) = (blocks[..2 * n].split_at(n), blocks[2 * n..].split_at(n));
            let mut sums = [[0.0_f32; LANES]; BLOCKS];
            for ((((factor, a), b), d), e) in c.iter().zip(a).zip(b).zip(d).zip(e) {
                for lane in 0..LANES {
                    sums[0][lane] += factor * a[lane];
                    sums[1][lane] += factor * b[lane];
                    sums[2][lane] += factor * d[lane];
                    sums[3][lane] += factor * e[lane];
                }
            }
            *products = sums;
        }
    }
}

vectorised! {
    fn greatest(numbers: &[f32]) -> f32 {
        let (blocks, rest) = numbers.as_chunks::<LANES>();
        let mut most = [f32::NEG_INFINITY; LANES];
        for block in blocks {
            for lane in 0..LANES {
                most[lane] = if most[lane] < block[lane] { block[lane] } else { most[lane] };
            }
        }
        most.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dot;

    /// The row of the largest product is found whatever cancels or underflows, and few others are.
    #[test]
    fn the_largest_product_is_found() {
        for seed in 0..400 {
            let (n, rows, power) = (1 + seed % 37, 1 + 7 * seed % 290, 0.8 * (seed % 31) as f64 - 12.0);
            let number = |i: usize| libm::sin(0.37 * (i + seed + 1) as f64 * (1.0 + (i % 7) as f64));
            let values: Vec<f64> = (0..n * rows).map(|i| number(i) * libm::pow(10.0, power)).collect();
            let mut c: Vec<f64> = (0..n).map(|i| number(3 * i + 1)).collect();
            if seed % 3 == 0 {
                // Nearly orthogonal to the first row.
                let along = dot(&c, &values[..n]) / dot(&values[..n], &values[..n]);
                c.iter_mut().zip(&values).for_each(|(c, x)| *c -= along * x);
            }
            let exact: Vec<f64> = values.chunks_exact(n).map(|row| dot(row, &c)).collect();
            let best = (0..rows).max_by(|&a, &b| exact[a].total_cmp(&exact[b])).unwrap_or(0);
            let rows = SingleRows::new(n, &values);
            let found = rows.largest(&c, &mut Vec::new());
            assert!(found.contains(&best) && found.is_sorted(), "{seed}");
            let band = 1e-5 * (n as f64 + 2.0) * libm::sqrt(dot(&c, &c)) * rows.longest;
            assert!(found.iter().all(|&row| exact[best] - band <= exact[row]), "{seed}: {found:?}");
        }
    }

    /// Rows that differ by less than single precision holds are all listed, whichever is the largest.
    #[test]
    fn near_ties_are_listed() {
        let c: Vec<f64> = (0..37).map(|i| libm::cos(1.7 * f64::from(i))).collect();
        let mut wrong = 0;
        for seed in 0..200_usize {
            let near = |i: usize| 1.0 + 1e-7 * libm::sin(((i + 1) * (seed + 3)) as f64);
            let values: Vec<f64> = (0..100 * 37).map(|i| near(i) * libm::sin(0.9 * (i % 37) as f64)).collect();
            let exact: Vec<f64> = values.chunks_exact(37).map(|row| dot(row, &c)).collect();
            let best = (0..100).max_by(|&a, &b| exact[a].total_cmp(&exact[b])).unwrap_or(0);
            let mut products = Vec::new();
            assert_eq!(SingleRows::new(37, &values).largest(&c, &mut products).len(), 100, "{seed}");
            wrong += usize::from(products[..100].iter().any(|product| products[best] < *product));
        }
        assert!(20 < wrong, "{wrong}: single precision alone orders these rows");
    }

    #[test]
    fn what_single_precision_cannot_tell_is_listed_whole() {
        for (values, c) in [([1e300, 1.0, 2.0], [1.0]), ([1.0, 2.0, 3.0], [1e200]), ([1e-50, 2e-50, 3e-50], [1.0])] {
            assert_eq!(SingleRows::new(1, &values).largest(&c, &mut Vec::new()), [0, 1, 2]);
        }
    }
}
