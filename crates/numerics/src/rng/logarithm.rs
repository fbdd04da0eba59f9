//! The parts of a logarithm without branches: argument reduction and series.

/// Returns k and f with `x = 2^k (1 + f)` and `1 + f` in `[sqrt(2)/2, sqrt(2)]`.
#[inline(always)]
pub(super) fn reduced(x: f64) -> (f64, f64) {
    let bits = x.to_bits();
    let high = (bits >> 32) as u32 + (0x3ff0_0000 - 0x3fe6_a09e);
    let k = f64::from((high >> 20) as i32 - 0x3ff);
    let high = (high & 0x000f_ffff) + 0x3fe6_a09e;
    let f = f64::from_bits((u64::from(high) << 32) | (bits & 0xffff_ffff)) - 1.0;
    (k, f)
}

/// Returns the logarithm of `2^k (1 + f)`.
#[inline(always)]
pub(super) fn series(k: f64, f: f64) -> f64 {
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (LG[1] + w * (LG[3] + w * LG[5]));
    let odd = z * (LG[0] + w * (LG[2] + w * (LG[4] + w * LG[6])));
    s * (half_square + (odd + even)) + k * LN2_LOW - half_square + f + k * LN2_HIGH
}

pub(super) const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
pub(super) const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
pub(super) const LG: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];
