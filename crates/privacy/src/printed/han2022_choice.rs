//! The noisy choice of a vertex in private polyhedral Frank-Wolfe [Han2022, algorithm 2, theorem 3.4].

/// Scale of the Laplace noise in round `t >= 1`: `4 D (beta D + L) sqrt(ln(n) ln(1/delta)) / (epsilon sqrt(t))`. Zero at n = 1 (E29).
#[must_use]
pub fn laplace_scale(diameter: f64, smoothness: f64, lipschitz: f64, rounds: u64, round: u64, epsilon: f64, delta: f64) -> f64 {
    let logs = libm::log(rounds as f64) * libm::log(1.0 / delta);
    4.0 * diameter * (smoothness * diameter + lipschitz) * libm::sqrt(logs) / (epsilon * libm::sqrt(round as f64))
}

/// Range by which scores move in round `t`, `2 D (beta D + L)/(t + 1)`: right with the first gradient halved (E27, E28).
#[must_use]
pub fn range(diameter: f64, smoothness: f64, lipschitz: f64, round: u64) -> f64 {
    2.0 * diameter * (smoothness * diameter + lipschitz) / (round as f64 + 1.0)
}

/// The same with the first gradient whole, `D max(2 (beta D + L), 4 L)/(t + 1)` (E28).
#[must_use]
pub fn range_whole_gradient(diameter: f64, smoothness: f64, lipschitz: f64, round: u64) -> f64 {
    diameter * (2.0 * (smoothness * diameter + lipschitz)).max(4.0 * lipschitz) / (round as f64 + 1.0)
}

/// What the proof's composition gives: `sum eps_t² + sqrt(2 ln(1/delta) sum eps_t²)`, `eps_t = epsilon/(2 sqrt(t ln(n) ln(1/delta)))`.
/// Above epsilon at n = 2 and for large epsilon (E29). The sum uses `eps_t (e^eps_t - 1)` where `exact`.
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

/// `rho` that printed Laplace noise delivers with ranges `range`: each choice is `eps_t²/2`-concentrated (pure).
#[must_use]
pub fn delivered_rho(rounds: u64, scale_of: impl Fn(u64) -> f64, range_of: impl Fn(u64) -> f64) -> f64 {
    (1..=rounds)
        .map(|t| {
            let each = range_of(t) / scale_of(t);
            0.5 * each * each
        })
        .sum()
}

/// Scale in round 1 of Gumbel noise falling as 1/sqrt(t) that spends `rho` over all rounds (E29):
/// `D (beta D + L) sqrt(sum t/(t + 1)² / (2 rho))`.
#[must_use]
pub fn gumbel_scale(diameter: f64, smoothness: f64, lipschitz: f64, rounds: u64, rho: f64) -> f64 {
    let sum: f64 = (1..=rounds).map(|t| t as f64 / ((t as f64 + 1.0) * (t as f64 + 1.0))).sum();
    diameter * (smoothness * diameter + lipschitz) * libm::sqrt(sum / (2.0 * rho))
}
