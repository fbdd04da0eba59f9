//! Powers of many numbers with SIMD, with the bits of `libm::pow`.
//!
//! The steps are those of FreeBSD's `e_pow.c`, which `libm` also uses, with its branches as selections. Blocks with a
//! number or a power outside of the ordinary range are passed to `libm`.
//!
//! The constants are those of `e_pow.c`: "Copyright (C) 2004 by Sun Microsystems, Inc. All rights reserved. Permission to
//! use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved."

use super::exp::{MAGIC, P};
use crate::vectorised;

/// Number of values whose range is checked together.
const BLOCK: usize = 16;

vectorised! {
    /// Replaces every number `x` by `x^exponent`.
    pub fn pow(values: &mut [f64], exponent: f64) {
        pow_of_block(values, exponent);
    }
}

/// Replaces every number `x` by `x^exponent`, for callers inside a SIMD dispatch.
#[inline(always)]
pub fn pow_of_block(values: &mut [f64], exponent: f64) {
    // These exponents have their own short cuts in `libm`.
    let is_general = exponent.abs() < MOST_EXPONENT && ![0.0, 0.5, 1.0, -1.0, 2.0].contains(&exponent);
    for block in values.chunks_mut(BLOCK) {
        let mut powers = [1.0; BLOCK];
        powers[..block.len()].copy_from_slice(block);
        let mut fits = is_general;
        for x in &mut powers {
            let (power, logarithm) = one(*x, exponent);
            // NaN makes these comparisons false.
            fits &= (f64::MIN_POSITIVE <= *x) & (*x <= f64::MAX) & (logarithm.abs() <= MOST_LOGARITHM);
            *x = power;
        }
        if fits {
            block.copy_from_slice(&powers[..block.len()]);
        } else {
            block.iter_mut().for_each(|x| *x = libm::pow(*x, exponent));
        }
    }
}

/// Bound on |exponent|, from which `e_pow.c` takes another path.
const MOST_EXPONENT: f64 = 2_147_483_648.0;
/// Largest |log2| for which the result is surely normal.
const MOST_LOGARITHM: f64 = 1000.0;

const UPPER: u64 = 0xffff_ffff_0000_0000;
const FRACTION: u64 = 0x000f_ffff_ffff_ffff;
/// `2^52`: its lowest bits hold a small integer that is added to it.
const TWO52: f64 = 4_503_599_627_370_496.0;

const DP_H: f64 = f64::from_bits(0x3fe2_b803_4000_0000);
const DP_L: f64 = f64::from_bits(0x3e4c_fdeb_43cf_d006);
/// Coefficients of `3/2 (log(x) - 2s - 2/3 s^3)`.
const L: [u64; 6] = [
    0x3fe3_3333_3333_3303,
    0x3fdb_6db6_db6f_abff,
    0x3fd5_5555_518f_264d,
    0x3fd1_7460_a91d_4101,
    0x3fcd_864a_93c9_db65,
    0x3fca_7e28_4a45_4eef,
];
const LG2: f64 = f64::from_bits(0x3fe6_2e42_fefa_39ef);
const LG2_H: f64 = f64::from_bits(0x3fe6_2e43_0000_0000);
const LG2_L: f64 = f64::from_bits(0xbe20_5c61_0ca8_6c39);
/// 2/(3 ln 2), also in two parts.
const CP: f64 = f64::from_bits(0x3fee_c709_dc3a_03fd);
const CP_H: f64 = f64::from_bits(0x3fee_c709_e000_0000);
const CP_L: f64 = f64::from_bits(0xbe3e_2fe0_145b_01f5);

#[inline(always)]
fn upper(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & UPPER)
}

