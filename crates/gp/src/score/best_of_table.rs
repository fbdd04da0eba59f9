//! Finds the point with the largest score in a table of moments.

use super::{MomentTable, Moments, tie_margin};
use privateer_numerics::pulp::{Arch, Simd, WithSimd};

/// Returns the point with the largest score, the lowest index among ties.
///
/// Returns `None` without points, and where a score is NaN.
/// * `near` — a point whose score is likely to be high; any number gives the same result
/// * `highest` — memory that is used again
pub fn best_of_table(table: MomentTable<'_>, beta: f64, near: usize, highest: &mut Vec<f64>) -> Option<usize> {
    highest.clear();
    Arch::new().dispatch(BestOfTable { table, beta, near, highest })
}

/// Finds the best point without the square roots of most points.
///
/// With a score `b` known to be reached and `d = b - mean > 0`, the score `mean + beta sqrt(variance)` is below `b` where
/// `beta² variance < d²`. [`SQUARE_SLACK`] and twice the tolerance of ties cover the rounding of both sides. Points are scored a
/// vector at a time, where one of them may reach `b`. A NaN fails both comparisons, so its point is scored.
/// A subnormal `beta²` has few digits left, and the smallest normal number takes its place.
struct BestOfTable<'a> {
    table: MomentTable<'a>,
    beta: f64,
    near: usize,
    /// The highest score of each vector that was scored, otherwise negative infinity.
    highest: &'a mut Vec<f64>,
}

/// Factor of `beta² variance`, far beyond the rounding of the squares, some 1e-16.
const SQUARE_SLACK: f64 = 1.0 + 1e-11;

const MOST_LANES: usize = 8;

impl WithSimd for BestOfTable<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<usize> {
        let Self { table: MomentTable { means, variances }, beta, near, highest } = self;
        let near = near.min(means.len().checked_sub(1)?);
        let score = |point: usize| Moments { mean: means[point], variance: variances[point] }.upper(beta);
        let reached = score(near);
        let nans = simd.less_than_f64s(simd.splat_f64s(0.0), simd.splat_f64s(0.0));
        let mut best = Best {
            simd,
            beta,
            square: (SQUARE_SLACK * beta * beta).max(f64::MIN_POSITIVE),
            score: reached,
            low: low_of(reached),
            nans,
        };
        let ((whole_means, last_means), (whole_variances, last_variances)) = (S::as_simd_f64s(means), S::as_simd_f64s(variances));
        for (&mean, &variance) in whole_means.iter().zip(whole_variances) {
            highest.push(best.highest_unless_below(mean, variance));
        }
        if !last_means.is_empty() {
            // Padding has the lowest mean.
            let (mut means, mut variances) = ([f64::NEG_INFINITY; MOST_LANES], [0.0; MOST_LANES]);
            means[..last_means.len()].copy_from_slice(last_means);
            variances[..last_means.len()].copy_from_slice(last_variances);
            highest.push(best.highest_unless_below(S::as_simd_f64s(&means).0[0], S::as_simd_f64s(&variances).0[0]));
        }
        if any(simd, best.nans) {
            return None;
        }
        let floor = best.score - tie_margin(best.score);
        let first = highest.iter().position(|&score| floor <= score)? * S::F64_LANES;
        (first..means.len()).find(|&point| floor <= score(point))
    }
}

#[inline(always)]
fn any<S: Simd>(simd: S, mask: S::m64s) -> bool {
    if 1 < S::F64_LANES && size_of::<S::m64s>() == 1 {
        // For masks of bits this function of pulp 0.22 counts from the last lane; for an empty one it returns the number of lanes.
        return simd.first_true_m64s(mask) != S::F64_LANES;
    }
    0.0 < simd.reduce_max_f64s(simd.select_f64s(mask, simd.splat_f64s(1.0), simd.splat_f64s(0.0)))
}

/// Returns a level below all scores that tie with `score`.
#[inline(always)]
fn low_of(score: f64) -> f64 {
    score - 2.0 * tie_margin(score)
}

