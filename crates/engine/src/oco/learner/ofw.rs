//! Implements online Frank-Wolfe without privacy (Xie2020): `dp-tofw` on exact sums.

use super::{GradientRequest, PreparedLearner, Setting, dp_tofw};
use privateer_privacy::{Refusal, Request};

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let spec = Request { calibration: request.spec.calibration, ..Request::NONE };
    let open = GradientRequest { spec, clips: request.clips, ..GradientRequest::none() };
    dp_tofw::prepare(setting, &open, learning_rate)
}
