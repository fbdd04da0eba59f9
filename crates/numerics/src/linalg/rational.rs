//! `x^(-1/2)` as a sum of partial fractions, for tridiagonal matrices, without eigenvalues.
//!
//! `x^(-1/2) = sum_j w_j / (x + s_j)` on `[least, least 2^p]`, by the trapezoidal rule for `(2/pi) ∫ dt / (t² + x)` after
//! a change of variable by Jacobi's elliptic functions [Hale, Higham & Trefethen 2008, SIAM J. Numer. Anal. 46(5)]. With
//! `t = sqrt(least) sc(u)`, modulus `k² = 1 - 2^-p`, the integrand has the period 2K and is analytic for `|Im u| < K'`.
//! The rule with n points in `(0, K)` has an error of about `exp(-2 pi n K'/K)`. All weights and shifts are positive, so
//! nothing cancels.

use super::columns::{LANES, wide};
use crate::vectorised;
use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::OnceLock;

/// Minus the natural logarithm of the relative error of the fractions.
const DIGITS: f64 = 36.0;
/// Largest range, `2^MOST_OCTAVES`: far beyond the resolution of f64.
const MOST_OCTAVES: usize = 128;

/// Weights and shifts, in whole SIMD vectors; shifts are positive, from about `least / 2^(2p)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Fractions {
    /// `w_j`.
    pub weights: Vec<f64>,
    /// `s_j`.
    pub shifts: Vec<f64>,
}

impl Fractions {
    /// Creates the fractions for values in `least ..= most`, both positive and finite.
    ///
    /// `None` if they are not, or if they are too far apart.
    #[must_use]
    pub fn of(least: f64, most: f64) -> Option<Self> {
        if !(0.0 < least && most.is_finite()) {
            return None;
        }
        let (mut octaves, mut reach) = (1, 2.0 * least);
        while reach < most {
            reach *= 2.0;
            octaves += 1;
        }
        static UNITS: [OnceLock<Fractions>; MOST_OCTAVES + 1] = [const { OnceLock::new() }; MOST_OCTAVES + 1];
        let unit = UNITS.get(octaves)?.get_or_init(|| Self::unit(octaves));
        let root = least.sqrt();
        Some(Self {
            weights: unit.weights.iter().map(|w| w * root).collect(),
            shifts: unit.shifts.iter().map(|s| s * least).collect(),
        })
    }

    /// Creates the fractions for `1 ..= 2^octaves`.
    fn unit(octaves: usize) -> Self {
        let complement = libm::exp2(-(octaves as f64));
        let (quarter, other) = (quarter_period(complement.sqrt()), quarter_period((1.0 - complement).sqrt()));
        let wanted = libm::ceil(DIGITS * quarter / (2.0 * PI * other)) as usize;
        let n = wanted.next_multiple_of(LANES);
        let step = quarter / n as f64;
        let scale = 2.0 / PI * step;
        let (mut weights, mut shifts) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for j in 0..n {
            let u = (j as f64 + 0.5) * step;
            // sc(u) and dn(u)/cn(u)²; beyond the middle by sc(K - v) = 1 / (k' sc(v)), where cn(K - v) would cancel.
            let mirrored = 0.5 * quarter < u;
            let (sn, cn, dn) = jacobi(if mirrored { quarter - u } else { u }, complement);
            let (sc, slope) = if mirrored {
                (cn / (complement.sqrt() * sn), dn / (complement.sqrt() * sn * sn))
            } else {
                (sn / cn, dn / (cn * cn))
            };
            shifts.push(sc * sc);
            weights.push(scale * slope);
        }
        Self { weights, shifts }
    }
}

