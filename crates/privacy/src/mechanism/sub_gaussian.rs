//! Bounds the sub-Gaussian variance proxy of bounded randomisers.
//!
//! A proxy of s² means `E exp(x (answer - input)) <= exp(x² s²/2)` for every x. Proof: `docs/proofs/sub-gaussian.md`.

/// Ratio of neighbouring arguments at which the log moment generating function is computed.
const STEP: f64 = 1.1;

/// Returns a proxy at most about 0.3 % above the least one that `log_mgf` allows.
///
/// * `variance` — largest variance of an answer
/// * `output` — largest answer
/// * `log_mgf` — at x > 0, at least the largest `ln E exp(±x (answer - input))` over all inputs
pub(super) fn variance_proxy(variance: f64, output: f64, log_mgf: impl Fn(f64) -> f64) -> f64 {
    let reach = output + 1.0;
    let mut x = 1e-4 / output;
    let mut value = log_mgf(x);
    // Up to the first x by Taylor's formula: third central moments on [-output, output] are at most 2 output³.
    let mut proxy = variance + 2.0 / 3.0 * x * output * output * output;
    // Where 2 reach/x is below the proxy, so is the proxy that x asks for.
    while proxy * x < 2.0 * reach {
        let next = STEP * x;
        let next_value = log_mgf(next);
        // The chord is above the convex function; twice its quotient by x² is largest at `peak`.
        let slope = (next_value - value) / (next - x);
        let at_zero = value - slope * x;
        let peak = (-2.0 * at_zero / slope).clamp(x, next);
        proxy = proxy.max(2.0 * (at_zero + slope * peak) / (peak * peak));
        (x, value) = (next, next_value);
    }
    // Pays for the rounding of logarithms near 0.
    proxy * (1.0 + 1e-6)
}

/// Returns `ln(sinh(x)/x)` for x >= 0.
/// It is the log moment generating function of the uniform law on [-1, 1].
pub(super) fn log_sinh_ratio(x: f64) -> f64 {
    if x < 0.1 {
        let square = x * x;
        square * (1.0 / 6.0 - square * (1.0 / 180.0 - square / 2835.0))
    } else {
        // sinh(x) = e^x (1 - e^(-2x))/2.
        x + libm::log(-libm::expm1(-2.0 * x) / (2.0 * x))
    }
}
