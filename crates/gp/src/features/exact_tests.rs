//! Tests that exact features reproduce the Gram matrix.

use super::*;
use crate::kernel::{Kernel, Lengthscales, linear::LinearKernel, matern::Matern, squared_exponential::SquaredExponential};
use crate::{KernelGram, Points, TableGram};
use privateer_numerics::linalg::dot;
use privateer_numerics::rng::{Purpose, Streams};
use proptest::prelude::*;
use std::sync::Arc;

fn worst_pair(table: &FeatureTable, gram: &dyn GramSource) -> f64 {
    let n = gram.n_points();
    let error = |a: usize, b: usize| (dot(&table.row(a), &table.row(b)) - gram.entry(a, b)).abs();
    (0..n * n).map(|at| error(at / n, at % n)).fold(0.0, f64::max)
}

fn kernel(which: usize, lengthscale: f64) -> Arc<dyn Kernel> {
    let l = Lengthscales::Isotropic(lengthscale);
    match which {
        0 => Arc::new(SquaredExponential::new(l, 2.0)),
        1 => Arc::new(Matern::new(2.5, l, 0.5)),
        2 => Arc::new(Matern::new(1.7, l, 1.0)),
        _ => Arc::new(LinearKernel::new(3.0, 0.1)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn features_reproduce_the_gram(which in 0..4_usize, d in 1..4_usize, n in 0..60_usize, l in 0.1..2.0_f64, seed: u64, digits in 3..12_i32) {
        let mut stream = Streams::new(seed, "exact").shared(Purpose::Domain);
        let gram = KernelGram::new(kernel(which, l), Points::random_in(&vec![(0.0, 1.0); d], n, &mut stream));
        let tolerance = libm::pow(10.0, f64::from(-digits));
        let table = exact(&gram, tolerance, n).expect("n features are always enough");
        let scale = (0..n).map(|i| gram.diagonal(i)).fold(0.0, f64::max);
        prop_assert!(table.n_features <= n);
        prop_assert!(table.kernel_error <= tolerance * scale);
        prop_assert!(worst_pair(&table, &gram) <= tolerance * scale + 1e-14 * scale);
        for i in 0..n {
            let left = gram.diagonal(i) - dot(&table.row(i), &table.row(i));
            prop_assert!((left - table.residual[i]).abs() <= 1e-13 * scale);
        }
    }
}

#[test]
fn smooth_kernels_have_low_rank_and_linear_ones_their_dimension() {
    let grid = Points::grid(1, 500, 0.0, 1.0);
    let table = exact(&KernelGram::new(kernel(0, 0.2), grid.clone()), 1e-10, 4096).expect("smooth");
    assert!((15..30).contains(&table.n_features), "{}", table.n_features);
    let linear = KernelGram::new(Arc::new(LinearKernel::new(1.0, 0.0)), Points::grid(3, 5, -1.0, 1.0));
    assert_eq!(exact(&linear, 1e-12, 10).expect("rank 3").n_features, 3);
    // The first pivot of a constant diagonal is the first point.
    assert_eq!(table.row(0)[1..], vec![0.0; table.n_features - 1]);
}

#[test]
fn too_few_features_are_an_error_with_a_way_out() {
    let gram = KernelGram::new(kernel(1, 0.05), Points::grid(1, 100, 0.0, 1.0));
    let error = exact(&gram, 1e-10, 10).expect_err("ten are too few").to_string();
    assert!(error.contains("exact features of 100 points") && error.contains("raise `max_features`"), "{error}");
}

#[test]
fn what_is_no_covariance_is_refused() {
    for table in
        [vec![1.0, 2.0, 2.0, 1.0], vec![f64::NAN, 0.0, 0.0, 1.0], vec![-1.0, 0.0, 0.0, 1.0], vec![1.0, 0.0, f64::INFINITY, 1.0]]
    {
        let error = exact(&TableGram::new(2, table.clone()), 1e-10, 2).expect_err("no covariance").to_string();
        assert!(error.contains("not positive semi-definite"), "{table:?}: {error}");
    }
    let nothing = exact(&TableGram::new(2, vec![0.0; 4]), 1e-10, 2).expect("the zero function");
    assert_eq!((nothing.n_features, nothing.n_points), (0, 2));
}
