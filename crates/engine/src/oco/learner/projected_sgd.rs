//! Implements projected stochastic gradient descent without privacy (Zinkevich2003).
//!
//! The step is `theta -= lr D_2/(L_t sqrt(t)) grad`, projected; the answer is the mean of the iterates. `L_t` is the largest
//! gradient norm so far, so that no constant is needed.

use super::{GradientRequest, Learner, LearnerStreams, PreparedLearner, Setting, each};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_numerics::linalg::Norm;
use privateer_privacy::gradients::{NoNoise, Sample, SampleGradients};
use privateer_privacy::{Budget, Claim, ClaimUnit, Event, Raw, Refusal};
use std::sync::Arc;

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let open = GradientRequest { clips: request.clips, ..GradientRequest::none() };
    let claim = Claim {
        mechanism: "none",
        calibration: request.spec.calibration,
        unit: ClaimUnit::Sample { clipped: false, local: false },
        event: Event::NonPrivate,
        budget: Budget::default(),
        noise_formula: "no noise".to_owned(),
        doubt: None,
        notes: Vec::new(),
    };
    let (set, gradient) = (Arc::clone(&setting.set), open.gradient(setting));
    let make = move || {
        let (d, centre) = (set.dimension(), set.centre());
        // |v|_2 <= |v|_p d^(1/2 - 1/p) for p > 2, and |v|_2 <= |v|_p for p <= 2.
        let p = set.norm().exponent();
        let diameter = set.diameter() * libm::pow(d as f64, (0.5 - 1.0 / p).max(0.0));
        Box::new(ProjectedSgd {
            gradients: SampleGradients::new(Arc::clone(&gradient), d, None, Box::new(NoNoise)),
            set: Arc::clone(&set),
            theta: centre.clone(),
            mean: centre,
            scale: learning_rate * diameter,
            steepest: 0.0,
            round: 0,
        }) as Box<dyn Learner>
    };
    Ok(PreparedLearner { make: each(make), claim, facts: [("learning rate", learning_rate.into())].into() })
}

struct ProjectedSgd {
    gradients: SampleGradients,
    set: Arc<dyn ConstraintSet>,
    theta: Vec<f64>,
    mean: Vec<f64>,
    scale: f64,
    steepest: f64,
    round: u64,
}

impl Learner for ProjectedSgd {
    fn observe(&mut self, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams) -> Result<(), Error> {
        let gradient = self.gradients.release(&self.theta, sample, &mut streams.mechanism);
        self.round += 1;
        let t = self.round as f64;
        let size = Norm::of(2.0).unwrap_or(Norm::MAX).size(gradient.value());
        self.steepest = self.steepest.max(size);
        if 0.0 < self.steepest {
            let eta = self.scale / (self.steepest * libm::sqrt(t));
            self.theta.iter_mut().zip(*gradient.value()).for_each(|(theta, g)| *theta -= eta * g);
            self.set.project(&mut self.theta);
        }
        self.mean.iter_mut().zip(&self.theta).for_each(|(mean, theta)| *mean += (theta - *mean) / t);
        Ok(())
    }

    fn iterate(&self) -> &[f64] {
        &self.mean
    }
}
