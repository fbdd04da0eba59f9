//! Evaluates sums of kernels by the shader and by the host.

use super::functions::{MadeFunctions, evaluate, of};
use super::readback::read_all;
use super::tests::device;
use privateer_backend::device::LoopDomain;
use privateer_backend::reference::cases::{CaseDraws, TestBasis};
use privateer_gp::kernel::matern::Matern;
use privateer_gp::kernel::squared_exponential::SquaredExponential;
use privateer_gp::kernel::{Kernel, Lengthscales};
use privateer_gp::score::Basis;
use privateer_gp::{FunctionValues, KernelGram, KernelSum, Points};
use std::sync::Arc;

const POINTS: usize = 700;

/// Values of every formula are within their bound of the host's, far from the origin too, and their ends are the host's.
#[test]
fn values_are_within_their_bound() {
    let Some(gpu) = device().filter(|gpu| gpu.shared().has_f64) else { return };
    let mut draws = CaseDraws(71);
    let table = TestBasis::smooth(&mut draws, POINTS);
    let domain = LoopDomain::new(&Basis::Table(table)).expect("features");
    let made = MadeFunctions::default();
    let scales = || Lengthscales::Isotropic(0.3);
    let matern = |nu| Arc::new(Matern::new(nu, scales(), 1.5)) as Arc<dyn Kernel>;
    let smooth: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(scales(), 1.5));
    for (kernel, dimension) in [(smooth, 3), (matern(0.5), 1), (matern(1.5), 2), (matern(2.5), 2)] {
        let points = Points::new(dimension, draws.numbers(POINTS * dimension, 99.5, 101.0));
        let gram = Arc::new(KernelGram::new(kernel, points));
        let mut sum = |terms: usize| {
            let centres = (0..terms).map(|_| (draws.below(POINTS), draws.number(-1.0, 1.0))).collect();
            Arc::new(KernelSum::new(gram.clone(), centres).expect("columns are evaluated"))
        };
        let sums = [sum(100), sum(70), sum(1)];
        let found = evaluate(gpu.shared(), &domain, &made, &sums).expect("values");
        for (sum, found) in sums.into_iter().zip(found) {
            let function = FunctionValues::Sum(Arc::clone(&sum));
            let (all, kept) = (function.all(), of(&made, &function).expect("kept"));
            let values: Vec<f64> = read_all(gpu.shared(), &kept.values);
            let values = &values[kept.offset as usize / 8..];
            let off = |point: usize| (values[domain.position(point as u32) as usize] - all[point]).abs();
            let most = (0..POINTS).map(off).fold(0.0, f64::max);
            println!("{dimension} coordinates: off by {most:e} of {:e}", kept.error);
            assert!(most <= 0.5 * kept.error && kept.error < 1e-10, "{most:e} of {:e}", kept.error);
            let first = |better: fn(&f64, &f64) -> bool| {
                (1..POINTS).fold(0, |best, x| if better(&all[x], &all[best]) { x } else { best })
            };
            let ends = found.expect("a formula").settled(&sum).expect("within the bound");
            assert_eq!(ends, [first(f64::gt), first(f64::lt)]);
        }
        // What nobody else holds goes with the next call.
        assert_eq!(made.lock().expect("no panic").len(), 3);
    }
}
