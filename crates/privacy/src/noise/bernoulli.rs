//! Draws exact Bernoulli variables [CanonneKamathSteinke2020, algorithm 1].
//!
//! Probabilities are quotients of integers, compared digit by digit with random digits, so that no probability is ever rounded.
//! Proof: `docs/proofs/discrete.md`.

use super::entropy::Words;

/// Returns true with probability `numerator/denominator`.
/// `numerator <= denominator`, `0 < denominator < 2^96`.
pub(crate) fn bernoulli(numerator: u128, denominator: u128, words: &mut impl Words) -> bool {
    let mut left = numerator;
    loop {
        // The next 32 binary digits of a uniform number, compared with those of left/denominator.
        let digit = u128::from(words.half()) * denominator;
        let target = left << 32;
        if digit + denominator <= target {
            return true;
        }
        if target <= digit {
            return false;
        }
        left = target - digit;
    }
}

/// Returns true with probability `e^-(a/b)`; `a <= b`, `0 < b < 2^88`.
pub(crate) fn bernoulli_exp_fraction(a: u128, b: u128, words: &mut impl Words) -> bool {
    // The number of successes in a row of coins (a/b)/k, k = 1, 2, …, is even with probability e^-(a/b).
    let mut k = 1;
    while bernoulli(a, b * k, words) {
        k += 1;
    }
    k % 2 == 1
}

/// Returns true with probability `e^-(a/b)`, for any `a`; `0 < b < 2^88`.
pub(crate) fn bernoulli_exp(a: u128, b: u128, words: &mut impl Words) -> bool {
    let (mut whole, rest) = (a / b, a % b);
    while 0 < whole {
        if !bernoulli_exp_fraction(1, 1, words) {
            return false;
        }
        whole -= 1;
    }
    bernoulli_exp_fraction(rest, b, words)
}

/// Returns a uniform draw on `0..n`, `n >= 1`.
pub(crate) fn below(n: u64, words: &mut impl Words) -> u64 {
    let mask = u64::MAX >> (n - 1).leading_zeros().min(63);
    loop {
        let candidate = words.word() & mask;
        if candidate < n {
            return candidate;
        }
    }
}
