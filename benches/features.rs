//! The feature form at the sizes of `privateer bench`: posterior update, projection and downdate of a screen, scores and
//! candidates, exact score of a candidate; draws, factor and screen of a model that is new every round. Seeds are fixed.
//! `cargo bench --bench features`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use privateer::bench::{BenchInstance, Flags, Job, Size, Workload};
use privateer_backend::{Backend, Cpu, Screen};
use privateer_gp::posterior::{FeaturePosterior, Posterior};
use privateer_gp::score::{
    Basis, Candidates, Change, Factor, FactorLanes, FeatureTable, LANES, LaneNorms, Moments, ScoreModel, Sixteen, TrialScore,
    VarianceForm,
};
use privateer_numerics::linalg::{
    Eight, Factorize, Invert, TILE, cholesky_upper, inverse_of_upper_transposed, narrow_place, place,
};
use privateer_numerics::rng::{Purpose, Streams};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// One trial after some rounds, and its screen.
struct Trial {
    id: String,
    instance: BenchInstance,
    posterior: FeaturePosterior,
    screen: Box<dyn Screen>,
    answer: [Candidates; 1],
}

impl Trial {
    fn new(size: Size) -> Self {
        let flags = Flags { trials: Some(1), ..Flags::default() };
        let job = flags.applied(Job::standard(Workload::Incremental, size)).expect("a job");
        let instance = BenchInstance::draw(&job);
        let posterior = FeaturePosterior::new(Arc::clone(&instance.table), job.ridge);
        let screen = Cpu::default().prepare(&posterior.basis()).expect("a CPU screen").open(1);
        let id = format!("N{}_m{}", job.points, job.features);
        let mut trial = Self { id, instance, posterior, screen, answer: [Candidates::default()] };
        for i in 0..20 {
            trial.observe(37 * i);
            trial.screen();
        }
        trial
    }

