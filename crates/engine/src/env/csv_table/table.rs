//! Defines the table of numbers.

use sha2::{Digest, Sha256};

/// Holds finite numbers in rows and columns; at least one of each if read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvTable {
    /// `columns`: names of the columns, in the order of the values; `None` without a header.
    pub header: Option<Vec<String>>,
    /// Number of rows, without the header.
    pub rows: usize,
    pub columns: usize,
    /// `rows x columns`, row-major.
    pub values: Vec<f64>,
    /// Rows of the file, from 0 and ascending, that were left out because a number is missing.
    pub dropped_rows: Vec<usize>,
}

impl CsvTable {
    /// Returns one row; `row` must be below `rows`.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// Returns the file's row, from 0, of one of the rows.
    pub fn row_in_file(&self, row: usize) -> usize {
        self.dropped_rows.iter().fold(row, |row, &dropped| row + usize::from(dropped <= row))
    }

    /// Returns the first 16 hexadecimal digits of the SHA-256 of shape and values.
    ///
    /// It distinguishes tables in a manifest.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.rows as u64).to_le_bytes());
        hash.update((self.columns as u64).to_le_bytes());
        for value in &self.values {
            hash.update(value.to_bits().to_le_bytes());
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the transposed table, without the header that named its columns.
    pub fn transposed(&self) -> Self {
        let value = |column: usize, row: usize| self.values[row * self.columns + column];
        let values = (0..self.columns).flat_map(|column| (0..self.rows).map(move |row| value(column, row))).collect();
        Self { header: None, rows: self.columns, columns: self.rows, values, dropped_rows: Vec::new() }
    }

    /// Returns the `columns` means of the columns, each summed from the first row to the last.
    pub fn column_means(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for row in self.values.chunks_exact(self.columns.max(1)) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += value;
            }
        }
        sums.into_iter().map(|sum| sum / self.rows as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let table =
            CsvTable { header: None, rows: 2, columns: 3, values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], dropped_rows: Vec::new() };
        assert_eq!(table.row(1), [4.0, 5.0, 6.0]);
        assert_eq!(table.column_means(), [2.5, 3.5, 4.5]);
        let turned = table.transposed();
        assert_eq!((turned.rows, turned.columns), (3, 2));
        assert_eq!(turned.values, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(turned.transposed(), table);
    }
}
