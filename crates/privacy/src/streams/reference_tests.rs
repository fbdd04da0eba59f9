//! Compares with the reference's table of prefix sums, to its digits.

use super::Factorisation;
use super::blt::Blt;
use super::honaker::Honaker;
use super::toeplitz::{self, SquareRoot};
use super::tree::Tree;
use crate::accounting::sensitivity::{Participation, Relation};
use crate::accounting::zcdp;
use crate::printed::{dubey2021, han2022_tree};
use crate::quote::{StreamKind, StreamTerms, least_sigma};
use crate::{Delta, Epsilon, analytic_gaussian_sigma};

/// Asserts equality to slightly more than half a unit of the last digit.
/// Some figures of the table were rounded twice (60.348 is shown as 60.4).
#[track_caller]
fn shows(found: f64, shown: &str) {
    let value: f64 = shown.parse().expect("a number");
    let decimals = shown.split_once('.').map_or(0, |(_, after)| after.len());
    let unit = libm::pow(10.0, -(decimals as f64));
    assert!((found - value).abs() <= 0.55 * unit, "{found} is not {shown}");
}

/// Returns the largest and the root mean square standard deviation over all prefixes.
/// At sensitivity 1 and sigma_AG 1.
fn factors(factorisation: &dyn Factorisation) -> (f64, f64) {
    let rounds = factorisation.rounds();
    let variances = factorisation.variances();
    let norm = factorisation.sensitivity(Participation::ONCE);
    let largest = variances.iter().copied().fold(0.0, f64::max);
    (norm * libm::sqrt(largest), norm * libm::sqrt(variances.iter().sum::<f64>() / rounds as f64))
}

/// Columns of the table, in order.
/// T, epsilon, delta (0: 1/T), then 002 (max, rms), 004, zCDP tree, analytic tree (max, rms), smooth binary, square root (max,
/// rms).
const TABLE: &str = "
1024 .1 .01 2898 2049 1302 127.5 100.1 70.8 60.4 31.2 29.7
1024 .1 .1 1932 1366 1067 42.5 29.9 21.1 18.0 9.32 8.85
1024 .1 0 3874 2740 1503 216.5 183.4 129.7 110.6 57.2 54.4
1024 .5 .01 579.6 409.9 260.4 39.5 33.0 23.3 19.9 10.3 9.79
1024 .5 .1 386.4 273.2 213.3 21.3 16.3 11.5 9.84 5.09 4.84
1024 .5 0 774.8 547.9 300.5 55.3 48.5 34.3 29.3 15.1 14.4
1024 1 .01 289.8 204.9 130.2 23.1 19.7 13.9 11.9 6.15 5.84
1024 1 .1 193.2 136.6 106.7 14.3 11.4 8.05 6.87 3.55 3.38
1024 1 0 387.4 274 150.3 30.5 27.1 19.2 16.3 8.45 8.03
1024 10 .01 29.0 20.5 13.0 4.02 3.67 2.60 2.21 1.15 1.09
1024 10 .1 19.3 13.7 10.7 3.33 2.96 2.09 1.78 .922 .876
1024 10 0 38.7 27.4 15.0 4.60 4.26 3.02 2.57 1.33 1.26
10000 .1 .01 3858 2720 2068 164 128.7 90.8 75.7 38.2 36.6
10000 .1 .1 2572 1813 1712 54.6 38.4 27.1 22.6 11.4 10.9
10000 .1 0 6431 4534 2641 374.7 330.6 233.1 194.5 98.0 94.0
10000 .5 .01 771.7 544 413.7 50.8 42.5 29.9 25.0 12.6 12.1
10000 .5 .1 514.5 362.7 342.4 27.4 21.0 14.8 12.4 6.22 5.97
10000 .5 0 1286 906.7 528.1 88.3 79.5 56.1 46.8 23.6 22.6
10000 1 .01 385.8 272 206.8 29.7 25.3 17.9 14.9 7.51 7.20
10000 1 .1 257.2 181.3 171.2 18.4 14.7 10.3 8.62 4.34 4.17
10000 1 0 643.1 453.4 264.1 47.3 43.0 30.3 25.3 12.7 12.2
10000 10 .01 38.6 27.2 20.7 5.17 4.72 3.33 2.78 1.40 1.34
10000 10 .1 25.7 18.1 17.1 4.29 3.80 2.68 2.24 1.13 1.08
10000 10 0 64.3 45.3 26.4 6.56 6.14 4.33 3.61 1.82 1.75";

#[test]
fn the_table_of_prefix_sums() {
    for rounds in [1024_u64, 10_000] {
        let (tree, root) = (factors(&Tree::new(rounds)), factors(&SquareRoot::new(rounds)));
        // The least k (h - k) with binom(h, k) > T.
        let smooth = if rounds == 1024 { libm::sqrt(5.0 * 8.0) } else { libm::sqrt(7.0 * 9.0) };
        let nodes = f64::from(Tree::new(rounds).nodes());
        let (most, mean) = (tree.0 / libm::sqrt(nodes), tree.1 / libm::sqrt(nodes));
        for row in TABLE.lines().filter(|row| row.split(' ').next() == Some(&rounds.to_string())) {
            let shown: Vec<&str> = row.split(' ').collect();
            let number = |at: usize| shown[at].parse::<f64>().expect("a number");
            let delta = if number(2) == 0.0 { 1.0 / rounds as f64 } else { number(2) };
            let budget = (Epsilon::try_from(number(1)).expect("a budget"), Delta::try_from(delta).expect("a probability"));
            let printed = dubey2021::sigma_right_power(dubey2021::nodes_printed(rounds), 1.0, number(1), delta);
            let han = han2022_tree::theorem_3_1(1.0, 1.0, rounds, number(1), delta);
            let concentrated = libm::sqrt(nodes / (2.0 * zcdp::rho(budget.0, budget.1)));
            let sigma = analytic_gaussian_sigma(budget.0, budget.1);
            let found = [
                printed * most,
                printed * mean,
                han * most,
                concentrated * most,
                tree.0 * sigma,
                tree.1 * sigma,
                smooth * sigma,
                root.0 * sigma,
                root.1 * sigma,
            ];
            for (found, shown) in found.into_iter().zip(&shown[3..]) {
                shows(found, shown);
            }
        }
    }
}

