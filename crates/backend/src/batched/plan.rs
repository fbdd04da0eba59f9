//! Plans the work of the device for each trial of a round.

use super::screen::BatchedScreen;
use super::slot_plan::{SlotPlan, SlotTask, largest};
use crate::device::{NewMean, Start, Visit};
use crate::scale::Scale;
use crate::slot::{SlotBasis, fits};
use privateer_gp::score::{Basis, Change, ScoreModel, TrialScore};

impl BatchedScreen {
    /// Decides the work of a slot in this round; a plan of `None` means that the host answers.
    ///
    /// * `scale`, `kernel_error` — those of [`BatchedScreen::facts`]
    pub fn plan<'a>(&mut self, request: &TrialScore<'a>, scale: &Scale, kernel_error: f64) -> (SlotTask, Option<SlotPlan<'a>>) {
        let precision = self.precision;
        let table = matches!(self.shared.basis, Basis::Table(_));
        let n_points = self.shared.basis.n_points();
        let model = request.model;
        let prior = model.prior_variance_bound();
        let state = model.state_error();
        let basis = SlotBasis { scale, prior, kernel_error, precision };
        let slot = &mut self.slots[request.trial];
        slot.begin_round();
        let may_be_prior = matches!(request.change, Change::None | Change::Rebuild);
        if may_be_prior && model.n_observations() == 0 {
            (slot.fresh, slot.has_row, slot.scanned) = (false, false, None);
            return (SlotTask::Prior, None);
        }
        if !fits(&[prior, request.beta, request.beta * prior.sqrt(), state.mean, state.variance], precision) {
            (slot.fresh, slot.has_row, slot.scanned) = (false, false, None);
            return (SlotTask::Scan, None);
        }
        let was_fresh = slot.fresh;
        let scanned = slot.scanned.take();
        // Cost of a reset: on the host a factorization, equal to one exact score per row; otherwise one exact score per point.
        let price = match request.change {
            Change::Weights { row, .. } => row.len(),
            _ if table => scale.largest.len(),
            _ => n_points,
        };
        let dear = price.max(32) as u64 <= slot.extra;
        let (row, start_anew) = match request.change {
            Change::None => (None, !was_fresh || dear),
            Change::Rebuild | Change::Factor => (None, true),
            Change::Row { row, scale, mean_step, repeated, rebuilt } => {
                (Some((row, scale, NewMean::Step(mean_step), repeated)), rebuilt || !was_fresh || dear)
            }
            Change::Weights { row, scale, repeated, weights } => {
                (Some((row, scale, NewMean::Weights(weights), repeated)), !was_fresh || dear)
            }
        };
        let continues = !matches!(request.change, Change::Rebuild | Change::Factor | Change::Row { rebuilt: true, .. });
        let unit = precision.unit();
        let mut covers_row = false;
        let start = match scanned {
            Some((mean, variance)) if continues => {
                slot.start(prior, 0.0, largest(&mean), unit, state.deviation);
                Start::Upload { mean, variance }
            }
            _ if !start_anew => Start::Keep,
            _ if row.is_some() && continues && model.n_observations() == 1 => {
                slot.start(prior, scale.prior_error, 0.0, unit, 0.0);
                Start::Prior
            }
            _ => {
                covers_row = true;
                let factor = model.factor().filter(|f| slot.start_factor(f, &basis, &state));
                match factor {
                    Some(factor) => Start::Factor(factor),
                    None if matches!(request.change, Change::Factor) => {
                        slot.fresh = false;
                        return (SlotTask::Scan, None);
                    }
                    None => {
                        let (mean, variance) = exact_scores(model, n_points);
                        if !fits(&[largest(&mean)], precision) {
                            // A new row was not projected either.
                            (slot.fresh, slot.has_row) = (false, false);
                            return (SlotTask::Scan, None);
                        }
                        slot.start(prior, 0.0, largest(&mean), unit, state.deviation);
                        Start::Upload { mean, variance }
                    }
                }
            }
        };
        let mut visit = None;
        match row {
            Some((_, _, _, repeated)) if covers_row => slot.has_row &= repeated,
            Some((row, scale_of_row, mean, repeated)) => {
                let new_row = !(repeated && slot.has_row);
                let fits = (!new_row || slot.row(row, &basis, &model.row_error()))
                    && match mean {
                        NewMean::Step(step) => slot.visit(scale_of_row, step, precision),
                        NewMean::Weights(w) => slot.visit_with(scale_of_row, w, &basis),
                    };
                if !fits {
                    (slot.fresh, slot.has_row) = (false, false);
                    return (SlotTask::Scan, None);
                }
                visit = Some(Visit { row: new_row.then_some(row), scale: scale_of_row, mean });
            }
            None => slot.has_row &= matches!(request.change, Change::None),
        }
        self.slots[request.trial].follow(&state);
        let kept = matches!(start, Start::Keep);
        self.counters.rebuilds += u64::from(was_fresh && !kept && !matches!(request.change, Change::Factor));
        let from_factor = matches!(start, Start::Factor(_));
        self.count_round(from_factor, was_fresh && from_factor && !matches!(request.change, Change::Factor));
        (SlotTask::Device { from_factor }, Some(SlotPlan { start, visit }))
    }
}

/// Returns the exact mean and variance of every point.
fn exact_scores(model: &dyn ScoreModel, n_points: usize) -> (Vec<f64>, Vec<f64>) {
    (0..n_points).map(|point| model.exact(point)).map(|moments| (moments.mean, moments.variance)).unzip()
}
