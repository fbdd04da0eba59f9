//! Holds a learner and its problem as a spec states them.

use crate::oco::learner::{GradientRequest, LearnerPlan, Rates};
use crate::oco::problem::ProblemPlan;
use privateer_config::error::{Diagnostic, Error, Place};
use privateer_privacy::Refusal;
use std::sync::Arc;

/// Combines one problem with one learner.
#[derive(Clone)]
pub struct OnlinePlan {
    /// The problem.
    pub problem: Arc<ProblemPlan>,
    /// The learner.
    pub learner: Arc<LearnerPlan>,
    /// The choice of its learning rate.
    pub rates: Rates,
    /// The request for its noise.
    pub request: GradientRequest,
    /// Place of each key of `[privacy]`, for refusals.
    pub(super) places: Vec<(&'static str, Place)>,
    /// Place of the learner in the spec.
    pub(super) place: Option<Place>,
}

impl OnlinePlan {
    /// Returns the same learner with the same request, on another problem at stated rates.
    pub fn on(&self, problem: Arc<ProblemPlan>, rates: Rates) -> Self {
        Self { problem, rates, ..self.clone() }
    }

    /// Places a refusal at the key that caused it.
    pub fn place(&self, refusal: Refusal) -> Error {
        let mut diagnostic = Diagnostic::new(refusal.message).expected(refusal.expected);
        diagnostic.hint = refusal.hint;
        let found = self.places.iter().find(|(key, _)| *key == refusal.key).map(|(_, place)| place);
        diagnostic.place = found.or(self.place.as_ref()).map(|place| Box::new(place.clone()));
        Error::input(diagnostic)
    }
}
