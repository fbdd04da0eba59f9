//! What a contextual trial costs: 10⁴ rounds, d = 50, K = 2 (K d = 100), one thread; divide by 10⁴ for a round. `random-arm` is the users
//! alone: their contexts, means and rewards. `cargo bench --bench contexts`.

use criterion::{Criterion, criterion_group, criterion_main};
use privateer::engine::{Observer, Preparation, Stop, Trace, Unit};
use privateer::env::DataFolder;
use privateer::spec::Sweep;
use privateer_backend::{Counters, Cpu};
use privateer_config::error::Error;
use std::hint::black_box;
use std::time::Duration;

const CASES: [(&str, &str, &str); 7] = [
    ("random-arm", "kind = \"random-arm\"", "tight"),
    ("dp-hdb/gumbel", "kind = \"dp-hdb\"", "tight"),
    ("dp-hdb/laplace", "kind = \"dp-hdb\"", "corrected"),
    ("dp-linucb/blt/growing", "kind = \"dp-linucb\"", "tight"),
    ("dp-linucb/blt/every-round", "kind = \"dp-linucb\"\ngrowth = 1.0", "tight"),
    ("ldp-linucb/growing", "kind = \"ldp-linucb\"", "tight"),
    ("linucb", "kind = \"linucb\"", "tight"),
];

/// Keeps nothing.
struct Nobody;

impl Observer for Nobody {
    fn progressed(&self, _rounds: u64) {}

    fn finished(&self, _unit: Unit, _rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        Ok(())
    }
}

fn spec(policy: &str, calibration: &str) -> String {
    format!(
        "seed = 2022\nrounds = 10000\ntrials = 1\n[environment]\nkind = \"generalized-linear\"\ndimension = 50\narms = 2\n\
         noise = {{ kind = \"uniform\", bound = 0.05 }}\n[privacy]\nepsilon = 1.0\ncalibration = \"{calibration}\"\n[[policy]]\n{policy}\n"
    )
}

fn trial(c: &mut Criterion) {
    let mut group = c.benchmark_group("contexts_d50_K2_T10000");
    for (name, policy, calibration) in CASES {
        let sweep = Sweep::parse("bench.toml", &spec(policy, calibration), &[]).expect("a sound spec");
        let (data, backend) = (DataFolder::default(), Cpu::default());
        let cell = Preparation::new(&sweep, &data, &backend).contextual(&sweep.cells[0]).expect("a cell");
        group.bench_function(name, |b| {
            b.iter(|| {
                black_box(cell.trial(0, &[10_000], &Stop::default(), &|_| {}, &Nobody).expect("a run").map(|(rows, _)| rows))
            })
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    targets = trial
}
criterion_main!(benches);
