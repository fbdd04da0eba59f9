//! Implements the loops over points, written for SIMD: no sum crosses points.
//!
//! Each runs in the processor's widest SIMD lanes, selected at run time ([`pulp`]). The operations on a point and their
//! order do not depend on the SIMD width, and neither do the bits.

use privateer_numerics::{linalg::add_rows, vectorised};

/// Unit roundoff of f64.
pub const U: f64 = f64::EPSILON / 2.0;

vectorised! {
    /// Computes `out[x] = sum_i row[i] * columns[i][first + x]`, in order.
    pub fn weighted_sum(row: &[f64], columns: &[&[f64]], first: usize, out: &mut [f64]) {
        out.fill(0.0);
        add_rows(row, |i| &columns[i][first..], out);
    }
}

pub const GROUP: usize = 16;

/// Returns the most roundings of a product in a [`grouped_sum`] of `n` terms, its own included.
pub fn sum_depth(n: usize) -> f64 {
    (GROUP + n.div_ceil(GROUP) + 2) as f64
}

vectorised! {
    /// Computes [`weighted_sum`] in groups of [`GROUP`] columns, with fewer successive roundings.
    pub fn grouped_sum(row: &[f64], columns: &[&[f64]], first: usize, out: &mut [f64]) {
        let mut group = [0.0; 512];
        for (part, out) in out.chunks_mut(group.len()).enumerate() {
            let group = &mut group[..out.len()];
            out.fill(0.0);
            for (row, columns) in row.chunks(GROUP).zip(columns.chunks(GROUP)) {
                group.fill(0.0);
                add_rows(row, |i| &columns[i][first + 512 * part..], group);
                out.iter_mut().zip(&*group).for_each(|(out, group)| *out += group);
            }
        }
    }
}

/// Parallel running maxima, and the numbers of the widest SIMD vector.
pub const LANES: usize = 8;

/// Returns the larger of two numbers, or the first if one is NaN; one SIMD instruction.
#[inline(always)]
pub fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

vectorised! {
    /// Returns the largest magnitude, ignoring NaNs.
    pub fn largest_magnitude(values: &[f64]) -> f64 {
        let mut lanes = [0.0f64; LANES];
        let blocks = values.chunks_exact(LANES);
        let rest = blocks.remainder();
        for block in blocks {
            for (lane, value) in lanes.iter_mut().zip(block) {
                *lane = larger(*lane, value.abs());
            }
        }
        rest.iter().map(|value| value.abs()).chain(lanes).fold(0.0, larger)
    }
}

vectorised! {
    /// Writes `mean + width * sqrt(max(0, variance))`; returns the largest score, ignoring NaNs.
    pub fn score(mean: &[f64], variance: &[f64], beta: f64, out: &mut [f64]) -> f64 {
        for ((score, &mean), &variance) in out.iter_mut().zip(mean).zip(variance) {
            *score = mean + beta * larger(0.0, variance).sqrt();
        }
        let mut lanes = [f64::NEG_INFINITY; LANES];
        let blocks = out.chunks_exact(LANES);
        let rest = blocks.remainder();
        for block in blocks {
            for (lane, &score) in lanes.iter_mut().zip(block) {
                *lane = larger(*lane, score);
            }
        }
        rest.iter().copied().chain(lanes).fold(f64::NEG_INFINITY, larger)
    }
}

/// What [`test_blocks`] adds to means and variances first: `variance -= (scale p)²`, `mean += mean_step p`.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    pub p: &'a [f64],
    pub scale: f64,
    pub mean_step: f64,
}

/// A score that points are compared with, without their square roots.
#[derive(Clone, Copy)]
pub struct Floor {
    score: f64,
    /// `beta²`, rounded up.
    beta_square: f64,
}

/// Share by which a floor is loosened: thousands of times the roundings of a score and of its test.
const SLACK: f64 = 1e-12;

impl Floor {
    /// No point reaches this floor.
    pub const NONE: Self = Self { score: f64::INFINITY, beta_square: 0.0 };

    /// Creates the floor for scores with `beta >= 0` and means of at most this magnitude.
    pub fn new(score: f64, beta: f64, mean_max: f64) -> Self {
        Self::loosened(score, beta, mean_max, SLACK)
    }

    fn loosened(score: f64, beta: f64, mean_max: f64, slack: f64) -> Self {
        Self { score: score - slack * (1.0 + score.abs() + mean_max), beta_square: beta * beta * (1.0 + slack) }
    }
}

/// Points per block of [`test_blocks`]; the last block may be shorter.
pub const TESTED: usize = 64;

