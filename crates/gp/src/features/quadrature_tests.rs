//! Compares quadrature features with the kernels that they approximate.

use super::*;
use crate::features::MEASURED_PAIRS;
use crate::kernel::additive::Additive;
use crate::kernel::{Lengthscales, linear::LinearKernel, matern::Matern, squared_exponential::SquaredExponential};
use privateer_numerics::linalg::dot;
use privateer_numerics::rng::{Purpose, Streams};

fn plan(nodes: usize) -> QuadratureFourier {
    QuadratureFourier { nodes, max_error: 2.0 }
}

fn random(dimension: usize, n: usize) -> Points {
    Points::random_in(&vec![(-1.0, 1.0); dimension], n, &mut Streams::new(1, "qff").shared(Purpose::Domain))
}

/// Checks that |phi|² is the prior variance, never above it, and that the error bound holds.
///
/// Covers even and odd numbers of nodes, groups of one to three coordinates and different length-scales, over all pairs.
#[test]
fn the_kernel_comes_back() {
    let se = |l: Vec<f64>, v: f64| SquaredExponential::new(Lengthscales::PerDimension(l), v);
    let additive = |part: Arc<dyn Kernel>, size: usize| Additive::new(part, size).expect("a part on coordinates");
    let cases: Vec<(Arc<dyn Kernel>, usize, usize, usize)> = vec![
        (Arc::new(se(vec![1.0], 2.0)), 1, 7, 7),
        (Arc::new(se(vec![1.0, 0.7], 1.0)), 2, 12, 144),
        (Arc::new(se(vec![1.5, 0.9, 2.0], 1.0)), 3, 9, 729),
        (Arc::new(additive(Arc::new(se(vec![1.0, 0.8, 1.2], 3.0)), 1)), 3, 9, 27),
        (Arc::new(additive(Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.9), 1.0)), 2)), 5, 8, 136),
        (Arc::new(additive(Arc::new(Matern::new(2.5, Lengthscales::Isotropic(1.0), 1.0)), 1)), 20, 16, 320),
    ];
    for (kernel, dimension, nodes, features) in cases {
        let points = random(dimension, 20);
        assert!(points.n_points().pow(2) <= MEASURED_PAIRS, "all pairs are measured");
        let map = QuadratureMap::new(kernel.as_ref(), &extents(&points), plan(nodes)).expect("features");
        let table = map.table(&points, Some(kernel.as_ref()));
        let said = format!("{kernel:?}");
        assert_eq!((map.n_features(), table.n_features), (features, features), "{said}");
        let variance = kernel.variance().expect("stationary");
        for a in 0..20 {
            let length = dot(&table.row(a), &table.row(a));
            assert!(length <= variance && variance * (1.0 - 1e-13) <= length, "{said}: {length}");
            for b in 0..20 {
                let error = (dot(&table.row(a), &table.row(b)) - kernel.value(points.point(a), points.point(b))).abs();
                assert!(error <= table.kernel_error + 1e-13, "{said}: {error} beyond {}", table.kernel_error);
            }
        }
        assert!(table.kernel_error < 0.02 * variance, "{said}: {}", table.kernel_error);
        // The theoretical bound, if there is one, exceeds the measured error up to rounding.
        assert!(map.accuracy.bound.is_none_or(|bound| map.accuracy.measured <= bound + 1e-13), "{said}: {:?}", map.accuracy);
        assert!(!map.accuracy.modified, "{said}");
    }
}

/// Checks the features of Matern in two dimensions against the product of its factors.
///
/// The reported error covers the difference from the kernel itself.
#[test]
fn materns_modified_form() {
    let kernel = Matern::new(2.5, Lengthscales::Isotropic(1.0), 1.0);
    let points = random(2, 20);
    let map = QuadratureMap::new(&kernel, &extents(&points), plan(24)).expect("features");
    assert!(map.accuracy.modified && map.accuracy.bound.is_none());
    let table = map.table(&points, Some(&kernel));
    let axis = Matern::new(2.5, Lengthscales::Isotropic(1.0), 1.0);
    for a in 0..20 {
        for b in 0..20 {
            let product: f64 = (0..2).map(|j| axis.value(&[points.point(a)[j]], &[points.point(b)[j]])).product();
            assert!((dot(&table.row(a), &table.row(b)) - product).abs() <= map.accuracy.measured + 1e-13);
        }
    }
    assert!(map.accuracy.measured < 0.01 && 0.02 < table.kernel_error, "{:?} {}", map.accuracy, table.kernel_error);
}

#[test]
fn what_is_refused_says_why() {
    let refused = |kernel: &dyn Kernel, extents: &[f64], plan: QuadratureFourier| {
        QuadratureMap::new(kernel, extents, plan).expect_err("refused").to_string()
    };
    let se = SquaredExponential::new(Lengthscales::Isotropic(0.05), 1.0);
    let error = refused(&se, &[1.0], QuadratureFourier { nodes: 8, max_error: 0.9 });
    assert!(error.contains("length-scale is too small for points up to 1 apart") && error.contains("use 128 nodes"), "{error}");
    let error = refused(&se, &[1.0; 20], plan(8));
    assert!(error.contains("8 nodes on each of 20 coordinates give 1.2e18 features") && error.contains("`additive`"), "{error}");
    let error = refused(&LinearKernel::new(1.0, 0.0), &[1.0], plan(8));
    assert!(error.contains("need a kernel with a spectral density that factorizes"), "{error}");
}
