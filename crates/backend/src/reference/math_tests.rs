//! Tests the formulas of kernels against their stated bound.

use super::cases::{CaseDraws, TestGram};
use super::kernel::kernel;
use crate::device::Real;
use crate::device::tables::{Extent, KernelNumbers, coordinates, kernel_error};
use privateer_gp::score::{GramSource, KernelFamily, KernelForm};

/// Returns the largest error of a kernel in a type, relative to its bound.
fn kernel_share<R: Real>(gram: &TestGram) -> f64 {
    let extent = Extent::new(gram.n_points());
    let coords = coordinates::<R>(&gram.form, extent);
    let form = KernelNumbers::of(&gram.form).rounded();
    let error = |a: usize, b: usize| (kernel(form, &coords.values, extent.stride, a, b).wide() - gram.entry(a, b)).abs();
    let most = (0..extent.n_points).flat_map(|a| (0..=a).map(move |b| (a, b))).map(|(a, b)| error(a, b)).fold(0.0, f64::max);
    most / kernel_error(&gram.form, &coords, R::PRECISION)
}

/// For near and far points with a large common offset, errors are within the bound and near it.
#[test]
fn kernels_are_within_their_bound() {
    use KernelFamily::{Linear, MaternFiveHalves, MaternHalf, MaternThreeHalves, SquaredExponential};
    for family in [SquaredExponential, MaternHalf, MaternThreeHalves, MaternFiveHalves, Linear] {
        for (dimension, size, shift) in [(1, 1.0, 0.0), (2, 10.0, 0.0), (3, 100.0, 50.0), (8, 1.0, 1e3), (20, 0.5, 0.0)] {
            let mut draws = CaseDraws(60 + dimension as u64);
            let points = draws.numbers(250 * dimension, shift - size, shift + size).into();
            let form = KernelForm { family, scale: 2.5, offset: 0.5, row_term: 0.75, dimension, points };
            let gram = TestGram { form, dense: None };
            let (short, long) = (kernel_share::<f32>(&gram), kernel_share::<f64>(&gram));
            assert!((1e-4..1.0).contains(&short), "{family:?} {dimension} {size}: {short:e}");
            assert!(long < 1.0, "{family:?} {dimension} {size}: {long:e}");
        }
    }
}
