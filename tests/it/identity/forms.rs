//! Every form of score on every backend, against exact scores of all points: rows over features and kernels, a trial's own
//! inputs, whole factors of both signs, subsets.

use super::followed::over_followed_dictionaries;
use super::one_trial::{exact_features, table};
use crate::backends::{NamedBackend, gpu_backends, reference_backends};
use crate::support::stream;
use privateer::engine::decide;
use privateer_backend::{Counters, Cpu};
use privateer_gp::features::random_fourier::{draw_frequencies, random_fourier};
use privateer_gp::kernel::{Kernel, Lengthscales, linear::LinearKernel, matern::Matern, squared_exponential::SquaredExponential};
use privateer_gp::posterior::{ExactPosterior, FeaturePosterior, Posterior};
use privateer_gp::score::{
    Basis, Candidates, Change, Factor, FeatureTable, GramSource, Moments, ScoreModel, StateError, TrialScore, VarianceForm,
    lowest_within_tie,
};
use privateer_gp::{KernelGram, Points, tabulated};
use privateer_numerics::linalg::{cholesky_upper, dot, inverse_of_upper_transposed, solve_upper};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

const TRIALS: usize = 3;
const BETA: f64 = 1.5;

/// A model that a test drives: what to play is decided elsewhere.
pub trait Driven {
    fn model(&self) -> &dyn ScoreModel;
    fn change(&self) -> Change<'_>;
    fn taken(&mut self);
    fn observe(&mut self, point: usize, reward: f64);
}

impl<P: Posterior> Driven for P {
    fn model(&self) -> &dyn ScoreModel {
        self
    }

    fn change(&self) -> Change<'_> {
        Posterior::change(self)
    }

    fn taken(&mut self) {
        self.screened();
    }

    fn observe(&mut self, point: usize, reward: f64) {
        Posterior::observe(self, point, reward);
    }
}

/// What a model's features are.
enum Source {
    Features(Arc<FeatureTable>),
    /// Gram columns of fixed points.
    Columns(Arc<dyn GramSource>, Vec<u32>),
}

/// A model whose precision matrix gets fresh noise every round.
struct Fresh {
    source: Source,
    /// `V` without noise, row-major, and the moments.
    precision: Vec<f64>,
    moments: Vec<f64>,
    weights: Vec<f64>,
    rows: Vec<f64>,
    noise: Stream,
    observations: u64,
}

impl Fresh {
    const RIDGE: f64 = 0.3;

    fn new(source: Source, noise: Stream) -> Self {
        let (n, prior) = match &source {
            Source::Features(table) => (table.n_features, vec![0.0; table.n_features * table.n_features]),
            Source::Columns(gram, points) => {
                let entry = |a: &u32| points.iter().map(|&b| gram.entry(*a as usize, b as usize)).collect::<Vec<f64>>();
                (points.len(), points.iter().flat_map(entry).collect())
            }
        };
        let (moments, weights, rows) = (vec![0.0; n], vec![0.0; n], vec![0.0; n * n]);
        let mut model = Self { source, precision: prior, moments, weights, rows, noise, observations: 0 };
        (0..n).for_each(|i| model.precision[i * n + i] += Self::RIDGE);
        model.draw();
        model
    }

    fn h(&self, point: usize) -> Vec<f64> {
        match &self.source {
            Source::Features(table) => table.row(point).to_vec(),
            Source::Columns(gram, points) => points.iter().map(|&p| gram.entry(p as usize, point)).collect(),
        }
    }

    /// Fresh positive noise on the diagonal, a new factor and new weights.
    fn draw(&mut self) {
        let n = self.moments.len();
        let mut upper = self.precision.clone();
        for i in 0..n {
            upper[i * n + i] += 0.1 * self.noise.uniform();
        }
        cholesky_upper(&mut upper, n).expect("positive");
        let scale = if let Source::Columns(..) = self.source { 1.0 } else { Self::RIDGE.sqrt() };
        inverse_of_upper_transposed(&upper, n, scale, &mut self.rows);
        self.weights.copy_from_slice(&self.moments);
        solve_upper(&upper, &mut self.weights);
    }
}

