//! Tests the exact samplers against their laws, by chi-square tests on fixed seeds.
//!
//! Each test rejects a correct sampler with probability 1e-6; about forty tests make a false alarm with probability at most
//! 4e-5 over all seeds.

use super::bernoulli::{below, bernoulli, bernoulli_exp};
use super::discrete;
use super::entropy::{Entropy, Words};

/// Returns whether counts fit the expected shares.
/// Chi-square below its quantile at 1 - 1e-6 (Wilson and Hilferty's approximation). Cells that expect fewer than ten are
/// pooled.
pub(crate) fn fits(counts: &[u64], shares: &[f64]) -> bool {
    let n = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells, mut pooled) = (0.0, 0, (0.0, 0.0));
    let mut add = |count: f64, expected: f64| {
        statistic += (count - expected) * (count - expected) / expected;
        cells += 1;
    };
    for (&count, share) in counts.iter().zip(shares) {
        if share * n < 10.0 {
            pooled = (pooled.0 + count as f64, pooled.1 + share * n);
        } else {
            add(count as f64, share * n);
        }
    }
    if 10.0 <= pooled.1 {
        add(pooled.0, pooled.1);
    }
    let k = f64::from(cells - 1).max(1.0);
    let root = 1.0 - 2.0 / (9.0 * k) + 4.753 * libm::sqrt(2.0 / (9.0 * k));
    statistic < k * root * root * root
}

/// Compares counts of a sampler with the weights of the integers `-reach ..= reach`.
/// Draws beyond this range count at its ends.
fn compare(reach: i64, weight: impl Fn(f64) -> f64, mut draw: impl FnMut() -> i64) -> bool {
    let all: f64 = (-40 * reach..=40 * reach).map(|x| weight(x as f64)).sum();
    let mut shares: Vec<f64> = (-reach..=reach).map(|x| weight(x as f64) / all).collect();
    let beyond = 0.5 * (1.0 - shares.iter().sum::<f64>());
    shares[0] += beyond;
    *shares.last_mut().expect("a cell") += beyond;
    let mut counts = vec![0_u64; shares.len()];
    (0..200_000).for_each(|_| counts[(draw().clamp(-reach, reach) + reach) as usize] += 1);
    fits(&counts, &shares)
}

#[test]
fn coins_have_their_probabilities() {
    let mut words = Entropy::seeded(1);
    let n = 200_000_u64;
    for (a, b) in [(1_u128, 3_u128), (0, 1), (7, 7), (1 << 80, 3 << 80), (99_999, 100_000), (1, 1 << 14)] {
        let hits = (0..n).filter(|_| bernoulli(a, b, &mut words)).count() as u64;
        let p = a as f64 / b as f64;
        let fine = if a == 0 || a == b { hits == if a == 0 { 0 } else { n } } else { fits(&[hits, n - hits], &[p, 1.0 - p]) };
        assert!(fine, "{a}/{b}: {hits}");
    }
    for (a, b) in [(0_u128, 1_u128), (1, 2), (1, 1), (5, 2), (1 << 85, 1 << 86), (31, 7)] {
        let hits = (0..n).filter(|_| bernoulli_exp(a, b, &mut words)).count() as u64;
        let p = libm::exp(-(a as f64 / b as f64));
        assert!(if a == 0 { hits == n } else { fits(&[hits, n - hits], &[p, 1.0 - p]) }, "e^-{a}/{b}: {hits}");
    }
    for n_values in [1_u64, 2, 3, 10, 64] {
        let mut counts = vec![0; n_values as usize];
        (0..n).for_each(|_| counts[below(n_values, &mut words) as usize] += 1);
        assert!(fits(&counts, &vec![1.0 / n_values as f64; n_values as usize]), "{counts:?}");
    }
}

#[test]
fn digits_beyond_the_first_are_used() {
    // 2^-40 needs a second digit: first digits alone would give 0 or 2^-32. Words that tie in the first digit decide.
    struct Fixed(Vec<u32>);
    impl Words for Fixed {
        fn word(&mut self) -> u64 {
            u64::from(self.half())
        }
        fn half(&mut self) -> u32 {
            self.0.remove(0)
        }
    }
    let small = |digits: &[u32]| bernoulli(1, 1 << 40, &mut Fixed(digits.to_vec()));
    assert!(small(&[0, (1 << 24) - 1]) && !small(&[0, 1 << 24]) && !small(&[1]));
}

#[test]
fn integers_follow_their_laws() {
    for scale in [1_u64, 2, 5, 13] {
        let mut words = Entropy::seeded(2 + scale);
        let s = scale as f64;
        assert!(compare(5 * scale as i64, |x| libm::exp(-x.abs() / s), || discrete::laplace(scale, &mut words)), "{scale}");
    }
    for sigma in [1_u64, 2, 3, 10] {
        let mut words = Entropy::seeded(20 + sigma);
        let s = sigma as f64;
        let weight = |x: f64| libm::exp(-x * x / (2.0 * s * s));
        assert!(compare(4 * sigma as i64, weight, || discrete::gaussian(sigma, &mut words)), "{sigma}");
    }
}

/// Checks the sizes in use: equal shares between quantiles of the continuous laws.
/// At 2^19 steps the discrete laws differ from the continuous ones by 1e-6.
#[test]
fn large_scales_follow_their_laws() {
    let (n, cells) = (200_000_u64, 40);
    let mut words = Entropy::seeded(77);
    for sigma in [1_u64 << 19, 1 << 21] {
        let mut counts = vec![0; cells];
        for _ in 0..n {
            let x = discrete::gaussian(sigma, &mut words) as f64 / sigma as f64;
            let p = 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
            counts[((p * cells as f64) as usize).min(cells - 1)] += 1;
        }
        // Cell borders fall between steps, whose mass is below 1e-6 each.
        assert!(fits(&counts, &vec![1.0 / cells as f64; cells]), "{sigma}: {counts:?}");
    }
    for scale in [1_u64 << 24, 1 << 40] {
        let mut counts = vec![0; cells];
        for _ in 0..n {
            let x = discrete::laplace(scale, &mut words) as f64 / scale as f64;
            let p = if x < 0.0 { 0.5 * libm::exp(x) } else { 1.0 - 0.5 * libm::exp(-x) };
            counts[((p * cells as f64) as usize).min(cells - 1)] += 1;
        }
        assert!(fits(&counts, &vec![1.0 / cells as f64; cells]), "{scale}: {counts:?}");
    }
}

/// Checks that the tests above reject wrong samplers.
/// Half of the noise, a grid twice as coarse, and noise a tenth too small.
#[test]
fn planted_samplers_are_caught() {
    let mut words = Entropy::seeded(3);
    let weight = |x: f64| libm::exp(-x * x / 200.0);
    assert!(!compare(40, weight, || discrete::gaussian(5, &mut words)), "half of the noise");
    assert!(!compare(40, weight, || 2 * discrete::gaussian(5, &mut words)), "a coarser grid");
    assert!(!compare(40, weight, || discrete::gaussian(9, &mut words)), "a tenth less");
    assert!(!compare(50, |x| libm::exp(-x.abs() / 10.0), || discrete::laplace(9, &mut words)), "a tenth less");
}

#[test]
fn entropy_is_fresh_and_secret() {
    let (mut one, mut other) = (Entropy::fresh().expect("entropy"), Entropy::fresh().expect("entropy"));
    assert_ne!([one.word(), one.word()], [other.word(), other.word()]);
    assert_eq!(format!("{one:?}"), "Entropy(secret)");
}
