//! Holds the formulas of the noisy choice of a vertex in private polyhedral Frank-Wolfe.
//! Source: [Han2022, algorithm 2, theorem 3.4].

/// Returns the scale of the Laplace noise in round `t >= 1`.
/// `4 D (beta D + L) sqrt(ln(n) ln(1/delta)) / (epsilon sqrt(t))`, which is zero at n = 1 (erratum E29, `docs/privacy.md`).
#[must_use]
pub fn laplace_scale(diameter: f64, smoothness: f64, lipschitz: f64, rounds: u64, round: u64, epsilon: f64, delta: f64) -> f64 {
    let logs = libm::log(rounds as f64) * libm::log(1.0 / delta);
    4.0 * diameter * (smoothness * diameter + lipschitz) * libm::sqrt(logs) / (epsilon * libm::sqrt(round as f64))
}

/// Returns the change of the scores' range in round `t`, `2 D (beta D + L)/(t + 1)`.
/// Correct if the first gradient is halved (E27, E28).
#[must_use]
pub fn range(diameter: f64, smoothness: f64, lipschitz: f64, round: u64) -> f64 {
    2.0 * diameter * (smoothness * diameter + lipschitz) / (round as f64 + 1.0)
}

/// Returns the loss of the proof's composition.
/// It exceeds epsilon at n = 2 and for large epsilon (E29). It is `sum eps_t² + sqrt(2 ln(1/delta) sum eps_t²)` with
/// `eps_t = epsilon/(2 sqrt(t ln(n) ln(1/delta)))`. If `exact`, the first sum is of `eps_t (e^eps_t - 1)`.
#[must_use]
pub fn composed_by_the_proof(rounds: u64, epsilon: f64, delta: f64, exact: bool) -> f64 {
    let log = libm::log(1.0 / delta);
    let (mut squares, mut drift) = (0.0, 0.0);
    for t in 1..=rounds {
        let each = epsilon / (2.0 * libm::sqrt(t as f64 * libm::log(rounds as f64) * log));
        squares += each * each;
        drift += if exact { each * libm::expm1(each) } else { each * each };
    }
    drift + libm::sqrt(2.0 * log * squares)
}

/// Returns the `rho` that printed Laplace noise delivers.
/// Each choice is pure, hence `eps_t²/2`-concentrated, with `eps_t` the range over the scale.
#[must_use]
pub fn delivered_rho(rounds: u64, scale_of: impl Fn(u64) -> f64, range_of: impl Fn(u64) -> f64) -> f64 {
    (1..=rounds)
        .map(|t| {
            let each = range_of(t) / scale_of(t);
            0.5 * each * each
        })
        .sum()
}

/// Returns the scale in round 1 of Gumbel noise that spends `rho` over all rounds (E29).
/// `D (beta D + L) sqrt(sum t/(t + 1)² / (2 rho))`; the scale decreases as 1/sqrt(t).
#[must_use]
pub fn gumbel_scale(diameter: f64, smoothness: f64, lipschitz: f64, rounds: u64, rho: f64) -> f64 {
    let sum: f64 = (1..=rounds).map(|t| t as f64 / ((t as f64 + 1.0) * (t as f64 + 1.0))).sum();
    diameter * (smoothness * diameter + lipschitz) * libm::sqrt(sum / (2.0 * rho))
}
