//! Implements the loops over the points of a block.
//!
//! Every sum stays within one point, so any SIMD width gives the same bits. Fused multiply-adds round once instead of
//! twice, so every error bound holds for both; they are used where the processor has them.

use super::order::MOST_SIZE;
use crate::cpu::vector::larger;
use pulp::{Arch, NullaryFnOnce};

/// A loop that may fuse its multiply-adds.
pub trait Fusible {
    type Output;

    fn call<const FUSED: bool>(self) -> Self::Output;
}

/// Runs a loop with the processor's widest SIMD lanes, with fused multiply-adds if it has them.
pub fn wide_fused<T: Fusible>(task: T) -> T::Output {
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => simd.vectorize(WithFusing::<T, true>(task)),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => simd.vectorize(WithFusing::<T, true>(task)),
        other => other.dispatch(WithFusing::<T, false>(task)),
    }
}

/// A loop, and whether it fuses its multiply-adds.
struct WithFusing<T, const FUSED: bool>(T);

impl<T: Fusible, const FUSED: bool> NullaryFnOnce for WithFusing<T, FUSED> {
    type Output = T::Output;

    #[inline(always)]
    fn call(self) -> T::Output {
        self.0.call::<FUSED>()
    }
}

/// Returns `a b + c`.
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

/// Computes one part of [`weighted_sum`].
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

/// Number of streaks whose sums stay in registers together.
pub const TOGETHER: usize = 4;

/// Points per part, so that the sums of [`TOGETHER`] streaks fit the registers.
const PART: usize = 16;

/// Consecutive whole streaks: coefficients, of non-decreasing length, and each streak's sums.
pub struct Together<'a> {
    pub weights: [&'a [f64]; TOGETHER],
    pub squares: [f64; TOGETHER],
    pub steps: [f64; TOGETHER],
}

/// Applies [`weighted_sum`] and [`apply`] for one streak after another, reading columns once.
#[inline(always)]
pub fn apply_together<const FUSED: bool>(streaks: &Together<'_>, columns: &[f64], mean: &mut [f64], variance: &mut [f64]) {
    let (size, parts) = (mean.len(), mean.len() / PART);
    let mut sums = [[0.0; MOST_SIZE]; TOGETHER];
    for part in 0..parts {
        let p = sums_of_part::<FUSED>(streaks.weights, columns, part, parts);
        for (sums, p) in sums.iter_mut().zip(&p) {
            sums[part * PART..][..PART].copy_from_slice(p);
        }
    }
    // Over slices: from registers the compiler would extract these numbers one by one.
    for ((sums, &squares), &steps) in sums.iter().zip(&streaks.squares).zip(&streaks.steps) {
        apply(mean, variance, &sums[..size], squares, steps);
    }
}

#[inline(always)]
fn sums_of_part<const FUSED: bool>(
    weights: [&[f64]; TOGETHER],
    columns: &[f64],
    part: usize,
    parts: usize,
) -> [[f64; PART]; TOGETHER] {
    let common = weights.iter().map(|weights| weights.len()).min().unwrap_or(0);
    let columns = columns.as_chunks::<PART>().0;
    let from = |first: usize| columns.get(first * parts + part..).unwrap_or(&[]).iter().step_by(parts.max(1));
    let [first, second, third, fourth] = weights.map(|weights| &weights[..common]);
    // Named arrays, each with a loop of its own: an array of arrays would be kept in memory.
    let (mut p, mut q, mut r, mut s) = ([0.0; PART], [0.0; PART], [0.0; PART], [0.0; PART]);
    for ((((column, a), b), c), d) in from(0).zip(first).zip(second).zip(third).zip(fourth) {
        add::<FUSED>(&mut p, *a, column);
        add::<FUSED>(&mut q, *b, column);
        add::<FUSED>(&mut r, *c, column);
        add::<FUSED>(&mut s, *d, column);
    }
    let [first, second, third, fourth] = weights.map(|weights| &weights[common..]);
    [
        rest::<FUSED>(p, first, from(common)),
        rest::<FUSED>(q, second, from(common)),
        rest::<FUSED>(r, third, from(common)),
        rest::<FUSED>(s, fourth, from(common)),
    ]
}

#[inline(always)]
fn rest<'a, const FUSED: bool>(
    mut sum: [f64; PART],
    weights: &[f64],
    columns: impl Iterator<Item = &'a [f64; PART]>,
) -> [f64; PART] {
    for (weight, column) in weights.iter().zip(columns) {
        add::<FUSED>(&mut sum, *weight, column);
    }
    sum
}

#[inline(always)]
fn add<const FUSED: bool>(sum: &mut [f64; PART], weight: f64, column: &[f64; PART]) {
    for lane in 0..PART {
        sum[lane] = multiply_add::<FUSED>(weight, column[lane], sum[lane]);
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