impl ScoreModel for Fresh {
    fn exact(&self, point: usize) -> Moments {
        let h = self.h(point);
        let n = h.len();
        let square: f64 = (0..n).map(|i| dot(&self.rows[i * n..(i + 1) * n], &h)).map(|y| y * y).sum();
        let variance = match &self.source {
            Source::Features(table) => table.residual[point] + square,
            Source::Columns(gram, _) => (gram.diagonal(point) - square).max(0.0),
        };
        Moments { mean: dot(&self.weights, &h), variance }
    }

    fn prior_variance_bound(&self) -> f64 {
        1.0 + 1e-9
    }

    fn state_error(&self) -> StateError {
        StateError { mean: 1e-10, variance: 1e-12, deviation: 0.0 }
    }

    fn basis_points(&self) -> &[u32] {
        if let Source::Columns(_, points) = &self.source { points } else { &[] }
    }

    fn n_observations(&self) -> u64 {
        self.observations
    }

    fn factor(&self) -> Option<Factor<'_>> {
        let form = if let Source::Columns(..) = self.source { VarianceForm::Removed } else { VarianceForm::Added };
        Some(Factor::new((&self.weights).into(), (&self.rows).into(), form))
    }
}

impl Driven for Fresh {
    fn model(&self) -> &dyn ScoreModel {
        self
    }

    fn change(&self) -> Change<'_> {
        Change::Factor
    }

    fn taken(&mut self) {}

    fn observe(&mut self, point: usize, reward: f64) {
        let h = self.h(point);
        let n = h.len();
        for i in 0..n {
            self.moments[i] += reward * h[i];
            if let Source::Features(_) = self.source {
                (0..n).for_each(|j| self.precision[i * n + j] += h[i] * h[j]);
            }
        }
        self.observations += 1;
        self.draw();
    }
}

/// The best of these points by exact scores of all.
fn best(model: &dyn ScoreModel, points: impl Iterator<Item = u32>) -> usize {
    let scored: Vec<(u32, f64)> = points.map(|point| (point, model.exact(point as usize).upper(BETA))).collect();
    lowest_within_tie(&scored).expect("finite") as usize
}

/// Drives fresh models on every backend and returns what each screen counted; every choice must be that of exact scores of all.
pub fn drive<D: Driven>(
    backends: &[NamedBackend],
    label: &str,
    basis: &Basis,
    rounds: usize,
    subsets: bool,
    make: impl Fn(usize) -> D,
) -> Vec<Counters> {
    let n = basis.n_points();
    let mut all = Vec::new();
    for (name, backend) in backends {
        let domain = backend.prepare(basis).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut screen = domain.open(TRIALS);
        let mut models: Vec<D> = (0..TRIALS).map(&make).collect();
        let mut random = stream(label);
        for round in 0..rounds {
            let subset: Option<Vec<u32>> = (subsets && round % 3 != 1).then(|| {
                let chosen: Vec<u32> = (0..n as u32).filter(|_| random.uniform() < 0.2).collect();
                if chosen.is_empty() { vec![random.index(n) as u32] } else { chosen }
            });
            // One trial sits a round out now and then.
            let playing: Vec<usize> = (0..TRIALS).filter(|i| round % 7 != 5 || i % 2 == 0).collect();
            let requests: Vec<TrialScore<'_>> = playing
                .iter()
                .map(|&i| TrialScore {
                    subset: subset.as_deref(),
                    ..TrialScore::new(i, models[i].change(), BETA, models[i].model())
                })
                .collect();
            let mut answers = vec![Candidates::default(); requests.len()];
            screen.round(&requests, &mut answers).unwrap_or_else(|error| panic!("{label}, {name}, round {round}: {error}"));
            let mut played = Vec::new();
            for (request, answer) in requests.iter().zip(&answers) {
                assert!(answer.points.is_sorted_by(|a, b| a < b), "{label}, {name}");
                let found = decide(answer, request.model, BETA, &mut Vec::new()).expect("finite");
                let expected = match &subset {
                    Some(subset) => best(request.model, subset.iter().copied()),
                    None => best(request.model, 0..n as u32),
                };
                assert_eq!(found, expected, "{label}, {name}, round {round}, trial {}", request.trial);
                played.push((request.trial, found));
            }
            drop(requests);
            for (trial, point) in played {
                models[trial].taken();
                let reward = libm::sin(7.0 * point as f64 / n as f64) + 0.3 * random.normal();
                models[trial].observe(point, reward);
                if round % 4 == 2 {
                    // A second observation before the next round: a row no longer says all.
                    models[trial].observe((point + 3) % n, 0.1);
                }
            }
        }
        println!("{label}, {name}: {:?}", screen.counters());
        assert_eq!(screen.counters().violations, 0, "{label}, {name}");
        all.push(screen.counters());
    }
    all
}

