//! Makes one point of the rows of a table that have equal inputs, whatever the order of the rows.

use super::csv_table::CsvTable;
use super::noise::Noise;
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Holds which rows of a sorted table are one point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replicates {
    /// First row of each point in the sorted table, then the number of rows.
    starts: Vec<usize>,
    /// The file's row, from 0, of each row of the sorted table.
    rows: Vec<usize>,
}

impl Replicates {
    /// Sorts the rows by their first `n_inputs` columns, then by the others; rows with equal inputs become one point.
    pub fn sort(table: &mut CsvTable, n_inputs: usize) -> Self {
        // 0.0 and -0.0 are one coordinate.
        table.values.iter_mut().for_each(|value| *value += 0.0);
        let mut rows: Vec<usize> = (0..table.rows).collect();
        let key = |&row: &usize| table.row(row);
        rows.sort_by(|a, b| {
            key(a).iter().zip(key(b)).map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne()).unwrap_or_else(|| a.cmp(b))
        });
        let mut values = Vec::with_capacity(table.values.len());
        rows.iter().for_each(|&row| values.extend_from_slice(table.row(row)));
        table.values = values;
        let file_rows = rows.iter().map(|&row| table.row_in_file(row)).collect();
        let is_new = |&row: &usize| row == 0 || table.row(row)[..n_inputs] != table.row(row - 1)[..n_inputs];
        let starts = (0..table.rows).filter(is_new).chain([table.rows]).collect();
        Self { starts, rows: file_rows }
    }

    /// Keeps each row as a point of its own, in the file's order.
    pub(crate) fn apart(table: &CsvTable) -> Self {
        Self { starts: (0..=table.rows).collect(), rows: (0..table.rows).map(|row| table.row_in_file(row)).collect() }
    }

    pub fn n_points(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the first row of each point in the sorted table.
    pub fn first_rows(&self) -> &[usize] {
        &self.starts[..self.n_points()]
    }

    /// Returns the least of the file's rows, from 0, that are this point.
    pub(crate) fn file_row(&self, point: usize) -> usize {
        let rows = &self.rows[self.starts[point]..self.starts[point + 1]];
        rows.iter().copied().min().unwrap_or(0)
    }

    /// Returns the file's row, from 0, of a row of the sorted table.
    pub fn row_in_file(&self, row: usize) -> usize {
        self.rows[row]
    }

    /// Returns the means of the points' values; those of one row, or of equal rows, are exact.
    pub fn means(&self, values: &[f64]) -> Vec<f64> {
        let mean = |of: &[f64]| of[0] + of.iter().map(|value| value - of[0]).sum::<f64>() / of.len() as f64;
        self.starts.windows(2).map(|ends| mean(&values[ends[0]..ends[1]])).collect()
    }

    /// Returns the standard deviation of values within points, pooled over points of several rows; `None` without any.
    pub fn scatter(&self, values: &[f64]) -> Option<f64> {
        let means = self.means(values);
        let repeated = || self.starts.windows(2).zip(&means).filter(|(ends, _)| 1 < ends[1] - ends[0]);
        let squares: f64 = repeated()
            .flat_map(|(ends, mean)| values[ends[0]..ends[1]].iter().map(move |value| (value - mean) * (value - mean)))
            .sum();
        let freedom: usize = repeated().map(|(ends, _)| ends[1] - ends[0] - 1).sum();
        (0 < freedom).then(|| libm::sqrt(squares / freedom as f64))
    }

    /// Returns the noise of rewards that belong to a random row of the point that is played.
    pub(crate) fn noise(&self, around_rows: Arc<dyn Noise>, values: Vec<f64>) -> Arc<dyn Noise> {
        let means = self.means(&values);
        let (mut reach, mut variance) = (0.0_f64, 0.0_f64);
        for (ends, mean) in self.starts.windows(2).zip(&means) {
            let squares = values[ends[0]..ends[1]].iter().map(|value| (value - mean) * (value - mean));
            reach = squares.clone().fold(reach, |most, square| most.max(libm::sqrt(square)));
            variance = variance.max(squares.sum::<f64>() / (ends[1] - ends[0]) as f64);
        }
        Arc::new(OfRandomRow { around_rows, values, starts: self.starts.clone(), reach, variance })
    }
}

/// Draws a row of the played point, then a reward around this row's value.
#[derive(Debug)]
struct OfRandomRow {
    around_rows: Arc<dyn Noise>,
    values: Vec<f64>,
    starts: Vec<usize>,
    /// Largest distance of a row's value from its point's mean.
    reach: f64,
    /// Largest variance of the values of a point.
    variance: f64,
}

impl Noise for OfRandomRow {
    /// Takes one word more than the noise around the rows; NaN for a point outside the table.
    fn reward(&self, _mean: f64, point: usize, stream: &mut Stream) -> f64 {
        let (first, end) = match self.starts.get(point..point + 2) {
            Some(&[first, end]) => (first, end),
            _ => (0, 0),
        };
        let row = first + stream.index((end - first).max(1));
        if row < end { self.around_rows.reward(self.values[row], point, stream) } else { f64::NAN }
    }

    fn bound(&self) -> Option<f64> {
        self.around_rows.bound().map(|bound| bound + self.reach)
    }

    fn variance(&self) -> Option<f64> {
        self.around_rows.variance().map(|variance| variance + self.variance)
    }

    fn clipped_mean(&self, _mean: f64, point: usize, low: f64, high: f64) -> f64 {
        let rows = &self.values[self.starts[point]..self.starts[point + 1]];
        rows.iter().map(|&row| self.around_rows.clipped_mean(row, point, low, high)).sum::<f64>() / rows.len() as f64
    }

    fn range(&self) -> Option<(f64, f64)> {
        self.around_rows.range()
    }
}
