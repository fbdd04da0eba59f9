//! `K_mu(z)` and `K_{mu+1}(z)` for `|mu| <= 1/2`: the start of every recurrence.

use std::f64::consts::PI;

/// The two lowest orders; both must be multiplied by `exp(-decay)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// `K_mu(z) e^decay`
    pub(super) first: f64,
    /// `z K_{mu+1}(z) e^decay`: with the factor z it stays finite for every z > 0.
    pub(super) next_times_z: f64,
    /// 0 or `z`.
    pub(super) decay: f64,
}

/// Largest argument of the series, which loses about e^(2z) units of rounding.
///
/// The integral serves larger arguments; below, it would need more nodes.
const SERIES_UP_TO: f64 = 1.5;

pub(super) fn pair(mu: f64, z: f64) -> Pair {
    if z <= SERIES_UP_TO { series(mu, z) } else { integral(mu, z) }
}

// Taylor coefficients of 1/Gamma(1+x) at 0, lowest first; the 22nd is below 1e-13 and meets (1/2)^22.
const RECIPROCAL_GAMMA: [f64; 22] = [
    1.0,
    0.577_215_664_901_532_9,
    -0.655_878_071_520_253_9,
    -0.042_002_635_034_095_24,
    0.166_538_611_382_291_5,
    -0.042_197_734_555_544_33,
    -0.009_621_971_527_876_973,
    0.007_218_943_246_663_1,
    -0.001_165_167_591_859_065_2,
    -2.152_416_741_149_509_6e-4,
    1.280_502_823_881_161_8e-4,
    -2.013_485_478_078_824e-5,
    -1.250_493_482_142_670_7e-6,
    1.133_027_231_981_695_8e-6,
    -2.056_338_416_977_607e-7,
    6.116_095_104_481_416e-9,
    5.002_007_644_469_223e-9,
    -1.181_274_570_487_02e-9,
    1.043_426_711_691_100_5e-10,
    7.782_263_439_905_071e-12,
    -3.696_805_618_642_206e-12,
    5.100_370_287_454_476e-13,
];

/// Returns the even part of `1/Gamma(1+mu)`, and minus its odd part over `mu`.
///
/// These are Temme's Gamma_2 and Gamma_1, without cancellation.
fn gamma_parts(mu: f64) -> (f64, f64) {
    let square = mu * mu;
    let (mut even, mut odd) = (0.0, 0.0);
    for coefficients in RECIPROCAL_GAMMA.chunks_exact(2).rev() {
        even = even * square + coefficients[0];
        odd = odd * square + coefficients[1];
    }
    (even, -odd)
}

/// Returns `1/Gamma(1+mu)` for `|mu| <= 1/2`.
pub(super) fn reciprocal_gamma(mu: f64) -> f64 {
    let (even, odd) = gamma_parts(mu);
    even - mu * odd
}

/// Evaluates Temme's series [Temme 1975, section 2; DLMF 10.31].
///
/// With c_k = (z²/4)^k/k!, K_mu = Σ c_k f_k and K_{mu+1} = (2/z) Σ c_k (p_k - k f_k), where
/// f_k = (k f_{k-1} + p_{k-1} + q_{k-1})/(k² - mu²), p_k = p_{k-1}/(k - mu), q_k = q_{k-1}/(k + mu).
pub(super) fn series(mu: f64, z: f64) -> Pair {
    let (even, odd) = gamma_parts(mu);
    // ln(2/z) would overflow for the least z.
    let log = -libm::log(0.5 * z);
    let sigma = mu * log;
    // mu pi / sin(mu pi) and sinh(sigma)/sigma, both 1 in the limit 0.
    let cosecant = if mu == 0.0 { 1.0 } else { mu * PI / libm::sin(mu * PI) };
    let sinh_ratio = if sigma == 0.0 { 1.0 } else { libm::sinh(sigma) / sigma };
    let mut f = cosecant * (libm::cosh(sigma) * odd + sinh_ratio * log * even);
    let growth = libm::exp(sigma);
    // p_0 = (z/2)^-mu Gamma(1+mu)/2, q_0 = (z/2)^mu Gamma(1-mu)/2
    let mut p = 0.5 * growth / (even - mu * odd);
    let mut q = 0.5 / (growth * (even + mu * odd));
    let quarter_square = 0.25 * z * z;
    let mut c = 1.0;
    let (mut first, mut next) = (f, p);
    // c_k falls like 1/k!² at z = 2: fewer than 15 terms.
    for k in 1..100 {
        let k = f64::from(k);
        f = (k * f + p + q) / (k * k - mu * mu);
        p /= k - mu;
        q /= k + mu;
        c *= quarter_square / k;
        let (first_term, next_term) = (c * f, c * (p - k * f));
        first += first_term;
        next += next_term;
        // The terms of `next` change sign at most once, early; both series have ended when both terms vanish.
        if first_term.abs() <= 1e-18 * first.abs() && next_term.abs() <= 1e-18 * next.abs() {
            break;
        }
    }
    // z K_{mu+1} = 2 Σ c_k h_k
    Pair { first, next_times_z: 2.0 * next, decay: 0.0 }
}

/// Applies the trapezoidal rule to `e^z K_a(z) = ∫_0^∞ exp(-2 z sinh²(t/2)) cosh(a t) dt`.
///
/// Source: DLMF 10.32.9. All terms are positive, and the error falls exponentially in 1/h [Trefethen & Weideman 2014,
/// theorem 5.1]: on the line Im t = s it is about exp(z (1 - cos s) - 2 pi s / h), here about e^-40 by the choice of h.
/// It is used for z > 0.05 and has 10 to 20 nodes above 1.5.
pub(super) fn integral(mu: f64, z: f64) -> Pair {
    // s = pi/2 gives h = pi²/(40 + z). For z >= 32 the saddle s = 2 pi/(h z) <= pi/2 of z s²/2 - 2 pi s/h is better:
    // exp(-2 pi²/(h² z)) = e^-40.
    let h = if z < 32.0 { PI * PI / (40.0 + z) } else { libm::sqrt(2.0 * PI * PI / (40.0 * z)) };
    // At node k, t = k h: m = e^t - 1 and g = e^(mu t) by recurrences of positive terms, with one exponential per node.
    let (m_step, g_step) = (libm::expm1(h), libm::exp(mu * h));
    let (mut m, mut g) = (0.0, 1.0);
    let (mut first, mut next) = (0.5, 0.5);
    for _ in 1..1000 {
        m += m_step + m * m_step;
        g *= g_step;
        let growth = m + 1.0;
        // 2 sinh²(t/2) = (e^t - 1)²/(2 e^t)
        let weight = libm::exp(-z * (m * m / (2.0 * growth)));
        let next_g = g * growth;
        let next_term = weight * (0.5 * (next_g + 1.0 / next_g));
        first += weight * (0.5 * (g + 1.0 / g));
        next += next_term;
        if next_term <= 1e-19 * next {
            break;
        }
    }
    Pair { first: first * h, next_times_z: next * h * z, decay: z }
}
