//! Bounds the loss of Gaussian noise on the gradient of one secretly drawn sample, over many steps.
//!
//! Each step draws one of n samples uniformly; neighbours replace one sample. The bound is on the Rényi divergence of whole
//! orders and approaches the central limit (mu = q d sqrt(steps), q = 1/n) for small distances d.
//! Derivation: `docs/derivations/subsampled.md`.

use crate::Delta;

/// Whole Rényi orders over which the bound is minimised.
const ORDERS: std::ops::RangeInclusive<u32> = 2..=128;

/// Returns an upper bound on the Rényi divergence of whole order `order` of one step.
pub fn step_divergence(distance: f64, n_samples: u64, order: u32) -> f64 {
    let q = 1.0 / n_samples as f64;
    if n_samples <= 1 {
        return 0.5 * f64::from(order) * distance * distance;
    }
    // Logarithms of even moments; E (Z + m)^j by the recursion M_j = m M_{j-1} + (j - 1) M_{j-2}, scaled against overflow.
    let log_moment = |j: u32| {
        let shift = f64::from(j - 1) * distance;
        let (mut before, mut now, mut scale) = (1.0, shift, 0.0);
        for k in 2..=j {
            (before, now) = (now, shift * now + f64::from(k - 1) * before);
            if 1e100 < now {
                (before, now, scale) = (before * 1e-100, now * 1e-100, scale + libm::log(1e100));
            }
        }
        let j = f64::from(j);
        j * libm::log(distance) + 0.5 * j * (j - 1.0) * distance * distance + libm::log(now) + scale
    };
    let log_bound = |j: u32| if j.is_multiple_of(2) { log_moment(j) } else { 0.5 * (log_moment(j - 1) + log_moment(j + 1)) };
    let (mut log_binomial, mut sum) = (libm::log(f64::from(order)), 0.0);
    for j in 2..=order {
        log_binomial += libm::log(f64::from(order - j + 1) / f64::from(j));
        let log_term = log_binomial + f64::from(j) * libm::log(q) - f64::from(j - 1) * libm::log1p(-q) + log_bound(j);
        sum += libm::exp(log_term);
    }
    // The bound never exceeds that of the step without sampling.
    (libm::log1p(sum) / f64::from(order - 1)).min(0.5 * f64::from(order) * distance * distance)
}

/// Returns the least epsilon at `delta` that this bound gives for `steps` steps.
/// Conversion: [CanonneKamathSteinke2020, proposition 12].
pub fn epsilon(distance: f64, n_samples: u64, steps: u64, delta: Delta) -> f64 {
    if !distance.is_finite() {
        return f64::INFINITY;
    }
    if distance <= 0.0 {
        return 0.0;
    }
    let log_delta = libm::log(delta.get());
    let at = |order: u32| {
        let a = f64::from(order);
        let divergence = steps as f64 * step_divergence(distance, n_samples, order);
        divergence + libm::log1p(-1.0 / a) - (log_delta + libm::log(a)) / (a - 1.0)
    };
    ORDERS.map(at).fold(f64::INFINITY, f64::min).max(0.0)
}

/// Returns the least epsilon that the bound can give at `delta`, with noise without end.
pub fn least_epsilon(delta: Delta) -> f64 {
    let log_delta = libm::log(delta.get());
    let at = |order: u32| libm::log1p(-1.0 / f64::from(order)) - (log_delta + libm::log(f64::from(order))) / f64::from(order - 1);
    ORDERS.map(at).fold(f64::INFINITY, f64::min).max(0.0)
}

/// Returns the largest distance (sensitivity over standard deviation) that keeps the budget.
/// Accurate to one part in 10⁹, on the private side; 0 where the bound exceeds the budget at every distance from 1e-50 on, as it
/// does for budgets below [`least_epsilon`].
pub fn distance(budget: f64, n_samples: u64, steps: u64, delta: Delta) -> f64 {
    let (mut yes, mut no) = (0.0, 1.0);
    while epsilon(no, n_samples, steps, delta) <= budget && no < 1e6 {
        (yes, no) = (no, 2.0 * no);
    }
    if budget < least_epsilon(delta) {
        return 0.0;
    }
    while 1e-9 * no < no - yes && 1e-50 < no {
        let middle = 0.5 * (yes + no);
        if epsilon(middle, n_samples, steps, delta) <= budget {
            yes = middle;
        } else {
            no = middle;
        }
    }
    yes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdp_epsilon;

    /// Checks that the moment of pairs on a line, summed over a grid, is never above the bound.
    #[test]
    fn pairs_on_a_line_stay_below_the_bound() {
        let density = |x: f64, mean: f64| libm::exp(-0.5 * (x - mean) * (x - mean)) / libm::sqrt(2.0 * std::f64::consts::PI);
        for (d, n) in [(0.3, 20_u64), (1.0, 10), (2.0, 50)] {
            for (v, other) in [(0.0, d), (d, 0.0), (0.5 * d, -0.5 * d)] {
                for order in [2_u32, 3, 5, 9] {
                    let q = 1.0 / n as f64;
                    let (step, mut sum) = (1e-3, 0.0);
                    for i in -20_000..40_000 {
                        let x = f64::from(i) * step;
                        let (p, r) = (
                            (1.0 - q) * density(x, 0.0) + q * density(x, v),
                            (1.0 - q) * density(x, 0.0) + q * density(x, other),
                        );
                        if 0.0 < r {
                            sum += r * libm::pow(p / r, f64::from(order)) * step;
                        }
                    }
                    let exact = libm::log(sum) / f64::from(order - 1);
                    let bound = step_divergence(d, n, order);
                    assert!(exact <= bound * (1.0 + 1e-6) + 1e-12, "{d} {n} {v} {order}: {exact} {bound}");
                }
            }
        }
    }

    /// Checks the bound against one Gaussian of mu = d, which n² - 1 steps at rate 1/n approach.
    /// The bound must be above it and near it.
    #[test]
    fn near_the_central_limit() {
        let delta = Delta::try_from(1e-3).expect("a probability");
        for d in [0.1, 0.2, 0.3] {
            let found = epsilon(d, 1000, 999_999, delta);
            let limit = gdp_epsilon(d, delta);
            assert!(limit < found && found < 1.3 * limit, "{d}: {found} {limit}");
        }
        let d = distance(1.0, 1000, 999_999, delta);
        let back = epsilon(d, 1000, 999_999, delta);
        assert!(back <= 1.0 && 1.0 - 1e-6 < back);
        assert_eq!(epsilon(f64::INFINITY, 10, 10, delta), f64::INFINITY);
    }
}