fn kernels() -> Vec<(&'static str, Arc<dyn Kernel>)> {
    let l = || Lengthscales::PerDimension(vec![0.3, 0.5]);
    vec![
        ("squared exponential", Arc::new(SquaredExponential::new(l(), 1.0))),
        ("Matern 1/2", Arc::new(Matern::new(0.5, l(), 1.0))),
        ("Matern 3/2", Arc::new(Matern::new(1.5, l(), 1.0))),
        ("Matern 5/2", Arc::new(Matern::new(2.5, l(), 1.0))),
        ("linear", Arc::new(LinearKernel::new(0.4, 0.2))),
    ]
}

pub fn points(n: usize, label: &str) -> Points {
    Points::random_in(&[(0.0, 1.0); 2], n, &mut stream(label))
}

/// A covariance that is a formula and never a table, as that of a large domain.
pub fn formula(kernel: &Arc<dyn Kernel>, n: usize, label: &str) -> Arc<dyn GramSource> {
    Arc::new(KernelGram::new(Arc::clone(kernel), points(n, label)))
}

fn features(n: usize, frequencies: usize) -> Arc<FeatureTable> {
    let kernel = SquaredExponential::new(Lengthscales::Isotropic(0.3), 1.0);
    let w = draw_frequencies(&kernel, 2, frequencies, &mut stream("w")).expect("a spectral density");
    Arc::new(random_fourier(&points(n, "x"), &w, 1.0, None))
}

/// All forms on these backends, `rounds` rounds each.
pub fn every_form(backends: &[NamedBackend], rounds: usize) {
    for (name, kernel) in kernels() {
        let formula_basis = formula(&kernel, 130, "shared");
        for (form, gram) in [
            ("a formula", Arc::clone(&formula_basis)),
            ("a table", tabulated(KernelGram::new(Arc::clone(&kernel), points(130, "shared")))),
        ] {
            let basis = Basis::Gram(Arc::clone(&gram));
            let make = |_| ExactPosterior::new(Arc::clone(&gram), 0.2);
            drive(backends, &format!("{name} as {form}"), &basis, rounds, false, make);
        }
        let make = |i: usize| ExactPosterior::new(formula(&kernel, 130, &format!("own {i}")), 0.05).over_own_inputs();
        drive(backends, &format!("{name} over own inputs"), &Basis::Own(130), rounds, false, make);
        drive(backends, &format!("{name} over subsets of own inputs"), &Basis::Own(130), rounds, true, make);
    }
    over_features(backends, rounds);
    over_a_gram_table(backends, rounds, 130);
    over_followed_dictionaries(backends, rounds);
}

/// Rows, whole factors and subsets over features of 300 points.
pub fn over_features(backends: &[NamedBackend], rounds: usize) {
    let table = features(300, 20);
    let basis = Basis::Table(Arc::clone(&table));
    let rows = |_| FeaturePosterior::new(Arc::clone(&table), 0.1);
    drive(backends, "features", &basis, rounds, false, rows);
    drive(backends, "subsets of features", &basis, rounds, true, rows);
    let fresh = |i: usize| Fresh::new(Source::Features(Arc::clone(&table)), stream(["a", "b", "c"][i]));
    drive(backends, "whole factors", &basis, rounds, false, fresh);
    drive(backends, "whole factors over subsets", &basis, rounds, true, fresh);
}

