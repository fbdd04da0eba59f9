//! Implements online Frank-Wolfe without privacy (Xie2020): `dp-tofw` on exact sums.

use super::{GradientRequest, LearnerMaker, LearnerPlan, Setting, dp_tofw};
use privateer_config::params::Args;
use privateer_privacy::Refusal;

struct OfwPlan(Box<dyn LearnerPlan>);

/// Reads no keys of its own.
pub fn parse(args: &Args<'_>) -> Box<dyn LearnerPlan> {
    Box::new(OfwPlan(dp_tofw::parse(args)))
}

impl LearnerPlan for OfwPlan {
    fn is_private(&self) -> bool {
        false
    }

    fn prepare(
        &self,
        setting: &Setting,
        request: &GradientRequest,
        learning_rate: f64,
    ) -> Result<Box<dyn LearnerMaker>, Refusal> {
        let open = GradientRequest { clips: request.clips, ..GradientRequest::none() };
        self.0.prepare(setting, &open, learning_rate)
    }
}
