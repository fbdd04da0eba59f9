//! Defines the test function `branin` (two coordinates).

use super::{Sizes, TestFunction};
use std::f64::consts::PI;

/// `-[(z_2 - b z_1² + c z_1 - 6)² + 10 (1 - s) cos z_1 + 10]` on `[-5, 10] x [0, 15]`.
///
/// `b = 5.1/(4 pi²)`, `c = 5/pi`, `s = 1/(8 pi)`. The scaled form is divided by the magnitude at (-5, 0), the lowest value of
/// the box.
pub static BRANIN: TestFunction = TestFunction::new(
    Sizes::One(2),
    |axis| if axis == 0 { (-5.0, 10.0) } else { (0.0, 15.0) },
    formula,
    optimum,
    |_| -formula(&[-5.0, 0.0]),
);

fn formula(z: &[f64]) -> f64 {
    let bracket = z[1] - 5.1 / (4.0 * PI * PI) * z[0] * z[0] + 5.0 / PI * z[0] - 6.0;
    -(bracket * bracket + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * libm::cos(z[0]) + 10.0)
}

/// Returns a maximiser: at z_1 = pi the cosine is -1, and z_2 = 5.1/4 - 5 + 6 makes the bracket 0.
///
/// That leaves the value -10 s.
fn optimum(_dimension: usize) -> (Vec<f64>, f64) {
    (vec![PI, 2.275], -10.0 / (8.0 * PI))
}
