//! Implements DP-FTRL (Kairouz2021): follow the regularised leader on noisy prefix sums of gradients.
//!
//! `theta_(t+1)` is the minimizer over the set of `<theta, noisy sum of grad_1 … grad_t> + lambda |theta - centre|_2²/2`: the
//! projection of `centre - sum/lambda`. The answer is the mean of `theta_2 … theta_(t+1)`, or the last of them. Further passes
//! over the samples follow the last one. Step and regret: `docs/derivations/dp-ftrl.md`.

use super::prefix::{SumsLearner, SumsPlan, SumsStart};
use super::{LearnerFailure, LearnerPlan};
use crate::oco::set::ConstraintSet;
use privateer_config::params::Args;
use std::sync::Arc;

pub(super) fn parse(args: &Args<'_>) -> LearnerPlan {
    let answer =
        args.word("answer", "what is answered: the mean of the iterates, or the last one", &["mean", "last"], Some("mean"));
    let passes = args.count("passes", "passes over the samples; further ones follow the last sample").between(1, 1000).or(1);
    let answers_mean = answer == "mean";
    let make = Arc::new(move |start: &SumsStart| -> Box<dyn SumsLearner> { Box::new(Ftrl::new(start, answers_mean)) });
    let facts = |start: &SumsStart| [("lambda", (1.0 / step_of(start)).into())].into();
    SumsPlan { passes, note: None, facts, make }.into()
}

/// Returns the step `1/lambda = lr R/sqrt(n L (L + 2 b))`, which minimises the bound on the regret at `lr = 1`.
///
/// * `radius` — R: half of the set's diameter
/// * `lipschitz` — L: bound on a gradient, in the Euclidean norm as R
/// * `noise` — b: root mean square of the noise on a prefix, at most
pub fn step(learning_rate: f64, radius: f64, lipschitz: f64, noise: f64, n: u64) -> f64 {
    learning_rate * radius / libm::sqrt(n as f64 * lipschitz * (lipschitz + 2.0 * noise))
}

fn step_of(start: &SumsStart) -> f64 {
    step(start.learning_rate, start.radius, start.lipschitz, start.noise, start.steps)
}

/// Runs the server of several trials together; their vectors follow one another.
#[derive(Debug)]
pub struct Ftrl {
    set: Arc<dyn ConstraintSet>,
    centre: Vec<f64>,
    now: Vec<f64>,
    /// The mean of the iterates, if that is answered.
    mean: Option<Vec<f64>>,
    eta: f64,
    n_steps: u64,
}

impl Ftrl {
    pub fn new(start: &SumsStart, answers_mean: bool) -> Self {
        Self::of_trials(Arc::clone(&start.set), start.n_trials, step_of(start), answers_mean)
    }

    /// Begins at the set's centre.
    pub fn of_trials(set: Arc<dyn ConstraintSet>, n_trials: usize, eta: f64, answers_mean: bool) -> Self {
        let centre = set.centre();
        let now = centre.repeat(n_trials);
        let mean = answers_mean.then(|| now.clone());
        Self { set, centre, now, mean, eta, n_steps: 0 }
    }
}

impl SumsLearner for Ftrl {
    fn points(&self) -> &[f64] {
        &self.now
    }

    fn learn(&mut self, sums: &[f64]) -> Result<(), LearnerFailure> {
        let d = self.set.dimension();
        self.n_steps += 1;
        for (sum, now) in sums.chunks_exact(d).zip(self.now.chunks_exact_mut(d)) {
            now.iter_mut().zip(&self.centre).zip(sum).for_each(|((now, centre), sum)| *now = centre - self.eta * sum);
            self.set.project(now);
        }
        if let Some(mean) = &mut self.mean {
            let share = 1.0 / self.n_steps as f64;
            mean.iter_mut().zip(&self.now).for_each(|(mean, now)| *mean += share * (now - *mean));
        }
        Ok(())
    }

    fn answers(&self) -> &[f64] {
        self.mean.as_ref().unwrap_or(&self.now)
    }
}
