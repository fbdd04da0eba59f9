//! Implements online Frank-Wolfe without privacy (Xie2020): `dp-tofw` on exact sums.

use super::{LearnerMaker, LearnerPlan, Request, Setting, dp_tofw};
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

    fn prepare(&self, setting: &Setting, request: &Request, learning_rate: f64) -> Result<Box<dyn LearnerMaker>, Refusal> {
        let open = Request { clip: request.clip, ..Request::none() };
        self.0.prepare(setting, &open, learning_rate)
    }
}
