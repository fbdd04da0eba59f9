//! What a round costs: posterior update, screen (product, downdate, scores, candidates), exact score of one candidate.
//!
//! Sizes are in the ids: `N` points, `K` basis points or features. Seeds are fixed. `cargo bench`.

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use privateer_backend::{Backend, Cpu};
use privateer_gp::posterior::{ExactPosterior, Posterior};
use privateer_gp::score::{Candidates, GramSource, TrialScore};
use privateer_gp::{KernelGram, Points, kernel::Lengthscales, kernel::matern::Matern, tabulated};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// (points, distinct points visited)
const SIZES: [(usize, usize); 4] = [(41, 41), (100, 20), (100, 100), (2000, 40)];

fn stream() -> Stream {
    Streams::new(5, "bench").of(0, Purpose::Noise)
}

/// Matern 5/2 on equispaced points: of full numerical rank at these sizes.
fn gram(n: usize) -> Arc<dyn GramSource> {
    let kernel = Matern::new(2.5, Lengthscales::Isotropic(0.2), 1.0);
    tabulated(KernelGram::new(Arc::new(kernel), Points::grid(1, n, 0.0, 1.0)))
}

/// A posterior that has visited `k` spread-out points, ten times each.
fn visited(gram: &Arc<dyn GramSource>, k: usize) -> ExactPosterior {
    let n = gram.n_points();
    let mut draws = stream();
    let mut posterior = ExactPosterior::new(Arc::clone(gram), 1.0);
    for _ in 0..10 {
        for i in 0..k {
            posterior.observe(i * n / k, draws.normal());
        }
    }
    posterior
}

fn update(c: &mut Criterion) {
    let mut group = c.benchmark_group("posterior_update");
    for (n, k) in SIZES {
        let mut posterior = visited(&gram(n), k);
        let mut draws = stream();
        group.bench_function(BenchmarkId::from_parameter(format!("N{n}_K{k}")), |b| {
            b.iter(|| posterior.observe(black_box(draws.index(k) * n / k), 0.5));
        });
    }
    group.finish();
}

fn round(c: &mut Criterion) {
    let mut group = c.benchmark_group("round");
    for (n, k) in SIZES {
        let mut posterior = visited(&gram(n), k);
        let domain = Cpu::default().prepare(&posterior.basis()).expect("a CPU screen");
        let mut screen = domain.open(1);
        let mut answer = [Candidates::default()];
        let mut draws = stream();
        group.bench_function(BenchmarkId::new("update_and_screen", format!("N{n}_K{k}")), |b| {
            b.iter(|| {
                posterior.observe(draws.index(k) * n / k, 0.5);
                let request = TrialScore::new(0, posterior.change(), 2.0, &posterior);
                screen.round(&[request], &mut answer).expect("a round");
                posterior.screened();
                black_box(&answer);
            });
        });
        group.bench_function(BenchmarkId::new("screen_without_change", format!("N{n}_K{k}")), |b| {
            b.iter(|| {
                let request = TrialScore::new(0, posterior.change(), 2.0, &posterior);
                screen.round(&[request], &mut answer).expect("a round");
                black_box(&answer);
            });
        });
    }
    group.finish();
}

fn exact(c: &mut Criterion) {
    use privateer_gp::score::ScoreModel;
    let mut group = c.benchmark_group("exact_score");
    for (n, k) in SIZES {
        let posterior = visited(&gram(n), k);
        group.bench_function(BenchmarkId::new("visited", format!("N{n}_K{k}")), |b| b.iter(|| black_box(posterior.exact(0))));
    }
    group.finish();
}

fn new_point(c: &mut Criterion) {
    let mut group = c.benchmark_group("first_visit");
    for (n, k) in [(100usize, 50usize), (2000, 200)] {
        let posterior = visited(&gram(n), k);
        group.bench_function(BenchmarkId::from_parameter(format!("N{n}_K{k}")), |b| {
            b.iter_batched(|| posterior.clone(), |mut posterior| posterior.observe(1, 0.5), BatchSize::SmallInput);
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = update, round, exact, new_point
}
criterion_main!(benches);
