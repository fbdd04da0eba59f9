//! Holds the formulas of the generalised Gaussian tree of private online Frank-Wolfe.
//! Source: [Han2022, algorithm 1, lemmas 2.1 and 3.1 to 3.3, theorem 3.1].

use super::Formula;

/// The scale of one release of sensitivity s.
pub const SIGMA_PLUS: Formula =
    Formula::new(["Han2022", "lemma 2.1", "E21"], "sigma_+ = sqrt(2 kappa ln(1/delta)) s/epsilon", |x| {
        sigma_plus(x.of("kappa"), x.of("s"), x.of("epsilon"), x.of("delta"))
    });

/// The scale of a node of the tree.
pub const THEOREM_3_1: Formula = Formula::new(
    ["Han2022", "theorem 3.1", "E25"],
    "sigma_+ = l sqrt(2 kappa ln(l/delta)) s/epsilon, l = ceil(log2(n)) + 1",
    |x| theorem_3_1(x.of("kappa"), x.of("s"), x.of("n") as u64, x.of("epsilon"), x.of("delta")),
);

/// Returns `sigma_+` of lemma 2.1.
/// It is correct as `(kappa s²/2 sigma²)`-concentrated privacy (erratum E21, `docs/privacy.md`).
pub fn sigma_plus(kappa: f64, sensitivity: f64, epsilon: f64, delta: f64) -> f64 {
    libm::sqrt(2.0 * kappa * libm::log(1.0 / delta)) * sensitivity / epsilon
}

/// Returns the number `ceil(log2 n) + 1` of levels of the tree in theorem 3.1.
pub fn levels(rounds: u64) -> u32 {
    super::dubey2021::nodes_printed(rounds)
}

/// Returns `sigma_+` of theorem 3.1, by basic composition over the levels; loose (E25).
/// The sensitivity is `2 (beta D + L)`.
pub fn theorem_3_1(kappa: f64, sensitivity: f64, rounds: u64, epsilon: f64, delta: f64) -> f64 {
    let l = f64::from(levels(rounds));
    sigma_plus(kappa, sensitivity, epsilon / l, delta / l)
}

/// Returns exponent and smoothness `(q_+, kappa)` of the norm as lemma 3.2 prints them.
/// The exponent is off by one (E22).
pub fn lemma_3_2_printed(q: f64, n: usize) -> (f64, f64) {
    let log = libm::log(n as f64);
    let exponent = (q - 1.0).min(log - 1.0);
    (exponent, (q - 1.0).min(std::f64::consts::E * std::f64::consts::E * (log - 1.0)))
}

/// Returns `(q_+, kappa)` with the exponent corrected and kappa as printed (E22).
/// The exponent is q, or ln n where `ln n >= 2` and `e² (ln n - 1) < q - 1`.
pub fn lemma_3_2_corrected(q: f64, n: usize) -> (f64, f64) {
    let log = libm::log(n as f64);
    let other = std::f64::consts::E * std::f64::consts::E * (log - 1.0);
    if 2.0 <= log && other < q - 1.0 { (log, other) } else { (q, q - 1.0) }
}

/// Returns the multiplier of the Euclidean norm and kappa for `1 <= q < 2` [lemma 3.3].
/// The multiplier is `n^(1/2 - 1/p)` with 1/p = 1 - 1/q, and kappa its square.
pub fn lemma_3_3(q: f64, n: usize) -> (f64, f64) {
    let multiplier = libm::pow(n as f64, 1.0 / q - 0.5);
    (multiplier, multiplier * multiplier)
}

/// Returns the exponent r of the noise norm and its constant kappa (E22).
/// `kappa = min over 2 <= r <= q of (r - 1) n^(2/r - 2/q)`, for `q >= 2`, which may be infinite.
pub fn noise_norm(q: f64, n: usize) -> (f64, f64) {
    let log = libm::log(n as f64);
    let kappa = |r: f64| (r - 1.0) * libm::exp((2.0 / r - 2.0 / q) * log);
    // The logarithm ln(r - 1) + 2 ln n / r has slope 1/(r - 1) - 2 ln n/r²: stationary for r² - 2 ln n (r - 1) = 0.
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

/// Returns the scale of the Gamma law of `|Z|_+²` as lemma 3.1 prints it; it must be `2 sigma_+²` (E23).
pub fn gamma_scale_printed(sigma_plus: f64) -> f64 {
    2.0 * sigma_plus
}

pub(super) const FORMULAS: &[Formula] = &[
    SIGMA_PLUS,
    THEOREM_3_1,
    Formula::new(["Han2022", "lemma 3.2", "E22"], "q_+ = min(q - 1, ln(n) - 1)", |x| {
        lemma_3_2_printed(x.of("q"), x.of("n") as usize).0
    }),
    Formula::new(["Han2022", "lemma 3.2", ""], "kappa = min(q - 1, e² (ln(n) - 1))", |x| {
        lemma_3_2_printed(x.of("q"), x.of("n") as usize).1
    }),
    Formula::new(["Han2022", "lemma 3.3", ""], "kappa = n^(2/q - 1)", |x| lemma_3_3(x.of("q"), x.of("n") as usize).1),
    Formula::new(["Han2022", "lemma 3.1", "E23"], "scale = 2 sigma_+", |x| gamma_scale_printed(x.of("sigma_+"))),
];
