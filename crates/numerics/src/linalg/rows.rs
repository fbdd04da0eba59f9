//! Weighted sums of rows, and products with rows.

use super::{dot, four_dots};
use crate::vectorised;
use pulp::Simd;

/// Number of rows added together, so that the output is read and written once for all of them.
const TOGETHER: usize = 8;

/// Computes `out += sum weights_i row_i`, row by row, for callers inside a SIMD dispatch.
///
/// Rows are at least as long as `out`.
#[inline(always)]
pub fn add_rows<R: AsRef<[f64]>>(weights: &[f64], row: impl Fn(usize) -> R, out: &mut [f64]) {
    let n = out.len();
    let (groups, rest) = weights.as_chunks::<TOGETHER>();
    for (at, weights) in groups.iter().enumerate() {
        let row = |i: usize| row(at * TOGETHER + i);
        let rows = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
        let [a, b, c, d, e, f, g, h] = &rows;
        let rows = [cut(a, n), cut(b, n), cut(c, n), cut(d, n), cut(e, n), cut(f, n), cut(g, n), cut(h, n)];
        for (at, sum) in out.iter_mut().enumerate() {
            let mut new = *sum;
            for i in 0..TOGETHER {
                new += weights[i] * rows[i][at];
            }
            *sum = new;
        }
    }
    for (i, &weight) in rest.iter().enumerate() {
        for (sum, &entry) in out.iter_mut().zip(cut(&row(groups.len() * TOGETHER + i), n)) {
            *sum += weight * entry;
        }
    }
}

#[inline(always)]
fn cut<R: AsRef<[f64]>>(row: &R, n: usize) -> &[f64] {
    &row.as_ref()[..n]
}

vectorised! {
    /// Computes [`add_rows`] with SIMD.
    pub fn add_rows_wide[R: AsRef<[f64]>, F: Fn(usize) -> R](weights: &[f64], row: F, out: &mut [f64]) {
        add_rows(weights, row, out);
    }
}

/// Number of sums that [`add_rows_to_each`] computes together, and of rows that it reads at a time, each a stream of memory.
pub const SUMS: usize = 8;
const STREAMS: usize = 16;

vectorised! {
    /// Computes `out_j += sum_i weights[i][j] row_i` for each `out_j`, with the bits of [`add_rows`], reading the rows once.
    ///
    /// * `rows` — one after the other, each as long as every `out_j`: a whole number of the widest SIMD vectors
    pub fn add_rows_to_each(weights: &[[f64; SUMS]], rows: &[f64], out: &mut [Vec<f64>; SUMS]) where simd: S {
        let (stride, n) = (out[0].len(), out[0].len() / S::F64_LANES);
        for (weights, rows) in weights.chunks(STREAMS).zip(rows.chunks(STREAMS * stride.max(1))) {
            for first in (0..n).step_by(2) {
                if first + 2 <= n {
                    sums_of_vectors::<S, 2>(simd, weights, rows, first, out);
                } else {
                    sums_of_vectors::<S, 1>(simd, weights, rows, first, out);
                }
            }
        }
    }
}

/// Computes `N` vectors of each sum of [`add_rows_to_each`]; the sums stay in registers.
#[inline(always)]
fn sums_of_vectors<S: Simd, const N: usize>(
    simd: S,
    weights: &[[f64; SUMS]],
    rows: &[f64],
    first: usize,
    out: &mut [Vec<f64>; SUMS],
) {
    let mut sums = [[simd.splat_f64s(0.0); N]; SUMS];
    for (sums, out) in sums.iter_mut().zip(out.iter()) {
        sums.copy_from_slice(&S::as_simd_f64s(out).0[first..][..N]);
    }
    for (weights, row) in weights.iter().zip(rows.chunks_exact(out[0].len())) {
        let row = &S::as_simd_f64s(row).0[first..][..N];
        for i in 0..SUMS {
            let weight = simd.splat_f64s(weights[i]);
            for j in 0..N {
                sums[i][j] = simd.add_f64s(sums[i][j], simd.mul_f64s(weight, row[j]));
            }
        }
    }
    for (sums, out) in sums.iter().zip(out) {
        S::as_mut_simd_f64s(out).0[first..][..N].copy_from_slice(sums);
    }
}

vectorised! {
    /// Computes `out_i = c · row_i` with SIMD and the bits of [`dot`].
    ///
    /// Rows are at least as long as `c`.
    pub fn dot_rows[R: AsRef<[f64]>, F: Fn(usize) -> R](c: &[f64], row: F, out: &mut [f64]) {
        let (fours, rest) = out.as_chunks_mut::<4>();
        let whole = 4 * fours.len();
        for (at, four) in fours.iter_mut().enumerate() {
            let of = |i: usize| row(4 * at + i);
            let (first, second, third, fourth) = (of(0), of(1), of(2), of(3));
            *four = four_dots([first.as_ref(), second.as_ref(), third.as_ref(), fourth.as_ref()], c);
        }
        for (out, i) in rest.iter_mut().zip(whole..) {
            *out = dot(&row(i).as_ref()[..c.len()], c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::add_scaled;

    #[test]
    fn rows_are_added_in_their_order() {
        for n_rows in (0..20).chain([40]) {
            let rows: Vec<f64> = (0..n_rows * 13).map(|i| libm::sin(0.7 * i as f64)).collect();
            let weights: Vec<f64> = (0..n_rows).map(|i| libm::cos(1.3 * i as f64)).collect();
            let (mut sum, mut expected) = ([0.5; 11], [0.5; 11]);
            add_rows(&weights, |i| &rows[i * 13..][..13], &mut sum);
            weights.iter().enumerate().for_each(|(i, &weight)| add_scaled(&mut expected, weight, &rows[i * 13..][..11]));
            assert_eq!(sum, expected, "{n_rows}");
            let mut wide = [0.5; 11];
            add_rows_wide(&weights, |i| &rows[i * 13..][..13], &mut wide);
            assert_eq!(wide, expected, "{n_rows}");
            let padded: Vec<f64> = rows.chunks_exact(13).flat_map(|row| [&row[..11], &[0.0; 13]].concat()).collect();
            let each: Vec<[f64; SUMS]> = weights.iter().map(|&w| std::array::from_fn(|j| w * [1.0, -3.0][j % 2])).collect();
            let mut sums: [Vec<f64>; SUMS] = std::array::from_fn(|j| [&[0.5; 11][..], &[j as f64; 13]].concat());
            add_rows_to_each(&each, &padded, &mut sums);
            for (j, sum) in sums.iter().enumerate() {
                let mut alone = [0.5; 11];
                let weights: Vec<f64> = each.iter().map(|weights| weights[j]).collect();
                add_rows_wide(&weights, |i| &padded[i * 24..][..24], &mut alone);
                assert_eq!((&sum[..11], sum[12]), (&alone[..], j as f64), "{n_rows}");
            }
            let mut products = vec![0.0; n_rows];
            dot_rows(&expected, |i| &rows[i * 13..][..13], &mut products);
            let one_by_one: Vec<f64> = (0..n_rows).map(|i| dot(&rows[i * 13..][..11], &expected)).collect();
            assert_eq!(products, one_by_one, "{n_rows}");
        }
    }
}
