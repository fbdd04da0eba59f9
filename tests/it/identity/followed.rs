//! What goes to a device a round: rows and weights of Nystrom dictionaries that live in the place of factors; and in which type, where
//! f32 would name crowds.

use super::forms::{Driven, drive, formula, points};
use super::one_trial::exact_features;
use crate::backends::{NamedBackend, gpu_backends, reference_backends};
use crate::support::stream;
use privateer::backend::Cpu;
use privateer_gp::kernel::{Kernel, Lengthscales, matern::Matern, squared_exponential::SquaredExponential};
use privateer_gp::posterior::{FeaturePosterior, SketchedPosterior};
use privateer_gp::score::{Basis, Change, GramSource, ScoreModel};
use privateer_gp::{KernelGram, tabulated};
use std::sync::Arc;

/// A posterior over a Nystrom dictionary that is followed, with its sums of rewards; another one is taken after 9 observations.
struct Followed {
    posterior: SketchedPosterior,
    sums: Vec<f64>,
    /// Hands out a whole factor where it could hand out a row and weights.
    as_factor: bool,
}

impl Followed {
    fn new(gram: &Arc<dyn GramSource>, trial: usize, as_factor: bool) -> Self {
        Self::of(gram, [0.5, 1e-2, 1e-4][trial], as_factor)
    }

    fn of(gram: &Arc<dyn GramSource>, ridge: f64, as_factor: bool) -> Self {
        let mut posterior = SketchedPosterior::new(Arc::clone(gram), 1.0, ridge, true);
        let n = gram.n_points() as u32;
        posterior.set_dictionary((0..24).map(|i| i * (n - 1) / 23).collect(), None);
        posterior.refresh();
        Self { posterior, sums: Vec::new(), as_factor }
    }
}

impl Driven for Followed {
    fn model(&self) -> &dyn ScoreModel {
        &self.posterior
    }

    fn change(&self) -> Change<'_> {
        match self.posterior.change() {
            Change::Weights { .. } if self.as_factor => Change::Factor,
            change => change,
        }
    }

    fn taken(&mut self) {
        self.posterior.screened();
    }

    fn observe(&mut self, point: usize, reward: f64) {
        let Self { posterior, sums, .. } = self;
        let slot = posterior.visit(point);
        sums.resize(posterior.visits().n_distinct(), 0.0);
        sums[slot] += reward;
        if posterior.n_observations() == 9 {
            let mut points = posterior.visits().points.clone();
            points.extend((0..36).map(|i| 8 * i));
            points.sort_unstable();
            points.dedup();
            posterior.set_dictionary(points, None);
            posterior.refresh();
        } else {
            posterior.follow(slot);
        }
        let mut theta = posterior.moment(sums);
        posterior.solve(&mut theta);
        // A mean that no row says: rewards are cut to what the round allows.
        let cut = 1.0 + 0.1 * libm::sin(posterior.n_observations() as f64);
        theta.iter_mut().for_each(|weight| *weight *= cut);
        posterior.set_theta(theta);
    }
}

/// Dictionaries that live.
pub fn over_followed_dictionaries(backends: &[NamedBackend], rounds: usize) {
    let kernel: Arc<dyn Kernel> = Arc::new(Matern::new(2.5, Lengthscales::Isotropic(0.3), 1.0));
    for (form, gram) in [
        ("a table", tabulated(KernelGram::new(Arc::clone(&kernel), points(300, "shared")))),
        ("a formula", formula(&kernel, 300, "shared")),
    ] {
        let make = |i: usize| Followed::new(&gram, i, false);
        let basis = Basis::Gram(Arc::clone(&gram));
        drive(backends, &format!("dictionaries followed, {form}"), &basis, rounds, false, make);
        drive(backends, &format!("dictionaries followed, subsets, {form}"), &basis, rounds, true, make);
    }
}

/// Where hundreds of points nearly tie in f32, whole factors are compared in f64 too, which drops no point that exact scores choose: at ridges
/// whose systems lose most digits as well.
#[test]
fn near_ties_of_whole_factors_are_told_apart() {
    let kernel: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.8), 1.0));
    let cpu: [NamedBackend; 1] = [("cpu".to_owned(), Box::new(Cpu::default()))];
    for (form, gram) in [
        ("a table", tabulated(KernelGram::new(Arc::clone(&kernel), points(300, "near ties")))),
        ("a formula", formula(&kernel, 300, "near ties")),
    ] {
        for ridges in [[1e-2, 1e-4, 1e-6], [1e-8, 1e-9, 1e-10]] {
            let make = |i: usize| Followed::of(&gram, ridges[i], true);
            drive(&cpu, &format!("near ties, {form}"), &Basis::Gram(Arc::clone(&gram)), 200, false, make);
        }
    }
}

/// What goes to a device a round over a dictionary that lives is vectors: of m = 40 some 3 m numbers in the place of m²/2, but for
/// every fourth round, which two observations come before.
#[test]
fn followed_dictionaries_send_vectors() {
    let kernel: Arc<dyn Kernel> = Arc::new(Matern::new(2.5, Lengthscales::Isotropic(0.3), 1.0));
    let gram = tabulated(KernelGram::new(kernel, points(300, "shared")));
    let basis = Basis::Gram(Arc::clone(&gram));
    let sent = |as_factor: bool| -> Vec<u64> {
        let make = |i: usize| Followed::new(&gram, i, as_factor);
        let label = "dictionaries followed, counted";
        drive(&reference_backends(), label, &basis, 60, false, make).iter().map(|counters| counters.sent).collect()
    };
    for (vectors, factors) in sent(false).into_iter().zip(sent(true)) {
        assert!(2 * vectors < factors, "{vectors} {factors}");
    }
}

/// Points in five crowds, within 1e-7 of each other: f32 names whole crowds, f64 tells them apart. Screens that were not given a type go on
/// in f64, once, unless they start in it; those of f32 stay.
pub fn over_crowds(backends: &[NamedBackend], rounds: usize, measured: bool) {
    let (n, m) = (300, 20);
    let mut random = stream("crowds");
    let places: Vec<f64> = (0..5 * m).map(|_| random.normal() / (m as f64).sqrt()).collect();
    let values = (0..n * m).map(|e| places[(e / m % 5) * m + e % m] + 1e-7 * random.normal()).collect();
    let table = exact_features(m, values);
    let make = |_| FeaturePosterior::new(Arc::clone(&table), 0.1);
    let all = drive(backends, "crowds", &Basis::Table(Arc::clone(&table)), rounds, false, make);
    let of = |name: &str| backends.iter().zip(&all).find(|((known, _), _)| known.ends_with(name)).map(|(_, counters)| *counters);
    let (Some(automatic), Some(single)) = (of("None"), of("Some(F32)")) else { return };
    let doubles = of("Some(F64)").is_some();
    // A device whose rate is measured may start in f64.
    let starts_in_f64 = measured && automatic.doubled == 0;
    assert!((starts_in_f64 || automatic.doubled == u64::from(doubles)) && single.doubled == 0, "{automatic:?} {single:?}");
    assert!(!doubles || 2 * automatic.candidates < single.candidates, "{automatic:?} {single:?}");
}

#[test]
fn crowds_of_features_are_told_apart_in_f64() {
    over_crowds(&reference_backends(), 40, false);
    over_crowds(&gpu_backends(), 25, true);
}
