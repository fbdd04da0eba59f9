//! Wraps a problem so that round 1 observes one user's planted reward, the canary.
//!
//! Domain, function and decision sets are those of the wrapped problem, with its first trial's function in every trial.

use super::replay::side_of;
use crate::env::noise::Noise;
use crate::env::{BuildContext, DerivedNumbers, Environment, EnvironmentPlan, Instance};
use privateer_config::error::Error;
use privateer_gp::kernel::Kernel;
use privateer_gp::score::GramSource;
use privateer_gp::{Points, ProductDomain, TrainReadings};
use privateer_numerics::rng::Stream;
use privateer_privacy::RewardFacts;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Holds the planted rewards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Canary {
    /// Number of trials of the first side.
    pub(super) samples: u64,
    /// The reward of round 1 on either side.
    pub(super) rewards: (f64, f64),
    /// All later rewards; `None` for the mean rewards.
    pub(super) others: Option<f64>,
}

/// Plans a problem with a planted reward.
pub(super) struct PlantedPlan {
    /// The problem as read from the spec.
    pub(super) inner: Arc<dyn EnvironmentPlan>,
    /// The planted rewards.
    pub(super) canary: Canary,
}

impl EnvironmentPlan for PlantedPlan {
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Environment>, Error> {
        let inner = self.inner.build(context)?;
        let first = inner.draw(0)?;
        Ok(Arc::new(PlantedRunFault { inner, first, canary: Some(self.canary), points: None }))
    }
}

/// Represents a problem with its first trial's function in every trial, otherwise unchanged.
pub(super) struct PlantedRunFault {
    pub(super) inner: Arc<dyn Environment>,
    pub(super) first: Instance,
    pub(super) canary: Option<Canary>,
    /// Coordinates that replace the problem's.
    pub(super) points: Option<Points>,
}

impl Environment for PlantedRunFault {
    fn gram(&self) -> &Arc<dyn GramSource> {
        self.inner.gram()
    }

    fn points(&self) -> Option<&Points> {
        self.points.as_ref().or_else(|| self.inner.points())
    }

    fn kernel(&self) -> Option<&Arc<dyn Kernel>> {
        self.inner.kernel()
    }

    fn draw(&self, trial: u64) -> Result<Instance, Error> {
        let first = self.first.clone();
        Ok(match self.canary {
            None => first,
            Some(Canary { samples, rewards, others }) => {
                let facts = first.facts().clone();
                let reward = side_of(trial, samples).pick(rewards.0, rewards.1);
                first.observed_through(Arc::new(PlantedRewards { facts, reward, others, sung: AtomicBool::new(false) }))
            }
        })
    }

    fn told_rewards(&self) -> Option<RewardFacts> {
        self.inner.told_rewards()
    }

    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        self.inner.facts()
    }

    fn train_readings(&self) -> Option<&Arc<TrainReadings>> {
        self.inner.train_readings()
    }

    fn product(&self) -> Option<&Arc<ProductDomain>> {
        self.inner.product()
    }

    fn set_size(&self) -> Option<usize> {
        self.inner.set_size()
    }

    fn derived_from_rewards(&self) -> DerivedNumbers {
        self.inner.derived_from_rewards()
    }

    fn derived_from_inputs(&self) -> DerivedNumbers {
        self.inner.derived_from_inputs()
    }
}

/// Returns the planted reward, then the others; a mechanism treats them as the problem's noise.
struct PlantedRewards {
    facts: RewardFacts,
    reward: f64,
    others: Option<f64>,
    sung: AtomicBool,
}

impl fmt::Debug for PlantedRewards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rewards")
    }
}

impl Noise for PlantedRewards {
    fn reward(&self, mean: f64, _point: usize, _stream: &mut Stream) -> f64 {
        // One trial observes in one thread at a time.
        if self.sung.swap(true, Ordering::Relaxed) { self.others.unwrap_or(mean) } else { self.reward }
    }

    fn bound(&self) -> Option<f64> {
        self.facts.noise_bound
    }

    fn variance(&self) -> Option<f64> {
        self.facts.noise_variance
    }

    fn range(&self) -> Option<(f64, f64)> {
        self.facts.range
    }
}
