//! Samplers over [`Stream`].
//!
//! Each sampler except [`Stream::gamma`] consumes a fixed number of words, so that draws of different policies stay
//! aligned.

use super::Stream;
use super::laplace::LaplaceOfWords;
use super::normals::{MANY, quantiles};
use crate::linalg::{pow, wide};
use crate::vectorised;
use std::f64::consts::PI;

/// Number of generalized normals that are raised to powers together.
const TOGETHER: usize = 64;

/// Returns the number on (0, 1) of a word.
#[inline(always)]
pub(super) fn open_uniform(word: u64) -> f64 {
    ((word >> 12) as f64 + 0.5) * (1.0 / 4_503_599_627_370_496.0)
}

/// Replaces words, as the bits of numbers, by numbers on (0, 1).
struct OpenUniforms<'a>(&'a mut [f64]);

vectorised! {
    fn call(self: OpenUniforms<'_>) {
        for value in self.0 {
            *value = open_uniform(value.to_bits());
        }
    }
}

impl Stream {
    /// Draws a uniform number on [0, 1) with 53 bits; uses one word.
    pub fn uniform(&mut self) -> f64 {
        // 2^-53: the spacing of f64 just below one.
        (self.word() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Draws a uniform number on (0, 1); uses one word.
    ///
    /// The values are the midpoints of 2^52 equal cells, so they are symmetric about one half.
    pub fn open_uniform(&mut self) -> f64 {
        open_uniform(self.word())
    }

    /// Draws a uniform number on `lo..hi` (half-open up to rounding); uses one word.
    pub fn uniform_in(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.uniform()
    }

    /// Draws an index in `0..n`; uses one word.
    ///
    /// `n` must be at least 1; the bias is below `n / 2^64`.
    pub fn index(&mut self, n: usize) -> usize {
        ((u128::from(self.word()) * n as u128) >> 64) as usize
    }

    /// Draws true with probability `p`; uses one word.
    pub fn bernoulli(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Draws a standard normal by inversion of the distribution function; uses one word.
    ///
    /// Its absolute value stays below 8.3.
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.open_uniform())
    }

    /// Fills `out` with the draws of [`Stream::normal`], to the last bit, with SIMD.
    pub fn normals(&mut self, out: &mut [f64]) {
        self.words_into(out, f64::from_bits);
        wide(OpenUniforms(out));
        out.chunks_mut(MANY).for_each(quantiles);
    }

    /// Fills each row of `out` with normals of its stream; the rows are equally long.
    ///
    /// They are the draws of [`Stream::normals`], to the last bit.
    pub fn normals_of_each(streams: &mut [&mut Self], out: &mut [f64]) {
        Self::words_of_each(streams, out, f64::from_bits);
        wide(OpenUniforms(out));
        out.chunks_mut(MANY).for_each(quantiles);
    }

    /// Draws a Laplace number of this scale (variance 2 scale²) by inversion; uses one word.
    pub fn laplace(&mut self, scale: f64) -> f64 {
        let u = self.open_uniform() - 0.5;
        -scale * u.signum() * libm::log1p(-2.0 * u.abs())
    }

    /// Fills `out` with the draws of [`Stream::laplace`], to the last bit, with SIMD.
    pub fn laplaces(&mut self, scale: f64, out: &mut [f64]) {
        self.words_into(out, f64::from_bits);
        wide(LaplaceOfWords { scale, values: out });
    }

    /// Draws Student's t with `dof` > 0 degrees of freedom; uses two words.
    ///
    /// It uses Bailey's polar formula (Mathematics of Computation 62, 1994).
    pub fn student_t(&mut self, dof: f64) -> f64 {
        let radius = self.open_uniform();
        let angle = self.open_uniform();
        // expm1 keeps the small radii accurate: u^(-2/dof) - 1.
        let square = dof * libm::expm1(-2.0 / dof * libm::log(radius));
        libm::sqrt(square) * libm::cos(2.0 * PI * angle)
    }

    /// Draws a Gamma number of this `shape` > 0 and scale 1 (mean and variance `shape`).
    ///
    /// It uses Marsaglia and Tsang's rejection (ACM Transactions on Mathematical Software 26, 2000). **It consumes a
    /// varying number of words**: two for each attempt (at least 95 of 100 succeed), and one more below shape 1. Where
    /// tiny shapes underflow, the result is the least normal f64.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            // Gamma(shape) = Gamma(shape + 1) U^(1/shape)
            let raised = self.gamma_from_one(shape + 1.0);
            return (raised * libm::pow(self.open_uniform(), 1.0 / shape)).max(f64::MIN_POSITIVE);
        }
        self.gamma_from_one(shape)
    }

    /// Fills `out` with draws of density proportional to `exp(-|x|^exponent)`, for `exponent > 0`.
    ///
    /// A draw is `g^(1/exponent)` with g of Gamma(1/exponent) as in [`Stream::gamma`], with a sign by one more word.
    pub fn generalized_normals(&mut self, exponent: f64, out: &mut [f64]) {
        let shape = 1.0 / exponent;
        for out in out.chunks_mut(TOGETHER) {
            let (mut gammas, mut shares) = ([1.0; TOGETHER], [1.0; TOGETHER]);
            let n = out.len();
            for ((out, gamma), share) in out.iter_mut().zip(&mut gammas).zip(&mut shares) {
                if shape < 1.0 {
                    *gamma = self.gamma_from_one(shape + 1.0);
                    *share = self.open_uniform();
                } else {
                    *gamma = self.gamma_from_one(shape);
                }
                *out = if self.bernoulli(0.5) { 1.0 } else { -1.0 };
            }
            if shape < 1.0 {
                pow(&mut shares[..n], 1.0 / shape);
                gammas.iter_mut().zip(&shares).for_each(|(gamma, share)| *gamma = (*gamma * share).max(f64::MIN_POSITIVE));
            }
            pow(&mut gammas[..n], shape);
            out.iter_mut().zip(&gammas).for_each(|(out, size)| *out = size.copysign(*out));
        }
    }

    fn gamma_from_one(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let u = self.open_uniform();
            let root = 1.0 + c * x;
            let v = root * root * root;
            // The paper's squeeze, which shows without logarithms that a draw is kept; the margin is far above rounding.
            if d < 1e4 && u < 1.0 - 0.0331 * (x * x) * (x * x) - 1e-9 {
                return d * v;
            }
            // Written so that a NaN shape ends the loop.
            let refused = v <= 0.0 || 0.5 * x * x + d * (1.0 - v + libm::log(v)) <= libm::log(u);
            if !refused {
                return d * v;
            }
        }
    }
}

