//! The exponential of many numbers with SIMD, with the bits of `libm::exp`.
//!
//! The steps are those of FreeBSD's `e_exp.c`, which `libm` also uses, with its branches as selections. Numbers whose
//! exponential is not a normal f64 are passed to `libm`.

/// ln 2 in two parts, and 1 / ln 2.
const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LO: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
const INVERSE_LN2: f64 = f64::from_bits(0x3ff7_1547_652b_82fe);
/// Coefficients of the even part of the remainder.
pub(super) const P: [u64; 5] =
    [0x3fc5_5555_5555_553e, 0xbf66_c16c_16be_bd93, 0x3f11_566a_af25_de2c, 0xbebb_bd41_c5d2_6bf1, 0x3e66_3769_72be_a4d0];
/// Least |x| above `2^-28`, above `ln 2 / 2`, and from `3 ln 2 / 2` on.
///
/// They are compared by the upper half of their bits.
const TINY: f64 = f64::from_bits(0x3e30_0001_0000_0000);
const HALF: f64 = f64::from_bits(0x3fd6_2e43_0000_0000);
const THREE_HALVES: f64 = f64::from_bits(0x3ff0_a2b2_0000_0000);
/// Largest |x| for which the power of two is always normal.
const LARGEST: f64 = 700.0;
/// Below it the exponential is zero.
const NOTHING: f64 = -746.0;
/// `1.5 * 2^52`: added to a small integer, it leaves the integer in the lowest bits.
pub(super) const MAGIC: f64 = 6_755_399_441_055_744.0;

/// Replaces a few dozen numbers by their exponentials, for callers inside a SIMD dispatch.
#[inline(always)]
pub fn exp_of_block(block: &mut [f64]) {
    // NaN makes both false.
    if block.iter().fold(true, |all, x| all & (x.abs() <= LARGEST)) {
        block.iter_mut().for_each(|x| *x = one(*x));
    } else if block.iter().fold(true, |all, &x| all & ((x.abs() <= LARGEST) | (x < NOTHING))) {
        block.iter_mut().for_each(|x| *x = if *x < NOTHING { 0.0 } else { one(*x) });
    } else {
        block.iter_mut().for_each(|x| *x = libm::exp(*x));
    }
}

#[inline(always)]
fn one(x: f64) -> f64 {
    let [p1, p2, p3, p4, p5] = P.map(f64::from_bits);
    let magnitude = x.abs();
    let whole = (INVERSE_LN2 * x + 0.5_f64.copysign(x)).trunc();
    let near = 1.0_f64.copysign(x);
    let k = if magnitude < HALF { 0.0 } else { near };
    let k = if magnitude < THREE_HALVES { k } else { whole };
    let high = x - k * LN2_HI;
    let low = k * LN2_LO;
    let r = high - low;
    let square = r * r;
    let c = r - square * (p1 + square * (p2 + square * (p3 + square * (p4 + square * p5))));
    let y = 1.0 + (r * c / (2.0 - c) - low + high);
    // 2^k by its bits: the lowest bits of k + MAGIC hold k, and the higher bits are shifted out.
    let power = f64::from_bits(((k + MAGIC).to_bits() << 52).wrapping_add(0x3ff << 52));
    if magnitude < TINY { 1.0 + x } else { y * power }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};
    use crate::vectorised;

    vectorised! {
        fn exp(values: &mut [f64]) {
            values.chunks_mut(64).for_each(exp_of_block);
        }
    }

    /// Compares the bits with `libm` on a million numbers of every size, on edges and on NaN.
    #[test]
    fn it_has_the_bits_of_libm() {
        let mut stream = Streams::new(3, "exp").of(0, Purpose::Function);
        let mut values: Vec<f64> = (0..1_000_000)
            .map(|i| match i % 4 {
                0 => -40.0 * stream.uniform(),
                1 => stream.normal(),
                2 => 720.0 * (2.0 * stream.uniform() - 1.0),
                _ => libm::exp(-60.0 * stream.uniform()) * (stream.uniform() - 0.5),
            })
            .collect();
        for edge in
            [0.0, TINY, HALF, THREE_HALVES, LARGEST, 708.4, 709.79, 745.2, 0.5 * LN2_HI, 1.5 * LN2_HI, 1.0, f64::MIN_POSITIVE]
        {
            for bits in -40_i64..40 {
                let x = f64::from_bits((edge.to_bits() as i64 + bits).max(0) as u64);
                // Enough equal values in a row to fill whole blocks.
                values.extend([x, -x]);
            }
        }
        // Far and near points of a kernel.
        values
            .extend((0..200_000).map(|i| if i % 3 == 0 { -745.0 - 1000.0 * stream.uniform() } else { -10.0 * stream.uniform() }));
        values.extend((0..64).flat_map(|_| [-746.5, -1e300, f64::NEG_INFINITY, -1.0]));
        values.extend((0..200_000).flat_map(|i| {
            let around = [HALF, THREE_HALVES, TINY, 2.0_f64.powi(-28)][i % 4];
            let x = around * (1.0 + 1e-6 * (i as f64 / 1e5 - 1.0));
            [x, -x]
        }));
        let expected: Vec<u64> = values.iter().map(|&x| libm::exp(x).to_bits()).collect();
        let mut found = values.clone();
        exp(&mut found);
        for ((x, found), expected) in values.iter().zip(&found).zip(&expected) {
            assert_eq!(found.to_bits(), *expected, "exp({x:e})");
        }
        let mut odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -800.0, 800.0, 1.0];
        exp(&mut odd);
        assert!(odd[0].is_nan());
        assert_eq!(odd[1..], [f64::INFINITY, 0.0, 0.0, f64::INFINITY, libm::exp(1.0)]);
    }
}
