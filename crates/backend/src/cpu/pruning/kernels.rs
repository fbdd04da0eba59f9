//! Implements the loops over the points of a block.
//!
//! Every sum stays within one point, so any SIMD width gives the same bits. Fused multiply-adds round once instead of
//! twice, so every error bound holds for both; they are used where the processor has them.

use crate::cpu::vector::larger;
use privateer_numerics::vectorised;
use pulp::Simd;

/// Returns whether loops in these SIMD lanes fuse their multiply-adds: those of AVX2 and AVX-512, which come with the instruction.
#[inline(always)]
pub fn is_fused<S: Simd>() -> bool {
    cfg!(target_arch = "x86_64") && 4 <= S::F64_LANES
}

#[inline(always)]
pub fn multiply_add<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Points whose sums stay in registers; arrays of points have a multiple of this length.
pub const LANES: usize = 32;

/// Computes `out = sum_i weights_i columns_i`, for consecutive columns as long as `out`.
#[inline(always)]
pub fn weighted_sum<const FUSED: bool>(weights: &[f64], columns: &[f64], out: &mut [f64]) {
    let parts = out.len() / LANES;
    for (part, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        *out = sum_of_part::<FUSED>(weights, columns, part, parts);
    }
}

/// Returns `sum_i a_i b_i`.
///
/// With the eight partial sums of `linalg::dot`, which wait for each other, `million-points` over features takes 14 s in place of 12.
#[inline(always)]
pub fn fused_dot<const FUSED: bool>(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] = multiply_add::<FUSED>(a[lane], b[lane], sums[lane]);
        }
    }
    for (lane, (&a, &b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] = multiply_add::<FUSED>(a, b, sums[lane]);
    }
    sums.iter().sum()
}

/// Computes `out *= sum_i weights_i columns_i`.
#[inline(always)]
pub fn multiply_sum<const FUSED: bool>(weights: &[f64], columns: &[f64], out: &mut [f64]) {
    let parts = out.len() / LANES;
    for (part, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let sum = sum_of_part::<FUSED>(weights, columns, part, parts);
        out.iter_mut().zip(&sum).for_each(|(out, sum)| *out *= *sum);
    }
}

#[inline(always)]
fn sum_of_part<const FUSED: bool>(weights: &[f64], columns: &[f64], part: usize, parts: usize) -> [f64; LANES] {
    let mut sum = [0.0; LANES];
    let columns = columns.as_chunks::<LANES>().0.iter().skip(part).step_by(parts.max(1));
    for (&weight, column) in weights.iter().zip(columns) {
        for lane in 0..LANES {
            sum[lane] = multiply_add::<FUSED>(weight, column[lane], sum[lane]);
        }
    }
    sum
}

/// Computes `variance -= squares p²` and `mean += steps p`.
#[inline(always)]
pub fn apply(mean: &mut [f64], variance: &mut [f64], p: &[f64], squares: f64, steps: f64) {
    for ((mean, variance), &p) in mean.iter_mut().zip(variance.iter_mut()).zip(p) {
        *variance -= squares * (p * p);
        *mean += steps * p;
    }
}

/// Most streaks whose sums stay in registers together.
pub const TOGETHER: usize = 8;

/// Points of a part of a block: the sums of [`TOGETHER`] streaks fit the registers, and each part of all columns is one stream of
/// memory.
pub const PART: usize = 16;

vectorised! {
    /// Computes `out_j = sum_i weights_ji columns_i` over a part of a block for up to [`TOGETHER`] streaks, reading columns once.
    ///
    /// * `weights` — coefficients of each streak, of non-decreasing length
    pub fn sums_of_part(weights: &[&[f64]], columns: &[[f64; PART]], out: &mut [[f64; PART]; TOGETHER]) where simd: S {
        match weights.len() {
            0 => {}
            1 => sums_of_rows::<S, 1>(simd, weights, columns, out),
            2 => sums_of_rows::<S, 2>(simd, weights, columns, out),
            3 | 4 => sums_of_rows::<S, 4>(simd, weights, columns, out),
            _ => sums_of_rows::<S, 8>(simd, weights, columns, out),
        }
    }
}

