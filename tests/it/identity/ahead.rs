//! Rounds that a device plays ahead of the host write the bytes of the CPU, and wrong ones are noticed.
//!
//! Without an adapter every test here prints "skipped: no adapter"; with `PRIVATEER_GPU=required` a missing one fails.

use super::gpu::lost_in_the_middle;
use crate::backends::open_gpu;
use crate::support::{Ran, ran, run_all, sweep};
use privateer::engine::Options;
use privateer::env::DataFolder;
use privateer::run::thread_pool;
use privateer_backend::device::{Device, Precision};
use privateer_backend::{Batched, Counters, Cpu, Fallback};
use privateer_config::error::Error;
use privateer_gpu::{Gpu, GpuOptions, Replacement};
use std::sync::Arc;

const ROUNDS: u64 = 150;
const TRIALS: u64 = 5;

/// Symmetric points, so that scores tie; two tiles of points and a third that is not full.
const GRID: &str = "{ kind = \"grid\", dimension = 2, points = 23 }";

fn spec(domain: &str, privacy: &str, ridge: &str, beta: &str, record: &str) -> String {
    let environment = format!("kind = \"rkhs\"\ndomain = {domain}");
    spec_over(&environment, privacy, ridge, beta, record)
}

fn spec_over(environment: &str, privacy: &str, ridge: &str, beta: &str, record: &str) -> String {
    format!(
        "seed = 3\nreferences = false\nrounds = {ROUNDS}\ntrials = {TRIALS}\nblock = 2\nrecord = {{ rounds = {record} }}\n\
         accepted_warnings = [\"delta\"]\n\
         [environment]\n{environment}\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 0.5 }}\nnoise = {{ kind = \"uniform\", bound = 0.1 }}\n\
         [privacy]\n{privacy}\n[[policy]]\nkind = \"qff-gp-ucb\"\nridge = {ridge}\n\
         features = {{ kind = \"quadrature-fourier\", nodes = 5 }}\nbeta = {beta}\ninitial = \"lowest-index\"\n"
    )
}

/// The same policy over the kernel itself.
fn exact(text: &str) -> String {
    text.replace("features = { kind = \"quadrature-fourier\", nodes = 5 }\n", "").replace("qff-gp-ucb", "gp-ucb")
}

fn constant(value: f64) -> String {
    format!("{{ kind = \"constant\", value = {value:?} }}")
}

/// A factor that grows with the information gain.
const ORDER: &str = "{ kind = \"order\", factor = 0.3 }";

/// A device that computes in f64; `None` without one.
fn gpu(replacements: Vec<Replacement>) -> Option<Gpu> {
    open_gpu(GpuOptions { replacements, ..GpuOptions::default() }).filter(|gpu| gpu.computes_in(Precision::F64))
}

fn on_the_device(gpu: &Gpu, text: &str, batch: Option<usize>) -> Result<Ran, Error> {
    let options = Options { batch, ..Options::default() };
    run_all(&sweep(text), &DataFolder::default(), &device(gpu), options)
}

/// The device as `privateer run` has it.
fn device(gpu: &Gpu) -> Fallback {
    Fallback::new(Arc::new(Batched::new(Arc::new(gpu.clone()))), |error| panic!("given up: {error}"))
}

