//! Defines the test function `ackley` (any number of coordinates).

use super::{Sizes, TestFunction};
use std::f64::consts::{E, PI};

/// `-[20 + e - 20 exp(-0.2 |z|/sqrt(d)) - exp(mean cos(2 pi z))]` on `[-32.768, 32.768]^d`.
///
/// The scaled form is divided by 20 + e - 1/e, which bounds its magnitude.
pub static ACKLEY: TestFunction =
    TestFunction::new(Sizes::UpTo { usual: 2, most: 1000 }, |_| (-32.768, 32.768), formula, optimum, |_| 20.0 + E - 1.0 / E);

fn formula(z: &[f64]) -> f64 {
    let d = z.len() as f64;
    let root = libm::sqrt(z.iter().map(|z| z * z).sum::<f64>() / d);
    let waves = z.iter().map(|z| libm::cos(2.0 * PI * z)).sum::<f64>() / d;
    // Written as 20 (1 - exp) + (e - exp), so that the value at 0 is exactly zero.
    -(20.0 * (1.0 - libm::exp(-0.2 * root)) + (libm::exp(1.0) - libm::exp(waves)))
}

fn optimum(dimension: usize) -> (Vec<f64>, f64) {
    (vec![0.0; dimension], 0.0)
}
