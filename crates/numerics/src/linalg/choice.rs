//! The least of many numbers, and the weights of the exponential mechanism, with SIMD.

use super::dot::LANES;
use super::exp_of_block;
use crate::vectorised;

/// Number of values that are compared, or exponentiated, together.
const BLOCK: usize = 64;

vectorised! {
    /// Returns the lowest index of the least value.
    ///
    /// NaN is skipped, but the index is 0 if the first value is NaN: nothing is less than NaN. It is 0 for no values.
    pub fn least(values: &[f64]) -> usize {
        if values.first().is_none_or(|x| x.is_nan()) {
            return 0;
        }
        let (mut lowest, mut first) = (f64::INFINITY, 0);
        for (at, block) in values.chunks(BLOCK).enumerate() {
            let of_block = lowest_inlined(block);
            if of_block < lowest {
                (lowest, first) = (of_block, at * BLOCK);
            }
        }
        let block = &values[first..];
        first + block.iter().position(|&x| x == lowest).unwrap_or(0)
    }
}

/// Returns the least number, at most infinity; NaN is skipped.
#[inline(always)]
fn lowest_inlined(values: &[f64]) -> f64 {
    let mut minima = [f64::INFINITY; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    for entries in whole {
        for (lowest, x) in minima.iter_mut().zip(entries) {
            *lowest = if *x < *lowest { *x } else { *lowest };
        }
    }
    for (lowest, x) in minima.iter_mut().zip(rest) {
        *lowest = if *x < *lowest { *x } else { *lowest };
    }
    for half in [4, 2, 1] {
        for lane in 0..half {
            minima[lane] = if minima[lane + half] < minima[lane] { minima[lane + half] } else { minima[lane] };
        }
    }
    minima[0]
}

vectorised! {
    /// Replaces scores by the running sums of `exp((lowest - score)/scale)`, and returns the sum of all.
    ///
    /// Weights have the bits of `libm::exp` and are added in their order.
    pub fn running_weights(scores: &mut [f64], scale: f64) -> f64 {
        let lowest = lowest_inlined(scores);
        let mut total = 0.0;
        for block in scores.chunks_mut(BLOCK) {
            for score in &mut *block {
                *score = (lowest - *score) / scale;
            }
            exp_of_block(block);
            for weight in block {
                total += *weight;
                *weight = total;
            }
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    /// Draws scores with many equal ones.
    fn scores(n: usize, trial: u64, step: f64) -> Vec<f64> {
        let mut stream = Streams::new(9, "choices").of(trial, Purpose::Noise);
        (0..n).map(|_| (stream.normal() / step).round() * step).collect()
    }

    #[test]
    fn the_least_is_the_one_of_a_scan() {
        let scan = |of: &[f64]| (1..of.len()).fold(0, |best, at| if of[at] < of[best] { at } else { best });
        for n in [1, 2, 7, 8, 9, 63, 64, 65, 200, 2000] {
            for trial in 0..20 {
                let mut values = scores(n, trial, [1e-9, 0.1, 0.5, 3.0][trial as usize % 4]);
                assert_eq!(least(&values), scan(&values), "{n}");
                let mut stream = Streams::new(9, "odd values").of(trial, Purpose::Noise);
                for odd in [f64::NAN, f64::INFINITY, 0.0, -0.0, f64::NAN, f64::NEG_INFINITY] {
                    values[stream.index(n)] = odd;
                    assert_eq!(least(&values), scan(&values), "{n}");
                }
                values.fill(if trial % 2 == 0 { f64::INFINITY } else { f64::NAN });
                assert_eq!(least(&values), 0, "{n}");
            }
        }
        assert_eq!(least(&[]), 0);
    }

    #[test]
    fn weights_are_added_in_their_order() {
        for n in [0, 1, 7, 64, 65, 200, 2000] {
            for scale in [1e-3, 0.02, 0.8, 1e6, 0.0, f64::INFINITY] {
                let mut values = scores(n, 1, 1e-9);
                let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
                let mut sum = 0.0;
                let mut add = |score: &f64| {
                    sum += libm::exp((lowest - score) / scale);
                    sum.to_bits()
                };
                let expected: Vec<u64> = values.iter().map(&mut add).collect();
                let total = running_weights(&mut values, scale);
                if sum.is_nan() {
                    assert!(total.is_nan());
                } else {
                    assert_eq!(total.to_bits(), sum.to_bits(), "{n} {scale}");
                    assert!(values.iter().map(|x| x.to_bits()).eq(expected), "{n} {scale}");
                }
            }
        }
    }
}
