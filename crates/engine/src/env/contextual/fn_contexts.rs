//! Wraps plain functions that draw contexts and state mean rewards.

use super::{Contextual, User, Users};
use crate::env::noise::{Noise, parse_noise};
use crate::env::{BuildContext, EnvironmentPlan};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_numerics::rng::{Purpose, Stream};
use privateer_privacy::interactions::{ContextFacts, Link};
use std::sync::Arc;

type DrawContext = Arc<dyn Fn(&mut [f64], &mut Stream) + Send + Sync>;
type ArmMean = Arc<dyn Fn(&[f64], usize) -> f64 + Send + Sync>;

/// Describes an environment that shows arms to users, from two functions.
///
/// Key in a spec: `noise`. Contexts are shortened to length 1, and means moved into the stated range: both bounds are public.
#[derive(Clone)]
pub struct FnContexts {
    n_arms: usize,
    dimension: usize,
    context: DrawContext,
    mean: ArmMean,
    mean_range: (f64, f64),
    noise: Option<Arc<dyn Noise>>,
}

impl FnContexts {
    /// Describes an environment.
    ///
    /// * `n_arms` — at least 2
    /// * `dimension` — number of features of a context, at least 1
    /// * `mean_range` — public range of mean rewards
    /// * `context` — draws a user's features
    /// * `mean` — the mean reward of an arm, counted from 0, for a user's features
    pub fn new(
        n_arms: usize,
        dimension: usize,
        mean_range: (f64, f64),
        context: impl Fn(&mut [f64], &mut Stream) + Send + Sync + 'static,
        mean: impl Fn(&[f64], usize) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self { n_arms, dimension, context: Arc::new(context), mean: Arc::new(mean), mean_range, noise: None }
    }

    /// Reads the keys of the environment's table.
    #[must_use]
    pub fn read(self, args: &Args<'_>) -> Self {
        Self { noise: Some(parse_noise(args)), ..self }
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Contextual, Error> {
        let (lo, hi) = self.mean_range;
        if self.n_arms < 2 || self.dimension == 0 || !(lo < hi && lo.is_finite() && hi.is_finite()) {
            return Diagnostic::new(format!(
                "the environment has {} arms, {} features and means in [{lo}, {hi}]",
                self.n_arms, self.dimension
            ))
            .hint("state at least 2 arms, 1 feature and a finite range lo < hi")
            .refuse();
        }
        let Some(noise) = self.noise.clone() else {
            return Diagnostic::new("the environment has no noise").hint("state the key `noise`").refuse();
        };
        if let Some((least, most)) = noise.range().filter(|&(least, most)| lo < least || most < hi) {
            return Diagnostic::new(format!(
                "the noise needs mean rewards from {least} to {most}, and they lie from {lo} to {hi}"
            ))
            .hint("choose another noise")
            .refuse();
        }
        let largest = lo.abs().max(hi.abs());
        let facts = ContextFacts {
            n_arms: self.n_arms,
            dimension: self.dimension,
            largest_entry: 1.0,
            length: 1.0,
            parameter_l1: largest * libm::sqrt(self.dimension as f64),
            parameter_length: largest,
            mean_range: self.mean_range,
            range: noise.range().or(noise.bound().map(|bound| (lo - bound, hi + bound))),
            noise_sd: noise.variance().map(libm::sqrt),
            link: Link::Linear,
            margin: 0.0,
            rounds: context.rounds,
        };
        let (plan, streams) = (self.clone(), context.streams.clone());
        Ok(Contextual::new(facts, Facts::default(), move |trial| {
            let (plan, mut stream) = (plan.clone(), streams.of(trial, Purpose::Contexts));
            let user = User::new(plan.dimension, plan.n_arms);
            Ok(Users::new(user, Some(Arc::clone(&noise)), move |user| plan.draw(user, &mut stream)))
        }))
    }

    fn draw(&self, user: &mut User, stream: &mut Stream) {
        user.context.fill(0.0);
        (self.context)(&mut user.context, &mut stream.fork());
        let length = libm::sqrt(user.context.iter().map(|x| x * x).sum::<f64>());
        assert!(length.is_finite(), "the environment drew a context that is not finite");
        if 1.0 < length {
            user.context.iter_mut().for_each(|x| *x /= length);
        }
        let (lo, hi) = self.mean_range;
        for (arm, mean) in user.means.iter_mut().enumerate() {
            let stated = (self.mean)(&user.context, arm);
            assert!(!stated.is_nan(), "the environment states no mean reward of arm {arm}");
            *mean = stated.clamp(lo, hi);
        }
    }
}

impl From<FnContexts> for EnvironmentPlan<Contextual> {
    fn from(plan: FnContexts) -> Self {
        Self::new(move |context| plan.build(context))
    }
}
