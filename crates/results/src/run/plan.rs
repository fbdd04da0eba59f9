//! Estimates what the units of a sweep cost, and deals them to tasks of about equal cost.

use super::memory_peak;
use super::{RunOptions, thread_pool};
use cpu_time::ThreadTime;
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_engine::engine::{self, Observer, Options, Preparation, Share, Stop, Trace, Unit, UnitList};
use privateer_engine::spec::Sweep;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longest that one cell is tried.
const PROBE: Duration = Duration::from_millis(250);
/// Most cells of one policy that are tried; others are estimated by the nearest.
const MOST_PROBES: usize = 24;

/// The units of a sweep with estimates from trying some of them on this machine.
#[derive(Debug, Clone)]
#[must_use]
pub struct Plan {
    /// In canonical order.
    pub units: Vec<PlannedUnit>,
    /// Estimated seconds on one thread for what trials share: tables, and learning rates chosen on validation data. Every task
    /// spends them.
    pub preparation: f64,
    /// Largest resident memory of this process while cells were tried, in bytes, where the system tells.
    pub peak_bytes: Option<u64>,
}

/// One unit of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedUnit {
    /// The unit.
    pub unit: Unit,
    /// Number of trials, of all its cells.
    pub trials: u64,
    /// Estimated seconds on one thread.
    pub seconds: f64,
}

/// Units for one task.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTask {
    /// Numbers of the units.
    pub units: UnitList,
    /// Estimated seconds on one thread.
    pub seconds: f64,
}

impl Plan {
    /// Tries the cells of a sweep, each for about a quarter of a second on one thread after its preparation.
    ///
    /// A trial that does not end in that time is extended by the pace of the second half of what was seen.
    ///
    /// Calls `each` after every cell that is tried, with the number of them in all.
    pub fn of(sweep: &Sweep, options: &RunOptions, stop: &Stop, each: &(dyn Fn(u64) + Sync)) -> Result<Self, Error> {
        let _ = memory_peak::forget_peak();
        let preparation = Preparation::new(sweep, &options.data, options.backend.as_ref());
        let pool = thread_pool(Some(1))?;
        let mut by_policy: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for cell in sweep.cells.iter() {
            by_policy.entry(&cell.policy).or_default().push(cell.index);
        }
        let mut seconds_of_trial = vec![0.0; sweep.cells.len()];
        let mut seconds_of_preparation = 0.0;
        let size = |cells: &Vec<u32>| cells.len().div_ceil(MOST_PROBES).max(1);
        let groups: Vec<&[u32]> = by_policy.values().flat_map(|cells| cells.chunks(size(cells))).collect();
        for near in &groups {
            let cell = near[near.len() / 2];
            let prepared = pool.install(|| {
                let started = spent();
                preparation.prepare(&sweep.cells[cell as usize]).map(|()| (spent() - started).as_secs_f64())
            })?;
            // Tables are shared by cells; each cell chooses its own learning rate.
            let alike = if preparation.tunes_rates() { near.len() } else { 1 };
            seconds_of_preparation += prepared * alike as f64;
            let tried = pool.install(|| probe(sweep, &preparation, cell, stop))?;
            for &other in *near {
                let rounds = sweep.cells[other as usize].rounds as f64 / sweep.cells[cell as usize].rounds as f64;
                seconds_of_trial[other as usize] = tried * rounds;
            }
            each(groups.len() as u64);
        }
        let units = engine::units(sweep)
            .into_iter()
            .map(|unit| {
                let trials = sweep.block.min(sweep.trials - u64::from(unit.block) * sweep.block);
                let cells = sweep.cells_of_part(unit.cell);
                let seconds = cells.iter().map(|cell| seconds_of_trial[cell.index as usize]).sum::<f64>();
                PlannedUnit { unit, trials: trials * cells.len() as u64, seconds: trials as f64 * seconds }
            })
            .collect();
        Ok(Self { units, preparation: seconds_of_preparation, peak_bytes: memory_peak::peak_bytes() })
    }

    /// Returns the estimated seconds of all units on one thread, without preparation.
    pub fn seconds(&self) -> f64 {
        self.units.iter().map(|unit| unit.seconds).sum()
    }

    /// Deals the units to at most `tasks` tasks: the longest first, each to the task with the least so far.
    pub fn deal(&self, tasks: usize) -> Vec<PlannedTask> {
        let mut order: Vec<usize> = (0..self.units.len()).collect();
        order.sort_by(|&a, &b| self.units[b].seconds.total_cmp(&self.units[a].seconds).then(a.cmp(&b)));
        let mut dealt: Vec<(f64, Vec<u64>)> = vec![(0.0, Vec::new()); tasks.clamp(1, self.units.len().max(1))];
        // Of equal tasks the one with fewer units: none stays empty. Positive numbers are ordered as their bits are.
        let place = |dealt: &[(f64, Vec<u64>)], task: usize| Reverse((dealt[task].0.to_bits(), dealt[task].1.len(), task));
        let mut least: BinaryHeap<_> = (0..dealt.len()).map(|task| place(&dealt, task)).collect();
        for unit in order {
            let Some(mut next) = least.peek_mut() else { break };
            let task = next.0.2;
            dealt[task].0 += self.units[unit].seconds;
            dealt[task].1.push(unit as u64);
            *next = place(&dealt, task);
        }
        let task = |(seconds, units): (f64, Vec<u64>)| PlannedTask { units: units.into_iter().collect(), seconds };
        dealt.into_iter().map(task).collect()
    }
}

