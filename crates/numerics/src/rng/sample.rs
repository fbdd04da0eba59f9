//! Samplers over [`Stream`].
//!
//! Each sampler except [`Stream::gamma`] consumes a fixed number of words, so that draws of different policies stay
//! aligned.

use super::Stream;
use super::laplace::laplace_of_words;
use super::normals::quantiles;
use super::quantile::{MANY, normal_quantile, open_uniform};
use crate::linalg::pow;
use crate::vectorised;
use std::f64::consts::PI;

/// Number of generalized normals that are raised to powers together.
const TOGETHER: usize = 64;

vectorised! {
    /// Replaces words, as the bits of numbers, by numbers on (0, 1).
    fn open_uniforms(values: &mut [f64]) {
        for value in values {
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
        open_uniforms(out);
        out.chunks_mut(MANY).for_each(quantiles);
    }

    /// Fills each row of `out` with normals of its stream; the rows are equally long.
    ///
    /// They are the draws of [`Stream::normals`], to the last bit.
    pub fn normals_of_each(streams: &mut [&mut Self], out: &mut [f64]) {
        Self::words_of_each(streams, out, f64::from_bits);
        open_uniforms(out);
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
        laplace_of_words(scale, out);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    fn stream() -> Stream {
        Streams::new(1, "samplers").of(0, Purpose::Noise)
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