/// Mechanisms, constant and growing factors, ridges of few and of many halts, and sparse records; alone and together; on one and
/// four threads.
#[test]
fn rounds_played_ahead_write_the_bytes_of_the_cpu() {
    let Some(gpu) = gpu(Vec::new()) else { return };
    let random = "{ kind = \"random\", dimension = 2, points = 700 }";
    let line = "{ kind = \"random\", dimension = 1, points = 1100 }";
    let laplace = "mechanism = \"laplace\"\nepsilon = 2.0";
    let gaussian = "mechanism = \"gaussian\"\nepsilon = 2.0\ndelta = 1e-5";
    let specs = [
        spec(GRID, "mechanism = \"none\"", "0.01", &constant(2.0), "\"all\""),
        spec(random, laplace, "0.5", &constant(1.0), "\"log\""),
        spec(random, gaussian, "0.01", &constant(2.0), "\"log\""),
        spec(random, "mechanism = \"none\"", "1e-6", &constant(0.5), "\"log\""),
        spec(random, "mechanism = \"none\"", "0.01", ORDER, "\"log\""),
        spec(GRID, laplace, "0.5", "{ kind = \"scaled\", factor = 0.2 }", "\"all\""),
        spec(random, gaussian, "0.5", "\"theory\"", "\"log\"").replace("qff-gp-ucb", "igp-ucb"),
        // Moments of up to 1024 points are a table, except over small ridges.
        exact(&spec(random, gaussian, "1e-4", &constant(2.0), "\"log\"")),
        exact(&spec(line, laplace, "0.5", &constant(1.0), "\"all\"")),
        exact(&spec(line, "mechanism = \"none\"", "0.01", "\"theory\"", "\"log\"")).replace("gp-ucb", "igp-ucb"),
    ];
    for text in specs {
        let expected = ran(&text).bits();
        for (threads, batch) in [(1, None), (4, None), (4, Some(1))] {
            let pool = thread_pool(Some(threads)).expect("threads");
            let found = pool.install(|| on_the_device(&gpu, &text, batch)).expect("a run");
            assert!(found.bits() == expected, "{threads} threads, {batch:?}: other bytes on\n{text}");
            let Counters { submissions, lanes, sent, received, rounds, .. } = found.counters;
            println!("{submissions} submissions, {lanes} jobs, {sent} bytes up, {received} down, {rounds} rounds");
            // Screened rounds would be in a submission each; a job has 64 rounds unless its lane halts.
            assert!(lanes < TRIALS * ROUNDS / 4, "{lanes} jobs: rounds were screened one by one on\n{text}");
            assert_eq!(rounds, TRIALS * ROUNDS);
        }
    }
}

/// Answers of submissions of other lengths lie where headers are later, and points of a small domain look like stamps: no lane takes
/// them for its own.
#[test]
fn old_answers_are_no_stamps() {
    let Some(gpu) = gpu(Vec::new()) else { return };
    for seed in [1, 3, 5] {
        let text =
            spec("{ kind = \"grid\", dimension = 1, points = 5 }", "mechanism = \"none\"", "0.01", &constant(2.0), "\"log\"");
        let text = text.replace("seed = 3", &format!("seed = {seed}")).replace("trials = 5", "trials = 9");
        let found = on_the_device(&gpu, &text, None).expect("a run");
        assert!(found.bits() == ran(&text).bits(), "other bytes with seed {seed}");
    }
}

/// Lanes that leave for good at different rounds are screened while others play ahead: the device stays, and no byte moves.
#[test]
fn parts_that_leave_later_keep_the_device() {
    let Some(gpu) = gpu(Vec::new()) else { return };
    let laplace = "mechanism = \"laplace\"\nepsilon = 1.0\nclip = [-2.0, 2.0]";
    let text = undrawn("{ kind = \"matern\", nu = 1.5, lengthscale = 0.4 }", "dimension = 2", laplace, "0.1");
    let text = text.replace(&constant(1.0), "\"order\"").replace("trials = 5", "trials = 32").replace("block = 2", "block = 32");
    let found = on_the_device(&gpu, &text, None).expect("a run");
    assert_eq!(found.counters.fallbacks, 0, "{:?}", found.counters);
    assert!(found.counters.lanes < 32 * ROUNDS, "no round was played ahead: {:?}", found.counters);
    assert!(found.bits() == ran(&text).bits());
}

