//! Holds the formulas for every user's own noise on `x x^T` and `r x`, quoted from memory.
//! Source: [Zheng2020, algorithm 2].

use super::Formula;

/// Standard deviation of every user's own noise, quoted from memory.
pub const SIGMA: Formula = Formula::new(["Zheng2020", "algorithm 2", ""], "sigma = 6 sqrt(2 ln(2.5/delta))/epsilon", |x| {
    sigma(x.of("epsilon"), x.of("delta"))
});

/// Returns `sigma = 6 sqrt(2 ln(2.5/delta))/epsilon` for `|x| <= 1`, `|r| <= 1`.
pub fn sigma(epsilon: f64, delta: f64) -> f64 {
    6.0 * libm::sqrt(2.0 * libm::log(2.5 / delta)) / epsilon
}

/// Returns `Upsilon_t = sigma sqrt(t) (4 sqrt(d) + 2 ln(2T/alpha))`.
/// Twice this number is added to the diagonal.
pub fn spectrum(sigma: f64, round: u64, dimension: usize, rounds: u64, failure_prob: f64) -> f64 {
    let log = libm::log(2.0 * rounds as f64 / failure_prob);
    sigma * libm::sqrt(round as f64) * (4.0 * libm::sqrt(dimension as f64) + 2.0 * log)
}

pub(super) const FORMULAS: &[Formula] = &[
    SIGMA,
    Formula::new(["Zheng2020", "algorithm 2", ""], "Upsilon = sigma sqrt(t) (4 sqrt(d) + 2 ln(2 T/alpha))", |x| {
        spectrum(x.of("sigma"), x.of("t") as u64, x.of("d") as usize, x.of("T") as u64, x.of("alpha"))
    }),
];