    fn observe(&mut self, point: usize) {
        let point = point % self.instance.f.len();
        self.posterior.observe(point, self.instance.f[point]);
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
    for mut trial in [Size::Small, Size::Large].map(Trial::new) {
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

/// The same of eight trials side by side: a figure is that of eight.
fn eight(c: &mut Criterion) {
    let mut group = c.benchmark_group("eight_factors");
    let arch = pulp::Arch::new();
    for m in [64, 144] {
        let mut v = vec![Eight::ZERO; m * m];
        for i in 0..m {
            for j in i..m {
                v[place(m, i, j)] = Eight([if i == j { 2.0 } else { 1.0 / (1.0 + (i + j) as f64) }; 8]);
            }
        }
        let (mut a, mut pivots, mut inverses) = (v.clone(), vec![Eight::ZERO; m], vec![Eight::ZERO; m]);
        group.bench_function(BenchmarkId::new("cholesky", m), |b| {
            b.iter(|| {
                a.copy_from_slice(&v);
                arch.dispatch(Factorize { a: &mut a, pivots: &mut pivots, inverses: &mut inverses });
            });
        });
        let moment = vec![Eight([1.0; 8]); m];
        let (mut rows, mut weights, mut squares) = (v.clone(), vec![Eight::ZERO; m], Eight::ZERO);
        let mut narrow = vec![Sixteen::ZERO; narrow_place(m / TILE)];
        group.bench_function(BenchmarkId::new("inverse_and_weights", m), |b| {
            b.iter(|| {
                arch.dispatch(Invert {
                    u: black_box(&a),
                    inverses: &inverses,
                    scale: 0.1,
                    n: m,
                    moment: &moment,
                    rows: &mut rows,
                    weights: &mut weights,
                    squares: &mut squares,
                    narrow: &mut narrow,
                    half: 0,
                });
            });
        });
        let mut streams = Streams::new(0, "bench").lanes(0, Purpose::Mechanism("tree"));
        let mut draws = vec![0.0; 8 * m * (m + 1) / 2];
        group.bench_function(BenchmarkId::new("normals", m), |b| b.iter(|| streams.normals(black_box(&mut draws))));
    }
    group.finish();
}

/// Factors of sixteen trials side by side.
#[derive(Default)]
struct Shared {
    rows: Vec<Sixteen>,
    weights: Vec<Sixteen>,
    norms: [LaneNorms; LANES],
}

/// A model that is what its factor says.
struct Plain {
    /// It and its neighbours side by side, where it is asked so.
    shared: Option<(Arc<Shared>, usize)>,
    table: Arc<FeatureTable>,
    weights: Vec<f64>,
    rows: Vec<f64>,
}

impl ScoreModel for Plain {
    fn exact(&self, point: usize) -> Moments {
        let phi = self.table.row(point);
        let dot = |a: &[f64]| a.iter().zip(phi).map(|(a, b)| a * b).sum::<f64>();
        Moments { mean: dot(&self.weights), variance: self.rows.chunks_exact(phi.len()).map(dot).map(|y| y * y).sum() }
    }

    fn prior_variance_bound(&self) -> f64 {
        1.0
    }

    fn state_error(&self) -> Moments {
        Moments { mean: 1e-12, variance: 1e-12 }
    }

    fn basis_points(&self) -> &[u32] {
        &[]
    }

    fn n_observations(&self) -> u64 {
        1
    }

    fn factor(&self) -> Option<Factor<'_>> {
        Some(Factor { weights: (&self.weights[..]).into(), rows: (&self.rows[..]).into(), variance: VarianceForm::Added })
    }

    fn lanes(&self) -> Option<(FactorLanes<'_>, usize)> {
        let (shared, lane) = self.shared.as_ref()?;
        let Shared { rows, weights, norms } = shared.as_ref();
        Some((FactorLanes { n_features: weights.len(), rows, weights, norms }, *lane))
    }
}

/// A round of 32 trials, all with new factors, by interpolation from pivots.
fn pivots(c: &mut Criterion) {
    let mut group = c.benchmark_group("factor");
    for size in [Size::Small, Size::Large] {
        let job = Job::standard(Workload::FullRank, size);
        let instance = BenchInstance::draw(&job);
        let m = job.features;
        let mut stream = Streams::new(0, "bench").of(0, Purpose::Function);
        let mut models: Vec<Plain> = (0..job.trials)
            .map(|_| Plain {
                shared: None,
                weights: (0..m).map(|_| stream.normal()).collect(),
                rows: (0..m * m).map(|e| if e / m == e % m { 0.04 } else { 0.0 }).collect(),
                table: Arc::clone(&instance.table),
            })
            .collect();
        screens(&mut group, &instance, &models, "screen_of_32_trials");
        for models in models.chunks_mut(LANES) {
            let mut shared = Shared {
                rows: vec![Sixteen::ZERO; narrow_place(m / TILE)],
                weights: vec![Sixteen::ZERO; m],
                norms: [LaneNorms::default(); LANES],
            };
            for (lane, model) in models.iter().enumerate() {
                for i in 0..m {
                    shared.weights[i].0[lane] = model.weights[i] as f32;
                    for j in 0..=i {
                        shared.rows[narrow_place(i / TILE) + TILE * j + i % TILE].0[lane] = model.rows[i * m + j] as f32;
                    }
                }
                let [rows, weights] =
                    [&model.rows, &model.weights].map(|values| values.iter().map(|x| x * x).sum::<f64>().sqrt() * (1.0 + 1e-9));
                // About zero: what holds of any factor.
                shared.norms[lane] = LaneNorms { centre: 0.0, rows, form: rows * rows, weights };
            }
            let shared = Arc::new(shared);
            models.iter_mut().enumerate().for_each(|(lane, model)| model.shared = Some((Arc::clone(&shared), lane)));
        }
        screens(&mut group, &instance, &models, "screen_of_32_trials_side_by_side");
    }
    group.finish();
}

fn screens(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    instance: &BenchInstance,
    models: &[Plain],
    name: &str,
) {
    let requests: Vec<TrialScore<'_>> =
        models.iter().enumerate().map(|(i, model)| TrialScore::new(i, Change::Factor, 2.0, model)).collect();
    let domain = Cpu::default().prepare(&Basis::Table(Arc::clone(&instance.table))).expect("a table");
    let mut screen = domain.open(models.len());
    let mut answers = vec![Candidates::default(); models.len()];
    // The set-up, once.
    while screen.counters().interpolated == 0 {
        screen.round(&requests, &mut answers).expect("a round");
    }
    group.bench_function(BenchmarkId::new(name, instance.f.len()), |b| {
        b.iter(|| screen.round(black_box(&requests), &mut answers).expect("a round"));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(500));
    targets = rounds, factor, eight, pivots
}
criterion_main!(benches);
