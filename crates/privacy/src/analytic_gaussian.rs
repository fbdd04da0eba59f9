//! Converts between (epsilon, delta) and the standard deviation of Gaussian noise.
//!
//! This is the analytic Gaussian mechanism [BalleWang2018, theorem 8] in the notation of Gaussian differential privacy
//! (Dong2022). The sensitivity is 1 throughout; this file holds no mechanism and draws no random numbers.
//!
//! `delta(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)`, with `mu = sensitivity / sigma`.

use super::accounting::search::bisect;
use super::{Delta, Epsilon};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Returns the smallest delta at which Gaussian noise of standard deviation `1/mu` is private.
/// Sensitivity 1, at this `epsilon >= 0`, for `mu >= 0`; small results are accurate in relative terms too.
pub fn gaussian_delta(epsilon: f64, mu: f64) -> f64 {
    if mu <= 0.0 {
        return 0.0;
    }
    let near = epsilon / mu - 0.5 * mu;
    let far = epsilon / mu + 0.5 * mu;
    // e^epsilon phi(far) = phi(near), because epsilon - far²/2 = -near²/2. Hence e^epsilon Phi(-far) = exp(-near²/2)/2
    // erfcx(far/sqrt 2), and neither factor overflows or underflows before the product does.
    let envelope = 0.5 * libm::exp(-0.5 * near * near);
    let second = envelope * erfcx(far * FRAC_1_SQRT_2);
    let first = if 0.0 < near { envelope * erfcx(near * FRAC_1_SQRT_2) } else { 0.5 * libm::erfc(near * FRAC_1_SQRT_2) };
    (first - second).clamp(0.0, 1.0)
}

/// Returns the largest `mu` whose Gaussian noise is (epsilon, delta)-private.
/// The result is rounded to the private side.
pub fn gdp_mu(epsilon: Epsilon, delta: Delta) -> f64 {
    largest(|mu| gaussian_delta(epsilon.get(), mu) <= delta.get())
}

/// Returns the least standard deviation of Gaussian noise that is (epsilon, delta)-private.
/// Sensitivity 1.
pub fn analytic_gaussian_sigma(epsilon: Epsilon, delta: Delta) -> f64 {
    1.0 / gdp_mu(epsilon, delta)
}

/// Returns the smallest epsilon at which `mu`-Gaussian noise is (epsilon, delta)-private.
/// The result is 0 where `delta` alone covers the loss, and infinite where no f64 holds it.
pub fn gdp_epsilon(mu: f64, delta: Delta) -> f64 {
    if gaussian_delta(0.0, mu) <= delta.get() {
        return 0.0;
    }
    let too_small = largest(|epsilon| delta.get() < gaussian_delta(epsilon, mu));
    if 0.25 * f64::MAX <= too_small { f64::INFINITY } else { too_small.next_up() }
}

/// Returns the largest positive number at which `holds` is true.
/// The condition must be true near 0 and false from some point on. Doubling or halving finds a bracket, bisection narrows it
/// down to neighbouring doubles.
fn largest(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut yes, mut no) = (1.0, 2.0);
    while !holds(yes) && f64::MIN_POSITIVE < yes {
        (yes, no) = (0.5 * yes, yes);
    }
    while holds(no) && no < 0.25 * f64::MAX {
        (yes, no) = (no, 2.0 * no);
    }
    bisect(no, yes, 0.0, holds)
}

/// Computes `exp(x²) erfc(x)` for `x >= 0`.
fn erfcx(x: f64) -> f64 {
    if x < 5.0 {
        // x² is split into the exact square of x's leading half and a small rest: exp of a rounded square would lose x² ulps.
        let head = f64::from(x as f32);
        let rest = (x - head) * (x + head);
        return libm::exp(head * head) * libm::exp(rest) * libm::erfc(x);
    }
    // Laplace's continued fraction 1/sqrt(pi) · 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …)))): 40 levels give the last bit for
    // x >= 5.
    let tail = (1..=40).rev().fold(x, |below, level| x + 0.5 * f64::from(level) / below);
    1.0 / (libm::sqrt(PI) * tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{delta, epsilon};

    /// Reference values of an independent implementation: (epsilon, delta, mu).
    const MU: [(f64, f64, f64); 13] = [
        (10.0, 0.01, 2.856_353_799_621_454_3),
        (10.0, 0.1, 3.548_464_025_886_013_4),
        (10.0, 0.5, 4.687_520_671_082_928),
        (10.0, 0.99, 7.596_327_112_222_450_5),
        (1.0, 1e-3, 0.388_401_248_306_584_57),
        (1.0, 0.01, 0.532_516_648_502_950_7),
        (1.0, 0.1, 0.920_913_966_613_282_3),
        (1.0, 0.5, 1.972_133_627_689_682),
        (0.5, 0.01, 0.317_771_723_802_209_75),
        (0.5, 0.99, 5.319_804_345_725_883),
        (0.1, 0.01, 0.104_801_775_372_543_62),
        (0.1, 0.1, 0.351_256_249_519_093_34),
        (0.1, 0.99, 5.186_039_031_108_049),
    ];

    #[test]
    fn mu_agrees_with_the_reference() {
        for (e, d, expected) in MU {
            let mu = gdp_mu(epsilon(e), delta(d));
            assert!((mu - expected).abs() <= 1e-12 * expected, "({e}, {d}): {mu} for {expected}");
        }
    }

    /// Compares with the definition of delta by integration.
    /// It is the integral of max(0, p - e^epsilon q) over the densities p of N(mu, 1) and q of N(0, 1).
    #[test]
    fn delta_is_the_integral_of_the_definition() {
        let density = |x: f64| libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * PI);
        for (e, mu) in [(0.1, 0.05), (0.5, 1.0), (1.0, 0.3), (3.0, 2.0), (8.0, 1.5)] {
            let step = 1e-4;
            let excess = |i: i32| {
                let x = f64::from(i) * step;
                (density(x - mu) - libm::exp(e) * density(x)).max(0.0)
            };
            let integral = (-100_000..150_000).map(excess).sum::<f64>() * step;
            let delta = gaussian_delta(e, mu);
            assert!((delta - integral).abs() <= 1e-5 * integral, "({e}, {mu}): {delta} for {integral}");
        }
    }

    #[test]
    fn the_three_functions_invert_each_other() {
        for e in [1e-6, 0.1, 1.0, 8.0, 50.0, 700.0] {
            for d in [1e-200, 1e-30, 1e-12, 1e-5, 0.1, 0.9] {
                let mu = gdp_mu(epsilon(e), delta(d));
                let reached = gaussian_delta(e, mu);
                assert!(reached <= d && (1.0 - 1e-6) * d <= reached, "({e}, {d}): {reached}");
                let back = gdp_epsilon(mu, delta(d));
                assert!((back - e).abs() <= 1e-6 * e + 1e-9, "({e}, {d}): {back}");
            }
        }
        assert_eq!(gdp_epsilon(0.1, delta(0.5)), 0.0);
        assert_eq!(gaussian_delta(1.0, 0.0), 0.0);
    }

    /// Checks that `erfcx` is continuous at its change of formula and matches `erfc` there.
    #[test]
    fn scaled_erfc() {
        for x in [0.0, 0.3, 1.0, 3.0, 4.999_999, 5.0, 5.5, 9.0] {
            let direct = libm::exp(x * x) * libm::erfc(x);
            assert!((erfcx(x) - direct).abs() <= 5e-14 * direct, "{x}: {} for {direct}", erfcx(x));
        }
        assert!((erfcx(1e9) * 1e9 * libm::sqrt(PI) - 1.0).abs() < 1e-15);
    }
}
