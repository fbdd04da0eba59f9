//! Defines the test function `michalewicz` (up to ten coordinates; additive).

use super::shape::{undivided, unit};
use super::{Form, Sizes, TestFunction};
use std::f64::consts::PI;

/// `sum_i sin z_i sin(i z_i²/pi)^20` on `[0, pi]^d`, i from 1.
///
/// The scaled form is `sum_i sin z_i sin(i z_i/pi)^20` divided by its maximum, the variant of published code (Mutny2018).
pub static MICHALEWICZ: TestFunction = TestFunction {
    sizes: Sizes::UpTo { usual: 10, most: 10 },
    textbook: Form {
        domain: |_| (0.0, PI),
        formula_box: |_| (0.0, PI),
        formula: |z| z.iter().enumerate().map(|(i, &z)| steep(z, textbook(i, z))).sum(),
        summand: Some(|i, z| steep(z, textbook(i, z))),
        divisor: undivided,
        optimum: |d| peaks(&TEXTBOOK[..d]),
    },
    scaled: Form {
        domain: unit,
        formula_box: |_| (0.0, PI),
        formula: |z| z.iter().enumerate().map(|(i, &z)| steep(z, scaled(i, z))).sum(),
        summand: Some(|i, z| steep(z, scaled(i, z))),
        divisor: |d| peaks(&SCALED[..d]).1,
        optimum: |d| peaks(&SCALED[..d]),
    },
};

fn steep(z: f64, angle: f64) -> f64 {
    let x = libm::sin(angle);
    let (x4, x16) = (x * x * x * x, libm::pow(x, 16.0));
    libm::sin(z) * (x4 * x16)
}

fn textbook(axis: usize, z: f64) -> f64 {
    (axis + 1) as f64 * z * z / PI
}

fn scaled(axis: usize, z: f64) -> f64 {
    (axis + 1) as f64 * z / PI
}

/// Returns a maximiser and the maximum, from those of each coordinate.
fn peaks(each: &[(f64, f64)]) -> (Vec<f64>, f64) {
    (each.iter().map(|(z, _)| *z).collect(), each.iter().map(|(_, value)| value).sum())
}

/// Maximiser and maximum of each coordinate, by bisection of the derivative.
const TEXTBOOK: [(f64, f64); 10] = [
    (2.202_905_520_151_767, 0.801_303_410_098_553),
    (std::f64::consts::FRAC_PI_2, 1.0),
    (1.284_991_570_514_187, 0.959_091_269_896_006),
    (1.923_058_469_840_92, 0.938_462_418_472_082_6),
    (1.720_469_772_537_051, 0.988_801_080_621_504),
    (std::f64::consts::FRAC_PI_2, 1.0),
    (1.454_413_971_327_839, 0.993_227_135_355_881_3),
    (1.756_086_520_916_905, 0.982_872_036_272_209_8),
    (1.655_717_416_791_013, 0.996_394_364_925_103_9),
    (std::f64::consts::FRAC_PI_2, 1.0),
];

const SCALED: [(f64, f64); 10] = [
    (2.932_541_763_813_076, 0.002_622_814_975_745_574),
    (2.346_611_762_337_555, 0.672_823_810_991_783_1),
    (1.641_074_306_336_678, 0.997_396_012_074_348_1),
    (1.244_148_861_843_982, 0.945_448_649_795_764_5),
    (0.999_643_070_131_355_4, 0.837_857_156_732_781_9),
    (0.834_878_901_354_234_4, 0.737_061_458_843_709_7),
    (2.108_904_585_612_059, 0.857_140_919_935_506_6),
    (1.848_353_998_339_834, 0.961_426_597_588_956_8),
    (1.644_484_319_845_569, 0.997_269_712_776_179_6),
    (1.480_885_551_231_475, 0.995_940_775_302_926_7),
];
