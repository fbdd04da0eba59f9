//! How often the loop of a device must leave a decision to the host: it plays beside runs of the specs in `examples/speed`.
//!
//! Every round is decided by the CPU path, as in any run, and by the loop; where the loop certifies an action, both must agree.
//! The table is in `docs/derivations/device-loop.md`. Shows nothing about time: the loop is plain code, written for its order
//! of sums.
//!
//! Run: `cargo run --release --example device_loop -- 20 [part of a cell's name]`; the number counts trials of each cell.

use privateer::backend::reference::trial::{LoopCounts, LoopDecision, LoopDomain, LoopTrial};
use privateer::backend::{Backend, BackendError, Counters, Cpu, Domain, Screen, UpdateKind};
use privateer::bench::JOBS;
use privateer::engine::{Options, Preparation, Stop, decide, run};
use privateer::env::DataFolder;
use privateer::gp::score::{Basis, Candidates, TrialScore};
use privateer::spec::Sweep;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

const USUAL: (&str, &str) = ("20", "");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let trials = args.next().unwrap_or_else(|| USUAL.0.to_owned());
    let part = args.next().unwrap_or_else(|| USUAL.1.to_owned());
    println!(
        "| cell | decisions | undecided a million | of these without a bound | several points | wrong | tiles | rows | 1000 multiply-adds | blocks |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for name in ["constant-factor", "theory-factor", "wide-factor", "exact-posterior"] {
        for points in ["1024", "10000"] {
            for ridge in ["1e-2", "1e-4", "1e-6"] {
                let cell = format!("{name} {points} {ridge}");
                if cell.contains(&part) {
                    println!("{}", row(&cell, name, points, &[("trials", &trials), ("policy.*.ridge", ridge)])?);
                }
            }
        }
    }
    Ok(())
}

/// Runs a job beside the loop; returns its row of the table.
fn row(cell: &str, name: &str, points: &str, changes: &[(&str, &str)]) -> Result<String, Box<dyn std::error::Error>> {
    let job = JOBS.iter().find(|job| job.name == name).ok_or("no such job")?;
    // The exact posterior of at most 1024 points is a table of all moments, which no backend scores.
    let small = [("environment.domain.points", if name == "exact-posterior" { "1025" } else { points })];
    let size = if points == "1024" { &small[..] } else { job.large };
    let change = |(key, value): &(&str, &str)| (format!("{key}={value}"), (*key).to_owned(), (*value).to_owned());
    let sweep = Sweep::parse(name, job.spec, &size.iter().chain(changes).map(change).collect::<Vec<_>>())?;
    let (data, backend) = (DataFolder::default(), Beside(Arc::default()));
    let preparation = Preparation::new(&sweep, &data, &backend);
    let tally = run(&sweep, &preparation, Options::default(), &BTreeSet::new(), &Stop::default(), &())?;
    let Outcome { counts, wrong } = *backend.0.lock().unwrap_or_else(PoisonError::into_inner);
    let rounds = counts.decisions.max(1) as f64;
    let [tiles, rows, work] = [counts.tiles, counts.rows, counts.work / 1000].map(|count| count as f64 / rounds);
    let million = |count: u64| 1e6 * count as f64 / rounds;
    Ok(format!(
        "| {cell} | {} | {:.0} | {:.0} | {:.0} | {wrong} | {tiles:.1} | {rows:.1} | {work:.0} | {:.1} in {:.0} % |",
        counts.decisions,
        million(counts.undecided),
        million(counts.unbounded),
        million(counts.compared),
        tally.counters.blocks as f64 / tally.counters.pruned.max(1) as f64,
        100.0 * tally.counters.pruned as f64 / tally.counters.rounds.max(1) as f64
    ))
}

/// What the loops of all trials did.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    counts: LoopCounts,
    /// Certified actions that the CPU path did not play.
    wrong: u64,
}

/// The CPU path, with a loop beside each trial.
#[derive(Debug)]
struct Beside(Arc<Mutex<Outcome>>);

struct BesideDomain {
    cpu: Arc<dyn Domain>,
    domain: Option<Arc<LoopDomain>>,
    outcome: Arc<Mutex<Outcome>>,
}

struct BesideScreen {
    cpu: Box<dyn Screen>,
    domain: Option<Arc<LoopDomain>>,
    trials: Vec<Option<(LoopTrial, Vec<f64>)>>,
    outcome: Arc<Mutex<Outcome>>,
}

impl Backend for Beside {
    fn name(&self) -> &'static str {
        "beside"
    }

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, BackendError> {
        let (cpu, domain) = (Cpu::default().prepare(basis)?, LoopDomain::new(basis).map(Arc::new));
        Ok(Arc::new(BesideDomain { cpu, domain, outcome: Arc::clone(&self.0) }))
    }
}

impl Domain for BesideDomain {
    fn batch(&self, update_kind: UpdateKind) -> usize {
        self.cpu.batch(update_kind)
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        let trials = (0..n_trials).map(|_| None).collect();
        let (domain, outcome) = (self.domain.clone(), Arc::clone(&self.outcome));
        Box::new(BesideScreen { cpu: self.cpu.open(n_trials), domain, trials, outcome })
    }
}

impl Screen for BesideScreen {
    fn begin(&mut self, trials: &[TrialScore<'_>]) -> Result<(), BackendError> {
        self.cpu.begin(trials)
    }

    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), BackendError> {
        self.cpu.finish(trials, out)?;
        for (request, found) in trials.iter().zip(out) {
            self.follow(request, found);
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        self.cpu.counters()
    }
}

impl BesideScreen {
    /// Gives the loop the last observation, and compares its decision with that of the CPU path.
    fn follow(&mut self, request: &TrialScore<'_>, found: &Candidates) {
        let (Some(domain), Some(visited)) = (&self.domain, request.model.visited()) else { return };
        let (trial, sums) =
            self.trials[request.trial].get_or_insert_with(|| (LoopTrial::new(Arc::clone(domain), visited.ridge), Vec::new()));
        sums.resize(visited.sums.len(), 0.0);
        // The last point is the one whose sum has changed; the difference is its reward up to a rounding of the sum.
        for ((&point, &now), before) in visited.points.iter().zip(visited.sums).zip(sums.iter_mut()) {
            if now != *before {
                trial.observe(point, now - std::mem::replace(before, now));
            }
        }
        let LoopDecision::Certified(point) = trial.decide(request.beta) else { return };
        let played = decide(found, request.model, request.beta, &mut Vec::new());
        if !played.is_ok_and(|played| played == point as usize) {
            self.outcome.lock().unwrap_or_else(PoisonError::into_inner).wrong += 1;
        }
    }
}

impl Drop for BesideScreen {
    fn drop(&mut self) {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        for (trial, _) in self.trials.iter().flatten() {
            outcome.counts.add(trial.counts());
        }
    }
}
