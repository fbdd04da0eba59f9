//! `x^(-1/2)` as a sum of partial fractions.
//!
//! `x^(-1/2) = sum_j w_j / (x + s_j)` on `[least, least 2^p]`, by the trapezoidal rule for `(2/pi) ∫ dt / (t² + x)` after
//! a change of variable by Jacobi's elliptic functions [Hale, Higham & Trefethen 2008, SIAM J. Numer. Anal. 46(5)]. With
//! `t = sqrt(least) sc(u)`, modulus `k² = 1 - 2^-p`, the integrand has the period 2K and is analytic for `|Im u| < K'`.
//! The rule with n points in `(0, K)` has an error of about `exp(-2 pi n K'/K)`. All weights and shifts are positive, so
//! nothing cancels.

use super::super::dot::LANES;
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
}
