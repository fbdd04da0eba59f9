//! Holds the formulas of the tree over `[phi, y]^T [phi, y]`; alpha and beta are epsilon and delta.
//! Source: [Dubey2021, algorithm 2, lemmas 2 and 3].

use super::Formula;

/// A node's standard deviation for `|z|² <= S`.
pub const SIGMA_OF_THE_PROOF: Formula =
    Formula::new(["Dubey2021", "proof of lemma 2", "E8"], "sigma = 4 sqrt(n S) ln(10/delta)/epsilon", |x| {
        sigma_of_the_proof(x.of("n") as u32, x.of("S"), x.of("epsilon"), x.of("delta"))
    });

/// Returns the number `1 + ceil(log2 T)` of nodes that hold a leaf in the full tree.
/// Prefix sums use fewer, `floor(log2 T) + 1` (erratum E10, `docs/privacy.md`).
pub fn nodes_printed(rounds: u64) -> u32 {
    1 + if rounds <= 1 { 0 } else { (rounds - 1).ilog2() + 1 }
}

/// Returns S, a bound on `|z|²` for normal noise of rewards.
/// The cross term of `(B + rho sqrt(2 ln(2T/beta)))²` is missing (E9).
pub fn squared_norm(bound: f64, noise_std: f64, rounds: u64, delta: f64) -> f64 {
    1.0 + bound * bound + 2.0 * noise_std * noise_std * libm::log(8.0 * rounds as f64 / delta)
}

/// Returns a node's standard deviation in the proof of lemma 2.
/// The sensitivity of the matrix with its corner grows with S, not with its root (E8).
pub fn sigma_of_the_proof(nodes: u32, squared_norm: f64, epsilon: f64, delta: f64) -> f64 {
    4.0 * libm::sqrt(f64::from(nodes) * squared_norm) * libm::log(10.0 / delta) / epsilon
}

/// Returns the number that lemma 2 states as the standard deviation: the proof's, squared (E8).
pub fn sigma_of_the_statement(nodes: u32, squared_norm: f64, epsilon: f64, delta: f64) -> f64 {
    let sigma = sigma_of_the_proof(nodes, squared_norm, epsilon, delta);
    sigma * sigma
}

/// Returns a node's standard deviation with the power of S corrected (E8).
/// The sensitivity is `squared_norm`.
pub fn sigma_right_power(nodes: u32, squared_norm: f64, epsilon: f64, delta: f64) -> f64 {
    4.0 * libm::sqrt(f64::from(nodes)) * squared_norm * libm::log(10.0 / delta) / epsilon
}

/// Returns `Lambda` of lemma 3.
/// Eigenvalues lie in [Lambda, 3 Lambda] only after a shift by `2 Lambda`, which the algorithm never states (E11).
pub fn spectrum(sigma: f64, nodes: u32, n_features: usize, rounds: u64, failure_prob: f64) -> f64 {
    let m = n_features as f64;
    sigma * libm::sqrt(2.0 * f64::from(nodes)) * (4.0 * libm::sqrt(m) + 2.0 * libm::log(2.0 * rounds as f64 / failure_prob))
}

/// Returns kappa, a bound on `|h|` in the norm of `H^{-1}` [lemma 3].
pub fn kappa(sigma: f64, nodes: u32, spectrum: f64, n_features: usize, rounds: u64, failure_prob: f64) -> f64 {
    vector_norm(sigma * libm::sqrt(f64::from(nodes)), n_features, rounds, failure_prob) / libm::sqrt(spectrum)
}

/// Bounds the norm of a vector of `m` normals of standard deviation `std`.
/// Holds with probability `1 - zeta/(2T)`.
pub fn vector_norm(std: f64, n_features: usize, rounds: u64, failure_prob: f64) -> f64 {
    std * (libm::sqrt(n_features as f64) + libm::sqrt(2.0 * libm::log(2.0 * rounds as f64 / failure_prob)))
}

/// Bounds the norm of symmetric noise by `sigma (2 sqrt(m) + 2 sqrt(ln(2T/zeta)))`.
/// Entries have standard deviation `sigma` (diagonal `sqrt(2) sigma`); holds with probability `1 - zeta/(2T)` on each side.
/// Ours, instead of [`spectrum`] (E11).
pub fn tight_spectrum(sigma: f64, n_features: usize, rounds: u64, failure_prob: f64) -> f64 {
    let log = libm::log(2.0 * rounds as f64 / failure_prob);
    sigma * 2.0 * (libm::sqrt(n_features as f64) + libm::sqrt(log))
}

pub(super) const FORMULAS: &[Formula] = &[
    Formula::new(["Dubey2021", "algorithm 2", "E10"], "n = 1 + ceil(log2(T))", |x| f64::from(nodes_printed(x.of("T") as u64))),
    Formula::new(["Dubey2021", "lemma 2", "E9"], "S = 1 + B² + 2 rho² ln(8 T/delta)", |x| {
        squared_norm(x.of("B"), x.of("rho"), x.of("T") as u64, x.of("delta"))
    }),
    SIGMA_OF_THE_PROOF,
    Formula::new(["Dubey2021", "lemma 2", "E8"], "sigma = 16 n S ln(10/delta)²/epsilon²", |x| {
        sigma_of_the_statement(x.of("n") as u32, x.of("S"), x.of("epsilon"), x.of("delta"))
    }),
    Formula::new(["Dubey2021", "lemma 3", "E11"], "Lambda = sigma sqrt(2 n) (4 sqrt(m) + 2 ln(2 T/zeta))", |x| {
        spectrum(x.of("sigma"), x.of("n") as u32, x.of("m") as usize, x.of("T") as u64, x.of("zeta"))
    }),
    Formula::new(["Dubey2021", "lemma 3", ""], "kappa = sigma sqrt(n/Lambda) (sqrt(m) + sqrt(2 ln(2 T/zeta)))", |x| {
        kappa(x.of("sigma"), x.of("n") as u32, x.of("Lambda"), x.of("m") as usize, x.of("T") as u64, x.of("zeta"))
    }),
];
