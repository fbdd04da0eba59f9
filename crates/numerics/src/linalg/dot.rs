//! Products of vectors.

use crate::vectorised;

/// Partial sums of [`dot`]: enough independent sums to hide the latency of an addition.
///
/// Rows are padded with zeros to a multiple of this length.
pub(super) const LANES: usize = 8;

/// Returns `Σ a_i b_i` over equally long slices, in one fixed order.
///
/// Entry `i` is added to partial sum `i mod 8`, in ascending order, and the partial sums `s` are added as
/// `((s0+s4)+(s2+s6)) + ((s1+s5)+(s3+s7))`. Trailing zeros do not change the result.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let mut s = [0.0; LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (a_rest, b_rest) = (a_blocks.remainder(), b_blocks.remainder());
    for (x, y) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            s[lane] += x[lane] * y[lane];
        }
    }
    for (lane, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
        s[lane] += x * y;
    }
    sum_of(s)
}

/// Returns how many roundings a term of [`dot`] of `n` terms goes through at most.
pub fn dot_depth(n: usize) -> f64 {
    n.div_ceil(LANES) as f64 + 3.0
}

/// Returns [`dot`] of `b` with four slices at least as long, bit by bit; `b` is read once.
#[inline(always)]
pub fn four_dots(rows: [&[f64]; 4], b: &[f64]) -> [f64; 4] {
    let n = b.len();
    let [p, q, r, s] = rows;
    let (p, q, r, s) = (&p[..n], &q[..n], &r[..n], &s[..n]);
    let (mut of_p, mut of_q, mut of_r, mut of_s) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let whole = n / LANES * LANES;
    for at in (0..whole).step_by(LANES) {
        let part = at..at + LANES;
        let (b, p, q, r, s) = (&b[part.clone()], &p[part.clone()], &q[part.clone()], &r[part.clone()], &s[part]);
        for lane in 0..LANES {
            of_p[lane] += p[lane] * b[lane];
            of_q[lane] += q[lane] * b[lane];
            of_r[lane] += r[lane] * b[lane];
            of_s[lane] += s[lane] * b[lane];
        }
    }
    for (lane, at) in (whole..n).enumerate() {
        of_p[lane] += p[at] * b[at];
        of_q[lane] += q[at] * b[at];
        of_r[lane] += r[at] * b[at];
        of_s[lane] += s[at] * b[at];
    }
    [sum_of(of_p), sum_of(of_q), sum_of(of_r), sum_of(of_s)]
}

/// Adds the partial sums in the order of [`dot`].
#[inline(always)]
pub(super) fn sum_of(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

vectorised! {
    /// Returns `Σ a_i²` in the order of [`dot`], with SIMD: for long slices.
    pub fn sum_of_squares(a: &[f64]) -> f64 {
        sum_of_squares_inlined(a)
    }
}

/// Computes [`sum_of_squares`] inside a SIMD dispatch.
#[inline(always)]
pub(super) fn sum_of_squares_inlined(a: &[f64]) -> f64 {
    let mut s = [0.0; LANES];
    let (blocks, rest) = a.as_chunks::<LANES>();
    for x in blocks {
        for lane in 0..LANES {
            s[lane] += x[lane] * x[lane];
        }
    }
    for (lane, x) in rest.iter().enumerate() {
        s[lane] += x * x;
    }
    sum_of(s)
}

/// Computes `y += factor * x`, entry by entry, over equally long slices.
#[inline(always)]
pub fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    debug_assert_eq!(x.len(), y.len());
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_sums_every_entry_once() {
        for n in 0..40 {
            let a: Vec<f64> = (0..n).map(|i| f64::from(i) + 1.0).collect();
            let b: Vec<f64> = (0..n).map(|i| f64::from(i) - 3.0).collect();
            let exact: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            // Integers far below 2^53: every order gives the same sum.
            assert_eq!(dot(&a, &b), exact, "length {n}");
            assert_eq!(sum_of_squares(&a).to_bits(), dot(&a, &a).to_bits(), "length {n}");
        }
    }

    #[test]
    fn four_together_have_the_bits_of_each() {
        for n in 0..40 {
            let row = |k: usize| (0..n + k).map(|i| libm::sin((7 * i + k) as f64)).collect::<Vec<f64>>();
            let (rows, b) = ([row(1), row(2), row(3), row(4)], row(0));
            let found = four_dots([&rows[0], &rows[1], &rows[2], &rows[3]], &b);
            assert!(rows.iter().zip(found).all(|(row, found)| found.to_bits() == dot(&row[..n], &b).to_bits()), "{n}");
        }
    }

    #[test]
    fn zeros_at_the_end_change_no_bit() {
        for n in 1..30 {
            let a: Vec<f64> = (0..n).map(|i| (f64::from(i) * 0.7).sin()).collect();
            let b: Vec<f64> = (0..n).map(|i| (f64::from(i) * 1.3).cos()).collect();
            let (mut longer_a, mut longer_b) = (a.clone(), b.clone());
            longer_a.resize(37, 0.0);
            longer_b.resize(37, 0.0);
            assert_eq!(dot(&a, &b).to_bits(), dot(&longer_a, &longer_b).to_bits());
        }
    }
}
