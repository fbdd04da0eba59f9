//! Defines the test function `styblinski-tang` (any number of coordinates; additive).

use super::shape::{undivided, unit};
use super::{Form, Sizes, TestFunction};

/// `-1/2 sum_i (z_i⁴ - 16 z_i² + 5 z_i)` on `[-5, 5]^d`.
///
/// The scaled form uses `z = 8 x`, that is `[-4, 4]^d`, and is divided by the maximum (Mutny2018).
pub static STYBLINSKI_TANG: TestFunction = TestFunction {
    sizes: Sizes::UpTo { usual: 20, most: 1000 },
    textbook: Form {
        domain: |_| (-5.0, 5.0),
        formula_box: |_| (-5.0, 5.0),
        formula,
        summand: Some(summand),
        divisor: undivided,
        optimum,
    },
    scaled: Form {
        domain: unit,
        formula_box: |_| (-4.0, 4.0),
        formula,
        summand: Some(summand),
        divisor: |d| d as f64 * PEAK,
        optimum,
    },
};

fn formula(z: &[f64]) -> f64 {
    z.iter().enumerate().map(|(i, &z)| summand(i, z)).sum()
}

fn summand(_axis: usize, z: f64) -> f64 {
    -0.5 * ((z * z - 16.0) * z + 5.0) * z
}

/// The maximum of one coordinate, at the least root of 4 z³ - 32 z + 5.
const PEAK: f64 = 39.166_165_703_771_41;

fn optimum(dimension: usize) -> (Vec<f64>, f64) {
    (vec![-2.903_534_027_771_177; dimension], dimension as f64 * PEAK)
}
