//! The loops over the points of a block: every sum stays within a point, so lanes of any width give the same bits.

use crate::backend::cpu::vector::larger;

/// Points whose sums stay in registers; arrays of points are a multiple of it.
pub const LANES: usize = 32;

/// `out = sum_i weights_i columns_i`; columns follow each other, each as long as `out`.
#[inline(always)]
pub fn weighted_sum(weights: &[f64], columns: &[f64], out: &mut [f64]) {
    let parts = out.len() / LANES;
    for (part, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        *out = sum_of_part(weights, columns, part, parts);
    }
}

/// `out *= sum_i weights_i columns_i`.
#[inline(always)]
pub fn multiply_sum(weights: &[f64], columns: &[f64], out: &mut [f64]) {
    let parts = out.len() / LANES;
    for (part, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let sum = sum_of_part(weights, columns, part, parts);
        out.iter_mut().zip(&sum).for_each(|(out, sum)| *out *= *sum);
    }
}

#[inline(always)]
fn sum_of_part(weights: &[f64], columns: &[f64], part: usize, parts: usize) -> [f64; LANES] {
    let mut sum = [0.0; LANES];
    let columns = columns.as_chunks::<LANES>().0.iter().skip(part).step_by(parts.max(1));
    for (&weight, column) in weights.iter().zip(columns) {
        for lane in 0..LANES {
            sum[lane] += weight * column[lane];
        }
    }
    sum
}

/// `variance -= squares p²`, `mean += steps p`.
#[inline(always)]
pub fn apply(mean: &mut [f64], variance: &mut [f64], p: &[f64], squares: f64, steps: f64) {
    for ((mean, variance), &p) in mean.iter_mut().zip(variance.iter_mut()).zip(p) {
        *variance -= squares * (p * p);
        *mean += steps * p;
    }
}

/// Largest score and largest spread².
#[inline(always)]
pub fn score(mean: &[f64], variance: &[f64], width: f64) -> (f64, f64) {
    let (mut best, mut most) = ([f64::NEG_INFINITY; 8], [0.0f64; 8]);
    for (mean, variance) in mean.as_chunks::<8>().0.iter().zip(variance.as_chunks::<8>().0) {
        for lane in 0..8 {
            let spread = larger(0.0, variance[lane]);
            most[lane] = larger(most[lane], spread);
            best[lane] = larger(best[lane], mean[lane] + width * spread.sqrt());
        }
    }
    (best.into_iter().fold(f64::NEG_INFINITY, larger), most.into_iter().fold(0.0, larger))
}