/// Rounds that lanes leave to the host, here one in twenty, change no byte.
#[test]
fn halted_lanes_change_no_byte() {
    let halts = Replacement {
        shader: "trial",
        from: "is_done = u32(count == 1u);",
        to: "is_done = u32(count == 1u); if (u32(num[OBSERVATIONS]) % 20u == 7u) { status = UNDECIDED; }",
    };
    let Some(gpu) = gpu(vec![halts]) else { return };
    for beta in [&constant(2.0), ORDER] {
        let text = spec(GRID, "mechanism = \"none\"", "0.01", beta, "\"log\"");
        let found = on_the_device(&gpu, &text, None).expect("a run");
        println!("{:?}", found.counters);
        assert!(TRIALS * ROUNDS / 20 <= found.counters.lanes, "nothing was left to the host: this test tests nothing");
        assert!(found.bits() == ran(&text).bits());
    }
}

/// Points that stand twice, a little apart: their scores tie, and the first one is played.
fn twice() -> (tempfile::TempDir, DataFolder) {
    let folder = tempfile::tempdir().expect("a folder");
    let row = |i: usize| {
        let (x, y) = ((i % 300) as f64 * 0.37 % 1.0, (i % 300) as f64 * 0.011 % 1.0);
        let apart = if i < 300 { 0.0 } else { 1e-12 };
        format!("{:?},{:?},{:?}\n", x + apart, y - apart, x - 2.0 * y * y)
    };
    std::fs::write(folder.path().join("twice.csv"), format!("x,y,price\n{}", (0..600).map(row).collect::<String>()))
        .expect("written");
    let data = DataFolder::new(Some(folder.path().to_owned()));
    (folder, data)
}

/// Trial 0 chooses every round again: it finds a lane without a band among ties, which a lane with its band certifies; one that names
/// another point once, or recommends another one; one whose posterior variances fall by half of what they should; and one whose
/// exploration factor does not grow.
#[test]
fn wrong_lanes_are_found() {
    let replacement = |from, to| Replacement { shader: "trial", from, to };
    let without_band = vec![
        replacement(
            "return LaneBand(beta, constant, share, variance, widest);",
            "return LaneBand(beta, 0.0lf, 0.0lf, 0.0lf, 0.0lf);",
        ),
        replacement("let error = lane_planes[lane_plane(L_ERROR, x)] + band.variance;", "let error = 0.0lf;"),
        replacement("let floor = best_lower - tie_margin(best_lower);", "let floor = best_lower;"),
    ];
    let named = vec![replacement("= u32(of_point(2u, x));", "= u32(of_point(2u, x)) ^ u32(k == 40u);")];
    let off = vec![replacement("variance -= squares * p * p;", "variance -= 0.5lf * squares * p * p;")];
    let recommended = "u32(of_point(2u, chosen))";
    let recommended = vec![replacement(recommended, "u32(of_point(2u, chosen)) ^ 1u")];
    let flat = vec![replacement("num[SLOPE] = jobs[shared_at + 1u];", "num[SLOPE] = 0.0lf;")];
    let (_kept, data) = twice();
    let table = "kind = \"points-table\"\nfile = \"twice.csv\"\ninputs = [\"x\", \"y\"]\nvalue = \"price\"";
    let constant = constant(2.0);
    let faults = [Vec::new(), without_band, named, off, recommended].map(|fault| (fault, constant.as_str()));
    for (fault, beta) in faults.into_iter().chain([(Vec::new(), ORDER), (flat, ORDER)]) {
        let text = spec_over(table, "mechanism = \"none\"", "0.01", beta, "\"log\"");
        // Inputs of a table have unit variance.
        let sweep = sweep(&text.replace("lengthscale = 0.5", "lengthscale = 3.0"));
        let right = run_all(&sweep, &data, &Cpu::default(), Options::default()).expect("the CPU runs").bits();
        let said = fault.first().map(|fault| fault.to);
        let Some(gpu) = gpu(fault) else { return };
        match (run_all(&sweep, &data, &device(&gpu), Options::default()), said) {
            (Ok(ran), None) => {
                println!("{:?}", ran.counters);
                assert!(ran.bits() == right && ran.counters.lanes < TRIALS * ROUNDS / 4);
            }
            (Err(error @ Error::Untrusted { .. }), Some(said)) => println!("{said}: {error}"),
            (other, _) => panic!("{said:?}: {:?}", other.map(|ran| ran.counters)),
        }
    }
}

