//! Compares K_nu with stored values, closed forms, recurrences and its other formula.

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
    let (mut worst, mut worst_matern) = (0.0_f64, 0.0_f64);
    for row in rows {
        let numbers: Vec<f64> = row.split(',').map(|number| number.parse().expect("a number")).collect();
        let [nu, z, scaled, matern] = numbers[..] else { panic!("{row}") };
        let k = BesselK::new(nu);
        worst = worst.max(relative(k.scaled(z), scaled));
        if 0.0 < nu && f64::MIN_POSITIVE < matern {
            worst_matern = worst_matern.max(relative(k.matern(z), matern));
        }
    }
    println!("largest relative error: scaled K {worst:e}, Matern {worst_matern:e}");
    assert!(worst < 4e-15 && worst_matern < 4e-15, "{worst:e} {worst_matern:e}");
}

/// Checks e^z K_nu(z) for nu = n + 1/2: sqrt(pi/2z) times a polynomial in 1/z [DLMF 10.49.12].
#[test]
fn half_integers_have_closed_forms() {
    for z in [1e-3, 0.2, 1.0, 1.99, 2.01, 7.0, 40.0, 700.0, 5000.0] {
        let root = (std::f64::consts::PI / (2.0 * z)).sqrt();
        let (a, b, c) = (1.0 / z, 1.0 / (z * z), 1.0 / (z * z * z));
        let forms = [
            1.0,
            1.0 + a,
            1.0 + 3.0 * a + 3.0 * b,
            1.0 + 6.0 * a + 15.0 * b + 15.0 * c,
            1.0 + 10.0 * a + 45.0 * b + 105.0 * c + 105.0 * b * b,
        ];
        for (n, form) in forms.into_iter().enumerate() {
            let error = relative(BesselK::new(n as f64 + 0.5).scaled(z), root * form);
            assert!(error < 4e-15, "nu {n}.5 z {z}: {error:e}");
        }
    }
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
    let k = BesselK::new(1.7);
    assert_eq!(k.scaled(0.0), f64::INFINITY);
    assert_eq!(k.value(800.0), 0.0);
    assert!((k.value(700.0) - 4.679_419_247_079_195e-306).abs() < 1e-318, "{:e}", k.value(700.0));
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
    /// Checks K_{nu+1}(z) - K_{nu-1}(z) = (2 nu / z) K_nu(z), across the splits of the order.
    #[test]
    fn recurrence(nu in 1.0..30.0_f64, z in 0.01..900.0_f64) {
        let above = BesselK::new(nu + 1.0).scaled(z);
        let sum = BesselK::new(nu - 1.0).scaled(z) + 2.0 * nu / z * BesselK::new(nu).scaled(z);
        prop_assert!(relative(above, sum) < 1e-13);
    }

    #[test]
    fn matern_is_its_definition(nu in 0.05..60.0_f64, z in 0.01..600.0_f64) {
        let k = BesselK::new(nu);
        let log = (1.0 - nu) * std::f64::consts::LN_2 - libm::lgamma(nu) + nu * libm::log(z) + libm::log(k.scaled(z)) - z;
        let expected = libm::exp(log);
        prop_assert!((k.matern(z) - expected).abs() <= 1e-12 * (1.0 + log.abs()) * expected + 1e-300);
    }
}
