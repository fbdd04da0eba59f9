//! The generalised Gaussian tree of private online Frank-Wolfe [Han2022, algorithm 1, lemmas 2.1 and 3.1 to 3.3, theorem 3.1].

/// `sigma_+ = sqrt(2 kappa ln(1/delta)) s/epsilon` [lemma 2.1]: right as `(kappa s²/2 sigma²)`-concentrated privacy (E21).
#[must_use]
pub fn sigma_plus(kappa: f64, sensitivity: f64, epsilon: f64, delta: f64) -> f64 {
    libm::sqrt(2.0 * kappa * libm::log(1.0 / delta)) * sensitivity / epsilon
}

/// Levels of the tree in theorem 3.1, `ceil(log2 n) + 1`.
#[must_use]
pub fn levels(rounds: u64) -> u32 {
    super::dubey2021::nodes_printed(rounds)
}

/// `sigma_+` of theorem 3.1: basic composition over the levels; loose (E25). Sensitivity `2 (beta D + L)`.
#[must_use]
pub fn theorem_3_1(kappa: f64, sensitivity: f64, rounds: u64, epsilon: f64, delta: f64) -> f64 {
    let l = f64::from(levels(rounds));
    sigma_plus(kappa, sensitivity, epsilon / l, delta / l)
}

/// Exponent of the norm and smoothness `(q_+, kappa)` as lemma 3.2 prints them: the exponent is off by one (E22).
#[must_use]
pub fn lemma_3_2_printed(q: f64, n: usize) -> (f64, f64) {
    let log = libm::log(n as f64);
    let exponent = (q - 1.0).min(log - 1.0);
    (exponent, (q - 1.0).min(std::f64::consts::E * std::f64::consts::E * (log - 1.0)))
}

/// The same with the exponent put right: q, or ln n where `ln n >= 2` and `e² (ln n - 1) < q - 1`; kappa as printed (E22).
#[must_use]
pub fn lemma_3_2_corrected(q: f64, n: usize) -> (f64, f64) {
    let log = libm::log(n as f64);
    let other = std::f64::consts::E * std::f64::consts::E * (log - 1.0);
    if 2.0 <= log && other < q - 1.0 { (log, other) } else { (q, q - 1.0) }
}

/// Multiplier of the Euclidean norm and kappa for `1 <= q < 2` [lemma 3.3]: `n^(1/2 - 1/p)` with 1/p = 1 - 1/q, and its square.
#[must_use]
pub fn lemma_3_3(q: f64, n: usize) -> (f64, f64) {
    let multiplier = libm::pow(n as f64, 1.0 / q - 0.5);
    (multiplier, multiplier * multiplier)
}

/// Exponent r of the noise norm and its constant, `kappa = min over 2 <= r <= q of (r - 1) n^(2/r - 2/q)` (E22); `q >= 2`, may be
/// infinite.
#[must_use]
pub fn noise_norm(q: f64, n: usize) -> (f64, f64) {
    let log = libm::log(n as f64);
    let kappa = |r: f64| (r - 1.0) * libm::exp((2.0 / r - 2.0 / q) * log);
    // The logarithm ln(r - 1) + 2 ln n / r has slope 1/(r - 1) - 2 ln n/r²: stationary where r² - 2 ln n (r - 1) = 0.
    let inside = log * log - 2.0 * log;
    let mut candidates = vec![2.0];
    if q.is_finite() {
        candidates.push(q);
    }
    if 0.0 <= inside {
        candidates.extend([log - libm::sqrt(inside), log + libm::sqrt(inside)].into_iter().filter(|r| (2.0..=q).contains(r)));
    }
    candidates.into_iter().map(|r| (r, kappa(r))).fold((2.0, f64::INFINITY), |best, at| if at.1 < best.1 { at } else { best })
}

/// Scale of the Gamma law of `|Z|_+²` as lemma 3.1 prints it, `2 sigma_+`: it must be `2 sigma_+²` (E23).
#[must_use]
pub fn gamma_scale_printed(sigma_plus: f64) -> f64 {
    2.0 * sigma_plus
}

/// Variance of a coordinate of the generalised Gaussian in `n` dimensions under the l_q norm:
/// `n sigma² Gamma(3/q) Gamma(n/q) / (Gamma(1/q) Gamma((n + 2)/q))` (E23).
#[must_use]
pub fn coordinate_variance(sigma_plus: f64, q: f64, n: usize) -> f64 {
    let n = n as f64;
    let log = libm::lgamma(3.0 / q) + libm::lgamma(n / q) - libm::lgamma(1.0 / q) - libm::lgamma((n + 2.0) / q);
    n * sigma_plus * sigma_plus * libm::exp(log)
}
