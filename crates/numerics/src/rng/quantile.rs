//! Uniform numbers of words, and normal quantiles of numbers, one at a time.

/// Number of values that are transformed at once.
pub const MANY: usize = 512;

/// Returns the standard normal quantile at `p` in (0, 1), with relative error about 1e-16.
///
/// The algorithm is Wichura's AS 241 (PPND16).
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= CENTRE {
        return centre(q);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = libm::sqrt(-libm::log(tail));
    let magnitude = if r <= FAR { shoulder(r) } else { ratio(r - FAR, &E, &F) };
    if q < 0.0 { -magnitude } else { magnitude }
}

/// End of the centre, as a distance from one half.
pub(super) const CENTRE: f64 = 0.425;
/// Start of the shoulder's argument.
pub(super) const SHOULDER: f64 = 1.6;
/// End of the shoulder's argument.
pub(super) const FAR: f64 = 5.0;

#[inline(always)]
pub(super) fn centre(q: f64) -> f64 {
    q * ratio(0.180_625 - q * q, &A, &B)
}

#[inline(always)]
pub(super) fn shoulder(r: f64) -> f64 {
    ratio(r - SHOULDER, &C, &D)
}

#[inline(always)]
fn ratio(r: f64, numerator: &[f64; 8], denominator: &[f64; 8]) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, &coefficient| sum * r + coefficient);
    horner(numerator) / horner(denominator)
}

// Coefficients of AS 241, lowest order first: centre (A/B), shoulders (C/D), tails (E/F).
pub(super) const A: [f64; 8] = [
    3.387_132_872_796_366_5,
    133.141_667_891_784_38,
    1_971.590_950_306_551_3,
    13_731.693_765_509_46,
    45_921.953_931_549_87,
    67_265.770_927_008_7,
    33_430.575_583_588_13,
    2_509.080_928_730_122_7,
];
pub(super) const B: [f64; 8] = [
    1.0,
    42.313_330_701_600_91,
    687.187_007_492_057_9,
    5_394.196_021_424_751,
    21_213.794_301_586_597,
    39_307.895_800_092_71,
    28_729.085_735_721_943,
    5_226.495_278_852_545,
];
pub(super) const C: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    0.241_780_725_177_450_6,
    0.022_723_844_989_269_184,
    7.745_450_142_783_414e-4,
];
pub(super) const D: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    0.689_767_334_985_1,
    0.148_103_976_427_480_08,
    0.015_198_666_563_616_457,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const E: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    0.296_560_571_828_504_87,
    0.026_532_189_526_576_124,
    0.001_242_660_947_388_078_4,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const F: [f64; 8] = [
    1.0,
    0.599_832_206_555_888,
    0.136_929_880_922_735_8,
    0.014_875_361_290_850_615,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_7e-5,
    1.421_511_758_316_445_8e-7,
    2.044_263_103_389_939_8e-15,
];

/// Returns the number on (0, 1) of a word.
#[inline(always)]
pub(super) fn open_uniform(word: u64) -> f64 {
    ((word >> 12) as f64 + 0.5) * (1.0 / 4_503_599_627_370_496.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for p in [1e-300, 1e-20, 1e-9, 0.001, 0.02, 0.3, 0.5, 0.6, 0.975, 0.999_999] {
            let x = normal_quantile(p);
            let back = 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
            // A relative error u in x changes ln p by about u (1 + x²).
            assert!((back - p).abs() <= 8e-16 * (1.0 + x * x) * p, "{p}: {back}");
        }
        assert_eq!(normal_quantile(0.5), 0.0);
    }
}