/// Factors taken from the prior, over a table of this many points and subsets of it.
pub fn over_a_gram_table(backends: &[NamedBackend], rounds: usize, n: usize) {
    let kernel = Arc::new(Matern::new(1.5, Lengthscales::Isotropic(0.4), 1.0));
    let gram = tabulated(KernelGram::new(kernel, points(n, "shared")));
    let basis = Basis::Gram(Arc::clone(&gram));
    let fresh = |points: Vec<u32>, i: usize| Fresh::new(Source::Columns(Arc::clone(&gram), points), stream(["a", "b", "c"][i]));
    // Factors of 30 rows, and of one, two and three.
    let few = |i: usize| fresh((0..=i as u32).map(|p| (17 * p + 5) % n as u32).collect(), i);
    drive(backends, "small factors taken from the prior", &basis, rounds, false, few);
    let removed = |i: usize| fresh((0..30).map(|p| (4 * p + i as u32) % n as u32).collect(), i);
    drive(backends, "factors taken from the prior", &basis, rounds, false, removed);
    drive(backends, "factors taken from the prior, over subsets", &basis, rounds, true, removed);
}

/// More ties than a device can name, and numbers beyond its type: exact scores of all points decide, and are counted.
#[test]
fn crowds_and_giants_are_scanned() {
    let backends = reference_backends();
    // 400 points in 4 places.
    let crowd = table(400, |a, b| libm::exp(-0.5 * ((a % 4) as f64 - (b % 4) as f64).abs()));
    let few = points(4, "few");
    let few = Points::new(2, (0..400).flat_map(|i| few.point(i % 4).to_vec()).collect());
    let kernel = SquaredExponential::new(Lengthscales::Isotropic(0.3), 1.0);
    let w = draw_frequencies(&kernel, 2, 20, &mut stream("w")).expect("a spectral density");
    let crowded = Arc::new(random_fourier(&few, &w, 1.0, None));
    // Beyond what products of two f32 can hold, but no more than f64 can.
    let giant = table(60, |a, b| 1e36 * libm::exp(-0.01 * ((a as f64) - (b as f64)).powi(2)));
    let of_gram = |label: &str, gram: Arc<dyn GramSource>, ridge: f64| {
        drive(&backends, label, &Basis::Gram(Arc::clone(&gram)), 30, false, |_| ExactPosterior::new(Arc::clone(&gram), ridge))
    };
    let rows = |_| FeaturePosterior::new(Arc::clone(&crowded), 0.1);
    for (label, counters) in [
        ("crowd", of_gram("crowd", crowd, 0.2)),
        ("crowd of features", drive(&backends, "crowd of features", &Basis::Table(Arc::clone(&crowded)), 30, false, rows)),
        ("giants", of_gram("giants", giant, 1e35)),
    ] {
        assert!(0 < counters[0].scans, "{label}: f32 scanned nothing");
    }
}

/// One feature, so that one observation tells nearly all, then a mean of half a million that falls by half of its last bit in
/// f32 at one point and by a trifle more at the other: rounding keeps the one and moves the other by a whole bit. The band must
/// know how large the mean is though next to no spread is left.
#[test]
fn steps_below_the_last_bit_of_a_mean() {
    let gap = 5e-6;
    let table = exact_features(1, vec![1.0, 1.0 + gap]);
    for (name, backend) in reference_backends() {
        let mut screen = backend.prepare(&Basis::Table(Arc::clone(&table))).expect("prepared").open(1);
        let mut model = FeaturePosterior::new(Arc::clone(&table), 1e-8);
        for round in 0..300u32 {
            let falling = || model.exact(0).mean - 0.03125 * (1.0 - 0.5 * gap) * f64::from(round + 1);
            let reward = [0.0, 2.0 * 524_600.0].get(round as usize).copied().unwrap_or_else(falling);
            Posterior::observe(&mut model, 0, reward);
            let mut answers = vec![Candidates::default()];
            screen
                .round(&[TrialScore::new(0, Posterior::change(&model), BETA, &model)], &mut answers)
                .unwrap_or_else(|error| panic!("{name}, round {round}: {error}"));
            let found = decide(&answers[0], &model, BETA, &mut Vec::new()).expect("finite");
            assert_eq!(found, best(&model, 0..2), "{name}, round {round}");
            model.screened();
        }
    }
}

#[test]
fn every_form_on_the_cpu_and_the_reference_device() {
    let mut backends: Vec<NamedBackend> = vec![("cpu".to_owned(), Box::new(Cpu::default()))];
    backends.extend(reference_backends());
    every_form(&backends, 60);
}

#[test]
fn every_form_on_a_graphics_adapter() {
    let backends = gpu_backends();
    if !backends.is_empty() {
        every_form(&backends, 12);
    }
}
