//! Interleaved streams of eight trials: the words of [`super::Stream`], one trial per SIMD lane.

use super::normals::{MANY, quantiles};
use super::{Purpose, Streams};
use pulp::NullaryFnOnce;

/// Number of interleaved trials.
pub const LANES: usize = 8;

/// The multiplier of PCG64 (XSL RR 128/64), see `rand_pcg`.
const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
const LOW: u64 = MULTIPLIER as u64;
const HIGH: u64 = (MULTIPLIER >> 64) as u64;
/// The lower half of a word.
const HALF: u64 = 0xffff_ffff;

/// The streams of trials `first .. first + 8` for one purpose, each at its start.
#[derive(Debug, Clone)]
pub struct StreamLanes {
    low: [u64; LANES],
    high: [u64; LANES],
    increment_low: [u64; LANES],
    increment_high: [u64; LANES],
}

impl Streams {
    /// Creates the streams of eight consecutive trials.
    #[must_use]
    pub fn lanes(&self, first: u64, purpose: Purpose<'_>) -> StreamLanes {
        let mut lanes = StreamLanes { low: [0; LANES], high: [0; LANES], increment_low: [0; LANES], increment_high: [0; LANES] };
        for lane in 0..LANES {
            let (state, selector) = self.seed_of(Some(first + lane as u64), purpose);
            // As `rand_pcg` starts: one step from the state after the seed.
            let increment = (selector << 1) | 1;
            let state = state.wrapping_add(increment).wrapping_mul(MULTIPLIER).wrapping_add(increment);
            (lanes.low[lane], lanes.high[lane]) = (state as u64, (state >> 64) as u64);
            (lanes.increment_low[lane], lanes.increment_high[lane]) = (increment as u64, (increment >> 64) as u64);
        }
        lanes
    }
}

impl StreamLanes {
    /// Fills `out` with standard normals, one for each trial in turn.
    ///
    /// Every trial gets the draws of [`super::Stream::normal`], to the last bit. The length is a multiple of eight.
    pub fn normals(&mut self, out: &mut [f64]) {
        self.normals_beside(out, |_| ());
    }

    /// Fills `out` as [`StreamLanes::normals`] does, calling `beside` with each eight's index.
    ///
    /// The data that `beside` reads is then cached when these eight are used.
    pub fn normals_beside(&mut self, out: &mut [f64], mut beside: impl FnMut(usize)) {
        debug_assert!(out.len().is_multiple_of(LANES));
        for (chunk, values) in out.chunks_mut(MANY).enumerate() {
            let beside = |eight| beside(chunk * (MANY / LANES) + eight);
            pulp::Arch::new().dispatch(Uniforms { lanes: self, out: values, beside });
            quantiles(values);
        }
    }
}

/// The words of [`super::Stream::open_uniform`].
struct Uniforms<'a, F> {
    lanes: &'a mut StreamLanes,
    out: &'a mut [f64],
    beside: F,
}

impl<F: FnMut(usize)> NullaryFnOnce for Uniforms<'_, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { lanes, out, mut beside } = self;
        // Local copies stay in registers; the compiler must assume that data behind a reference changes between steps.
        let (mut low, mut high, increment_low, increment_high) =
            (lanes.low, lanes.high, lanes.increment_low, lanes.increment_high);
        for (eight, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            beside(eight);
            let mut words = [0; LANES];
            for lane in 0..LANES {
                // state * MULTIPLIER + increment, in halves of words: SIMD lanes have no wider product.
                let (a, b) = (low[lane] & HALF, low[lane] >> 32);
                let (c, d) = (LOW & HALF, LOW >> 32);
                // Neither sum overflows: a product of halves leaves room for two more.
                let first = b * c + ((a * c) >> 32);
                let second = a * d + (first & HALF);
                let carried = b * d + (first >> 32) + (second >> 32);
                let product = low[lane].wrapping_mul(LOW);
                let beyond = carried.wrapping_add(low[lane].wrapping_mul(HIGH)).wrapping_add(high[lane].wrapping_mul(LOW));
                let sum = product.wrapping_add(increment_low[lane]);
                low[lane] = sum;
                high[lane] = beyond.wrapping_add(increment_high[lane]).wrapping_add(u64::from(sum < product));
                words[lane] = (low[lane] ^ high[lane]).rotate_right((high[lane] >> 58) as u32);
            }
            for (out, word) in out.iter_mut().zip(words) {
                // ((word >> 12) + 1/2) 2^-52, from the bits of a number in [1, 2): the difference is exact.
                *out = f64::from_bits((word >> 12) | 0x3ff0_0000_0000_0000) - (1.0 - 1.0 / 9_007_199_254_740_992.0);
            }
        }
        (lanes.low, lanes.high) = (low, high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_the_streams_of_their_trials() {
        let streams = Streams::new(5, "lanes");
        let mut lanes = streams.lanes(3, Purpose::Noise);
        let mut single: Vec<_> = (3..11).map(|trial| streams.of(trial, Purpose::Noise)).collect();
        for n in [1, 2, 31, 32, 33, 700] {
            let mut found = vec![0.0; LANES * n];
            lanes.normals(&mut found);
            for (i, value) in found.iter().enumerate() {
                assert_eq!(value.to_bits(), single[i % LANES].normal().to_bits(), "{n}: {i}");
            }
        }
    }
}
