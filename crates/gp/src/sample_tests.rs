//! Tests the covariance of samples, and that the two samplers agree.

use super::*;
use crate::TableGram;
use crate::kernel::{Lengthscales, linear::LinearKernel, matern::Matern, squared_exponential::SquaredExponential};
use privateer_numerics::rng::{Purpose, Streams};

fn stream() -> Stream {
    Streams::new(2, "sample").of(0, Purpose::Function)
}

/// Compares empirical covariances with the kernel.
///
/// The standard error over s draws is sqrt((k_aa k_bb + k_ab²)/s). The limit is six of them for 45 pairs: false alarm
/// below 1e-7, and the seed is fixed.
#[test]
fn samples_have_the_kernels_covariance() {
    let kernel: Arc<dyn Kernel> = Arc::new(Matern::new(1.5, Lengthscales::Isotropic(0.4), 2.0));
    let gram = KernelGram::new(kernel, Points::grid(2, 3, 0.0, 1.0));
    let features = exact(&gram, 1e-10, 9).expect("nine points");
    let draws = 20_000;
    let mut stream = stream();
    let samples: Vec<Vec<f64>> = (0..draws).map(|_| sample_gp(&features, &mut stream)).collect();
    for a in 0..9 {
        for b in 0..=a {
            let found = samples.iter().map(|f| f[a] * f[b]).sum::<f64>() / f64::from(draws);
            let k = gram.entry(a, b);
            let error = libm::sqrt((4.0 + k * k) / f64::from(draws));
            assert!((found - k).abs() < 6.0 * error, "({a}, {b}): {found} for {k}");
        }
    }
}

/// Checks that the product of the axes' features is a feature table of the grid.
///
/// The same normals then give the same sample.
#[test]
fn the_axis_path_is_the_product_of_the_axes() {
    let kernel = SquaredExponential::new(Lengthscales::PerDimension(vec![0.3, 1.0, 0.5]), 1.5);
    let sampler = GridSampler::new(&kernel, 3, 4, -1.0, 1.0, 1e-12).expect("factors").expect("a product kernel");
    let points = Points::grid(3, 4, -1.0, 1.0);
    let rows = |point: usize| [point / 16, point / 4 % 4, point % 4];
    let n_features = sampler.n_features();
    let mut values = Vec::new();
    for point in 0..64 {
        let mut row = vec![1.0];
        for (axis, &i) in sampler.axes.iter().zip(&rows(point)) {
            let along = axis.row(i);
            row = row.iter().flat_map(|r| along.iter().map(move |v| r * v)).collect();
        }
        values.extend(row);
    }
    let table = FeatureTable { n_points: 64, n_features, values, residual: vec![0.0; 64], kernel_error: 0.0, form: None };
    for a in 0..64 {
        for b in 0..64 {
            let k = kernel.value(points.point(a), points.point(b));
            assert!((dot(&table.row(a), &table.row(b)) - k).abs() < 1e-11, "covariance of the grid");
        }
    }
    let (direct, by_axes) = (sample_gp(&table, &mut stream()), sampler.sample(&mut stream()));
    assert!(direct.iter().zip(&by_axes).all(|(x, y)| (x - y).abs() < 1e-12));
}

#[test]
fn a_grid_of_a_million_points_is_no_trouble() {
    let kernel = SquaredExponential::new(Lengthscales::Isotropic(0.3), 1.0);
    let sampler = GridSampler::new(&kernel, 2, 1000, 0.0, 1.0, 1e-10).expect("factors").expect("a product kernel");
    assert!(sampler.n_features() < 1000, "{}", sampler.n_features());
    let f = sampler.sample(&mut stream());
    assert_eq!(f.len(), 1_000_000);
    assert!(f.iter().all(|x| x.abs() < 8.0));
    assert!(f[0] != f[999] && (f[0] - f[1]).abs() < 0.05, "smooth and not constant");
}

#[test]
fn kernels_that_are_no_product_say_so() {
    assert!(GridSampler::new(&LinearKernel::new(1.0, 0.0), 2, 5, 0.0, 1.0, 1e-10).expect("no error").is_none());
    let matern = Matern::new(2.5, Lengthscales::Isotropic(1.0), 1.0);
    assert!(GridSampler::new(&matern, 2, 5, 0.0, 1.0, 1e-10).expect("no error").is_none());
    let empty = GridSampler::new(&SquaredExponential::new(Lengthscales::Isotropic(1.0), 1.0), 2, 0, 0.0, 1.0, 1e-10);
    assert!(empty.expect("no error").expect("a product kernel").sample(&mut stream()).is_empty());
}

/// Checks that the norm bounds the function: |f(x)| <= |f| sqrt(k(x, x)) (reproducing property).
#[test]
fn functions_of_the_hilbert_space_know_their_norm() {
    let kernel: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.2), 1.0));
    let gram = KernelGram::new(kernel, Points::grid(1, 100, 0.0, 1.0));
    let f = rkhs_function(&gram, 100, Weights::Uniform, &mut stream());
    assert!(f.values.iter().all(|v| v.abs() <= f.norm * (1.0 + 1e-12)));
    // One centre: f = a k(x, ·) and |f| = |a|, the second word of the stream.
    let one = rkhs_function(&gram, 1, Weights::Uniform, &mut stream());
    let mut words = stream();
    let (centre, a) = (words.index(100), words.uniform_in(-1.0, 1.0));
    assert!((one.norm - a.abs()).abs() < 1e-15 && (one.values[centre] - a).abs() < 1e-15);
    assert_eq!(rkhs_function(&TableGram::new(0, Vec::new()), 5, Weights::Uniform, &mut stream()).norm, 0.0);
    assert_eq!(rkhs_function(&gram, 0, Weights::Uniform, &mut stream()).values, vec![0.0; 100]);
}

/// Pins the bits of function draws, on which recorded results depend.
///
/// A change here changes every such result and belongs under "Changed results" in the changelog. The bits come from our
/// loops and `libm` alone, so they are the same on every platform.
#[test]
fn the_bits_are_pinned() {
    let kernel: Arc<dyn Kernel> = Arc::new(Matern::new(1.7, Lengthscales::Isotropic(0.2), 1.0));
    let gram = KernelGram::new(kernel, Points::grid(1, 50, 0.0, 1.0));
    let f = rkhs_function(&gram, 100, Weights::Uniform, &mut stream());
    let g = sample_gp(&exact(&gram, 1e-10, 50).expect("fifty points"), &mut stream());
    let bits = [f.values[0], f.values[31], f.norm, g[0], g[49], stream().gamma(0.7)].map(f64::to_bits);
    assert_eq!(bits, PINNED, "{bits:?}");
}

const PINNED: [u64; 6] = [
    4_597_864_860_425_336_583,
    4_596_052_725_111_351_900,
    4_614_219_115_830_162_450,
    4_609_347_475_840_544_230,
    4_595_320_017_661_806_534,
    4_602_910_359_594_640_204,
];
