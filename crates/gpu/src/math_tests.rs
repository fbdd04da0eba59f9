//! Tests the device's arithmetic and its exponential, on values from buffers.

use super::buffers::GpuNumber;
use super::device::Gpu;
use super::made;
use super::readback::read_all;
use super::self_test::RESULTS;
use super::tests::device;
use privateer_backend::device::{Chunk, Device, Extent, Precision};
use privateer_backend::reference::cases::{CaseDraws, TestGram};
use privateer_gp::score::{FeatureTable, FourierForm, GramSource, KernelFamily};

/// Returns the largest errors of exp(-t) and of a square root over a grid up to `end`, in roundoffs.
fn worst<R: GpuNumber>(gpu: &Gpu, end: f64) -> (f64, f64) {
    let (mut exp, mut root) = (0.0f64, 0.0f64);
    for block in 0..40 {
        let pairs: Vec<[R; 2]> = (0..250)
            .map(|i| {
                let t = R::of(end * f64::from(block * 250 + i) / 10_000.0);
                [t, t]
            })
            .collect();
        let results = gpu.shared().arithmetic(&pairs).expect("arithmetic");
        for (&[t, _], got) in pairs.iter().zip(results.chunks_exact(RESULTS)) {
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
    let (exp, root) = worst::<f32>(&gpu, 87.0);
    assert!(exp < 8.0 && root <= 16.0, "{exp} {root}");
    if gpu.computes_in(Precision::F64) {
        let (exp, root) = worst::<f64>(&gpu, 700.0);
        assert!(exp < 8.0 && root <= 16.0, "{exp} {root}");
    }
}

/// Sine and cosine in f64 are accurate over dense grids of small and of the largest angles.
#[test]
fn sine_and_cosine_are_within_a_few_roundoffs() {
    let Some(gpu) = device().filter(|gpu| gpu.computes_in(Precision::F64)) else { return };
    let n = 3000;
    let frequencies = vec![1.0, -30.0, 1e3, 1.5e6];
    let points: Vec<f64> = (0..n).map(|i| f64::from(i) / f64::from(n)).collect();
    let mut values = Vec::new();
    for x in &points {
        values.extend(frequencies.iter().map(|w| libm::cos(w * x)));
        values.extend(frequencies.iter().map(|w| libm::sin(w * x)));
    }
    let amplitudes = vec![1.0; frequencies.len()];
    let form = FourierForm { dimension: 1, points: points.into(), amplitudes, frequencies, grid: None };
    let n_points = n as usize;
    let residual = vec![0.0; n_points];
    let table = FeatureTable { n_points, n_features: 8, values, residual, kernel_error: 0.0, form: Some(form) };
    let extent = Extent::new(n_points);
    let chunk = Chunk { first: 0, len: extent.stride };
    let shared = gpu.shared();
    let made = made::features::<f64>(shared, &table, extent, &[chunk]).expect("made").expect("as it should be");
    let got: Vec<f64> = read_all(shared, &made.sources[0]);
    for column in 0..8 {
        let error = |x: usize| (got[column * chunk.len + x] - table.row(x)[column]).abs();
        let most = (0..n_points).map(error).fold(0.0, f64::max);
        assert!(most < 2.0 * f64::EPSILON, "column {column}: {most:e}");
    }
    // In f32: the same, rounded once.
    let made = made::features::<f32>(shared, &table, extent, &[chunk]).expect("made").expect("as it should be");
    let got: Vec<f32> = read_all(shared, &made.sources[0]);
    for column in 0..8 {
        let error = |x: usize| (f64::from(got[column * chunk.len + x]) - table.row(x)[column]).abs();
        assert!((0..n_points).all(|x| error(x) <= 1.01 * Precision::F32.unit() * table.row(x)[column].abs() + 1e-15));
    }
}

/// Gram columns of every formula are within the stated bound of the host's, in every pair of types.
///
/// The points are random.
#[test]
fn gram_columns_are_within_their_bound() {
    let Some(gpu) = device() else { return };
    use KernelFamily::{Linear, MaternFiveHalves, MaternHalf, MaternThreeHalves, SquaredExponential};
    for family in [SquaredExponential, MaternHalf, MaternThreeHalves, MaternFiveHalves, Linear] {
        let gram = TestGram::new(&mut CaseDraws(7), family, 300, 3, false);
        within_bound::<f32, f32>(&gpu, &gram);
        if gpu.computes_in(Precision::F64) {
            within_bound::<f64, f32>(&gpu, &gram);
            within_bound::<f64, f64>(&gpu, &gram);
        }
    }
}

fn within_bound<W: GpuNumber, R: GpuNumber>(gpu: &Gpu, gram: &TestGram) {
    let extent = Extent::new(gram.n_points());
    let chunk = Chunk { first: 0, len: extent.stride };
    let made = made::gram::<W, R>(gpu.shared(), gram, &gram.form, extent, &[chunk]).expect("made").expect("as it should be");
    let got: Vec<R> = read_all(gpu.shared(), &made.sources[0]);
    for a in 0..extent.n_points {
        for b in 0..extent.n_points {
            let want = gram.entry(a, b);
            let bound = made.error + R::PRECISION.unit() * want.abs();
            assert!((got[a * chunk.len + b].wide() - want).abs() <= bound, "{:?} {a} {b}", gram.form.family);
        }
        assert!(got[a * chunk.len + extent.n_points..(a + 1) * chunk.len].iter().all(|pad| pad.wide() == 0.0));
    }
}
