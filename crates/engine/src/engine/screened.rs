//! Finds the best of several policies in pilot trials: the worse half of them is dropped before the trials double.

use super::observer::Stop;
use super::prepare::Preparation;
use super::tuned::{at, mean_loss};
use crate::spec::CellPlan;
use privateer_config::error::Error;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;

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
        mean_loss(&self.losses)
    }
}

impl Preparation<'_> {
    /// Plays every cell at each of its factors in pilot trials; before their number doubles, three times, drops the worse half of the
    /// cells, by their best factors, down to `kept`; and before the last time all but the best three factors of each.
    ///
    /// Returns the candidates from the best to the worst, those with more trials first.
    ///
    /// * `trials` — pilot trials of those that stay
    /// * `played` — called with an upper bound on the number of plays, after each
    ///
    /// # Errors
    /// The first cell of which a pilot trial fails, or nothing can be played before the run; [`Error::Incomplete`] after a request to
    /// stop.
    pub fn screen(
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
}