/// Functions of which the host draws no value: sums of kernels over more points than a covariance is a table of.
fn undrawn(kernel: &str, domain: &str, privacy: &str, ridge: &str) -> String {
    let domain = format!("{{ kind = \"random\", points = 2100, {domain} }}");
    let text = spec(&domain, privacy, ridge, &constant(1.0), "\"log\"");
    let text = text.replace("\"quadrature-fourier\", nodes = 5", "\"random-fourier\", features = 16");
    let text = text.replace("\"qff-gp-ucb\"", "\"igp-ucb\"");
    text.replace("{ kind = \"squared-exponential\", lengthscale = 0.5 }", kernel)
}

/// Functions that go up as centres and weights write the bytes of the CPU, with few bytes up; also where rounds are left to the host.
#[test]
fn functions_that_are_not_drawn_write_the_bytes_of_the_cpu() {
    let halts = Replacement {
        shader: "trial",
        from: "is_done = u32(count == 1u);",
        to: "is_done = u32(count == 1u); if (u32(num[OBSERVATIONS]) % 20u == 7u) { status = UNDECIDED; }",
    };
    let laplace = "mechanism = \"laplace\"\nepsilon = 2.0\nclip = [-3.0, 3.0]";
    let matern = |nu: f64| format!("{{ kind = \"matern\", nu = {nu:?}, lengthscale = 0.4 }}");
    let specs = [
        undrawn(&matern(2.5), "dimension = 2", "mechanism = \"none\"", "0.01"),
        undrawn(&matern(1.5), "dimension = 1", laplace, "0.01"),
        undrawn(&matern(0.5), "dimension = 2", "mechanism = \"none\"", "0.1"),
        undrawn("{ kind = \"squared-exponential\", lengthscale = 0.5 }", "dimension = 3", laplace, "1e-4"),
    ];
    for (fault, text) in [vec![], vec![halts]].into_iter().flat_map(|fault| specs.iter().map(move |text| (fault.clone(), text))) {
        let Some(gpu) = gpu(fault.clone()) else { return };
        let found = on_the_device(&gpu, text, None).expect("a run");
        println!("{:?}", found.counters);
        assert!(found.bits() == ran(text).bits(), "other bytes on\n{text}");
        // Half of what the tables alone would be; rounds that are left to the host are forced by further jobs.
        let most = if fault.is_empty() { 8 * 2100 * TRIALS / 2 } else { 2 * 8 * 2100 * TRIALS };
        assert!(found.counters.sent < most, "{} bytes up", found.counters.sent);
    }
}

/// A device whose values are off, or that leaves points out, ends the run.
#[test]
fn wrong_functions_are_found() {
    let text = undrawn("{ kind = \"matern\", nu = 2.5, lengthscale = 0.4 }", "dimension = 2", "mechanism = \"none\"", "0.01");
    let all = "x < shape.n_points; x += THREADS";
    for (from, to) in [("= sum;", "= sum * 1.0000001lf;"), (all, "x < shape.n_points / 16u; x += THREADS")] {
        let Some(gpu) = gpu(vec![Replacement { shader: "functions", from, to }]) else { return };
        match on_the_device(&gpu, &text, None) {
            Err(error @ Error::Untrusted { .. }) => println!("{to}: {error}"),
            other => panic!("{to}: {:?}", other.map(|ran| ran.counters)),
        }
    }
}

#[test]
fn a_device_lost_while_it_plays_ahead_changes_no_byte() {
    let matern = "{ kind = \"matern\", nu = 2.5, lengthscale = 0.4 }";
    for text in [
        spec(GRID, "mechanism = \"none\"", "0.01", &constant(2.0), "\"log\""),
        spec(GRID, "mechanism = \"none\"", "0.01", ORDER, "\"log\""),
        undrawn(matern, "dimension = 2", "mechanism = \"none\"", "0.01"),
    ] {
        let Some(gpu) = gpu(Vec::new()) else { return };
        assert!(lost_in_the_middle(gpu, &text, Options::default()) == ran(&text).bits());
    }
}
