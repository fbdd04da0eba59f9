//! Defines the test function `hartmann-6` (six coordinates).

use super::{Sizes, TestFunction};

/// `sum_i c_i exp(-sum_j A_ij (z_j - P_ij)²)` on `[0, 1]^6`; scaled: divided by its maximum.
pub static HARTMANN_6: TestFunction = TestFunction::new(Sizes::One(6), |_| (0.0, 1.0), formula, optimum, |d| optimum(d).1);

const C: [f64; 4] = [1.0, 1.2, 3.0, 3.2];
const A: [[f64; 6]; 4] = [
    [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
    [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
    [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
    [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
];
const P: [[f64; 6]; 4] = [
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
];

fn formula(z: &[f64]) -> f64 {
    let well = |((c, a), p): ((&f64, &[f64; 6]), &[f64; 6])| {
        let distance: f64 = z.iter().zip(a).zip(p).map(|((z, a), p)| a * (z - p) * (z - p)).sum();
        c * libm::exp(-distance)
    };
    C.iter().zip(&A).zip(&P).map(well).sum()
}

/// Returns the maximiser and the maximum, computed by Newton's method.
fn optimum(_dimension: usize) -> (Vec<f64>, f64) {
    let z = [
        0.201_689_511_006_705_43,
        0.150_010_691_823_457_97,
        0.476_873_974_221_897,
        0.275_332_430_494_056_1,
        0.311_651_616_600_113_26,
        0.657_300_534_065_620_4,
    ];
    (z.to_vec(), 3.322_368_011_415_515)
}
