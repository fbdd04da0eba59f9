//! Computes Rényi divergences of releases and converts them to (epsilon, delta).
//!
//! Divergences of every order add up under adaptive composition (Mironov2017); the conversion is the tight one of
//! [CanonneKamathSteinke2020, proposition 12].

use super::Loss;
use super::search::bisect;
use crate::Delta;

/// Returns the Rényi divergence of order `order > 1` of a release's worst pair of laws.
/// Infinite if no finite bound exists.
pub fn divergence(loss: &Loss, order: f64) -> f64 {
    let less = order - 1.0;
    match *loss {
        Loss::Gaussian { mu } => 0.5 * order * mu * mu,
        Loss::Zcdp { .. } | Loss::Choices { .. } => order * loss.rho(),
        Loss::Choice { epsilon } => (0.125 * order * epsilon * epsilon).min(epsilon),
        Loss::Unbounded => f64::INFINITY,
        // ln(a/(2a - 1) e^((a - 1) epsilon) + (a - 1)/(2a - 1) e^(-a epsilon)) / (a - 1) [Mironov2017, proposition 6]
        Loss::Laplace { epsilon } => {
            let wide = 2.0 * order - 1.0;
            sum_of_powers(&[(order / wide, less * epsilon), (less / wide, -order * epsilon)]) / less
        }
        _ => sum_of_powers(&moments(loss, order)) / less,
    }
}

/// Returns terms `(weight, exponent)` of `E_Q[(P/Q)^order]` for a loss with finitely many values.
fn moments(loss: &Loss, order: f64) -> Vec<(f64, f64)> {
    loss.atoms().into_iter().map(|(probability, value)| (probability, (order - 1.0) * value)).collect()
}

/// Returns `ln(sum of weight e^exponent)`.
fn sum_of_powers(terms: &[(f64, f64)]) -> f64 {
    let top = terms.iter().fold(f64::NEG_INFINITY, |top, &(_, exponent)| top.max(exponent));
    top + libm::log(terms.iter().map(|&(weight, exponent)| weight * libm::exp(exponent - top)).sum())
}

/// Returns delta at `epsilon` of releases whose divergences of order `a` add up to `total(a)`.
/// The result is at most 1, and an upper bound for any `total`, whichever order the search selects.
pub fn delta(total: impl Fn(f64) -> f64, epsilon: f64) -> f64 {
    let log_delta = |u: f64| {
        let divergence = total(1.0 + u);
        if divergence.is_finite() {
            u * (divergence - epsilon) - libm::log1p(u) - u * libm::log1p(1.0 / u)
        } else {
            f64::INFINITY
        }
    };
    // The objective is convex in u: golden-section search on ln u from 1e-6 to 1e8.
    let golden = 0.5 * (libm::sqrt(5.0) - 1.0);
    let (mut low, mut high) = (libm::log(1e-6), libm::log(1e8));
    for _ in 0..120 {
        let span = golden * (high - low);
        if log_delta(libm::exp(high - span)) < log_delta(libm::exp(low + span)) {
            high = low + span;
        } else {
            low = high - span;
        }
    }
    libm::exp(log_delta(libm::exp(0.5 * (low + high)))).clamp(0.0, 1.0)
}

/// Returns the least epsilon at `delta` by this method; `None` if no order gives one below 1e6.
pub fn epsilon(total: impl Fn(f64) -> f64, wanted: Delta) -> Option<f64> {
    least_epsilon(|epsilon| delta(&total, epsilon) <= wanted.get())
}

/// Returns the least `epsilon >= 0` at which a condition holds; `None` if it fails up to 1e6.
/// The condition must fail below some epsilon and hold above it; the result is rounded to the side where it holds.
pub(super) fn least_epsilon(holds: impl Fn(f64) -> bool) -> Option<f64> {
    if holds(0.0) {
        return Some(0.0);
    }
    let (mut no, mut yes) = (0.0, 1.0);
    while !holds(yes) {
        (no, yes) = (yes, 2.0 * yes);
        if 1e6 < yes {
            return None;
        }
    }
    Some(bisect(no, yes, 1e-12, holds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::zcdp;

    #[test]
    fn a_gaussian_is_as_its_concentrated_bound() {
        for (mu, epsilon) in [(0.1, 0.5), (1.0, 3.0), (2.0, 9.0)] {
            let loss = Loss::Gaussian { mu };
            let (found, expected) = (delta(|a| divergence(&loss, a), epsilon), zcdp::delta(0.5 * mu * mu, epsilon));
            assert!((found - expected).abs() < 1e-9 * expected, "{found} for {expected}");
        }
    }

    /// Compares the divergences with their definition, summed over a fine grid of outputs.
    #[test]
    fn divergences_by_hand() {
        let order = 3.0;
        let laplace = |x: f64| 0.5 * libm::exp(-x.abs());
        let step = 1e-3;
        let sum: f64 = (-40_000..40_000)
            .map(|i| (f64::from(i) + 0.5) * step)
            .map(|x| libm::pow(laplace(x) / laplace(x - 0.7), order - 1.0) * laplace(x) * step)
            .sum();
        let expected = libm::log(sum) / (order - 1.0);
        let found = divergence(&Loss::Laplace { epsilon: 0.7 }, order);
        assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
        let p = 1.0 / (1.0 + libm::exp(-0.7));
        let expected = libm::log(p * p * p / ((1.0 - p) * (1.0 - p)) + (1.0 - p) * (1.0 - p) * (1.0 - p) / (p * p)) / 2.0;
        assert!((divergence(&Loss::Response { epsilon: 0.7 }, order) - expected).abs() < 1e-14);
    }
}
