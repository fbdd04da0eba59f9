//! Defines the test function `levy` (any number of coordinates).

use super::{Sizes, TestFunction};
use std::f64::consts::PI;

/// Levy's function on `[-10, 10]^d`, negated.
///
/// `-[sin²(pi w_1) + sum_{i<d} (w_i - 1)² (1 + 10 sin²(pi w_i + 1)) + (w_d - 1)² (1 + sin²(2 pi w_d))]`, `w = 1 + (z - 1)/4`.
/// The scaled form is divided by `1 + 83.1875 (d - 1) + 15.125`, which bounds its magnitude because |w - 1| <= 2.75.
pub static LEVY: TestFunction = TestFunction::new(
    Sizes::UpTo { usual: 2, most: 1000 },
    |_| (-10.0, 10.0),
    formula,
    optimum,
    |d| 16.125 + 83.1875 * (d as f64 - 1.0),
);

fn formula(z: &[f64]) -> f64 {
    let w = |i: usize| 1.0 + (z[i] - 1.0) / 4.0;
    let square = |x: f64| x * x;
    let last = z.len() - 1;
    let mut sum = square(libm::sin(PI * w(0)));
    for i in 0..last {
        sum += square(w(i) - 1.0) * (1.0 + 10.0 * square(libm::sin(PI * w(i) + 1.0)));
    }
    sum += square(w(last) - 1.0) * (1.0 + square(libm::sin(2.0 * PI * w(last))));
    -sum
}

/// Returns z = 1, where the exact value is 0; the formula leaves sin(pi), rounded to 1e-16.
fn optimum(dimension: usize) -> (Vec<f64>, f64) {
    (vec![1.0; dimension], 0.0)
}
