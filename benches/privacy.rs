//! Speed of privacy noise: one round of prefix-sum noise at 144 features for 32 trials, the fit of the buffers, exact samples.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::mechanism::laplace;
use privateer_privacy::release::{ChannelRelease, RowsRelease};
use privateer_privacy::streams::Shape;
use privateer_privacy::streams::blt::Blt;
use privateer_privacy::{Budget, Calibration, Channel, Delta, Epsilon, Query, Raw, Request, RewardFacts, quote};
use std::hint::black_box;

fn streams(c: &mut Criterion) {
    let (shape, trials, rounds) = (Shape::Symmetric(144), 32, 1024);
    let mut group = c.benchmark_group("a round of prefix noise, m = 144, B = 32");
    group.sample_size(10).throughput(Throughput::Elements(trials * shape.len() as u64));
    let mut stream = Streams::new(1, "bench").of(0, Purpose::Mechanism("bench"));
    group.bench_function("draws alone", |b| {
        let mut out = vec![0.0; shape.len()];
        b.iter(|| (0..trials).for_each(|_| shape.draw(1.0, &mut stream, black_box(&mut out))));
    });
    for name in ["blt", "tree", "honaker"] {
        let factorisation = quote::factorisation(name, rounds, Default::default()).expect("a known name");
        let mut noises: Vec<_> = (0..trials).map(|_| factorisation.noise(shape)).collect();
        group.bench_function(name, |b| {
            b.iter(|| {
                for noise in &mut noises {
                    black_box(noise.next(&mut |out| shape.draw(1.0, &mut stream, out)));
                }
            });
        });
    }
    group.finish();
    c.bench_function("fit of the buffers for 10000 rounds", |b| b.iter(|| Blt::fitted(black_box(10_000), Participation::ONCE)));
}

fn samples(c: &mut Criterion) {
    let (epsilon, delta) = (Epsilon::try_from(1.0).expect("a budget"), Delta::try_from(1e-6).expect("a probability"));
    let n = 100_000;
    let mut group = c.benchmark_group("exact samples");
    group.sample_size(10).throughput(Throughput::Elements(n as u64));
    group.bench_function("discrete Gaussian, 2^19 steps", |b| {
        b.iter_batched(
            || {
                let made = RowsRelease::calibrated(epsilon, delta, 2.0, 1.0, n).expect("a mechanism");
                (made, Raw::seal(vec![0.0; n]))
            },
            |(mechanism, zeros)| mechanism.release(zeros).expect("a release"),
            BatchSize::LargeInput,
        );
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("one Laplace release, with its key", |b| {
        let budget = Budget::new(Some(1.0), None).expect("a budget");
        let request = Request { mechanism: "laplace", calibration: Calibration::Tight, budget, clip: Some((-1.0, 1.0)) };
        let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: 1 };
        let channel = Channel::Rewards(laplace::build(&request, &facts).expect("a mechanism"));
        let mut release = ChannelRelease::of(&channel).expect("exact noise");
        b.iter(|| release.release(&Query::default(), Raw::seal(0.3)).expect("entropy"));
    });
    group.finish();
}

criterion_group!(benches, streams, samples);
criterion_main!(benches);
