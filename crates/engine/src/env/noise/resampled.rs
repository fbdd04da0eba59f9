//! Implements rewards resampled from recorded readings, as in [Chowdhury2019, experiments].
//!
//! A reward is the reading of the played column in a random row, as on sensor and stock tables.

use super::Noise;
use crate::env::csv_table::CsvTable;
use privateer_numerics::rng::Stream;

/// Holds a table of readings, one row per occasion and one column per point.
///
/// `bound` and `variance` are computed from the table, as in the papers: they are facts about the data, and not public.
#[derive(Debug)]
pub struct Resampled {
    table: CsvTable,
    bound: f64,
    variance: f64,
    mean_variance: f64,
}

impl Resampled {
    /// Creates the noise from readings, `rows x points`.
    ///
    /// A table that was read from a file has at least one row and one column, and all its values are finite.
    pub fn new(table: CsvTable) -> Self {
        let means = table.column_means();
        let (mut bound, mut squares) = (0.0_f64, vec![0.0; means.len()]);
        for row in table.values.chunks_exact(table.columns.max(1)) {
            for ((reading, mean), square) in row.iter().zip(&means).zip(&mut squares) {
                let error = reading - mean;
                bound = bound.max(error.abs());
                *square += error * error;
            }
        }
        // Column variances: the mean of (reading - column mean)² over the rows. The code computes the largest variance and
        // their mean.
        let mean_variance = squares.iter().sum::<f64>() / table.values.len() as f64;
        let variance = squares.into_iter().fold(0.0, f64::max) / table.rows as f64;
        Self { table, bound, variance, mean_variance }
    }

    /// Returns the readings, `rows x points`.
    pub fn table(&self) -> &CsvTable {
        &self.table
    }

    /// Returns the variance averaged over the points.
    ///
    /// It is the `c` that the papers use on their tables, where a bound would be the worst case.
    pub fn mean_variance(&self) -> f64 {
        self.mean_variance
    }
}

impl Noise for Resampled {
    /// Returns the reading of `point` in a random row, whatever `mean` is; takes one word.
    ///
    /// NaN for a point outside the table.
    fn reward(&self, _mean: f64, point: usize, stream: &mut Stream) -> f64 {
        let row = stream.index(self.table.rows.max(1));
        if point < self.table.columns { self.table.row(row)[point] } else { f64::NAN }
    }

    fn bound(&self) -> Option<f64> {
        Some(self.bound)
    }

    fn variance(&self) -> Option<f64> {
        Some(self.variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_numerics::rng::{Purpose, Streams};

    #[test]
    fn readings_of_the_played_column() {
        let table = CsvTable {
            header: None,
            rows: 3,
            columns: 2,
            values: vec![1.0, 10.0, 2.0, 20.0, 6.0, 30.0],
            dropped_rows: Vec::new(),
        };
        let noise = Resampled::new(table);
        assert_eq!((noise.bound(), noise.range()), (Some(10.0), None));
        assert!(noise.variance().is_some_and(|v| (v - 200.0 / 3.0).abs() < 1e-12));
        // The column variances are 14/3 and 200/3.
        assert!((noise.mean_variance() - 107.0 / 3.0).abs() < 1e-12);
        let mut stream = Streams::new(5, "table").of(0, Purpose::Noise);
        let mut drawn: Vec<f64> = (0..100).map(|_| noise.reward(f64::NAN, 1, &mut stream)).collect();
        drawn.sort_by(f64::total_cmp);
        drawn.dedup();
        assert_eq!(drawn, [10.0, 20.0, 30.0]);
        assert!(noise.reward(0.0, 2, &mut stream).is_nan());
    }
}