/// Returns the complete elliptic integral K of complementary modulus `k'`: a quarter period.
fn quarter_period(complementary: f64) -> f64 {
    let (mut a, mut b) = (1.0, complementary);
    while 1e-15 * a < (a - b).abs() {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    FRAC_PI_2 / a
}

/// Returns `sn, cn, dn` of `u` for the parameter `1 - complement`.
///
/// `u` is at most half of the quarter period. The ascending Landen transformation [Abramowitz & Stegun 1964, 16.14] leads
/// to the parameter 1, where the functions are hyperbolic.
fn jacobi(u: f64, complement: f64) -> (f64, f64, f64) {
    // The omitted terms are a share of sqrt(complement) / 4.
    if complement < 1e-33 {
        let cosh = libm::cosh(u);
        return (libm::tanh(u), 1.0 / cosh, 1.0 / cosh);
    }
    let modulus = (1.0 - complement).sqrt();
    // (1 - k) / (1 + k)
    let next = complement / ((1.0 + modulus) * (1.0 + modulus));
    let (sn, cn, dn) = jacobi(u / (1.0 + next), next * next);
    let square = dn * dn;
    ((1.0 + next) * sn * cn / dn, (square - next) / ((1.0 - next) * dn), (square + next) / ((1.0 + next) * dn))
}

/// Numbers for eight shifts.
type LaneValues = [f64; LANES];

/// The factors `L D_j L^T` of `M + s_j I` for all shifts, M tridiagonal, positive definite.
#[derive(Debug, Clone)]
pub struct ShiftedFactors {
    n: usize,
    weights: Vec<f64>,
    /// `1 / D`, one row of shifts per index.
    pivots: Vec<LaneValues>,
    /// Subdiagonal entries of `L`, one row of shifts per index.
    factors: Vec<LaneValues>,
}

impl ShiftedFactors {
    /// Factors a tridiagonal matrix.
    /// * `diagonal`, `beside` — `n` entries each; `beside[i]` couples i and i + 1, and the last entry is not read
    #[must_use]
    pub fn of_tridiagonal(fractions: &Fractions, diagonal: &[f64], beside: &[f64]) -> Self {
        let mut shifted = Self::sized(fractions, diagonal.len());
        wide(FactorTridiagonal { shifted: &mut shifted, shifts: &fractions.shifts, diagonal, beside });
        shifted
    }

    /// Factors `B^T B` for a lower bidiagonal `B`.
    ///
    /// `B` has these entries on its diagonal and, `below[i]` in row i + 1, below the diagonal. All sums have positive
    /// terms, so small singular values keep their digits.
    #[must_use]
    pub fn of_bidiagonal(fractions: &Fractions, diagonal: &[f64], below: &[f64]) -> Self {
        let mut shifted = Self::sized(fractions, diagonal.len());
        wide(FactorBidiagonal { shifted: &mut shifted, shifts: &fractions.shifts, diagonal, below });
        shifted
    }

    fn sized(fractions: &Fractions, n: usize) -> Self {
        let blocks = fractions.weights.len() / LANES;
        let zeros = vec![[0.0; LANES]; n * blocks];
        Self { n, weights: fractions.weights.clone(), pivots: zeros.clone(), factors: zeros }
    }

    fn blocks(&self) -> usize {
        self.weights.len() / LANES
    }

    /// Multiplies the first `n` entries of every row of `vectors` (`stride` long) by `M^{-1/2}`.
    pub fn apply(&self, vectors: &mut [f64], stride: usize) {
        let mut solved = vec![[0.0; LANES]; self.pivots.len()];
        wide(ApplyRational { shifted: self, vectors, stride, solved: &mut solved });
    }
}

struct FactorTridiagonal<'a> {
    shifted: &'a mut ShiftedFactors,
    shifts: &'a [f64],
    diagonal: &'a [f64],
    beside: &'a [f64],
}

vectorised! {
    fn call(self: FactorTridiagonal<'_>) {
        let Self { shifted, shifts, diagonal, beside } = self;
        let blocks = shifted.blocks();
        for (block, shift) in shifts.as_chunks::<LANES>().0.iter().enumerate() {
            // Amount that the index before subtracts from the pivot.
            let mut taken = [0.0; LANES];
            for (i, (&entry, &coupling)) in diagonal.iter().zip(beside).enumerate() {
                let (mut pivot, mut factor) = ([0.0; LANES], [0.0; LANES]);
                for lane in 0..LANES {
                    pivot[lane] = 1.0 / ((entry + shift[lane]) - taken[lane]);
                    factor[lane] = coupling * pivot[lane];
                    taken[lane] = factor[lane] * coupling;
                }
                shifted.pivots[i * blocks + block] = pivot;
                shifted.factors[i * blocks + block] = factor;
            }
        }
    }
}

struct FactorBidiagonal<'a> {
    shifted: &'a mut ShiftedFactors,
    shifts: &'a [f64],
    diagonal: &'a [f64],
    below: &'a [f64],
}

vectorised! {
    fn call(self: FactorBidiagonal<'_>) {
        let Self { shifted, shifts, diagonal, below } = self;
        let (n, blocks) = (diagonal.len(), shifted.blocks());
        for (block, shift) in shifts.as_chunks::<LANES>().0.iter().enumerate() {
            // t_0 = s + d_0²; D_i = t_i + e_i²; t_(i+1) = s + d_(i+1)² t_i / D_i.
            let mut share = [1.0; LANES];
            for i in 0..n {
                let (square, next) = (diagonal[i] * diagonal[i], if i + 1 < n { below[i] } else { 0.0 });
                let coupling = if i + 1 < n { next * diagonal[i + 1] } else { 0.0 };
                let (mut pivot, mut factor) = ([0.0; LANES], [0.0; LANES]);
                for lane in 0..LANES {
                    let rest = shift[lane] + square * share[lane];
                    pivot[lane] = 1.0 / (rest + next * next);
                    share[lane] = rest * pivot[lane];
                    factor[lane] = coupling * pivot[lane];
                }
                shifted.pivots[i * blocks + block] = pivot;
                shifted.factors[i * blocks + block] = factor;
            }
        }
    }
}

