//! What a round of trials in lockstep costs on the CPU and on each graphics adapter, through the public `Backend` contract: models
//! are updated and screened, with no engine around them. A figure is one round of all trials. `cargo bench --bench backends`.
//!
//! Adapters of kind `software` compute on the CPU: their figures say nothing of a card.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use privateer_backend::{Backend, Cpu, Screen};
use privateer_gp::features::quadrature_fourier::{QuadratureFourier, QuadratureMap, extents};
use privateer_gp::kernel::{Lengthscales, squared_exponential::SquaredExponential};
use privateer_gp::posterior::{ExactPosterior, FeaturePosterior, Posterior};
use privateer_gp::score::{Candidates, FeatureTable, GramSource, TrialScore};
use privateer_gp::{KernelGram, Points};
use privateer_numerics::rng::{Purpose, Streams};
use std::sync::Arc;
use std::time::Duration;

const TRIALS: usize = 64;

/// Returns the CPU and every adapter that suits, with their names.
fn backends() -> Vec<(String, Box<dyn Backend>)> {
    let cpu: Box<dyn Backend> = Box::new(Cpu::default());
    #[cfg_attr(not(feature = "gpu"), expect(unused_mut, reason = "there is the CPU alone"))]
    let mut all = vec![("cpu".to_owned(), cpu)];
    #[cfg(feature = "gpu")]
    for (at, adapter) in privateer_gpu::adapters().into_iter().enumerate().filter(|(_, adapter)| adapter.lacks.is_none()) {
        privateer_gpu::prefer(privateer_gpu::PreferredAdapter::Named(at.to_string()));
        match privateer_gpu::Gpu::open(privateer_gpu::AdapterChoice::Any) {
            Ok(gpu) => {
                let name = format!("{at} {} ({})", adapter.name, adapter.kind);
                all.push((name, Box::new(privateer_backend::Batched::new(Arc::new(gpu)))));
            }
            Err(error) => eprintln!("{} is left out: {error}", adapter.name),
        }
    }
    all
}

/// Trials of one model, and their screen.
struct Lockstep<P> {
    models: Vec<P>,
    screen: Box<dyn Screen>,
    answers: Vec<Candidates>,
    round: usize,
}

impl<P: Posterior> Lockstep<P> {
    fn new(backend: &dyn Backend, model: impl Fn() -> P) -> Self {
        let models: Vec<P> = (0..TRIALS).map(|_| model()).collect();
        let screen = backend.prepare(&models[0].basis()).expect("room for the tables").open(TRIALS);
        Self { models, screen, answers: vec![Candidates::default(); TRIALS], round: 0 }
    }

    /// Each trial goes on to another of 41 points, so that later rounds cost what earlier ones do.
    fn round(&mut self, n_points: usize) {
        self.round += 1;
        for (trial, model) in self.models.iter_mut().enumerate() {
            model.observe(41 * ((self.round + trial) % 41) % n_points, 0.5);
        }
        let requests: Vec<TrialScore<'_>> =
            self.models.iter().enumerate().map(|(trial, model)| TrialScore::new(trial, model.change(), 2.0, model)).collect();
        self.screen.round(&requests, &mut self.answers).expect("a round");
        self.models.iter_mut().for_each(Posterior::screened);
    }
}

fn domain(n_points: usize) -> Points {
    Points::random_in(&[(0.0, 1.0); 2], n_points, &mut Streams::new(0, "bench").shared(Purpose::Domain))
}

fn features(n_points: usize, nodes: usize) -> Arc<FeatureTable> {
    let (points, kernel) = (domain(n_points), SquaredExponential::new(Lengthscales::Isotropic(0.5), 1.0));
    let options = QuadratureFourier { nodes, max_error: 2.0 };
    Arc::new(QuadratureMap::new(&kernel, &extents(&points), options).expect("a map").table(&points, None))
}

fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("backend_rounds");
    let sizes = [(1024, 8), (10_000, 12)];
    let tables = sizes.map(|(n_points, nodes)| (n_points, nodes * nodes, features(n_points, nodes)));
    let kernel = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.2), 1.0));
    let gram: Arc<dyn GramSource> = Arc::new(KernelGram::new(kernel, domain(1100)));
    for (name, backend) in backends() {
        for (n_points, m, table) in &tables {
            let mut trials = Lockstep::new(backend.as_ref(), || FeaturePosterior::new(Arc::clone(table), 0.01));
            let id = BenchmarkId::new(format!("features_N{n_points}_m{m}_B{TRIALS}"), &name);
            group.bench_function(id, |b| b.iter(|| trials.round(*n_points)));
        }
        let mut trials = Lockstep::new(backend.as_ref(), || ExactPosterior::new(Arc::clone(&gram), 0.1));
        group.bench_function(BenchmarkId::new(format!("exact_N1100_B{TRIALS}"), &name), |b| b.iter(|| trials.round(1100)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = rounds
}
criterion_main!(benches);
