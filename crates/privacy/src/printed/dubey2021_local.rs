//! Holds the formulas of one user's Gram matrix and reward vector, with noise added by the user.
//! Source: [Dubey2021, algorithm 3, lemmas 5 and 6].

use super::Formula;

/// Noise on the matrix.
pub const SIGMA_GRAM: Formula = Formula::new(["Dubey2021", "lemma 5", "E13"], "sigma_X = sqrt(8 ln(5/(2 delta)))/epsilon", |x| {
    sigma_gram(x.of("epsilon"), x.of("delta"))
});

/// Noise on the vector.
pub const SIGMA_REWARD: Formula =
    Formula::new(["Dubey2021", "lemma 5", "E14"], "sigma_u = sqrt(8 (B² + 2 ln(8 m/delta)) ln(5/delta))/epsilon", |x| {
        sigma_reward(x.of("B"), x.of("m") as usize, x.of("epsilon"), x.of("delta"))
    });

/// Noise on the vector of bounded rewards.
pub const SIGMA_REWARD_BOUNDED: Formula =
    Formula::new(["Dubey2021", "section 6.1", "E14"], "sigma_u = sqrt(8 B² ln(5/delta))/epsilon", |x| {
        sigma_reward_bounded(x.of("B"), x.of("epsilon"), x.of("delta"))
    });

/// Returns `sigma_X`, for half of the budget at sensitivity 1 "per element".
/// The L2 sensitivity is sqrt(2) for the noise as specified (erratum E13, `docs/privacy.md`).
pub fn sigma_gram(epsilon: f64, delta: f64) -> f64 {
    libm::sqrt(8.0 * libm::log(2.5 / delta)) / epsilon
}

/// Returns `sigma_u` of lemma 5, whose undefined delta is read as beta.
/// rho² and the cross term are missing, and the sensitivity is 2Y (E14).
pub fn sigma_reward(bound: f64, n_features: usize, epsilon: f64, delta: f64) -> f64 {
    let log = libm::log(8.0 * n_features as f64 / delta);
    libm::sqrt(8.0 * (bound * bound + 2.0 * log) * libm::log(5.0 / delta)) / epsilon
}

/// Returns `sigma_u` for bounded rewards, which violates the total claim at alpha = 10 (E14).
pub fn sigma_reward_bounded(bound: f64, epsilon: f64, delta: f64) -> f64 {
    libm::sqrt(8.0 * bound * bound * libm::log(5.0 / delta)) / epsilon
}

/// Returns `(sigma_X, sigma_u)` of lemma 5 with the L2 sensitivities `sqrt(2)` and `2Y`.
pub fn corrected_sensitivities(bound: f64, epsilon: f64, delta: f64) -> (f64, f64) {
    (std::f64::consts::SQRT_2 * sigma_gram(epsilon, delta), 2.0 * sigma_reward_bounded(bound, epsilon, delta))
}

/// Returns `Lambda` of lemma 6, in units of `sigma_X`; the shift `2 sigma_X Lambda` is not stated (E15).
pub fn spectrum(n_features: usize, rounds: u64, failure_prob: f64) -> f64 {
    let log = libm::log(2.0 * rounds as f64 / failure_prob);
    libm::sqrt(rounds as f64) * (4.0 * libm::sqrt(n_features as f64) + 2.0 * log)
}

/// Returns kappa as printed, without `sigma_X` under the root (E15).
pub fn kappa_printed(sigma_reward: f64, spectrum: f64, n_features: usize, rounds: u64) -> f64 {
    sigma_reward * libm::sqrt(n_features as f64 * rounds as f64 / spectrum)
}

/// Returns kappa with `sigma_X`: `sigma_u sqrt(m T / (sigma_X Lambda))`.
pub fn kappa(sigma_reward: f64, sigma_gram: f64, spectrum: f64, n_features: usize, rounds: u64) -> f64 {
    kappa_printed(sigma_reward, sigma_gram * spectrum, n_features, rounds)
}

pub(super) const FORMULAS: &[Formula] = &[
    SIGMA_GRAM,
    SIGMA_REWARD,
    SIGMA_REWARD_BOUNDED,
    Formula::new(["Dubey2021", "lemma 6", "E15"], "Lambda = sqrt(T) (4 sqrt(m) + 2 ln(2 T/zeta))", |x| {
        spectrum(x.of("m") as usize, x.of("T") as u64, x.of("zeta"))
    }),
    Formula::new(["Dubey2021", "lemma 6", "E15"], "kappa = sigma_u sqrt(m T/Lambda)", |x| {
        kappa_printed(x.of("sigma_u"), x.of("Lambda"), x.of("m") as usize, x.of("T") as u64)
    }),
];
