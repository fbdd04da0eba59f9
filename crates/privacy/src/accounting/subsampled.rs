//! Bounds the loss of Gaussian noise on the gradient of one secretly drawn sample, over many steps.
//!
//! Each step draws one of n samples uniformly; neighbours replace one sample. Two bounds on the Rényi divergence of a step are
//! taken, whichever gives less: one of whole orders, for small distances d, and that of the pair of laws which is worst for
//! any mechanism whose step without sampling is a Gaussian one. Derivation: `docs/derivations/subsampled.md`.

use crate::Delta;

/// Whole Rényi orders over which the bound is minimised.
const ORDERS: std::ops::RangeInclusive<u32> = 2..=128;
/// Step of the integral over the worst pair, in standard deviations of the noise.
const STEP: f64 = 0.02;
/// Bound on the relative error of that integral.
const INTEGRAL_ERROR: f64 = 1e-6;

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

/// Returns the Rényi divergence of order `order > 1` of the worst pair of laws of one step [Dong2022, section 4].
///
/// With `l(x) = ln(1 + q (e^(d x - d²/2) - 1))` and x normal, this is `ln(1 + I)/(a - 1)`, where I is the mean of
/// `(e^(a l) - 1)(1 - e^(-(a - 1) l))` over x above d/2.
pub fn pair_divergence(distance: f64, n_samples: u64, order: f64) -> f64 {
    let q = 1.0 / n_samples as f64;
    let (from, to) = (0.5 * distance, order * distance + 9.0);
    let pairs = libm::ceil(0.5 * (to - from) / STEP);
    // Larger orders are of no use: their divergence is that of distance 100 or more.
    if !(1.0..1e4).contains(&pairs) {
        return f64::INFINITY;
    }
    let step = 0.5 * (to - from) / pairs;
    let density = |at: usize| {
        let x = from + at as f64 * step;
        let loss = libm::log1p(q * libm::expm1(distance * (x - 0.5 * distance)));
        let raised = order * loss;
        let first = if 30.0 < raised { libm::exp(raised - 0.5 * x * x) } else { libm::expm1(raised) * libm::exp(-0.5 * x * x) };
        first * -libm::expm1(-(order - 1.0) * loss)
    };
    // Simpson's rule.
    let last = 2 * pairs as usize;
    let weighted = |at: usize| if at.is_multiple_of(2) { 2.0 } else { 4.0 } * density(at);
    let sum = density(0) + density(last) + (1..last).map(weighted).sum::<f64>();
    let integral = sum * step / 3.0 / libm::sqrt(2.0 * std::f64::consts::PI);
    libm::log1p(integral * (1.0 + INTEGRAL_ERROR)) / (order - 1.0)
}

/// Returns epsilon at `delta` of a divergence of order `order` [CanonneKamathSteinke2020, proposition 12].
fn converted(divergence: f64, order: f64, log_delta: f64) -> f64 {
    divergence + libm::log1p(-1.0 / order) - (log_delta + libm::log(order)) / (order - 1.0)
}

/// Returns the least epsilon at `delta` that the bounds give for `steps` steps.
pub fn epsilon(distance: f64, n_samples: u64, steps: u64, delta: Delta) -> f64 {
    if !distance.is_finite() {
        return f64::INFINITY;
    }
    if distance <= 0.0 {
        return 0.0;
    }
    let (log_delta, steps) = (libm::log(delta.get()), steps as f64);
    let whole = ORDERS.map(|a| converted(steps * step_divergence(distance, n_samples, a), f64::from(a), log_delta));
    let of_pair = |log: f64| {
        let order = 1.0 + libm::exp(log);
        converted(steps * pair_divergence(distance, n_samples, order), order, log_delta)
    };
    // The best of evenly spaced logarithms of orders less 1, and of points ever nearer to it.
    let (mut best, mut width) = ((0.0, f64::INFINITY), 0.5);
    for log in (-8..10).map(|at| width * f64::from(at)) {
        best = lesser(best, (log, of_pair(log)));
    }
    while 1e-3 < width {
        width *= 0.5;
        for log in [best.0 - width, best.0 + width] {
            best = lesser(best, (log, of_pair(log)));
        }
    }
    whole.fold(best.1, f64::min).max(0.0)
}

fn lesser(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    if b.1 < a.1 { b } else { a }
}

/// Returns the least epsilon that the bound can give at `delta`, with noise without end.
pub fn least_epsilon(delta: Delta) -> f64 {
    let log_delta = libm::log(delta.get());
    ORDERS.map(|order| converted(0.0, f64::from(order), log_delta)).fold(f64::INFINITY, f64::min).max(0.0)
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
                    for bound in [step_divergence(d, n, order), pair_divergence(d, n, f64::from(order))] {
                        assert!(exact <= bound * (1.0 + 1e-6) + 1e-12, "{d} {n} {v} {order}: {exact} {bound}");
                    }
                }
            }
        }
    }

    /// Checks the integral against a sum over a grid of a thousandth, and one sample against the Gaussian step.
    #[test]
    fn the_worst_pair_is_integrated() {
        for (d, n, order) in [(0.5, 1000_u64, 1.1), (0.4, 100, 3.7), (1.0, 50, 20.0), (3.0, 10, 2.5), (1.0, 100, 30.0)] {
            let (q, step, mut sum) = (1.0 / n as f64, 1e-3, 0.0);
            for i in 0..200_000 {
                let x = 0.5 * d + (f64::from(i) + 0.5) * step;
                let normal = |mean: f64| -0.5 * (x - mean) * (x - mean);
                let loss = libm::log1p(q * libm::expm1(normal(d) - normal(0.0)));
                // The sum of the outcomes above d/2 under either law as the first: the laws are each other's mirror.
                let twice = libm::exp(order * loss + normal(0.0)) - libm::exp(normal(0.0))
                    + libm::exp((1.0 - order) * loss + normal(0.0))
                    - libm::exp(loss + normal(0.0));
                sum += twice * step;
            }
            let expected = libm::log1p(sum / libm::sqrt(2.0 * std::f64::consts::PI)) / (order - 1.0);
            let found = pair_divergence(d, n, order);
            assert!((found / expected - 1.0).abs() < 3e-6 && expected <= found, "{d} {n} {order}: {found} {expected}");
        }
        // Without sampling the pair is N(d, 1) against N(0, 1).
        let whole = pair_divergence(0.7, 1, 4.0);
        assert!((whole / (0.5 * 4.0 * 0.49) - 1.0).abs() < 2e-6, "{whole}");
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