/// The largest score so far.
struct Best<S: Simd> {
    simd: S,
    beta: f64,
    /// `beta²`, times [`SQUARE_SLACK`].
    square: f64,
    score: f64,
    /// A level below all scores that tie with it.
    low: f64,
    /// Lanes in which a score was NaN.
    nans: S::m64s,
}

impl<S: Simd> Best<S> {
    /// Returns the highest of these scores, or negative infinity where none may reach the best.
    #[inline(always)]
    fn highest_unless_below(&mut self, mean: S::f64s, variance: S::f64s) -> f64 {
        let simd = self.simd;
        let [zero, low, beta, square] = [0.0, self.low, self.beta, self.square].map(|x| simd.splat_f64s(x));
        let d = simd.sub_f64s(low, mean);
        let squares = (simd.mul_f64s(square, variance), simd.mul_f64s(d, d));
        let below = simd.and_m64s(simd.less_than_f64s(zero, d), simd.less_than_f64s(squares.0, squares.1));
        if !any(simd, simd.not_m64s(below)) {
            return f64::NEG_INFINITY;
        }
        let scores = simd.add_f64s(mean, simd.mul_f64s(beta, simd.sqrt_f64s(variance)));
        self.nans = simd.or_m64s(self.nans, simd.not_m64s(simd.equal_f64s(scores, scores)));
        let score = simd.reduce_max_f64s(scores);
        if self.score < score {
            (self.score, self.low) = (score, low_of(score));
        }
        score
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::lowest_within_tie;
    use privateer_numerics::pulp;
    use privateer_numerics::rng::{Purpose, Streams};

    /// Compares with scores of all points, whatever point is near, and for scores that tie or nearly tie.
    #[test]
    fn a_table_is_decided_like_its_points() {
        let mut draws = Streams::new(3, "tables").of(0, Purpose::Start);
        for case in 0..2000 {
            let n = 1 + draws.index(40);
            let (spread, beta) = ([0.0, 1e-11, 1e-9, 1.0, 1e6][draws.index(5)], [0.0, 1e-3, 2.0, 1e8, 5e-161][draws.index(5)]);
            let mut means: Vec<f64> = (0..n).map(|_| 3.0 + spread * draws.normal()).collect();
            let mut variances: Vec<f64> = (0..n).map(|_| draws.uniform() * draws.uniform()).collect();
            if case % 2 == 0 {
                // All scores are equal but for rounding and a spread of tie tolerances, at different roots.
                let level = means.clone();
                means.iter_mut().zip(&level).zip(&variances).for_each(|((mean, level), v)| *mean = level - beta * v.sqrt());
            }
            if beta < 1e-100 {
                variances.iter_mut().for_each(|v| *v *= 1e308);
            }
            if case % 50 == 0 {
                variances[draws.index(n)] = 0.0;
                means[draws.index(n)] = f64::NEG_INFINITY;
            }
            if case % 17 == 0 {
                means[draws.index(n)] = f64::NAN;
            }
            let scored = |point: usize| (point, Moments { mean: means[point], variance: variances[point] }.upper(beta));
            let scored: Vec<(usize, f64)> = (0..n).map(scored).collect();
            let expected = if case % 17 == 0 { None } else { lowest_within_tie(&scored) };
            let table = MomentTable { means: &means, variances: &variances };
            for near in [0, draws.index(n), n] {
                let found = best_of_table(table, beta, near, &mut Vec::new());
                let narrow = pulp::Scalar::new().vectorize(BestOfTable { table, beta, near, highest: &mut Vec::new() });
                assert_eq!([found, narrow], [expected; 2], "{case}: {means:?} {variances:?} {beta}");
                #[cfg(target_arch = "x86_64")]
                if let Some(simd) = pulp::x86::V3::try_new() {
                    let half = Simd::vectorize(simd, BestOfTable { table, beta, near, highest: &mut Vec::new() });
                    assert_eq!(half, expected, "{case}: {means:?} {variances:?} {beta}");
                }
            }
        }
        let broken = MomentTable { means: &[0.0, f64::NAN], variances: &[1.0, 1.0] };
        assert!(best_of_table(broken, 2.0, 0, &mut Vec::new()).is_none());
        assert!(best_of_table(MomentTable { means: &[], variances: &[] }, 2.0, 0, &mut Vec::new()).is_none());
    }
}
