//! What the host pays for rounds that a device plays ahead, in CPU time of the pool's threads a trial-round.
//!
//! The device answers with the points that the CPU chose and recommended in the same run before, and with the ends of functions that it was
//! asked for before, so that it takes no time of its own from the second run on; no driver takes part. Bytes are compared.
//! `cargo bench --bench ahead -- SPEC TRIALS FEWER MORE [KEY=VALUE...]` plays FEWER and
//! MORE rounds three times each, on one thread: the difference leaves out what a trial costs once.

use privateer::engine::{Observer, Options, Preparation, Quantity, Stop, Trace, Unit, run};
use privateer::env::DataFolder;
use privateer::run::thread_pool;
use privateer::spec::Sweep;
use privateer_backend::device::{Device, DeviceLanes, DeviceRounds, FunctionEnds, LoopDomain, Precision, Tables};
use privateer_backend::reference::ReferenceDevice;
use privateer_backend::{Backend, BackendError, Batched, Counters, Cpu, LaneAnswer, LaneJob};
use privateer_config::error::Error;
use privateer_gp::score::Basis;
use privateer_gp::{FunctionValues, KernelSum};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The points that are played and recommended in every round, by trial, and what comes next.
#[derive(Debug)]
struct Played {
    points: Vec<Vec<[u32; 2]>>,
    /// First trial of the lanes that are opened next.
    next: AtomicUsize,
}

/// Where functions are largest and least, by the weight of their first centre.
type Ends = BTreeMap<u64, FunctionEnds>;
static ENDS: Mutex<Ends> = Mutex::new(BTreeMap::new());

fn ends(sum: &Arc<KernelSum>) -> FunctionEnds {
    let all = FunctionValues::Sum(Arc::clone(sum)).all();
    let by = |a: &usize, b: &usize| all[*a].total_cmp(&all[*b]);
    let ends = [(0..all.len()).max_by(by), (0..all.len()).min_by(by)].map(|end| end.expect("points"));
    FunctionEnds { values: ends.map(|end| all[end]), error: 1e-12, points: ends.map(|end| end as u32).to_vec() }
}

/// A device whose lanes know what is played.
#[derive(Debug)]
struct Prompter(ReferenceDevice, Arc<Played>);

struct PromptedRounds(Arc<Played>);

struct PromptedLanes {
    played: Arc<Played>,
    first: usize,
    /// Rounds that each lane has played.
    rounds: Vec<usize>,
    answers: Vec<LaneAnswer>,
}

impl Device for Prompter {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn description(&self) -> String {
        "a table of points".to_owned()
    }

    fn computes_in(&self, precision: Precision) -> bool {
        self.0.computes_in(precision)
    }

    fn tables(&self, basis: &Basis, precision: Precision) -> Result<Box<dyn Tables>, BackendError> {
        self.0.tables(basis, precision)
    }

    fn rounds(&self, _domain: Arc<LoopDomain>) -> Result<Option<Box<dyn DeviceRounds>>, BackendError> {
        Ok(Some(Box::new(PromptedRounds(Arc::clone(&self.1)))))
    }
}

impl DeviceRounds for PromptedRounds {
    fn evaluate(&self, sums: &[Arc<KernelSum>]) -> Result<Vec<Option<FunctionEnds>>, BackendError> {
        let mut known = ENDS.lock().expect("no panic");
        let key = |sum: &KernelSum| sum.centres().first().map_or(0, |(_, weight)| weight.to_bits());
        Ok(sums.iter().map(|sum| Some(known.entry(key(sum)).or_insert_with(|| ends(sum)).clone())).collect())
    }

    fn lanes(&self, n_lanes: usize, _n_streaks: usize) -> Result<Option<Box<dyn DeviceLanes>>, BackendError> {
        let first = self.0.next.fetch_add(n_lanes, Ordering::Relaxed);
        let (played, rounds) = (Arc::clone(&self.0), vec![0; n_lanes]);
        Ok(Some(Box::new(PromptedLanes { played, first, rounds, answers: Vec::new() })))
    }
}

