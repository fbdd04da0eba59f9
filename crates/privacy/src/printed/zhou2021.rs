//! Laplace noise on one reward [Zhou2021, Curator 1 and theorem 2].

/// Scale of the noise, `2 (B + R)/epsilon`: right for rewards that stay within `B + R` (E1), void without a clip (E2, E3).
#[must_use]
pub fn laplace_scale(bound: f64, noise_bound: f64, epsilon: f64) -> f64 {
    2.0 * (bound + noise_bound) / epsilon
}

/// Second moment of a released reward, `B² + R² + 8 (B + R)²/epsilon²`: the epsilon is that of privacy (E4).
#[must_use]
pub fn moment(bound: f64, noise_bound: f64, epsilon: f64) -> f64 {
    let scale = laplace_scale(bound, noise_bound, epsilon);
    bound * bound + noise_bound * noise_bound + 2.0 * scale * scale
}

/// The bound `R = k1 ln(T/delta)^theta` for unbounded noise, and with it a claim of (epsilon, delta): wrong, as a bound that holds with
/// high probability is no privacy guarantee (E3). Clip instead.
#[must_use]
pub fn probable_noise_bound(k1: f64, theta: f64, rounds: u64, delta: f64) -> f64 {
    k1 * libm::pow(libm::log(rounds as f64 / delta), theta)
}
