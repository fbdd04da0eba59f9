//! Holds the formulas of Laplace noise on one reward [Zhou2021, Curator 1 and theorem 2].

/// Returns the scale of the noise, `2 (B + R)/epsilon`.
/// Correct for rewards that stay within `B + R` (erratum E1, `docs/privacy.md`), void without a clip (E2, E3).
#[must_use]
pub fn laplace_scale(bound: f64, noise_bound: f64, epsilon: f64) -> f64 {
    2.0 * (bound + noise_bound) / epsilon
}

/// Returns the second moment of a released reward, `B² + R² + 8 (B + R)²/epsilon²`.
/// The epsilon is that of privacy (E4).
#[must_use]
pub fn moment(bound: f64, noise_bound: f64, epsilon: f64) -> f64 {
    let scale = laplace_scale(bound, noise_bound, epsilon);
    bound * bound + noise_bound * noise_bound + 2.0 * scale * scale
}

/// Returns the bound `R = k1 ln(T/delta)^theta` for unbounded noise.
/// The paper derives a claim of (epsilon, delta) from it. The claim is wrong, because a bound that holds with high probability
/// is not a privacy guarantee (E3). Clip instead.
#[must_use]
pub fn probable_noise_bound(k1: f64, theta: f64, rounds: u64, delta: f64) -> f64 {
    k1 * libm::pow(libm::log(rounds as f64 / delta), theta)
}
