//! Laplace numbers by inversion with SIMD, with the bits of [`Stream::laplace`](super::Stream::laplace).

use super::logarithm::{reduced, series};
use super::quantile::open_uniform;
use crate::vectorised;

/// Bound on |x| below which `libm::log1p` of a negative x extracts no power of two.
const NEAR: f64 = f64::from_bits(0x3fd2_bec5_0000_0000);

vectorised! {
    /// Replaces words, as the bits of numbers, by Laplace numbers of this scale.
    pub(super) fn laplace_of_words(scale: f64, values: &mut [f64]) {
        for value in values {
            let u = open_uniform(value.to_bits()) - 0.5;
            *value = -scale * 1.0_f64.copysign(u) * log1p(-2.0 * u.abs());
        }
    }
}

/// Returns `libm::log1p` of a negative multiple of `2^-52` above -1, bit by bit.
///
/// `1 + x` is exact, so that the correction of `libm` for its rounding is zero. The other steps are those of the logarithm.
#[inline(always)]
fn log1p(x: f64) -> f64 {
    let (k, f) = reduced(1.0 + x);
    let is_near = -NEAR < x;
    series(if is_near { 0.0 } else { k }, if is_near { x } else { f })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    /// Returns the Laplace number of a word as [`Stream::laplace`](crate::rng::Stream::laplace) computes it.
    fn of_word(scale: f64, word: u64) -> f64 {
        let u = open_uniform(word) - 0.5;
        -scale * u.signum() * libm::log1p(-2.0 * u.abs())
    }

    #[test]
    fn every_word_has_the_bits_of_libm() {
        let mut stream = Streams::new(3, "laplace").of(0, Purpose::Noise);
        // Words at random, and words near the ends, near one half and near the branches of the logarithm.
        let mut words: Vec<u64> = (0..1_000_000).map(|_| stream.word()).collect();
        let shares = [NEAR, 1.0 - 0.707_106_590_270_996, 1.0 - 0.5_f64.sqrt(), 0.5, 0.75, 1.0 - 0.353_553_390_593_273_8];
        let places = shares.into_iter().flat_map(|share| [0.5 - 0.5 * share, 0.5 + 0.5 * share]);
        for place in places.map(|place| (place * 4_503_599_627_370_496.0) as u64).chain([0, 1 << 51, (1 << 52) - 1]) {
            words.extend((-2000_i64..2000).map(|i| place.wrapping_add_signed(i) << 12));
            words.extend((-2000_i64..2000).map(|i| place.wrapping_add_signed(i * 500_000) << 12));
        }
        // Sizes of every power of two, near zero and near one.
        words.extend(
            (0..51).flat_map(|k| [1 << 51 | 1 << k, (1 << 51) - (1 << k), 1 << k, (1 << 52) - (1 << k)].map(|w: u64| w << 12)),
        );
        for scale in [1.0, 0.3, 1e-310, 1e300] {
            let mut found: Vec<f64> = words.iter().map(|&word| f64::from_bits(word)).collect();
            laplace_of_words(scale, &mut found);
            for (&word, found) in words.iter().zip(found) {
                assert_eq!(found.to_bits(), of_word(scale, word).to_bits(), "{word:x}");
            }
        }
    }

    #[test]
    fn draws_together_are_the_draws_of_one_at_a_time() {
        for n in [0, 1, 7, 8, 20, 255, 256, 257, 2000] {
            let stream = || Streams::new(5, "laplace").of(n, Purpose::Noise);
            let (mut one, mut many, mut found) = (stream(), stream(), vec![0.0; n as usize]);
            many.laplaces(1.5, &mut found);
            assert!(found.iter().all(|x| x.to_bits() == one.laplace(1.5).to_bits()), "{n}");
            assert_eq!(one.word(), many.word(), "{n}: as many words");
        }
    }
}