#[test]
fn factors_of_the_tables_head() {
    for (rounds, tree, honaker, root) in [
        (1024, ("10.49", "7.42"), ("7.99", "5.65"), ("3.273", "3.110")),
        (10_000, ("13.49", "9.51"), ("10.11", "7.13"), ("3.998", "3.836")),
    ] {
        let of = [factors(&Tree::new(rounds)), factors(&Honaker::new(rounds)), factors(&SquareRoot::new(rounds))];
        for (found, shown) in of.into_iter().zip([tree, honaker, root]) {
            shows(found.0, shown.0);
            shows(found.1, shown.1);
        }
        assert!((toeplitz::optimum(rounds) - of[2].0).abs() < 1e-9);
    }
}

/// Compares the reference's own buffers with ours.
#[test]
fn buffers_of_the_reference() {
    let cases: [(u64, [f64; 4], [f64; 4], f64); 2] = [
        (1024, [0.563_459_8, 0.921_959, 0.988_904_7, 0.999_229_2], [0.230_720_3, 0.159_831, 0.068_914_6, 0.037_153_6], 1.0001),
        (
            10_000,
            [0.725_041_3, 0.974_576_4, 0.997_963_7, 0.999_898_5],
            [0.304_822_8, 0.124_545_1, 0.036_875_8, 0.013_919_4],
            1.0013,
        ),
    ];
    for (rounds, theta, omega, shown) in cases {
        let reference = Blt::stated(&theta, &omega, rounds).expect("parameters").excess();
        let ours = Blt::fitted(rounds, Participation::ONCE);
        assert!((reference - shown).abs() < 1.2e-4, "{rounds}: {reference}");
        assert_eq!(ours.buffers(), 4);
        assert!(ours.excess() < reference + 1e-5, "{rounds}: {} {reference}", ours.excess());
    }
}

/// Checks that the fit is within one part in a hundred of the best Toeplitz factorisation.
/// From 2 rounds to a million.
#[test]
fn buffers_fit_any_length() {
    let lengths = (1..64).chain([100, 127, 128, 200, 511, 512, 1000, 3000, 16_383, 16_384, 50_000, 262_143, 262_144, 1_000_000]);
    for rounds in lengths {
        let excess = Blt::fitted(rounds, Participation::ONCE).excess();
        assert!((1.0 - 1e-9..1.01).contains(&excess), "{rounds}: {excess}");
    }
}

/// Checks that more privacy, rounds or participations never need less noise.
#[test]
fn noise_is_monotone() {
    let sigma = |rounds: u64, epsilon: f64, delta: f64, count: u64| {
        let budget = (Epsilon::try_from(epsilon).expect("a budget"), Delta::try_from(delta).expect("a probability"));
        let terms = StreamTerms { relation: Relation::Replace, participation: Participation { count, separation: 3 } };
        // At a distance of 1.25.
        let sigma = |f: &dyn Factorisation| least_sigma(&StreamKind::Gram { reward: 0.5 }, terms, f, budget);
        let all: [Box<dyn Factorisation>; 4] = [
            Box::new(Tree::new(rounds)),
            Box::new(Honaker::new(rounds)),
            Box::new(Blt::fitted(rounds, Participation::ONCE)),
            Box::new(SquareRoot::new(rounds)),
        ];
        all.map(|f| sigma(f.as_ref()) * libm::sqrt((1..=rounds).map(|t| f.variance(t)).fold(0.0, f64::max)))
    };
    let base = sigma(60, 1.0, 1e-3, 1);
    for (name, more) in [
        ("epsilon", sigma(60, 0.5, 1e-3, 1)),
        ("delta", sigma(60, 1.0, 1e-4, 1)),
        ("rounds", sigma(300, 1.0, 1e-3, 1)),
        ("participations", sigma(60, 1.0, 1e-3, 4)),
    ] {
        assert!(base.iter().zip(&more).all(|(base, more)| base < more), "{name}: {base:?} {more:?}");
    }
}

/// Checks that stated buffers must keep columns from increasing.
/// The noise of poorly chosen buffers is calibrated by their own norm.
#[test]
fn stated_buffers_are_checked() {
    for (theta, omega) in [(vec![1.0], vec![0.1]), (vec![0.5], vec![-0.1]), (vec![0.5, 0.6], vec![0.7, 0.7]), (vec![0.5], vec![])]
    {
        assert_eq!(Blt::stated(&theta, &omega, 10), None, "{theta:?} {omega:?}");
    }
    let poor = Blt::stated(&[0.9], &[0.9], 500).expect("allowed");
    assert!(1.5 < poor.excess() && 1.2 < poor.sensitivity(Participation::ONCE), "{}", poor.excess());
}
