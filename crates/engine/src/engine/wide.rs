//! Runs trials of many units together on a device.
//!
//! The trials of all cells over one prepared basis share each submission.
//!
//! A wave is as many trials as the device's two submissions take. It has two halves: while the device scores one, the threads
//! decide, observe, update and pack the other. A half consists of parts, each of trials of one cell, that any thread runs; what
//! is recorded depends on neither. Rows are put together by unit, in the order of trials.
//!
//! Parts whose screens have left a failing device are played to the end one after the other on each thread: screens of the CPU may
//! take more memory than a wave has.

use super::Measures;
use super::ahead::{CHECKED, DeviceTrials};
use super::lockstep::LockstepTrials;
use super::observer::{Unit, guarded};
use super::prepare::Ready;
use super::ready_cell::ReadyCell;
use super::rounds::{BatchResult, Recorded, Trials};
use super::unit_job::UnitJob;
use super::verifying_screen::VerifyingScreen;
use crate::spec::{Sweep, Task};
use privateer_backend::{Ahead, Counters, Domain, Together, UpdateKind};
use privateer_config::error::Error;
use rayon::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of rounds between two checks of the stop flag.
const STOP_EVERY: u64 = 16;

/// Largest number of trials in a part: few, so that their states stay in a cache for a turn and threads have equal work;
/// whole factors are made for eight at a time.
const MOST_IN_PART: u64 = 32;

/// A unit that runs on a device, and its prepared cell.
pub(super) type WideUnit = (Unit, Arc<ReadyCell>);

/// Finds units that can share submissions.
pub(super) struct Groups<'a> {
    job: &'a UnitJob<'a>,
    open: VecDeque<Unit>,
    /// Cells of one environment that were prepared for it; `None` for those without a device.
    ready: BTreeMap<u32, Option<Arc<ReadyCell>>>,
    /// The first cell over that environment.
    environment: Option<u32>,
    /// Units that run without a device.
    pub apart: Vec<Unit>,
}

impl<'a> Groups<'a> {
    /// Creates the search in units of which those over one environment stand together.
    pub fn new(job: &'a UnitJob<'a>, open: Vec<Unit>) -> Self {
        Self { job, open: open.into(), ready: BTreeMap::new(), environment: None, apart: Vec::new() }
    }

    /// Returns the cell of a unit if it is scored on a device.
    fn ready(&mut self, unit: Unit) -> Result<Option<Arc<ReadyCell>>, Error> {
        let plan = &self.job.sweep.cells[unit.cell as usize];
        if !matches!(plan.task, Task::Bandit(_)) {
            return Ok(None);
        }
        let environment = self.job.preparation.first_alike(unit.cell);
        if self.environment != Some(environment) {
            self.environment = Some(environment);
            self.ready.clear();
        }
        if let Some(known) = self.ready.get(&unit.cell) {
            return Ok(known.clone());
        }
        let ready = match self.job.preparation.any(plan).map_err(|error| plan.placed(error))? {
            Ready::Bandit(cell) if cell.lanes().is_some() => Some(Arc::new(*cell)),
            _ => None,
        };
        self.ready.insert(unit.cell, ready.clone());
        Ok(ready)
    }

    /// Returns the next units that share a prepared basis, enough to fill the device's submissions where there are so many.
    pub fn next(&mut self) -> Result<Option<Vec<WideUnit>>, Error> {
        while let Some(unit) = self.open.pop_front() {
            // A device that failed meanwhile has none.
            let Some(cell) = self.ready(unit)?.filter(|cell| cell.lanes().is_some()) else {
                self.apart.push(unit);
                continue;
            };
            let lanes = 2 * cell.lanes().unwrap_or(1);
            let mut trials = block(self.job.sweep, unit).count();
            let environment = self.job.preparation.first_alike(unit.cell);
            let mut group = vec![(unit, Arc::clone(&cell))];
            let mut at = 0;
            while let Some(&other) = self.open.get(at) {
                if lanes <= trials || self.job.preparation.first_alike(other.cell) != environment {
                    break;
                }
                match self.ready(other)? {
                    Some(other_cell) if cell.shares_domain(&other_cell) => {
                        trials += block(self.job.sweep, other).count();
                        self.open.remove(at);
                        group.push((other, other_cell));
                    }
                    _ => at += 1,
                }
            }
            return Ok(Some(group));
        }
        Ok(None)
    }
}

