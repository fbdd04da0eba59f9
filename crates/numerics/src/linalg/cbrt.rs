//! The cube root, with the bits of `libm::cbrt`, which rounds correctly.

/// 1, and the cube roots of 2 and 4.
const SCALES: [f64; 3] = [1.0, 1.259_921_049_894_873_2, 1.587_401_051_968_199_6];
const FRACTION: u64 = 0x000f_ffff_ffff_ffff;
const ONE: u64 = 0x3ff0_0000_0000_0000;
/// Half of the spacing of numbers in [1, 2), less a margin for the error of the series.
const SURE: f64 = 1.0 / 9_007_199_254_740_992.0 * (1.0 - 1.0 / 256.0);

/// Replaces numbers by their cube roots, inside a SIMD dispatch.
#[inline(always)]
pub(super) fn cbrts_inlined<const R: usize>(x: &mut [f64; R]) {
    let (mut roots, mut are_sure) = ([0.0; R], [false; R]);
    for ((root, is_sure), &x) in roots.iter_mut().zip(&mut are_sure).zip(&*x) {
        (*root, *is_sure) = one(x);
    }
    for ((x, root), is_sure) in x.iter_mut().zip(roots).zip(are_sure) {
        *x = if is_sure { root } else { libm::cbrt(*x) };
    }
}

/// Returns the cube root, and whether it is surely rounded as that of `libm`; without branches.
///
/// A positive normal number is `2^(3k) z` with z in [1, 8). A polynomial y approximates the root of z within 2e-4; it has so
/// few bits that `y^3` and `z - y^3` are exact. The root is `y (1 + e)^(1/3)` with `e = (z - y^3)/y^3`, whose series has an
/// error below `2^-62`. It is not sure where that could change the rounding, nor for all other numbers.
#[inline(always)]
fn one(x: f64) -> (f64, bool) {
    let bits = x.to_bits();
    // Of 12 bits with the sign, so that negative numbers are out of range.
    let exponent = bits >> 52;
    let is_normal = (1..2047).contains(&exponent);
    // The exponent is biased by 1023, a multiple of 3; the product is its third for all of 12 bits.
    let third = (exponent * 43_691) >> 17;
    let rest = exponent - 3 * third;
    let one_to_two = f64::from_bits((bits & FRACTION) | ONE);
    let z = f64::from_bits((bits & FRACTION) | (ONE + (rest << 52)));
    // The polynomial of CORE-MATH's cbrt for [1, 2], with error below 1e-4.
    let square = one_to_two * one_to_two;
    let low = 0.552_823_418_401_647_2 + one_to_two * 0.587_114_291_826_698_2;
    let high = -0.162_969_671_949_879_05 + one_to_two * 0.023_104_964_110_781_47;
    let scale = if rest == 0 {
        SCALES[0]
    } else if rest == 1 {
        SCALES[1]
    } else {
        SCALES[2]
    };
    let root = (low + square * high) * scale;
    // 17 bits.
    let y = f64::from_bits((root.to_bits() + (1 << 35)) & !((1 << 36) - 1));
    let cube = y * y * y;
    let e = (z - cube) / cube;
    let square = e * e;
    let tail = (5.0 / 81.0 - e * (10.0 / 243.0)) + square * (22.0 / 729.0 - e * (154.0 / 6561.0));
    let delta = y * (e * ((1.0 / 3.0 - e * (1.0 / 9.0)) + square * tail));
    let rounded = y + delta;
    let rest = delta - (rounded - y);
    let scaled = rounded.to_bits().wrapping_add((third << 52).wrapping_sub(341 << 52));
    (f64::from_bits(scaled), is_normal & (rest.abs() <= SURE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn it_has_the_bits_of_libm() {
        let mut stream = Streams::new(3, "cbrt").of(0, Purpose::Function);
        let mut check = |x: f64| {
            let (numbers, mut roots) = ([x, 2.0, 2.0 * x], [x, 2.0, 2.0 * x]);
            cbrts_inlined(&mut roots);
            assert_eq!(roots.map(f64::to_bits), numbers.map(|x| libm::cbrt(x).to_bits()), "{x:e}");
        };
        for _ in 0..500_000 {
            check(1.0 + 19.0 * stream.uniform());
            check(libm::exp(1400.0 * (stream.uniform() - 0.5)));
        }
        for k in -10_i64..10 {
            for edge in [1.0, 2.0, 4.0, 8.0, 27.0, 3.375, 1e-300, f64::MIN_POSITIVE, 1.423_437_110_749_683_5] {
                check(f64::from_bits(edge.to_bits().wrapping_add_signed(k)));
            }
        }
        (1..200_u32).for_each(|k| check(f64::from(k).powi(3)));
        [0.0, -0.0, -8.0, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324].into_iter().for_each(&mut check);
        let mut nan = [f64::NAN];
        cbrts_inlined(&mut nan);
        assert!(nan[0].is_nan());
    }
}
