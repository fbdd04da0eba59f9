//! Chooses the exploration factor of a cell whose spec says `beta = { kind = "tuned" }`.
//!
//! Each factor is played in pilot trials, whose numbers no trial of a run can have, and the least mean cumulative regret wins. The
//! choice depends on the cell alone: every thread, shard and resumed run makes the same one.

use super::lock::lock;
use super::observer::Stop;
use super::prepare::{Preparation, Ready};
use super::rounds::{BatchResult, Rounds};
use super::trace::Quantity;
use crate::spec::{CellPlan, Task, Tuning};
use privateer_config::error::{Diagnostic, Error};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// Number of the first pilot trial, above that of every trial of a run.
const FIRST_PILOT: u64 = 1 << 32;

impl Preparation<'_> {
    /// Chooses the factors of all cells that are tuned and not yet known, their pilot trials spread over the current rayon pool.
    ///
    /// * `played` — called with the number of factors to play, after each
    pub(super) fn tune(&self, plans: &[CellPlan], played: &(dyn Fn(u64) + Sync)) -> Result<(), Error> {
        let is_open = |plan: &CellPlan| !lock(&self.tuned_factors).contains_key(&(plan.index, plan.rounds));
        let open: Vec<(&CellPlan, &Tuning)> =
            plans.iter().filter_map(|plan| Some((plan, plan.tuning.as_deref()?))).filter(|(plan, _)| is_open(plan)).collect();
        let factors: Vec<(&CellPlan, &Tuning, usize)> = (open.iter())
            .flat_map(|&(plan, tuning)| (0..tuning.candidates.len()).map(move |candidate| (plan, tuning, candidate)))
            .collect();
        let all = factors.len() as u64;
        let losses: Vec<Result<f64, Error>> = (factors.into_par_iter().with_max_len(1))
            .map(|(plan, tuning, candidate)| {
                let losses = self.pilot_losses(&at(plan, tuning, candidate), 0..tuning.pilot, &Stop::new());
                played(all);
                losses.map(|losses| mean_loss(&losses)).map_err(|error| plan.placed(error))
            })
            .collect();
        let mut losses = losses.into_iter().collect::<Result<Vec<f64>, Error>>()?.into_iter();
        for (plan, tuning) in open {
            let of_each: Vec<f64> = losses.by_ref().take(tuning.candidates.len()).collect();
            let least = (0..of_each.len()).min_by(|left, right| of_each[*left].total_cmp(&of_each[*right])).unwrap_or(0);
            lock(&self.tuned_factors).insert((plan.index, plan.rounds), least);
        }
        Ok(())
    }

    /// Returns the cell as it is played: one with a tuned factor at the factor that its pilot trials choose.
    pub(super) fn played<'p>(&self, plan: &'p CellPlan) -> Result<Cow<'p, CellPlan>, Error> {
        let Some(tuning) = &plan.tuning else { return Ok(Cow::Borrowed(plan)) };
        self.tune(std::slice::from_ref(plan), &|_| ())?;
        let known = lock(&self.tuned_factors).get(&(plan.index, plan.rounds)).copied();
        Ok(Cow::Owned(at(plan, tuning, known.unwrap_or(0))))
    }

    /// Returns the cumulative regret of each of a cell's pilot trials.
    pub(super) fn pilot_losses(&self, plan: &CellPlan, pilots: Range<u64>, stop: &Stop) -> Result<Vec<f64>, Error> {
        let refuse = |why: &str| {
            Diagnostic::new(format!("`beta` of `{}` cannot be tuned: {why}", plan.policy))
                .hint("state the factor, as `beta = { kind = \"order\", factor = 0.5 }`")
                .refuse()
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
        let rounds = Rounds { recorded: &[plan.rounds], verify: false, stop, observer: &() };
        let size = cell.batch_size(pilots.end - pilots.start, None);
        for first in pilots.clone().step_by(size as usize) {
            let numbers = FIRST_PILOT + first..FIRST_PILOT + pilots.end.min(first + size);
            let Some(more) = cell.batch(numbers, &rounds)? else {
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

/// Returns the mean cumulative regret; infinite before the first trial, or where a trial has none.
pub(super) fn mean_loss(losses: &[f64]) -> f64 {
    let mean = losses.iter().sum::<f64>() / losses.len() as f64;
    // NaN never wins.
    if mean.is_nan() { f64::INFINITY } else { mean }
}

/// Returns the cell at one of its candidates.
pub(super) fn at(plan: &CellPlan, tuning: &Tuning, candidate: usize) -> CellPlan {
    let (factor, task): &(f64, Task) = &tuning.candidates[candidate];
    CellPlan { task: task.clone(), tuning: None, tuned: Some(Box::new((*factor, tuning.pilot))), ..plan.clone() }
}
