//! What a whole trial costs: every policy of Zhou & Tan over 100 points (Matern 5/2) and 10⁴ rounds, one thread.
//!
//! The ids say policy, mechanism and how the dictionary is drawn. Seeds are fixed. `cargo bench --bench trials`.

use criterion::{Criterion, criterion_group, criterion_main};
use privateer::engine::{Options, Preparation, Stop, run};
use privateer::env::DataFolder;
use privateer::spec::Sweep;
use privateer_backend::Cpu;
use std::collections::BTreeSet;
use std::time::Duration;

fn spec(policy: &str, mechanism: &str) -> String {
    format!(
        "seed = 2021\nrounds = 10000\ntrials = 1\n[environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", points = 100 }}\n\
         kernel = {{ kind = \"matern\", nu = 2.5, lengthscale = 0.2 }}\nnoise = {{ kind = \"uniform\", bound = 1.0 }}\n\
         [privacy]\nmechanism = \"{mechanism}\"\nepsilon = 1.0\n[[policy]]\nridge = 3.0\n\
         beta = {{ kind = \"order\", factor = 0.5 }}\n{policy}"
    )
}

const CASES: [(&str, &str, &str); 9] = [
    ("tgp/laplace", "kind = \"tgp-ucb\"", "laplace"),
    ("moma_k10/laplace/every-round", "kind = \"moma-gp-ucb\"\nk = 10", "laplace"),
    ("moma_k10/laplace/doubling", "kind = \"moma-gp-ucb\"\nk = 10\nresample = \"doubling\"", "laplace"),
    ("ata/laplace/every-round", "kind = \"ata-gp-ucb\"", "laplace"),
    ("ata/laplace/doubling", "kind = \"ata-gp-ucb\"\nresample = \"doubling\"", "laplace"),
    ("ata/laplace/fixed20", "kind = \"ata-gp-ucb\"\nresample = { kind = \"fixed\", size = 20 }", "laplace"),
    ("ata/hybrid/every-round", "kind = \"ata-gp-ucb\"", "hybrid"),
    ("ata/hybrid/doubling", "kind = \"ata-gp-ucb\"\nresample = \"doubling\"", "hybrid"),
    ("ata/hybrid/fixed20", "kind = \"ata-gp-ucb\"\nresample = { kind = \"fixed\", size = 20 }", "hybrid"),
];

/// Times runs of specs on one thread.
fn time(c: &mut Criterion, group: &str, specs: impl Iterator<Item = (String, String)>) {
    let mut group = c.benchmark_group(group);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    for (name, text) in specs {
        let sweep = Sweep::parse("bench.toml", &text, &[]).expect("a sound spec");
        let (data, backend) = (DataFolder::default(), Cpu::default());
        group.bench_function(name, |b| {
            b.iter(|| {
                let preparation = Preparation::new(&sweep, &data, &backend);
                pool.install(|| run(&sweep, &preparation, Options::default(), &BTreeSet::new(), &Stop::default(), &()))
                    .expect("a run")
            });
        });
    }
    group.finish();
}

fn trial(c: &mut Criterion) {
    let specs = CASES.into_iter().map(|(name, policy, mechanism)| (name.to_owned(), spec(policy, mechanism)));
    time(c, "trial_N100_T10000", specs);
}

/// The modeler of an outsourced problem: 10 000 released inputs of a trial's own, 50 queries, noise variance 1e-5; one run an iteration.
fn modeler(c: &mut Criterion) {
    let curators = [("projection", "calibration = \"as-printed\"\ncolumns = 10"), ("input-noise", "radius = 1.0")];
    let specs = curators.map(|(name, curator)| {
        let text = format!(
            "seed = 20\nrounds = 51\ntrials = 10\n[environment]\nkind = \"gp-sample\"\n\
             domain = {{ kind = \"grid\", dimension = 2, points = 100, lo = -17.67, hi = 17.67 }}\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 6.25 }}\nnoise = {{ kind = \"gaussian\", sd = 0.00316 }}\n\
             [curator]\nepsilon = 3.0\ndelta = 1e-5\n{curator}\n[[policy]]\nkind = \"gp-ucb\"\nridge = 1e-5\nfailure_prob = 0.025\n"
        );
        (format!("{name}/10_runs"), text)
    });
    time(c, "modeler_N10000_T50", specs.into_iter());
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    targets = trial, modeler
}
criterion_main!(benches);
