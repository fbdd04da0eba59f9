//! Chooses the exploration factor of a cell whose spec says `beta = { kind = "tuned" }`.
//!
//! Each factor is played in pilot trials, whose numbers no trial of a run can have, and the least mean cumulative regret wins. The
//! choice depends on the cell alone: every thread, shard and resumed run makes the same one. The best of several policies is found
//! the same way, but with few trials first: the worse half of all policies is dropped before the trials double.

use super::observer::Stop;
use super::prepare::{Preparation, Ready};
use super::rounds::{BatchResult, Rounds};
use super::trace::Quantity;
use crate::spec::{CellPlan, Task, Tuning};
use privateer_config::error::{Diagnostic, Error};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Number of the first pilot trial, above that of every trial of a run.
const FIRST_PILOT: u64 = 1 << 32;

/// How often the pilot trials of [`Preparation::screen`] double.
const DOUBLINGS: u32 = 3;

/// Factors of a policy that play the last half of the trials. A small factor loses little in most trials and everything in a few, which
/// the first trials may not hold: before, no factor is dropped.
const FACTORS: usize = 3;

/// A cell at one of its factors, with the cumulative regrets of its pilot trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Screened {
    /// The cell.
    pub cell: u32,
    /// The factor; `None` for a policy without a tuned one.
    pub factor: Option<f64>,
    /// Cumulative regret of each pilot trial; the same trials for all candidates.
    pub losses: Vec<f64>,
    candidate: usize,
}

impl Screened {
    /// Returns the mean cumulative regret; infinite before the first trial, or where a trial has none.
    pub fn mean(&self) -> f64 {
        let mean = self.losses.iter().sum::<f64>() / self.losses.len() as f64;
        // NaN never wins.
        if mean.is_nan() { f64::INFINITY } else { mean }
    }
}