/// Returns the trials of a unit.
pub(super) fn block(sweep: &Sweep, unit: Unit) -> Range<u64> {
    let first = u64::from(unit.block) * sweep.block;
    first..(first + sweep.block).min(sweep.trials)
}

/// Trials of a unit that run in one wave, or of such a piece that run in one part.
struct Piece {
    /// Index of the unit in its group, or of the piece in its wave.
    of: usize,
    trials: Range<u64>,
}

impl Piece {
    fn n_trials(&self) -> u64 {
        self.trials.end - self.trials.start
    }
}

/// Deals trials out, in order, to lists of `each` trials, in pieces of at most `most`.
fn dealt(all: impl Iterator<Item = Range<u64>>, each: u64, most: u64) -> Vec<Vec<Piece>> {
    let (mut lists, mut room) = (vec![Vec::new()], each);
    for (of, mut trials) in all.enumerate() {
        while !trials.is_empty() {
            if room == 0 {
                lists.push(Vec::new());
                room = each;
            }
            let taken = (trials.end - trials.start).min(room).min(most);
            if let Some(list) = lists.last_mut() {
                list.push(Piece { of, trials: trials.start..trials.start + taken });
            }
            trials.start += taken;
            room -= taken;
        }
    }
    lists
}

/// Runs the units of a group; `None` if stopped. Returns each unit's results, and seconds by its share of the rounds.
pub(super) fn group(job: &UnitJob<'_>, units: &[WideUnit]) -> Result<Option<Vec<(BatchResult, f64)>>, Error> {
    let most = units.iter().filter_map(|(_, cell)| cell.lanes()).min().unwrap_or(1);
    let most = job.options.batch.map_or(2 * most, |batch| batch.min(2 * most)).max(1) as u64;
    let mut done: Vec<(BatchResult, f64)> = units.iter().map(|_| (BatchResult::default(), 0.0)).collect();
    let waves = dealt(units.iter().map(|(unit, _)| block(job.sweep, *unit)), most, most);
    for pieces in waves.into_iter().filter(|pieces| !pieces.is_empty()) {
        let (started, host) = (Instant::now(), host_time());
        let Some((results, mut shared)) = wave(job, units, &pieces)? else { return Ok(None) };
        let seconds = started.elapsed().as_secs_f64();
        shared.host_us += host_time().saturating_sub(host).as_micros() as u64;
        let rounds = |piece: &Piece| piece.n_trials() * units[piece.of].1.plan.rounds;
        let (all, mut before): (u64, u64) = (pieces.iter().map(rounds).sum(), 0);
        for (piece, result) in pieces.iter().zip(results) {
            let (done, taken) = &mut done[piece.of];
            done.append(result);
            done.counters.add(&shared.share(before, before + rounds(piece), all));
            *taken += seconds * rounds(piece) as f64 / all as f64;
            before += rounds(piece);
        }
    }
    Ok(Some(done))
}

/// Trials of one cell in a half of a wave.
struct WidePart {
    recorder: Recorded<DeviceTrials>,
    piece: usize,
    rounds: u64,
    /// Rounds that are finished.
    played: u64,
    /// The recorded rounds, ascending.
    recorded: Arc<Vec<u64>>,
    /// Cell and block, for messages.
    unit: Unit,
}