/// Returns the processor time of the calling thread, here the pool's only one.
fn spent() -> Duration {
    ThreadTime::now().as_duration()
}

/// Runs the first trials of a cell, for a while; returns the estimated seconds of a whole trial.
fn probe(sweep: &Sweep, preparation: &Preparation<'_>, cell: u32, stop: &Stop) -> Result<f64, Error> {
    let alone = try_trials(sweep, preparation, cell, 1, stop)?;
    // What a unit costs beside its trials is a large share of one short trial, and a small one of many.
    let more = (PROBE.as_secs_f64() / 2.0 / alone.max(1e-6)) as u64;
    let more = more.min(sweep.block).min(sweep.trials);
    if more < 2 { Ok(alone) } else { Ok(try_trials(sweep, preparation, cell, more, stop)? / more as f64) }
}

/// Runs the first trials of a cell, for a while; returns the estimated seconds of all of them.
fn try_trials(sweep: &Sweep, preparation: &Preparation<'_>, cell: u32, trials: u64, stop: &Stop) -> Result<f64, Error> {
    let rounds = sweep.cells[cell as usize].rounds * trials;
    let only = Sweep { trials, block: trials, cells_a_part: 1, ..sweep.clone() };
    let tried = Tried { started: spent(), stop: Stop::new(), outer: stop, rounds: AtomicU64::new(0), seen: Mutex::default() };
    // A cell of one block has the number of its unit.
    let options = Options { share: Share::Units([u64::from(cell)].into_iter().collect()), ..Options::default() };
    let tally = engine::run(&only, preparation, options, &BTreeSet::new(), &tried.stop, &tried)?;
    let elapsed = (spent() - tried.started).as_secs_f64();
    if stop.asked() {
        return Err(Error::Incomplete {
            done: 0,
            total: sweep.cells.len(),
            reason: "the plan was stopped".to_owned(),
            hint: "nothing was written".to_owned(),
        });
    }
    let done = tried.rounds.load(Ordering::Relaxed).clamp(1, rounds);
    if !tally.stopped {
        return Ok(elapsed);
    }
    // The pace of the second half: models grow.
    let seen = tried.seen.into_inner().unwrap_or_default();
    let half = seen.iter().rev().find(|(at, _)| *at <= done / 2).copied().unwrap_or((0, 0.0));
    let pace = (elapsed - half.1) / (done - half.0).max(1) as f64;
    Ok(elapsed + pace * (rounds - done) as f64)
}

struct Tried<'a> {
    /// Processor time of the pool's one thread: other programs of the machine do not count.
    started: Duration,
    stop: Stop,
    outer: &'a Stop,
    rounds: AtomicU64,
    /// Rounds done, and seconds then.
    seen: Mutex<Vec<(u64, f64)>>,
}

impl Observer for Tried<'_> {
    fn progressed(&self, trial_rounds: u64) {
        let done = self.rounds.fetch_add(trial_rounds, Ordering::Relaxed) + trial_rounds;
        let elapsed = spent().saturating_sub(self.started);
        if let Ok(mut seen) = self.seen.lock() {
            seen.push((done, elapsed.as_secs_f64()));
        }
        if PROBE < elapsed || self.outer.asked() {
            self.stop.ask();
        }
    }

    fn finished(&self, _unit: Unit, _rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_cost_about_the_same() {
        let unit = |cell: u32, seconds: f64| PlannedUnit { unit: Unit { cell, block: 0 }, trials: 1, seconds };
        let units: Vec<PlannedUnit> = (0..40).map(|cell| unit(cell, [9.0, 4.0, 2.0, 0.5][cell as usize % 4])).collect();
        let plan = Plan { units, preparation: 0.0, peak_bytes: None };
        let tasks = plan.deal(4);
        let total: f64 = tasks.iter().map(|task| task.seconds).sum();
        assert!((total - plan.seconds()).abs() < 1e-9);
        assert!(tasks.iter().all(|task| (task.seconds - total / 4.0).abs() < 3.0), "{tasks:?}");
        assert_eq!(plan.deal(400).len(), 40);
        // Where nothing costs anything, no task is empty.
        let free = Plan { units: (0..5).map(|cell| unit(cell, 0.0)).collect(), preparation: 0.0, peak_bytes: None };
        assert_eq!(free.deal(2).iter().map(|task| task.units.to_string()).collect::<Vec<_>>(), ["0,2,4", "1,3"]);
    }
}