struct ApplyRational<'a> {
    shifted: &'a ShiftedFactors,
    vectors: &'a mut [f64],
    stride: usize,
    solved: &'a mut [LaneValues],
}

vectorised! {
    fn call(self: ApplyRational<'_>) {
        let Self { shifted, vectors, stride, solved } = self;
        let (n, blocks) = (shifted.n, shifted.blocks());
        if n == 0 {
            return;
        }
        for vector in vectors.chunks_exact_mut(stride) {
            let vector = &mut vector[..n];
            let mut block = 0;
            // Interleaved blocks hide the latency of the dependent steps.
            while block + 4 <= blocks {
                solve_blocks::<4>(shifted, vector, solved, block);
                block += 4;
            }
            match blocks - block {
                3 => solve_blocks::<3>(shifted, vector, solved, block),
                2 => solve_blocks::<2>(shifted, vector, solved, block),
                1 => solve_blocks::<1>(shifted, vector, solved, block),
                _ => {}
            }
            for (value, solved) in vector.iter_mut().zip(solved.chunks_exact(blocks)) {
                *value = super::dot(solved.as_flattened(), &shifted.weights);
            }
        }
    }
}

/// Solves for `vector` with the shifts of `B` blocks from `first`.
#[inline(always)]
fn solve_blocks<const B: usize>(shifted: &ShiftedFactors, vector: &[f64], solved: &mut [LaneValues], first: usize) {
    let blocks = shifted.blocks();
    let mut left = [[0.0; LANES]; B];
    let rows = solved.chunks_exact_mut(blocks).zip(shifted.factors.chunks_exact(blocks));
    for (&value, (out, factors)) in vector.iter().zip(rows) {
        let (out, factors) = (&mut out[first..first + B], &factors[first..first + B]);
        for b in 0..B {
            for lane in 0..LANES {
                let current = value - left[b][lane];
                out[b][lane] = current;
                left[b][lane] = factors[b][lane] * current;
            }
        }
    }
    let mut after = [[0.0; LANES]; B];
    let rows = solved.chunks_exact_mut(blocks).zip(shifted.pivots.chunks_exact(blocks).zip(shifted.factors.chunks_exact(blocks)));
    for (out, (pivots, factors)) in rows.rev() {
        let (out, pivots, factors) = (&mut out[first..first + B], &pivots[first..first + B], &factors[first..first + B]);
        for b in 0..B {
            for lane in 0..LANES {
                let current = out[b][lane] * pivots[b][lane] - factors[b][lane] * after[b][lane];
                after[b][lane] = current;
            }
            out[b] = after[b];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_the_inverse_root() {
        for ratio in [1.0, 1.5, 2.0, 1e3, 1e6, 1e12] {
            for least in [3.0, 1e-9] {
                let fractions = Fractions::of(least, least * ratio).expect("a range");
                assert!(fractions.weights.iter().chain(&fractions.shifts).all(|x| 0.0 < *x && x.is_finite()));
                for i in 0..=40 {
                    let x = least * libm::pow(ratio, f64::from(i) / 40.0);
                    let sum: f64 = fractions.weights.iter().zip(&fractions.shifts).map(|(w, s)| w / (x + s)).sum();
                    assert!((sum * x.sqrt() - 1.0).abs() < 1e-14, "{ratio} {least} {x}: {}", sum * x.sqrt() - 1.0);
                }
            }
        }
        assert!(Fractions::of(0.0, 1.0).is_none() && Fractions::of(f64::NAN, 1.0).is_none());
        assert!(Fractions::of(1.0, f64::INFINITY).is_none() && Fractions::of(1e-300, 1e300).is_none());
    }

    #[test]
    fn roots_of_small_tridiagonal_matrices() {
        // [[2, 1], [1, 2]]: eigenvalues 1 and 3.
        let fractions = Fractions::of(0.5, 4.0).expect("a range");
        let root = ShiftedFactors::of_tridiagonal(&fractions, &[2.0, 2.0], &[1.0, 0.0]);
        let mut vectors = [1.0, 1.0, 1.0, -1.0];
        root.apply(&mut vectors, 2);
        let third = 1.0 / 3.0f64.sqrt();
        assert!(vectors.iter().zip([third, third, 1.0, -1.0]).all(|(a, b)| (a - b).abs() < 1e-14), "{vectors:?}");
        // B = [[1, 0], [1, 1]]: B^T B = [[2, 1], [1, 1]], and its inverse root applied twice is its inverse.
        let fractions = Fractions::of(0.1, 4.0).expect("a range");
        let root = ShiftedFactors::of_bidiagonal(&fractions, &[1.0, 1.0], &[1.0, 0.0]);
        let mut vectors = [2.0, 1.0, 1.0, 1.0];
        root.apply(&mut vectors, 2);
        root.apply(&mut vectors, 2);
        assert!(vectors.iter().zip([1.0, 0.0, 0.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-13), "{vectors:?}");
    }
}
