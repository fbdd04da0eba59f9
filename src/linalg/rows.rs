//! Weighted sums of rows.

/// Rows that are added together: what they are added to is read and written once for them.
const TOGETHER: usize = 8;

/// `out += sum weights_i row_i`, each row in its turn; rows are at least as long as `out`. For callers in wide lanes.
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
        }
    }
}
