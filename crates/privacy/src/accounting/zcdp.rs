//! Converts zero-concentrated privacy (BunSteinke2016) to and from (epsilon, delta).
//!
//! `rho` bounds the Rényi divergence of every order `a` by `a rho`. The conversions are the tight ones
//! [CanonneKamathSteinke2020, proposition 12].

use super::search::bisect;
use crate::{Delta, Epsilon};

/// Returns `rho` of Gaussian noise: `mu²/2`, with `mu = sensitivity / sigma`.
pub fn of_gaussian(mu: f64) -> f64 {
    0.5 * mu * mu
}

/// Returns `rho` of a pure mechanism: `epsilon²/2` [BunSteinke2016, proposition 1.4].
pub fn of_pure(epsilon: f64) -> f64 {
    0.5 * epsilon * epsilon
}

/// Returns `rho` of one choice by the exponential mechanism: `epsilon²/8` (CesarRogers2021).
/// The range of the scores changes by `epsilon` scales of the Gumbel noise.
pub fn of_choice(epsilon: f64) -> f64 {
    0.125 * epsilon * epsilon
}

/// Returns the least delta that `rho` alone guarantees at `epsilon >= 0`.
/// This is the infimum over orders `a > 1` of `exp((a - 1)(a rho - epsilon)) / a (1 - 1/a)^(a - 1)`, a bound for every
/// `rho`-concentrated mechanism.
pub fn delta(rho: f64, epsilon: f64) -> f64 {
    if rho <= 0.0 {
        return 0.0;
    }
    libm::exp(log_delta(rho, epsilon)).min(1.0)
}

/// Returns bounds of the kind of [`delta`], equal to it up to rounding, at rising epsilons that are close to each other.
pub fn deltas(rho: f64, epsilons: impl Iterator<Item = f64>) -> Vec<f64> {
    // Any order bounds delta. The best of the epsilon before is nearly the best, and Newton's steps in its logarithm are few.
    let mut u = None;
    let at = |epsilon: f64| {
        if rho <= 0.0 {
            return 0.0;
        }
        let mut order = u.unwrap_or_else(|| best_order(rho, epsilon));
        for _ in 0..3 {
            let change = slope(rho, epsilon, order) / (2.0 * order * rho + 1.0 / (order + 1.0));
            order *= libm::exp(-change.clamp(-2.0, 2.0));
        }
        u = Some(order);
        libm::exp(log_delta_of(rho, epsilon, order)).min(1.0)
    };
    epsilons.map(at).collect()
}

/// Returns the least epsilon >= 0 that `rho` alone guarantees at `delta`.
/// Rounded to the private side.
pub fn epsilon(rho: f64, delta: Delta) -> f64 {
    let goal = libm::log(delta.get());
    if rho <= 0.0 || log_delta(rho, 0.0) <= goal {
        return 0.0;
    }
    // rho + 2 sqrt(rho ln(1/delta)) is sufficient [BunSteinke2016, proposition 1.3].
    bisect(0.0, 2.0 * (rho + 2.0 * libm::sqrt(-rho * goal)), 0.0, |epsilon| log_delta(rho, epsilon) <= goal)
}

/// Returns the largest `rho` that guarantees (epsilon, delta), rounded to the private side.
pub fn rho(epsilon: Epsilon, delta: Delta) -> f64 {
    let goal = libm::log(delta.get());
    let (mut yes, mut no) = (0.0, 1.0);
    while log_delta(no, epsilon.get()) <= goal {
        (yes, no) = (no, 2.0 * no);
    }
    bisect(no, yes, 0.0, |rho| log_delta(rho, epsilon.get()) <= goal)
}

/// Returns `rho` by the textbook conversion `epsilon = rho + 2 sqrt(rho ln(1/delta))`.
/// (BunSteinke2016.) It is looser, and printed for comparison with the tight conversion.
pub fn textbook_rho(epsilon: Epsilon, delta: Delta) -> f64 {
    let log = -libm::log(delta.get());
    let root = libm::sqrt(log + epsilon.get()) - libm::sqrt(log);
    root * root
}

fn log_delta(rho: f64, epsilon: f64) -> f64 {
    log_delta_of(rho, epsilon, best_order(rho, epsilon))
}

/// Returns the logarithm of the bound of order 1 + u.
fn log_delta_of(rho: f64, epsilon: f64, u: f64) -> f64 {
    u * ((u + 1.0) * rho - epsilon) - libm::log1p(u) - u * libm::log1p(1.0 / u)
}

/// Returns the slope of this logarithm, which is convex in u.
fn slope(rho: f64, epsilon: f64, u: f64) -> f64 {
    (2.0 * u + 1.0) * rho - epsilon - libm::log1p(1.0 / u)
}

/// Returns the u of the least bound.
fn best_order(rho: f64, epsilon: f64) -> f64 {
    let slope = |u: f64| slope(rho, epsilon, u);
    let (mut low, mut high) = (1e-300, 1.0);
    while slope(high) < 0.0 && high < 1e300 {
        (low, high) = (high, 4.0 * high);
    }
    // Bisection on the logarithm of u: orders range over many powers of ten.
    for _ in 0..200 {
        let middle = libm::sqrt(low) * libm::sqrt(high);
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaussian_delta;

    /// Checks that no other order gives a smaller delta.
    #[test]
    fn the_order_is_the_best() {
        for (rho, epsilon) in [(0.01, 0.1), (0.05, 1.0), (2.0, 3.0), (1e-6, 0.01), (30.0, 80.0)] {
            let best = delta(rho, epsilon);
            for step in 0..4000 {
                let u = libm::exp(-8.0 + f64::from(step) * 0.006);
                let a = 1.0 + u;
                let other = libm::exp(u * (a * rho - epsilon)) / a * libm::pow(1.0 - 1.0 / a, u);
                assert!(best <= other * (1.0 + 1e-9), "{rho} {epsilon}: {best} for {other} at {a}");
            }
        }
    }

    #[test]
    fn conversions_invert_each_other_and_are_monotone() {
        for d in [1e-12, 1e-5, 0.01, 0.1] {
            let d = Delta::try_from(d).expect("a probability");
            let mut last = 0.0;
            for e in [0.01, 0.1, 1.0, 4.0, 10.0] {
                let budget = Epsilon::try_from(e).expect("a budget");
                let rho = rho(budget, d);
                assert!(last < rho && textbook_rho(budget, d) < rho);
                assert!((epsilon(rho, d) - e).abs() < 1e-9 * e, "{e}: {}", epsilon(rho, d));
                // A Gaussian is exactly (mu²/2)-concentrated: its own delta is smaller.
                assert!(gaussian_delta(e, libm::sqrt(2.0 * rho)) < d.get());
                last = rho;
            }
        }
        assert_eq!((delta(0.0, 1.0), epsilon(0.0, Delta::try_from(0.1).expect("a probability"))), (0.0, 0.0));
    }
}