impl WidePart {
    /// Finishes the round that was begun and those that lanes have named, and begins the next one; without a device, as many as
    /// there are.
    fn turn(&mut self, job: &UnitJob<'_>) -> Result<(), Error> {
        loop {
            let round = self.played + 1;
            let record = self.recorded.binary_search(&round).is_ok();
            self.recorder.finish(round, record, job.observer)?;
            let named = round + 1..round + 1 + self.recorder.trials.n_named() as u64;
            let play = |trials: &mut DeviceTrials, place, rounds| trials.play_named(place, rounds, job.observer);
            self.recorder.play_apart(&named, &self.recorded, play)?;
            self.played = named.end - 1;
            let trials = &mut self.recorder.trials;
            if self.played == self.rounds {
                trials.lockstep.players.close_screen();
                return Ok(());
            }
            trials.propose(named.end)?;
            if trials.wait() || job.stop.asked() {
                return Ok(());
            }
        }
    }
}

/// One of the two halves of a wave.
struct Half {
    parts: Vec<WidePart>,
    together: Arc<dyn Together>,
    /// Lanes in which a device plays rounds of some parts ahead.
    ahead: Option<Arc<Ahead>>,
}

impl Half {
    /// Runs `step` for each part that has come to this round, on all threads.
    fn each(
        &mut self,
        job: &UnitJob<'_>,
        round: u64,
        step: impl Fn(&mut WidePart) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        self.parts.par_iter_mut().with_max_len(1).filter(|part| part.played + 1 == round && round <= part.rounds).try_for_each(
            |part| {
                let plan = &job.sweep.cells[part.unit.cell as usize];
                guarded(plan, part.unit, || step(part)).map_err(|error| plan.placed(error))
            },
        )
    }

    /// Begins the first round.
    fn begin(&mut self, job: &UnitJob<'_>) -> Result<(), Error> {
        self.together.prepare();
        self.each(job, 1, |part| {
            part.recorder.trials.propose(1)?;
            if part.recorder.trials.wait() { Ok(()) } else { part.turn(job) }
        })?;
        self.send();
        Ok(())
    }

    fn send(&self) {
        self.together.send();
        if let Some(ahead) = &self.ahead {
            ahead.send();
        }
    }

    /// Finishes a round and begins the next one, part by part: a part's state is in a cache once, not twice.
    fn turn(&mut self, job: &UnitJob<'_>, round: u64) -> Result<(), Error> {
        self.together.receive();
        if let Some(ahead) = &self.ahead {
            ahead.receive();
        }
        self.together.prepare();
        self.each(job, round, |part| part.turn(job))?;
        self.send();
        Ok(())
    }
}

/// Runs pieces together to the end; returns their results in order and the counts of what they share, `None` if stopped before.
fn wave(job: &UnitJob<'_>, units: &[WideUnit], pieces: &[Piece]) -> Result<Option<(Vec<BatchResult>, Counters)>, Error> {
    let mut halves = halves(job, units, pieces)?;
    let rounds = halves.iter().flat_map(|half| &half.parts).map(|part| part.rounds).max().unwrap_or(0);
    for half in &mut halves {
        half.begin(job)?;
    }
    let running =
        |round: u64| -> u64 { pieces.iter().filter(|piece| round <= units[piece.of].1.plan.rounds).map(Piece::n_trials).sum() };
    let mut progress = 0;
    for round in 1..=rounds {
        progress += running(round);
        if round % STOP_EVERY == 0 {
            if job.stop.asked() {
                return Ok(None);
            }
            job.observer.progressed(std::mem::take(&mut progress));
        }
        for half in &mut halves {
            half.turn(job, round)?;
        }
    }
    job.observer.progressed(progress);
    let mut results: Vec<BatchResult> = pieces.iter().map(|_| BatchResult::default()).collect();
    let mut shared = Counters::default();
    for half in halves {
        shared.add(&half.together.counters());
        if let Some(ahead) = &half.ahead {
            shared.add(&ahead.counters());
        }
        for part in half.parts {
            results[part.piece].append(part.recorder.into_result()?);
        }
    }
    Ok(Some((results, shared)))
}

