//! Draws from exact integer laws [CanonneKamathSteinke2020, algorithms 2 and 3].
//! Proof: `docs/proofs/discrete.md`.

use super::bernoulli::{below, bernoulli_exp, bernoulli_exp_fraction};
use super::entropy::Words;

/// Largest standard deviation in steps that [`gaussian`] accepts.
pub(crate) const GREATEST_SIGMA: u64 = 1 << 21;
/// Largest scale in steps that [`laplace`] accepts.
pub(crate) const GREATEST_SCALE: u64 = 1 << 40;

/// Draws from the discrete Laplace law, x with probability proportional to `e^(-|x|/scale)`.
/// `1 <= scale <= 2^40`.
pub(crate) fn laplace(scale: u64, words: &mut impl Words) -> i64 {
    loop {
        let rest = below(scale, words);
        if !bernoulli_exp_fraction(u128::from(rest), u128::from(scale), words) {
            continue;
        }
        let mut whole = 0_u64;
        while bernoulli_exp_fraction(1, 1, words) {
            whole += 1;
        }
        // Saturates with probability below e^(-2^22): never observed.
        let size = i64::try_from(scale.saturating_mul(whole).saturating_add(rest)).unwrap_or(i64::MAX);
        let negative = words.half() & 1 == 1;
        if !(negative && size == 0) {
            return if negative { -size } else { size };
        }
    }
}

/// Draws from the discrete Gaussian law, x with probability proportional to `e^(-x²/(2 sigma²))`.
/// `1 <= sigma <= 2^21`.
pub(crate) fn gaussian(sigma: u64, words: &mut impl Words) -> i64 {
    let (t, square) = (u128::from(sigma + 1), u128::from(sigma) * u128::from(sigma));
    loop {
        let x = laplace(sigma + 1, words);
        let size = u128::from(x.unsigned_abs());
        // (|x| - sigma²/t)² / (2 sigma²) = (|x| t - sigma²)² / (2 sigma² t²). Sizes of 2^41 never occur (probability
        // e^(-2^20)).
        let gap = (size.min(1 << 41) * t).abs_diff(square);
        if bernoulli_exp(gap * gap, 2 * square * t * t, words) {
            return x;
        }
    }
}