/// Returns the power and its logarithm to base 2; meaningless outside of the ordinary range.
#[inline(always)]
fn one(x: f64, y: f64) -> (f64, f64) {
    let [l1, l2, l3, l4, l5, l6] = L.map(f64::from_bits);
    let [p1, p2, p3, p4, p5] = P.map(f64::from_bits);
    let bits = x.to_bits();
    // x = 2^n ax with ax within [sqrt(3)/2, sqrt(3)], near 1 or 1.5.
    let fraction = ((bits & FRACTION) >> 32) as i64;
    let wraps = 0xbb67a <= fraction;
    let middle = (0x3988e < fraction) & !wraps;
    let exponent = f64::from_bits((bits >> 52) | TWO52.to_bits()) - (TWO52 + 1023.0);
    let n = if wraps { exponent + 1.0 } else { exponent };
    let ax_bits = (bits & FRACTION) | if wraps { 0x3fe << 52 } else { 0x3ff << 52 };
    let ax = f64::from_bits(ax_bits);
    let (bp, dp_h, dp_l) = (if middle { 1.5 } else { 1.0 }, if middle { DP_H } else { 0.0 }, if middle { DP_L } else { 0.0 });
    let u = ax - bp;
    let v = 1.0 / (ax + bp);
    let ss = u * v;
    let s_h = upper(ss);
    let t_h_bits = ((ax_bits >> 33) | 0x2000_0000) + 0x0008_0000 + if middle { 1 << 18 } else { 0 };
    let t_h = f64::from_bits(t_h_bits << 32);
    let t_l = ax - (t_h - bp);
    let s_l = v * ((u - s_h * t_h) - s_h * t_l);
    let s2 = ss * ss;
    let r = s2 * s2 * (l1 + s2 * (l2 + s2 * (l3 + s2 * (l4 + s2 * (l5 + s2 * l6)))));
    let r = r + s_l * (s_h + ss);
    let s2 = s_h * s_h;
    let t_h = upper(3.0 + s2 + r);
    let t_l = r - ((t_h - 3.0) - s2);
    let u = s_h * t_h;
    let v = s_l * t_h + t_l * ss;
    let p_h = upper(u + v);
    let p_l = v - (p_h - u);
    let z_h = CP_H * p_h;
    let z_l = CP_L * p_h + p_l * CP + dp_l;
    // log2(x) = t1 + t2.
    let t1 = upper(((z_h + z_l) + dp_h) + n);
    let t2 = z_l - (((t1 - n) - dp_h) - z_h);
    let y1 = upper(y);
    let p_l = (y - y1) * t1 + y * t2;
    let p_h = y1 * t1;
    let logarithm = p_l + p_h;
    // n = [z + 0.5] away from zero, by the upper half of z.
    let magnitude = upper(logarithm.abs());
    let whole = if 0.5 < magnitude { (magnitude + 0.5).trunc() } else { 0.0 };
    let n = whole.copysign(logarithm);
    let p_h = p_h - n;
    let t = upper(p_l + p_h);
    let u = t * LG2_H;
    let v = (p_l - (t - p_h)) * LG2 + t * LG2_L;
    let z = u + v;
    let w = v - (z - u);
    let t = z * z;
    let t1 = z - t * (p1 + t * (p2 + t * (p3 + t * (p4 + t * p5))));
    let r = (z * t1) / (t1 - 2.0) - (w + z * w);
    let z = 1.0 - (r - z);
    (f64::from_bits(z.to_bits().wrapping_add((n + MAGIC).to_bits() << 52)), logarithm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    /// Compares the bits with `libm` for many exponents, on numbers of every size and on edges of the branches.
    #[test]
    fn it_has_the_bits_of_libm() {
        let mut stream = Streams::new(3, "pow").of(0, Purpose::Function);
        let mut values: Vec<f64> = (0..60_000)
            .map(|i| match i % 4 {
                0 => stream.open_uniform(),
                1 => stream.open_uniform() * 40.0,
                2 => 1.0 + 1e-3 * stream.normal(),
                _ => libm::exp(600.0 * (stream.uniform() - 0.5)),
            })
            .collect();
        for edge in [0x3ff0_0000_u64, 0x3ff3_988e, 0x3ff3_988f, 0x3ffb_b679, 0x3ffb_b67a, 0x3ffb_b67b, 0x3fe0_0000, 0x4000_0000] {
            values.extend((-20_i64..20).map(|bits| f64::from_bits((edge << 32).wrapping_add_signed(bits))));
        }
        let whole = values.len();
        // Powers with a logarithm near one half, for which the whole part changes.
        values.extend((-200..200).map(|i| libm::exp2(0.5 * (1.0 + 1e-8 * f64::from(i)))));
        for exponent in [1.0 / 3.0, 0.1, 0.75, 1.5, 3.0, 4.0, 2.995_732, 7.3, 40.0, -1.3, 0.5, 1.0, 2.0, 0.0, 1e9, 1e10] {
            let expected: Vec<u64> = values.iter().map(|&x| libm::pow(x, exponent).to_bits()).collect();
            let mut found = values.clone();
            pow(&mut found, exponent);
            for ((x, found), expected) in values.iter().zip(&found).zip(&expected) {
                assert_eq!(found.to_bits(), *expected, "{x:e}^{exponent}");
            }
        }
        let fast = values[..whole].iter().step_by(4).filter(|&&x| one(x, 0.75).0 == libm::pow(x, 0.75)).count();
        assert_eq!(fast, whole.div_ceil(4), "the path with SIMD has these bits by itself");
        let mut odd = [f64::NAN, f64::INFINITY, 0.0, -8.0, f64::MIN_POSITIVE / 2.0, 1.0];
        let expected = odd.map(|x| libm::pow(x, 1.7).to_bits());
        pow(&mut odd, 1.7);
        assert_eq!(odd.map(f64::to_bits), expected);
    }
}
