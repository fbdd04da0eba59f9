//! Tests the polynomials against the library, over dense grids.

use super::arithmetic::Arithmetic;
use super::cases::{CaseDraws, TestGram};
use super::kernel::{exp_negative, kernel, turned};
use crate::device::tables::{Extent, KernelNumbers, coordinates, kernel_error};
use privateer_gp::score::{GramSource, KernelFamily, KernelForm};

/// Returns the largest relative error of `exp(-t)`, in units of roundoff.
fn exp_error<R: Arithmetic>() -> f64 {
    let n = 400_000;
    let end = R::EXP_CUTOFF.wide();
    (0..=n)
        .map(|i| {
            let t = R::of(end * f64::from(i) / f64::from(n));
            let exact = libm::exp(-t.wide());
            (exp_negative(t).wide() - exact).abs() / exact
        })
        .fold(0.0, f64::max)
        / R::PRECISION.unit()
}

#[test]
fn exp_is_within_a_few_roundoffs() {
    assert!(exp_error::<f32>() < 4.0, "{}", exp_error::<f32>());
    assert!(exp_error::<f64>() < 4.0, "{}", exp_error::<f64>());
    assert_eq!((exp_negative(0.0f32), exp_negative(88.0f32), exp_negative(f64::INFINITY)), (1.0, 0.0, 0.0));
}

#[test]
fn sine_and_cosine_are_within_a_few_roundoffs() {
    let n = 400_000;
    for largest in [4.0, 1e3, 1.6e6] {
        let mut most = 0.0f64;
        for i in -n..=n {
            let t = largest * f64::from(i) / f64::from(n);
            let (cos, sin) = turned(t).cos_sin();
            most = most.max((cos - libm::cos(t)).abs()).max((sin - libm::sin(t)).abs());
        }
        assert!(most < 2.0 * f64::EPSILON, "{most}");
    }
}

/// Returns the largest error of a kernel in a type, relative to its bound.
fn kernel_share<R: Arithmetic>(gram: &TestGram) -> f64 {
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
