//! The device's arithmetic and its exp, on values from buffers.

use super::buffers::Plain;
use super::device::Gpu;
use super::tests::device;
use crate::backend::device::{Device, Precision};

/// Largest error of exp(-t) and of a root over a grid, in roundoffs.
fn worst<R: Plain>(gpu: &Gpu) -> (f64, f64) {
    let (mut exp, mut root) = (0.0f64, 0.0f64);
    let end = R::EXP_CUTOFF.wide();
    for block in 0..40 {
        let pairs: Vec<[R; 2]> = (0..250)
            .map(|i| {
                let t = R::of(end * f64::from(block * 250 + i) / 10_000.0);
                [t, t]
            })
            .collect();
        let results = gpu.shared().arithmetic(&pairs).expect("arithmetic");
        for (&[t, _], got) in pairs.iter().zip(results.chunks_exact(8)) {
            let (t, exact) = (t.wide(), libm::exp(-t.wide()));
            exp = exp.max((got[7].wide() - exact).abs() / exact);
            if 0.0 < t {
                root = root.max((got[4].wide() - t.sqrt()).abs() / t.sqrt());
            }
        }
    }
    (exp / R::PRECISION.unit(), root / R::PRECISION.unit())
}

#[test]
fn exp_and_roots_are_within_what_is_allowed() {
    let Some(gpu) = device() else { return };
    let (exp, root) = worst::<f32>(&gpu);
    assert!(exp < 8.0 && root <= 16.0, "{exp} {root}");
    if gpu.computes_in(Precision::F64) {
        let (exp, root) = worst::<f64>(&gpu);
        assert!(exp < 8.0 && root <= 16.0, "{exp} {root}");
    }
}
