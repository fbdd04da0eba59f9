//! The feature form at two sizes: posterior update, projection and downdate of a screen, scores and candidates, exact score of a
//! candidate; draws and factor of a model that is new every round. Seeds are fixed.
//! `cargo bench --bench features`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use privateer_backend::{Backend, Cpu, Screen};
use privateer_gp::Points;
use privateer_gp::features::quadrature_fourier::{QuadratureFourier, QuadratureMap, extents};
use privateer_gp::kernel::{Lengthscales, squared_exponential::SquaredExponential};
use privateer_gp::posterior::{FeaturePosterior, Posterior};
use privateer_gp::score::{Candidates, ScoreModel, TrialScore};
use privateer_numerics::linalg::{Eight, cholesky_upper, factor_eight, inverse_of_upper_transposed, place};
use privateer_numerics::rng::{Purpose, Streams};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// One trial after some rounds, and its screen.
struct Trial {
    id: String,
    values: Vec<f64>,
    posterior: FeaturePosterior,
    screen: Box<dyn Screen>,
    answer: [Candidates; 1],
}

impl Trial {
    fn new((points, nodes): (usize, usize)) -> Self {
        let mut stream = Streams::new(0, "bench").shared(Purpose::Domain);
        let domain = Points::random_in(&[(0.0, 1.0); 2], points, &mut stream);
        let values = (0..points).map(|_| stream.normal()).collect();
        let kernel = SquaredExponential::new(Lengthscales::Isotropic(0.5), 1.0);
        let map = QuadratureMap::new(&kernel, &extents(&domain), QuadratureFourier { nodes, max_error: 2.0 }).expect("a map");
        let posterior = FeaturePosterior::new(Arc::new(map.table(&domain, None)), 0.01);
        let screen = Cpu::default().prepare(&posterior.basis()).expect("a CPU screen").open(1);
        let id = format!("N{points}_m{}", nodes * nodes);
        let mut trial = Self { id, values, posterior, screen, answer: [Candidates::default()] };
        for i in 0..20 {
            trial.observe(37 * i);
            trial.screen();
        }
        trial
    }

    fn observe(&mut self, point: usize) {
        let point = point % self.values.len();
        self.posterior.observe(point, self.values[point]);
    }

    fn screen(&mut self) {
        let request = TrialScore::new(0, self.posterior.change(), 2.0, &self.posterior);
        self.screen.round(&[request], &mut self.answer).expect("a round");
        self.posterior.screened();
    }
}

/// Rounds go to and fro between 41 points, each 41 rounds from the next: with those of the start 60 points are visited, as in a trial of the standard job that
/// goes on exploring.
const PLAYED: usize = 41 * 41;

fn rounds(c: &mut Criterion) {
    for mut trial in [(1024, 8), (10_000, 12)].map(Trial::new) {
        let mut group = c.benchmark_group("features");
        let id = |what: &str| BenchmarkId::new(what, &trial.id);
        let (update, repeat, score, exact) = (id("update"), id("repeat"), id("score_and_candidates"), id("exact"));
        let new_point = id("update_project_downdate_score");
        let mut at = 0;
        group.bench_function(update, |b| {
            b.iter(|| {
                at = (at + 41) % PLAYED;
                trial.observe(black_box(at));
            });
        });
        group.bench_function(new_point, |b| {
            b.iter(|| {
                at = (at + 41) % PLAYED;
                trial.observe(at);
                trial.screen();
            });
        });
        // The point of the round before: no projection.
        group.bench_function(repeat, |b| {
            b.iter(|| {
                trial.observe(at);
                trial.screen();
            });
        });
        group.bench_function(score, |b| b.iter(|| trial.screen()));
        group.bench_function(exact, |b| b.iter(|| black_box(trial.posterior.exact(black_box(5)))));
        group.finish();
    }
}

fn factor(c: &mut Criterion) {
    let mut group = c.benchmark_group("factor");
    for m in [64, 144] {
        let v: Vec<f64> = (0..m * m).map(|e| if e / m == e % m { 2.0 } else { 1.0 / (1.0 + (e / m + e % m) as f64) }).collect();
        let (mut upper, mut rows) = (v.clone(), vec![0.0; m * m]);
        group.bench_function(BenchmarkId::new("cholesky", m), |b| {
            b.iter(|| {
                upper.copy_from_slice(&v);
                cholesky_upper(black_box(&mut upper), m).expect("positive definite");
            });
        });
        let mut stream = Streams::new(0, "bench").of(0, Purpose::Mechanism("tree"));
        let mut draws = vec![0.0; m * (m + 1) / 2];
        group.bench_function(BenchmarkId::new("normals", m), |b| b.iter(|| stream.normals(black_box(&mut draws))));
        group.bench_function(BenchmarkId::new("inverse", m), |b| {
            b.iter(|| inverse_of_upper_transposed(black_box(&upper), m, 0.1, &mut rows));
        });
    }
    group.finish();
}

/// Times the factor, its inverse and the solution of eight trials that are computed together: one figure for all eight.
fn eight(c: &mut Criterion) {
    let mut group = c.benchmark_group("eight_factors");
    for m in [64, 144] {
        let mut v = vec![Eight::ZERO; m * m];
        for i in 0..m {
            for j in i..m {
                v[place(m, i, j)] = Eight([if i == j { 2.0 } else { 1.0 / (1.0 + (i + j) as f64) }; 8]);
            }
        }
        let (mut a, mut rows, scale) = (v.clone(), v.clone(), Eight([0.1; 8]));
        let (mut pivots, mut inverses, mut solution) = (vec![Eight::ZERO; m], vec![Eight::ZERO; m], vec![Eight::ZERO; m]);
        group.bench_function(BenchmarkId::from_parameter(m), |b| {
            b.iter(|| {
                a.copy_from_slice(&v);
                solution.fill(scale);
                factor_eight(&mut a, &mut pivots, &mut inverses, scale, &mut rows, black_box(&mut solution));
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(500));
    targets = rounds, factor, eight
}
criterion_main!(benches);
