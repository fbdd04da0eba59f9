//! Times first rounds of a sweep's own cells on the CPU and on a device; more rounds are taken to cost what these do.
//!
//! Each shape of cells is played for at least [`FIRST`] rounds, if the spec has as many, and for more trials and then more rounds while
//! that is soon done. The time of half as many rounds is taken away, so that set-up and rounds are told apart. First rounds are those in
//! which the CPU scores most points: over long horizons it gains on what is measured.

use super::measured::{MachineRates, PathRates, WorkRates, shape};
use super::{OpenedBackend, started_threads, thread_pool};
use privateer_backend::{Backend, Counters, Cpu};
use privateer_config::error::Error;
use privateer_engine::engine::{Observer, Options, Preparation, Share, Stop, Trace, Unit, Workload, run};
use privateer_engine::env::DataFolder;
use privateer_engine::spec::Sweep;
use rayon::ThreadPool;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Rounds that are played at least.
const FIRST: u64 = 22;
/// A run that takes longer is not made longer.
const ENOUGH: Duration = Duration::from_millis(500);
/// A run that takes longer, its tables included, is made once.
const LONG: Duration = Duration::from_secs(5);
/// After this time no further shape is measured; one that is under way ends.
const MOST: Duration = Duration::from_secs(60);

/// Plays cells of a sweep.
struct Stopwatch<'a> {
    sweep: &'a Sweep,
    data: &'a DataFolder,
    pool: ThreadPool,
}

/// Times of one piece of work.
#[derive(Clone, Copy)]
struct Timed {
    /// What the first of two runs took longer, its tables included.
    once: f64,
    /// The faster of two runs.
    seconds: f64,
    /// Whether a device took part.
    on_device: bool,
}

/// Adds up what screens count.
#[derive(Default)]
struct Counted(Mutex<Counters>);

impl Observer for Counted {
    fn finished(&self, _: Unit, _: Trace, _: f64, counters: &Counters) -> Result<(), Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(counters);
        Ok(())
    }
}

impl Stopwatch<'_> {
    /// Plays the cells of a workload, twice unless that takes long, with this number of trials each and at most these rounds.
    fn time(&self, work: &Workload, backend: &dyn Backend, trials: u64, rounds: u64) -> Result<Timed, Error> {
        let mut sweep = self.sweep.clone();
        (sweep.trials, sweep.cells_a_part) = (trials, 1);
        for cell in Arc::make_mut(&mut sweep.cells) {
            cell.rounds = cell.rounds.min(rounds);
        }
        let blocks = trials.div_ceil(sweep.block);
        let units = work.cells.iter().flat_map(|&cell| u64::from(cell) * blocks..(u64::from(cell) + 1) * blocks).collect();
        let options = Options { share: Share::Units(units), ..Options::default() };
        let counted = Counted::default();
        let play = || -> Result<[f64; 2], Error> {
            let preparation = Preparation::new(&sweep, self.data, backend);
            let started = Instant::now();
            work.cells.iter().try_for_each(|&cell| preparation.prepare(&sweep.cells[cell as usize]))?;
            let prepared = started.elapsed().as_secs_f64();
            run(&sweep, &preparation, options.clone(), &BTreeSet::new(), &Stop::new(), &counted)?;
            Ok([prepared, started.elapsed().as_secs_f64() - prepared])
        };
        let [prepared, first] = self.pool.install(play)?;
        let is_long = LONG.as_secs_f64() < prepared + first;
        let second = if is_long { first } else { self.pool.install(play)?[1] };
        let counters = counted.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if 0 < counters.fallbacks {
            return Err(Error::Device {
                problem: "the graphics adapter failed while it was measured".to_owned(),
                hint: Some("use `--backend cpu`: the answers are the same".to_owned()),
            });
        }
        let (once, seconds) = (prepared + (first - second).max(0.0), first.min(second));
        Ok(Timed { once, seconds, on_device: 0 < counters.submissions })
    }

    /// Returns the rates of a workload on both backends.
    fn rates(&self, work: &Workload, backends: [&dyn Backend; 2], until: Instant) -> Result<WorkRates, Error> {
        let n_cells = work.cells.len() as u64;
        let rounds_of = |rounds: u64| work.cells.iter().map(move |&cell| self.sweep.cells[cell as usize].rounds.min(rounds));
        let whole = rounds_of(u64::MAX).max().unwrap_or(1);
        let both = |trials, rounds| -> Result<[Timed; 2], Error> {
            let [cpu, gpu] = backends.map(|backend| self.time(work, backend, trials, rounds));
            Ok([cpu?, gpu?])
        };
        let threads = self.pool.current_num_threads() as u64;
        let (mut trials, mut rounds) = (threads.div_ceil(n_cells).clamp(1, self.sweep.trials), whole.min(FIRST));
        let first = both(trials, rounds)?;
        let mut last = first;
        let is_short = |last: &[Timed; 2]| last.iter().all(|timed| timed.seconds < ENOUGH.as_secs_f64());
        while is_short(&last) && Instant::now() < until && (trials < self.sweep.trials || rounds < whole) {
            if trials < self.sweep.trials {
                trials = (4 * trials).min(self.sweep.trials);
            } else {
                rounds = (2 * rounds).min(whole);
            }
            last = both(trials, rounds)?;
        }
        let half = rounds.div_ceil(2);
        let few = both(trials, half)?;
        let (all_trials, few_rounds) = ((trials * n_cells) as f64, (trials * rounds_of(half).sum::<u64>()) as f64);
        let more_rounds = (trials * rounds_of(rounds).sum::<u64>()) as f64 - few_rounds;
        let path = |at: usize| {
            let round_s = if more_rounds == 0.0 { 0.0 } else { ((last[at].seconds - few[at].seconds) / more_rounds).max(0.0) };
            PathRates { once_s: first[at].once, trial_s: (few[at].seconds - few_rounds * round_s).max(0.0) / all_trials, round_s }
        };
        // Where no round goes to the device, the CPU plays them all.
        let (cpu, gpu) = (path(0), path(usize::from(last[1].on_device)));
        Ok(WorkRates { cpu, gpu, trials, rounds })
    }
}

/// Measures each shape of a sweep's cells on the CPU and on a device, in about a minute; `note` hears what is passed over.
///
/// * `open_s` — seconds in which the device was opened
pub fn measure(
    sweep: &Sweep,
    data: &DataFolder,
    works: &[Workload],
    threads: Option<usize>,
    (device, open_s): (&OpenedBackend, f64),
    note: &dyn Fn(&str),
) -> Result<MachineRates, Error> {
    let (stopwatch, cpu) = (Stopwatch { sweep, data, pool: thread_pool(threads)? }, Cpu::default());
    let mut rates = MachineRates { open_s, ..MachineRates::default() };
    let until = Instant::now() + MOST;
    for work in works {
        let shape = shape(work, started_threads(threads));
        if rates.works.contains_key(&shape) {
            continue;
        }
        if work.is_tuned {
            note(&format!("not measured, as `auto` takes the CPU where factors are tuned: {work}"));
            continue;
        }
        if until < Instant::now() {
            note(&format!("not measured, for want of time: {work}"));
            continue;
        }
        match stopwatch.rates(work, [&cpu, device.backend.as_ref()], until) {
            Ok(known) => drop(rates.works.insert(shape, known)),
            // At its own horizon it can be prepared, as `works` show.
            Err(Error::Input(why)) => {
                let why = why.first().map_or_else(String::new, |why| why.message.clone());
                note(&format!("not measured, as few rounds cannot be played: {work}: {why}"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(rates)
}
