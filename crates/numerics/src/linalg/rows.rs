//! Weighted sums of rows, and products with rows.

use super::{dot, four_dots};
use crate::vectorised;

/// Number of rows added together, so that the output is read and written once for all of them.
const TOGETHER: usize = 8;

/// Computes `out += sum weights_i row_i`, row by row, for callers inside a SIMD dispatch.
///
/// Rows are at least as long as `out`.
#[inline(always)]
pub fn add_rows<'a>(weights: &[f64], row: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
    let n = out.len();
    let row = |i: usize| &row(i)[..n];
    let (groups, rest) = weights.as_chunks::<TOGETHER>();
    for (at, weights) in groups.iter().enumerate() {
        let row = |i: usize| row(at * TOGETHER + i);
        let rows = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
        for (at, sum) in out.iter_mut().enumerate() {
            let mut new = *sum;
            for i in 0..TOGETHER {
                new += weights[i] * rows[i][at];
            }
            *sum = new;
        }
    }
    for (i, &weight) in rest.iter().enumerate() {
        for (sum, &entry) in out.iter_mut().zip(row(groups.len() * TOGETHER + i)) {
            *sum += weight * entry;
        }
    }
}

vectorised! {
    /// Computes [`add_rows`] with SIMD.
    pub fn add_rows_wide['a, F: Fn(usize) -> &'a [f64]](weights: &[f64], row: F, out: &mut [f64]) {
        add_rows(weights, row, out);
    }
}

vectorised! {
    /// Computes `out_i = c · row_i` with SIMD and the bits of [`dot`].
    ///
    /// Rows are at least as long as `c`.
    pub fn dot_rows['a, F: Fn(usize) -> &'a [f64]](c: &[f64], row: F, out: &mut [f64]) {
        let (fours, rest) = out.as_chunks_mut::<4>();
        let whole = 4 * fours.len();
        for (at, four) in fours.iter_mut().enumerate() {
            let of = |i: usize| row(4 * at + i);
            *four = four_dots([of(0), of(1), of(2), of(3)], c);
        }
        for (out, i) in rest.iter_mut().zip(whole..) {
            *out = dot(&row(i)[..c.len()], c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::add_scaled;

    #[test]
    fn rows_are_added_in_their_order() {
        for n_rows in 0..20 {
            let rows: Vec<f64> = (0..n_rows * 13).map(|i| libm::sin(0.7 * i as f64)).collect();
            let weights: Vec<f64> = (0..n_rows).map(|i| libm::cos(1.3 * i as f64)).collect();
            let (mut sum, mut expected) = ([0.5; 11], [0.5; 11]);
            add_rows(&weights, |i| &rows[i * 13..][..13], &mut sum);
            weights.iter().enumerate().for_each(|(i, &weight)| add_scaled(&mut expected, weight, &rows[i * 13..][..11]));
            assert_eq!(sum, expected, "{n_rows}");
            let mut wide = [0.5; 11];
            add_rows_wide(&weights, |i| &rows[i * 13..][..13], &mut wide);
            assert_eq!(wide, expected, "{n_rows}");
            let mut products = vec![0.0; n_rows];
            dot_rows(&expected, |i| &rows[i * 13..][..13], &mut products);
            let one_by_one: Vec<f64> = (0..n_rows).map(|i| dot(&rows[i * 13..][..11], &expected)).collect();
            assert_eq!(products, one_by_one, "{n_rows}");
        }
    }
}