/// Returns the CPU time of the pool's threads so far.
fn host_time() -> Duration {
    rayon::broadcast(|_| cpu_time::ThreadTime::now().as_duration()).into_iter().sum()
}

/// Opens lanes for the parts whose rounds a device can play ahead; `None` where there are none.
fn open_ahead(domain: &Arc<dyn Domain>, parts: &mut [WidePart]) -> Option<Arc<Ahead>> {
    let mut suited: Vec<&mut WidePart> =
        parts.iter_mut().filter_map(|part| part.recorder.trials.suit(part.rounds).then_some(part)).collect();
    let n_lanes = suited.iter().map(|part| part.recorder.n_trials()).sum();
    let most_rounds = suited.iter().map(|part| part.rounds).max()?;
    let lanes = domain.open_ahead(n_lanes, most_rounds)?;
    let mut first = 0;
    for part in &mut suited {
        part.recorder.trials.go_ahead(&lanes, domain, first, part.rounds, &part.recorded);
        first += part.recorder.n_trials();
    }
    Some(lanes)
}

/// Opens the two halves of a wave, of about as many trials each.
fn halves(job: &UnitJob<'_>, units: &[WideUnit], pieces: &[Piece]) -> Result<Vec<Half>, Error> {
    let each = pieces.iter().map(Piece::n_trials).sum::<u64>().div_ceil(2).max(1);
    let fit = units.iter().map(|(_, cell)| cell.fit_on_cpu()).min().unwrap_or(1);
    let most = each.div_ceil(2 * rayon::current_num_threads() as u64).next_multiple_of(8).min(MOST_IN_PART).min(fit as u64);
    let layout = dealt(pieces.iter().map(|piece| piece.trials.clone()), each, most);
    let cell_of = |part: &Piece| &units[pieces[part.of].of].1;
    let mut recorded: BTreeMap<u64, Arc<Vec<u64>>> = BTreeMap::new();
    let mut halves = Vec::with_capacity(layout.len());
    for parts in layout {
        let sizes: Vec<usize> = parts.iter().map(|part| part.n_trials() as usize).collect();
        let Some(domain) = &cell_of(&parts[0]).domain else { continue };
        let trials = parts.iter().flat_map(|part| part.trials.clone()).collect();
        let known =
            if job.options.verify { BTreeMap::new() } else { cell_of(&parts[0]).evaluated(domain.as_ref(), &trials, CHECKED)? };
        let are_updated = parts.iter().all(|part| cell_of(part).update_kind() == UpdateKind::RankOne);
        let update_kind = if are_updated { UpdateKind::RankOne } else { UpdateKind::Full };
        let (screens, together) = domain.open_together(&sizes, update_kind);
        let parts: Vec<_> = parts.into_iter().zip(screens).collect();
        for (part, _) in &parts {
            let rounds = cell_of(part).plan.rounds;
            recorded.entry(rounds).or_insert_with(|| Arc::new(job.sweep.recorded.rounds(rounds)));
        }
        let parts = parts.into_par_iter().with_max_len(1).map(|(Piece { of: piece, trials }, screen)| {
            let (unit, cell) = &units[pieces[piece].of];
            let plan = &job.sweep.cells[unit.cell as usize];
            let screen = VerifyingScreen::around(screen, cell.n_points(), job.options.verify);
            let lockstep = guarded(plan, *unit, || LockstepTrials::start(cell, trials.clone(), Some(screen), &known))
                .map_err(|error| plan.placed(error))?;
            let recorder = Recorded::new(DeviceTrials::new(lockstep), trials, Measures::Regret);
            let recorded = Arc::clone(&recorded[&plan.rounds]);
            Ok(WidePart { recorder, piece, rounds: plan.rounds, played: 0, recorded, unit: *unit })
        });
        let mut parts = parts.collect::<Result<Vec<WidePart>, Error>>()?;
        let ahead = if job.options.verify { None } else { open_ahead(domain, &mut parts) };
        halves.push(Half { parts, together, ahead });
    }
    Ok(halves)
}
