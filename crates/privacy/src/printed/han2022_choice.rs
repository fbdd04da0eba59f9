//! Holds the formulas of the noisy choice of a vertex in private polyhedral Frank-Wolfe.
//! Source: [Han2022, algorithm 2, theorem 3.4].

use super::Formula;

/// The scale of the noise in round t.
pub const LAPLACE_SCALE: Formula =
    Formula::new(["Han2022", "theorem 3.4", "E29"], "scale = 4 D (beta D + L) sqrt(ln(n) ln(1/delta))/(epsilon sqrt(t))", |x| {
        laplace_scale(x.of("D"), x.of("beta"), x.of("L"), x.of("n") as u64, x.of("t") as u64, x.of("epsilon"), x.of("delta"))
    });

/// Returns the scale of the Laplace noise in round `t >= 1`.
/// `4 D (beta D + L) sqrt(ln(n) ln(1/delta)) / (epsilon sqrt(t))`, which is zero at n = 1 (erratum E29, `docs/privacy.md`).
pub fn laplace_scale(diameter: f64, smoothness: f64, lipschitz: f64, rounds: u64, round: u64, epsilon: f64, delta: f64) -> f64 {
    let logs = libm::log(rounds as f64) * libm::log(1.0 / delta);
    4.0 * diameter * (smoothness * diameter + lipschitz) * libm::sqrt(logs) / (epsilon * libm::sqrt(round as f64))
}

/// Returns the change of the scores' range in round `t`, `2 D (beta D + L)/(t + 1)`.
/// Correct if the first gradient is halved (E27, E28).
pub fn range(diameter: f64, smoothness: f64, lipschitz: f64, round: u64) -> f64 {
    2.0 * diameter * (smoothness * diameter + lipschitz) / (round as f64 + 1.0)
}

pub(super) const FORMULAS: &[Formula] = &[
    LAPLACE_SCALE,
    Formula::new(["Han2022", "proof of theorem 3.4", "E28"], "range = 2 D (beta D + L)/(t + 1)", |x| {
        range(x.of("D"), x.of("beta"), x.of("L"), x.of("t") as u64)
    }),
];
