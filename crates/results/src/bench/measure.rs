//! Runs a spec at two numbers of trials, as `privateer run` does, and takes the time from outside.

use super::Machine;
use super::outcome::{Measured, least};
use crate::record::{Count, DIGESTS_NAME, RunRecord};
use crate::run::{RunOptions, forget_peak, peak_bytes, run_to_folder};
use cpu_time::ProcessTime;
use privateer_config::error::Error;
use privateer_engine::engine::{Preparation, Stop};
use privateer_engine::registry::Registry;
use privateer_engine::spec::Sweep;
use std::sync::Arc;
use std::time::Instant;

/// Changes of a spec: where each was stated, the key, the value.
pub type Overrides = [(String, String, String)];

/// Measures a spec on a machine.
///
/// It is run with its number of trials and with twice as many; the difference is what a further trial costs.
/// * `repeat` — times that each size is run; the fastest counts
/// * `options` — of each run, but for the backend
pub fn measure(
    registry: &Registry,
    (name, text): (&str, &str),
    overrides: &Overrides,
    machine: &Machine,
    (repeat, options): (usize, &RunOptions),
) -> Result<Measured, Error> {
    let one = registry.parse(name, text, overrides)?;
    let mut doubled = overrides.to_vec();
    doubled.push(("twice the trials: ".to_owned(), "trials".to_owned(), (2 * one.trials).to_string()));
    let two = registry.parse(name, text, &doubled)?;
    let run = RunOptions { backend: Arc::clone(&machine.backend), ..options.clone() };
    let mut runs = [None::<Fastest>, None];
    machine.pass_times();
    for _ in 0..repeat {
        for (sweep, fastest) in [&one, &two].into_iter().zip(&mut runs) {
            keep(fastest, into_folder(sweep, &run)?);
        }
    }
    let [Some(small), Some(large)] = runs else {
        return Err(Error::failed("nothing was measured", "repeat it at least once"));
    };
    let work = super::work::Work::of(&one, &Preparation::new(&one, &run.data, run.backend.as_ref()))?;
    let (trials, rounds) = (one.trials, one.cells.iter().map(|cell| cell.rounds).sum::<u64>());
    let trial_rounds = (repeat as u64 * 3 * trials * rounds) as f64;
    let passes = machine.pass_times().into_iter().map(|(pass, ns)| (pass, ns / 1e3 / trial_rounds)).collect();
    let by = (trials * rounds) as f64;
    Ok(Measured {
        job: name.to_owned(),
        cells: one.cells.len(),
        trials,
        rounds,
        backend: machine.backend.name().to_owned(),
        device: machine.device.clone(),
        software_adapter: machine.software_adapter,
        threads: run.threads,
        marginal_seconds: further(small.cpu, large.cpu).map(|seconds| seconds / by),
        marginal_wall: further(least(&small.wall), least(&large.wall)).map(|seconds| seconds / by),
        cpu_seconds: small.cpu,
        wall_seconds: small.wall,
        peak_bytes: small.peak,
        work,
        ceilings: machine.ceilings.clone(),
        results_crc: Some(small.results),
        counters: small.counters,
        passes,
    })
}

/// Returns what twice the trials take beyond the time of once.
///
/// `None` where that is less than a fifth of it, which is how far two runs of the same work differ.
fn further(once: f64, twice: f64) -> Option<f64> {
    Some(twice - once).filter(|more| *more >= 0.2 * once)
}

/// The figures of some runs of one sweep: CPU seconds and peak bytes are the smallest.
struct Fastest {
    cpu: f64,
    wall: Vec<f64>,
    peak: Option<u64>,
    counters: Option<Count>,
    /// Checksum of what the run computed.
    results: u32,
}

/// Keeps the smaller figures; the results of all runs are the same.
fn keep(fastest: &mut Option<Fastest>, run: Fastest) {
    match fastest {
        None => *fastest = Some(run),
        Some(fastest) => {
            fastest.cpu = fastest.cpu.min(run.cpu);
            fastest.peak = fastest.peak.min(run.peak);
            fastest.wall.extend(run.wall);
        }
    }
}

/// Times some work; returns its value, CPU seconds of all threads, seconds, and peak memory in bytes.
fn timed<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(T, f64, f64, Option<u64>), Error> {
    let forgot = forget_peak();
    let (cpu, started) = (ProcessTime::now(), Instant::now());
    let value = work()?;
    let (cpu, wall) = (cpu.elapsed().as_secs_f64(), started.elapsed().as_secs_f64());
    Ok((value, cpu, wall, forgot.then(peak_bytes).flatten()))
}

/// Runs a sweep into a folder that is then removed.
fn into_folder(sweep: &Sweep, options: &RunOptions) -> Result<Fastest, Error> {
    let folder = tempfile::tempdir().map_err(|source| Error::io("make a folder", std::env::temp_dir(), source))?;
    let out = folder.path().join("run");
    let (_, cpu, wall, peak) = timed(|| run_to_folder(sweep, &out, options, &Stop::new(), &()))?;
    let path = out.join(DIGESTS_NAME);
    let digests = std::fs::read_to_string(&path).map_err(|source| Error::io("read the list of digests", &path, source))?;
    let counters = RunRecord::of(&out).map(|record| record.counters);
    let mut results = flate2::Crc::new();
    results.update(digests.as_bytes());
    Ok(Fastest { cpu, wall: vec![wall], peak, results: results.sum(), counters })
}