impl DeviceLanes for PromptedLanes {
    fn send(&mut self, jobs: &[LaneJob]) -> Result<(), BackendError> {
        for job in jobs {
            let from = self.rounds[job.lane];
            self.rounds[job.lane] += job.rounds.len();
            let points = &self.played.points[self.first + job.lane][from..][..job.rounds.len()];
            let actions = points.iter().map(|&[played, _]| played).collect();
            let recorded = points.iter().enumerate().filter(|(at, _)| job.recorded >> at & 1 == 1);
            let recommended = recorded.map(|(_, &[_, recommended])| Some(recommended)).collect();
            self.answers.push(LaneAnswer { actions, recommended, ..LaneAnswer::default() });
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<LaneAnswer>, BackendError> {
        Ok(std::mem::take(&mut self.answers))
    }

    fn bytes(&self) -> (u64, u64) {
        (0, 0)
    }
}

#[derive(Default)]
struct Collect(Mutex<BTreeMap<Unit, Trace>>);

impl Observer for Collect {
    fn finished(&self, unit: Unit, rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        self.0.lock().expect("no panic").insert(unit, rows);
        Ok(())
    }
}

fn rows(sweep: &Sweep, backend: &dyn Backend) -> Result<(Vec<Trace>, Counters), Error> {
    let (collect, data) = (Collect::default(), DataFolder::default());
    let preparation = Preparation::new(sweep, &data, backend);
    let tally = run(sweep, &preparation, Options::default(), &BTreeSet::new(), &Stop::new(), &collect)?;
    Ok((collect.0.into_inner().expect("no panic").into_values().collect(), tally.counters))
}

/// Returns the points that a trial plays and recommends: the recommended one is the point that was played with its regret.
fn points(rows: &Trace, rounds: Range<usize>) -> Vec<[u32; 2]> {
    let mut by_regret = BTreeMap::new();
    rounds
        .map(|at| {
            let played = rows.point[at].unwrap_or(0) as u32;
            by_regret.insert(rows[Quantity::Regret][at].to_bits(), played);
            [played, by_regret[&rows[Quantity::RecommendedRegret][at].to_bits()]]
        })
        .collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [spec, trials, fewer, more, keys @ ..] = &given[..] else {
        println!("left out: state SPEC TRIALS FEWER MORE [KEY=VALUE...]");
        return Ok(());
    };
    let text = std::fs::read_to_string(spec)?;
    let sweep = |rounds: &str, recorded: &str| {
        let own = [("trials", trials.as_str()), ("rounds", rounds), ("record.rounds", recorded)];
        let set = own.into_iter().chain(keys.iter().filter_map(|key| key.split_once('=')));
        let set: Vec<_> = set.map(|(key, value)| (format!("{key}="), key.to_owned(), value.to_owned())).collect();
        Sweep::parse(spec, &text, &set)
    };
    let pool = thread_pool(Some(1))?;
    let mut us: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for rounds in [fewer, more].into_iter().cycle().take(6) {
        let n = rounds.parse::<usize>()?;
        let everything = rows(&sweep(rounds, "all")?, &Cpu::default())?.0;
        let chunks =
            everything.iter().flat_map(|rows| (0..rows.point.len()).step_by(n).map(move |first| (rows, first..first + n)));
        let points = chunks.map(|(rows, rounds)| points(rows, rounds)).collect();
        let played = Arc::new(Played { points, next: AtomicUsize::new(0) });
        let device = Batched::new(Arc::new(Prompter(ReferenceDevice::default(), played)));
        let sweep = sweep(rounds, "log")?;
        let (expected, (found, counters)) = (rows(&sweep, &Cpu::default())?.0, pool.install(|| rows(&sweep, &device))?);
        assert!(expected == found && 0 < counters.lanes, "other rows than those of the CPU");
        us.entry(rounds).or_default().push(counters.host_us as f64 / trials.parse::<f64>()?);
        println!("{rounds} rounds: {:.1} us a trial, {} jobs", us[rounds][us[rounds].len() - 1], counters.lanes);
    }
    let rounds = more.parse::<f64>()? - fewer.parse::<f64>()?;
    for (fewer, more) in us[fewer].iter().zip(&us[more]) {
        println!("{:.3} us a trial-round", (more - fewer) / rounds);
    }
    Ok(())
}