/// Computes [`sums_of_part`] for `ROWS` streaks, of which the last may be given several times.
#[inline(always)]
fn sums_of_rows<S: Simd, const ROWS: usize>(
    simd: S,
    weights: &[&[f64]],
    columns: &[[f64; PART]],
    out: &mut [[f64; PART]; TOGETHER],
) {
    let all: [&[f64]; ROWS] = std::array::from_fn(|i| weights[i.min(weights.len() - 1)]);
    // Columns of points that are new since the first of these streaks follow.
    let (common, new) = columns.split_at(all[0].len());
    let rows = all.map(|row| &row[..common.len()]);
    for first in (0..PART / S::F64_LANES).step_by(2) {
        let mut sums = [[simd.splat_f64s(0.0); 2]; ROWS];
        for (at, column) in common.iter().enumerate() {
            let values = &S::as_simd_f64s(column).0[first..][..2];
            for i in 0..ROWS {
                let weight = simd.splat_f64s(rows[i][at]);
                for j in 0..2 {
                    sums[i][j] = simd.mul_add_e_f64s(weight, values[j], sums[i][j]);
                }
            }
        }
        for (at, column) in (common.len()..all[ROWS - 1].len()).zip(new) {
            let values = &S::as_simd_f64s(column).0[first..][..2];
            for i in 0..ROWS {
                let weight = simd.splat_f64s(if at < all[i].len() { all[i][at] } else { 0.0 });
                for j in 0..2 {
                    sums[i][j] = simd.mul_add_e_f64s(weight, values[j], sums[i][j]);
                }
            }
        }
        for (out, sums) in out.iter_mut().zip(&sums) {
            S::as_mut_simd_f64s(out).0[first..][..2].copy_from_slice(sums);
        }
    }
}

/// Returns the largest score and the largest posterior variance.
#[inline(always)]
pub fn score(mean: &[f64], variance: &[f64], beta: f64) -> (f64, f64) {
    let (mut best, mut most) = ([f64::NEG_INFINITY; 8], [0.0f64; 8]);
    for (mean, variance) in mean.as_chunks::<8>().0.iter().zip(variance.as_chunks::<8>().0) {
        for lane in 0..8 {
            let variance = larger(0.0, variance[lane]);
            most[lane] = larger(most[lane], variance);
            best[lane] = larger(best[lane], mean[lane] + beta * variance.sqrt());
        }
    }
    (best.into_iter().fold(f64::NEG_INFINITY, larger), most.into_iter().fold(0.0, larger))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of streaks, with rows that end at different points, gives the plain sums.
    #[test]
    fn sums_of_streaks_are_sums_over_their_rows() {
        let number = |at: usize| libm::sin(1.7 * at as f64);
        let columns: Vec<[f64; PART]> = (0..30).map(|i| std::array::from_fn(|x| number(31 * i + x))).collect();
        for n_streaks in 1..=TOGETHER {
            for known in [0, 5, 22] {
                let rows: Vec<Vec<f64>> =
                    (0..n_streaks).map(|j| (0..known + j).map(|i| number(7 * i + 101 * j)).collect()).collect();
                let weights: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
                let mut out = [[f64::NAN; PART]; TOGETHER];
                sums_of_part(&weights, &columns, &mut out);
                for (row, out) in rows.iter().zip(&out) {
                    for (x, found) in out.iter().enumerate() {
                        let expected: f64 = row.iter().zip(&columns).map(|(weight, column)| weight * column[x]).sum();
                        assert!((found - expected).abs() < 1e-13, "{n_streaks} {known} {x}");
                    }
                }
            }
        }
    }
}
