//! Computes exact binomial tails and the bounds of Clopper and Pearson (Biometrika 26, 1934).

/// Returns the probability of at least `k` successes in `n` trials of probability `p`, in (0, 1).
fn at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    let (count, hits) = (n as f64, k as f64);
    let coefficient = libm::lgamma(count + 1.0) - libm::lgamma(hits + 1.0) - libm::lgamma(count - hits + 1.0);
    let term = libm::exp(coefficient + hits * libm::log(p) + (count - hits) * libm::log1p(-p));
    let odds = p / (1.0 - p);
    // At or above the mean, the terms decrease from here on; below it, the terms of the other tail do.
    if count * p <= hits {
        let mut sum = term;
        let mut last = term;
        for j in k..n {
            last *= (n - j) as f64 / (j + 1) as f64 * odds;
            sum += last;
            if last < 1e-17 * sum {
                break;
            }
        }
        return sum;
    }
    let (mut sum, mut last) = (0.0, term);
    for j in (0..k).rev() {
        last *= (j + 1) as f64 / (n - j) as f64 / odds;
        sum += last;
        if last < 1e-17 * sum {
            break;
        }
    }
    1.0 - sum
}

/// Returns the lower confidence bound `1 - alpha`, given `k` successes in `n >= 1` trials.
pub fn clopper_pearson_lower(k: u64, n: u64, alpha: f64) -> f64 {
    if k == 0 {
        return 0.0;
    }
    if k == n {
        return libm::exp(libm::log(alpha) / n as f64);
    }
    // The tail grows with p and is about one half at k/n: bisection returns the lower end.
    let (mut low, mut high) = (0.0, k as f64 / n as f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle <= low || high <= middle {
            break;
        }
        if at_least(k, n, middle) < alpha { low = middle } else { high = middle }
    }
    low
}

/// Returns the upper confidence bound `1 - alpha`, given `k` successes in `n` trials.
pub fn clopper_pearson_upper(k: u64, n: u64, alpha: f64) -> f64 {
    if k == 0 {
        // 1 - alpha^(1/n), without cancellation.
        return -libm::expm1(libm::log(alpha) / n as f64);
    }
    1.0 - clopper_pearson_lower(n - k, n, alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the tails with sums over all outcomes.
    #[test]
    fn tails_are_sums() {
        for (n, p) in [(1_u64, 0.3), (7, 0.02), (40, 0.5), (40, 0.97)] {
            let mut mass = vec![libm::pow(1.0 - p, n as f64)];
            for j in 0..n {
                let next = mass[j as usize] * (n - j) as f64 / (j + 1) as f64 * p / (1.0 - p);
                mass.push(next);
            }
            for k in 0..=n {
                let exact: f64 = mass[k as usize..].iter().sum();
                assert!((at_least(k, n, p) - exact).abs() < 1e-12, "{k} of {n} at {p}");
            }
        }
    }

    /// Compares with textbook values, two-sided at 95 %.
    #[test]
    fn known_intervals() {
        for (k, n, low, high) in
            [(10, 100, 0.049_00, 0.176_22), (0, 30, 0.0, 0.115_70), (30, 30, 0.884_30, 1.0), (5, 10, 0.187_09, 0.812_91)]
        {
            let found = (clopper_pearson_lower(k, n, 0.025), clopper_pearson_upper(k, n, 0.025));
            assert!((found.0 - low).abs() < 6e-6 && (found.1 - high).abs() < 6e-6, "{k} of {n}: {found:?}");
        }
    }

    /// The tail at the bound equals alpha, also for a million trials.
    #[test]
    fn bounds_invert_the_tail() {
        for (k, n) in [(1_u64, 1_000_000_u64), (250, 90_000), (450_000, 900_000), (899_990, 900_000)] {
            for alpha in [0.01, 1e-4, 1e-8] {
                let low = clopper_pearson_lower(k, n, alpha);
                let reached = at_least(k, n, low);
                assert!((reached / alpha - 1.0).abs() < 1e-5, "{k} of {n}: {reached} for {alpha}");
                assert!(low < k as f64 / n as f64 && (k as f64 / n as f64) < clopper_pearson_upper(k, n, alpha));
            }
        }
    }

    /// The bounds cover; a planted interval of half the width misses more often than allowed.
    #[test]
    fn bounds_cover() {
        let (n, p, alpha) = (60_u64, 0.2, 0.05);
        let missed = |shrink: f64| -> f64 {
            (0..=n)
                .filter(|&k| {
                    let share = k as f64 / n as f64;
                    p < share - shrink * (share - clopper_pearson_lower(k, n, alpha))
                })
                .map(|k| at_least(k, n, p) - if k < n { at_least(k + 1, n, p) } else { 0.0 })
                .sum()
        };
        assert!(missed(1.0) <= alpha && alpha < missed(0.5), "{} {}", missed(1.0), missed(0.5));
    }
}