impl Preparation<'_> {
    /// Chooses the factors of all cells that are tuned and not yet known, their pilot trials spread over the current rayon pool.
    ///
    /// * `played` — called with the number of factors to play, after each
    ///
    /// # Errors
    /// The first cell of which a pilot trial fails, or nothing can be played before the run.
    pub(crate) fn tune(&self, plans: &[CellPlan], played: &(dyn Fn(u64) + Sync)) -> Result<(), Error> {
        let is_open = |plan: &CellPlan| !super::lock::lock(&self.tuned_factors).contains_key(&(plan.index, plan.rounds));
        let open: Vec<(&CellPlan, &Tuning)> =
            plans.iter().filter_map(|plan| Some((plan, plan.tuning.as_ref()?))).filter(|(plan, _)| is_open(plan)).collect();
        let factors: Vec<(&CellPlan, &Tuning, usize)> = (open.iter())
            .flat_map(|&(plan, tuning)| (0..tuning.candidates.len()).map(move |candidate| (plan, tuning, candidate)))
            .collect();
        let all = factors.len() as u64;
        let losses: Vec<Result<f64, Error>> = (factors.into_par_iter().with_max_len(1))
            .map(|(plan, tuning, candidate)| {
                let loss = self.pilot_loss(&at(plan, tuning, candidate), tuning.pilot).map_err(|error| plan.placed(error));
                played(all);
                loss
            })
            .collect();
        let mut losses = losses.into_iter().collect::<Result<Vec<f64>, Error>>()?.into_iter();
        for (plan, tuning) in open {
            let of_each: Vec<f64> = losses.by_ref().take(tuning.candidates.len()).collect();
            let least = (0..of_each.len()).min_by(|left, right| of_each[*left].total_cmp(&of_each[*right])).unwrap_or(0);
            super::lock::lock(&self.tuned_factors).insert((plan.index, plan.rounds), least);
        }
        Ok(())
    }

    /// Plays every cell at each of its factors in pilot trials; before their number doubles, three times, drops the worse half of the
    /// cells, by their best factors, down to `kept`; and before the last time all but the best three factors of each.
    ///
    /// Returns the candidates from the best to the worst, those with more trials first.
    ///
    /// * `trials` — pilot trials of those that stay
    /// * `played` — called with an upper bound on the number of plays, after each
    ///
    /// # Errors
    /// As [`Preparation::tune`]; [`Error::Incomplete`] after a request to stop.
    pub(crate) fn screen(
        &self,
        plans: &[CellPlan],
        kept: usize,
        trials: u64,
        stop: &Stop,
        played: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<Screened>, Error> {
        let candidates = plans.iter().flat_map(|plan| {
            let factors: Vec<Option<f64>> = match &plan.tuning {
                Some(tuning) => tuning.candidates.iter().map(|(factor, _)| Some(*factor)).collect(),
                None => vec![None],
            };
            let each = factors.into_iter().enumerate();
            each.map(move |(candidate, factor)| (plan, Screened { cell: plan.index, factor, losses: Vec::new(), candidate }))
        });
        let (mut alive, mut dropped): (Vec<(&CellPlan, Screened)>, Vec<Screened>) = (candidates.collect(), Vec::new());
        let bound = alive.len() as u64 * u64::from(DOUBLINGS + 1);
        let mut done = 0;
        for doubling in (0..=DOUBLINGS).rev() {
            let until = trials.div_ceil(1 << doubling);
            let play = |(plan, screened): &mut (&CellPlan, Screened)| {
                let at_factor = match &plan.tuning {
                    Some(tuning) => Cow::Owned(at(plan, tuning, screened.candidate)),
                    None => Cow::Borrowed(*plan),
                };
                let more = self.pilot_losses(&at_factor, done..until, stop).map_err(|error| plan.placed(error))?;
                screened.losses.extend(more);
                played(bound);
                Ok(())
            };
            alive.par_iter_mut().with_max_len(1).map(play).collect::<Result<Vec<()>, Error>>()?;
            done = until;
            alive.sort_by(|(_, left), (_, right)| left.mean().total_cmp(&right.mean()));
            if doubling == 0 {
                break;
            }
            let factors = if doubling == 1 { FACTORS } else { usize::MAX };
            let mut cells: Vec<u32> = Vec::new();
            for (_, screened) in &alive {
                if !cells.contains(&screened.cell) {
                    cells.push(screened.cell);
                }
            }
            cells.truncate(cells.len().div_ceil(2).max(kept));
            let mut of_cell: BTreeMap<u32, usize> = cells.into_iter().map(|cell| (cell, 0)).collect();
            let (stay, out): (Vec<_>, Vec<_>) = alive.into_iter().partition(|(_, screened)| {
                let n_factors = of_cell.get_mut(&screened.cell);
                n_factors.is_some_and(|n_factors| {
                    *n_factors += 1;
                    *n_factors <= factors
                })
            });
            alive = stay;
            dropped.splice(0..0, out.into_iter().map(|(_, candidate)| candidate));
        }
        Ok(alive.into_iter().map(|(_, screened)| screened).chain(dropped).collect())
    }

    /// Returns the cell as it is played: one with a tuned factor at the factor that its pilot trials choose.
    pub(super) fn played<'p>(&self, plan: &'p CellPlan) -> Result<Cow<'p, CellPlan>, Error> {
        let Some(tuning) = &plan.tuning else { return Ok(Cow::Borrowed(plan)) };
        self.tune(std::slice::from_ref(plan), &|_| ())?;
        let known = super::lock::lock(&self.tuned_factors).get(&(plan.index, plan.rounds)).copied();
        Ok(Cow::Owned(at(plan, tuning, known.unwrap_or(0))))
    }

    /// Returns the mean cumulative regret of a cell's pilot trials.
    fn pilot_loss(&self, plan: &CellPlan, pilot: u64) -> Result<f64, Error> {
        let losses = self.pilot_losses(plan, 0..pilot, &Stop::new())?;
        let loss = losses.iter().sum::<f64>() / pilot as f64;
        // NaN never wins.
        Ok(if loss.is_nan() { f64::INFINITY } else { loss })
    }

    /// Returns the cumulative regret of each of a cell's pilot trials.
    fn pilot_losses(&self, plan: &CellPlan, pilots: Range<u64>, stop: &Stop) -> Result<Vec<f64>, Error> {
        let refuse = |why: &str| {
            Err(Error::input(
                Diagnostic::new(format!("`beta` of `{}` cannot be tuned: {why}", plan.policy))
                    .hint("state the factor, as `beta = { kind = \"order\", factor = 0.5 }`"),
            ))
        };
        let cell = self.any(plan)?;
        match &cell {
            Ready::Bandit(cell) if cell.environment.told_rewards.is_some() && !cell.environment.simulates => {
                return refuse("rewards are told one by one, and no trial can be played before");
            }
            Ready::Contextual(cell) if cell.replays => return refuse("a log is replayed, and estimates are no trials"),
            Ready::Online(_) => return refuse("a learner explores nothing"),
            Ready::Bandit(_) | Ready::Contextual(_) => {}
        }
        let mut done = BatchResult::default();
        let rounds = Rounds { recorded: &[plan.rounds], stop, observer: &() };
        let size = cell.batch_size(pilots.end - pilots.start, None);
        for first in pilots.clone().step_by(size as usize) {
            let numbers = FIRST_PILOT + first..FIRST_PILOT + pilots.end.min(first + size);
            let Some(more) = cell.batch(numbers, false, &rounds)? else {
                return Err(Error::Incomplete {
                    done: done.rows[Quantity::CumulativeRegret].len(),
                    total: (pilots.end - pilots.start) as usize,
                    reason: "the command was stopped in pilot trials, which are kept nowhere".to_owned(),
                    hint: "the same command begins again".to_owned(),
                });
            };
            done.append(more);
        }
        Ok(done.rows[Quantity::CumulativeRegret].clone())
    }
}

/// Returns the cell at one of its candidates.
fn at(plan: &CellPlan, tuning: &Tuning, candidate: usize) -> CellPlan {
    let (factor, task): &(f64, Task) = &tuning.candidates[candidate];
    CellPlan { task: task.clone(), tuning: None, tuned: Some((*factor, tuning.pilot)), ..plan.clone() }
}