vectorised! {
    /// Applies an observation, and writes for each block whether one of its points may have a score at or above the floor.
    ///
    /// Such a point has `floor - mean <= 0` or `(floor - mean)² <= beta² variance`; so has a NaN. Lengths are multiples of
    /// [`LANES`]. Returns the largest magnitudes of mean and variance.
    pub fn test_blocks(
        mean: &mut [f64],
        variance: &mut [f64],
        step: Option<Step<'_>>,
        floor: Floor,
        reach: &mut [bool],
    ) -> (f64, f64) where simd: S {
        let [zero, one, least, beta_square] = [0.0, 1.0, floor.score, floor.beta_square].map(|x| simd.splat_f64s(x));
        let (mut mean_max, mut variance_max) = (zero, zero);
        let blocks = mean.chunks_mut(TESTED).zip(variance.chunks_mut(TESTED)).zip(reach);
        for (block, ((mean, variance), reach)) in blocks.enumerate() {
            let (mean, variance) = (S::as_mut_simd_f64s(mean).0, S::as_mut_simd_f64s(variance).0);
            if let Some(Step { p, scale, mean_step }) = step {
                let [scale, mean_step] = [scale, mean_step].map(|x| simd.splat_f64s(x));
                let p = S::as_simd_f64s(&p[block * TESTED..]).0;
                for ((mean, variance), &p) in mean.iter_mut().zip(variance.iter_mut()).zip(p) {
                    let fall = simd.mul_f64s(scale, p);
                    *variance = simd.sub_f64s(*variance, simd.mul_f64s(fall, fall));
                    *mean = simd.add_f64s(*mean, simd.mul_f64s(mean_step, p));
                }
            }
            let mut found = zero;
            for (&mean, &variance) in mean.iter().zip(&*variance) {
                let gap = simd.sub_f64s(least, mean);
                let squares = [simd.mul_f64s(beta_square, variance), simd.mul_f64s(gap, gap)];
                let below = simd.and_m64s(simd.less_than_f64s(zero, gap), simd.less_than_f64s(squares[0], squares[1]));
                found = simd.max_f64s(found, simd.select_f64s(below, zero, one));
                mean_max = simd.max_f64s(simd.abs_f64s(mean), mean_max);
                variance_max = simd.max_f64s(simd.abs_f64s(variance), variance_max);
            }
            *reach = 0.0 < simd.reduce_max_f64s(found);
        }
        (simd.reduce_max_f64s(mean_max), simd.reduce_max_f64s(variance_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_maxima_at_every_remainder() {
        for n in 0..20 {
            for k in 0..7 {
                let columns: Vec<Vec<f64>> =
                    (0..k).map(|i| (0..n + 3).map(|x| (i * 31 + x) as f64 * 0.25 - 3.0).collect()).collect();
                let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
                let row: Vec<f64> = (0..k).map(|i| 0.5 - i as f64).collect();
                let mut out = vec![f64::NAN; n];
                weighted_sum(&row, &slices, 3, &mut out);
                for (x, got) in out.iter().enumerate() {
                    let expected: f64 = (0..k).map(|i| row[i] * columns[i][x + 3]).sum();
                    assert!((got - expected).abs() < 1e-12);
                }
                let expected = out.iter().fold(0.0f64, |m, v| m.max(v.abs()));
                assert_eq!(largest_magnitude(&out), expected);
                let variance: Vec<f64> = (0..n).map(|x| x as f64 - 2.0).collect();
                let mut scores = vec![0.0; n];
                let best = score(&out, &variance, 1.5, &mut scores);
                assert_eq!(best, scores.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                assert!(scores.iter().zip(&out).zip(&variance).all(|((s, m), v)| *s == m + 1.5 * v.max(0.0).sqrt()));
            }
        }
    }
    /// Every point whose rounded score equals the floor is found; with a floor that is not loosened some are missed.
    #[test]
    fn a_point_at_the_floor_is_found() {
        let n = 3 * TESTED + LANES;
        let beta = 1.7;
        let number = |at: usize| (0.5 + 0.5 * libm::sin(at as f64 * 1.1)) * 10f64.powi((at % 5) as i32 - 3);
        let mut missed = 0;
        for point in 0..n {
            // One point above all others, by a margin that grows with the magnitudes of the means.
            let mut mean: Vec<f64> = (0..n).map(|at| number(at) - 40.0).collect();
            let mut variance: Vec<f64> = (0..n).map(|at| number(at + 1)).collect();
            (mean[point], variance[point]) = (number(3 * point) - 3.0, 900.0 + number(7 * point));
            let p: Vec<f64> = (0..n).map(|at| number(at + 2) - 0.3).collect();
            let step = Step { p: &p, scale: 0.01, mean_step: 0.2 };
            let fall = step.scale * p[point];
            let (moved, left) = (mean[point] + step.mean_step * p[point], variance[point] - fall * fall);
            let best = moved + beta * left.sqrt();
            let mut reach = vec![false; n.div_ceil(TESTED)];
            let (mean_max, variance_max) =
                test_blocks(&mut mean, &mut variance, Some(step), Floor::new(best, beta, 50.0), &mut reach);
            let expected: Vec<bool> = (0..reach.len()).map(|block| block == point / TESTED).collect();
            assert_eq!(reach, expected, "{point}");
            assert_eq!((mean[point], variance[point]), (moved, left));
            assert_eq!((mean_max, variance_max), (largest_magnitude(&mean), largest_magnitude(&variance)));
            test_blocks(&mut mean, &mut variance, None, Floor::loosened(best, beta, 50.0, 0.0), &mut reach);
            missed += usize::from(!reach[point / TESTED]);
            mean[point] = f64::NAN;
            test_blocks(&mut mean, &mut variance, None, Floor::new(best, beta, 50.0), &mut reach);
            assert_eq!(reach, expected, "a NaN at {point}");
        }
        assert!(0 < missed && missed < n, "{missed} of {n} points are missed without slack");
    }
}
