//! Compares the Matern correlation with stored values and recurrences, and both formulas of K with each other.

use super::super::pair::{integral, series};
use super::*;
use proptest::prelude::*;

fn relative(found: f64, expected: f64) -> f64 {
    if found == expected { 0.0 } else { ((found - expected) / expected).abs() }
}

/// The stored values come from a 40-digit evaluation: nu, z, e^z K_nu(z), Matern correlation.
#[test]
fn stored_values() {
    let rows: Vec<&str> = include_str!("reference.csv").lines().skip(1).collect();
    assert_eq!(rows.len(), 195);
    let mut worst = 0.0_f64;
    for row in rows {
        let numbers: Vec<f64> = row.split(',').map(|number| number.parse().expect("a number")).collect();
        let [nu, z, _, matern] = numbers[..] else { panic!("{row}") };
        if 0.0 < nu && f64::MIN_POSITIVE < matern {
            worst = worst.max(relative(BesselK::new(nu).matern(z), matern));
        }
    }
    println!("largest relative error: {worst:e}");
    assert!(worst < 4e-15, "{worst:e}");
}

#[test]
fn both_methods_agree_where_both_work() {
    for mu in [-0.5, -0.31, -1e-9, 0.0, 1e-4, 0.2, 0.5] {
        for z in [0.1, 0.5, 1.0, 2.0, 3.0, 4.0] {
            let (a, b) = (series(mu, z), integral(mu, z));
            let lift = z.exp();
            // The series loses digits to cancellation as z grows: about e^(2z).
            let tolerance = 1e-15 * (2.0 * z).exp().max(10.0);
            assert!(relative(a.first * lift, b.first) < tolerance, "mu {mu} z {z}");
            assert!(relative(a.next_times_z * lift, b.next_times_z) < tolerance, "mu {mu} z {z}");
        }
    }
}

#[test]
fn the_ends_of_the_range() {
    for nu in [1e-12, 0.02, 0.5, 1.7, 40.0, 1000.0] {
        let k = BesselK::new(nu);
        assert_eq!(k.matern(0.0), 1.0);
        assert_eq!(k.matern(f64::INFINITY), 0.0);
        assert!(k.matern(f64::NAN).is_nan());
        let mut last = 1.0;
        for exponent in -300..6 {
            let found = k.matern(libm::pow(10.0, f64::from(exponent)));
            // Below half an ulp of 1 the value may stay constant.
            assert!((0.0..=last * (1.0 + 1e-13)).contains(&found), "nu {nu} z 1e{exponent}: {found} after {last}");
            last = found;
        }
    }
    assert!(BesselK::new(f64::NAN).matern(1.0).is_nan());
}

proptest! {
    /// Checks M_{nu+1}(z) = M_nu(z) + z²/(4 nu (nu-1)) M_{nu-1}(z), across the splits of the order.
    #[test]
    fn recurrence(nu in 1.01..30.0_f64, z in 0.01..600.0_f64) {
        let matern = |nu: f64| BesselK::new(nu).matern(z);
        let sum = matern(nu) + 0.25 * z * z / (nu * (nu - 1.0)) * matern(nu - 1.0);
        prop_assert!(relative(matern(nu + 1.0), sum) < 1e-12);
    }
}
