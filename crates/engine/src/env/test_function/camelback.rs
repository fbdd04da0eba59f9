//! Defines the test function `camelback`: the six-hump camel (two coordinates).

use super::{Sizes, TestFunction};

/// `-[(4 - 2.1 u² + u⁴/3) u² + u v + (4 v² - 4) v²]` on `[-2, 2] x [-1, 1]`.
///
/// The scaled form is divided by 5 (Mutny2018).
pub static CAMELBACK: TestFunction =
    TestFunction::new(Sizes::One(2), |axis| if axis == 0 { (-2.0, 2.0) } else { (-1.0, 1.0) }, formula, optimum, |_| 5.0);

fn formula(z: &[f64]) -> f64 {
    let (u, v) = (z[0] * z[0], z[1] * z[1]);
    -((4.0 - 2.1 * u + u * u / 3.0) * u + z[0] * z[1] + (4.0 * v - 4.0) * v)
}

/// Returns one of two maximisers, which are mirror images, computed by Newton's method.
fn optimum(_dimension: usize) -> (Vec<f64>, f64) {
    (vec![0.089_842_013_100_318_07, -0.712_656_403_020_739_6], 1.031_628_453_489_877_4)
}