/// Returns the standard normal quantile at `p` in (0, 1), with relative error about 1e-16.
///
/// The algorithm is Wichura's AS 241 (PPND16).
#[must_use]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    fn stream() -> Stream {
        Streams::new(1, "samplers").of(0, Purpose::Noise)
    }

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

    /// Checks empirical moments within five standard errors.
    ///
    /// A false alarm has probability below 1e-6 per figure, and the seed is fixed.
    #[test]
    fn moments() {
        let n = 200_000;
        let mut s = stream();
        for (name, draw, variance, kurtosis) in [
            ("normal", (|s: &mut Stream| s.normal()) as fn(&mut Stream) -> f64, 1.0, 3.0),
            ("laplace", |s| s.laplace(1.5), 4.5, 6.0),
            ("uniform", |s| s.uniform_in(-1.0, 1.0), 1.0 / 3.0, 1.8),
            ("student", |s| s.student_t(9.0), 9.0 / 7.0, 3.0 + 6.0 / 5.0),
        ] {
            let draws: Vec<f64> = (0..n).map(|_| draw(&mut s)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let second = draws.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
            assert!(mean.abs() < 5.0 * libm::sqrt(variance / f64::from(n)), "{name} mean {mean}");
            let error = variance * libm::sqrt((kurtosis - 1.0) / f64::from(n));
            assert!((second - variance).abs() < 5.0 * error, "{name} variance {second}");
        }
    }

    /// Checks that Student's t with 3 degrees of freedom has quartile 0.764892328404345.
    ///
    /// A share of one half lies within it, up to five standard errors.
    #[test]
    fn student_quartiles() {
        let n = 100_000;
        let mut s = stream();
        let inside = (0..n).filter(|_| s.student_t(3.0).abs() < 0.764_892_328_404_345).count() as f64;
        assert!((inside / f64::from(n) - 0.5).abs() < 5.0 * 0.5 / f64::from(n).sqrt(), "{inside}");
    }

    /// Checks that mean and variance equal the shape, within five standard errors.
    ///
    /// The fourth central moment is 3 shape² + 6 shape.
    #[test]
    fn gamma_moments() {
        let n = 100_000;
        let mut s = stream();
        for shape in [0.3, 1.0, 2.5, 40.0] {
            let draws: Vec<f64> = (0..n).map(|_| s.gamma(shape)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|x| (x - shape) * (x - shape)).sum::<f64>() / f64::from(n);
            assert!((mean - shape).abs() < 5.0 * libm::sqrt(shape / f64::from(n)), "shape {shape} mean {mean}");
            let error = libm::sqrt((2.0 * shape * shape + 6.0 * shape) / f64::from(n));
            assert!((variance - shape).abs() < 5.0 * error, "shape {shape} variance {variance}");
        }
        assert!((0..100).all(|_| 0.0 < s.gamma(1e-3)), "tiny shapes stay positive");
        assert!(s.gamma(f64::NAN).is_nan());
    }

    /// Compares generalized normals with powers of Gamma draws, one by one, and the squeeze with the full test.
    #[test]
    fn generalized_normals_are_powers_of_gamma_draws() {
        for exponent in [0.5, 1.0, 1.5, 2.995_732, 3.0, 40.0, 2000.0] {
            let (mut one, mut many, shape) = (stream(), stream(), 1.0 / exponent);
            let mut found = vec![0.0; 1000];
            many.generalized_normals(exponent, &mut found);
            for x in found {
                let size = libm::pow(slow_gamma(&mut one, shape), shape);
                let expected = if one.bernoulli(0.5) { size } else { -size };
                assert_eq!(x.to_bits(), expected.to_bits(), "{exponent}");
            }
            assert_eq!(one.word(), many.word(), "{exponent}: as many words");
        }
        for shape in [1.0, 1.01, 2.5, 40.0, 9e3, 1e6] {
            let (mut one, mut other) = (stream(), stream());
            assert!((0..20_000).all(|_| one.gamma(shape) == slow_gamma(&mut other, shape)), "{shape}");
        }
    }

    /// Draws a Gamma number with the full test of every attempt.
    fn slow_gamma(stream: &mut Stream, shape: f64) -> f64 {
        if shape < 1.0 {
            let raised = slow_gamma(stream, shape + 1.0);
            return (raised * libm::pow(stream.open_uniform(), 1.0 / shape)).max(f64::MIN_POSITIVE);
        }
        let d = shape - 1.0 / 3.0;
        loop {
            let (x, u) = (stream.normal(), stream.open_uniform());
            let root = 1.0 + 1.0 / libm::sqrt(9.0 * d) * x;
            let v = root * root * root;
            if 0.0 < v && libm::log(u) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }

    #[test]
    fn index_covers_its_range() {
        let mut s = stream();
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[s.index(5)] += 1;
        }
        assert!(seen.iter().all(|&count| 100 < count), "{seen:?}");
        assert_eq!(s.index(1), 0);
    }
}
