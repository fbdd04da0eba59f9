//! Wraps a problem so that round 1 observes one user's planted reward, the canary.
//!
//! Domain, function and decision sets are those of the wrapped problem, with its first trial's function in every trial.

use super::replay::side_of;
use privateer_config::error::Error;
use privateer_engine::env::noise::Noise;
use privateer_engine::env::{BuildContext, Environment, EnvironmentPlan};
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

/// Returns the problem of a plan with planted rewards, or with its first trial's function in every trial.
pub(super) fn planted(plan: &EnvironmentPlan, canary: Option<Canary>, context: &BuildContext<'_>) -> Result<Environment, Error> {
    let inner = plan.build(context)?;
    let first = inner.draw(0)?;
    let draw = move |trial| {
        let first = first.clone();
        Ok(match canary {
            None => first,
            Some(Canary { samples, rewards, others }) => {
                let facts = first.facts().clone();
                let reward = side_of(trial, samples).pick(rewards.0, rewards.1);
                first.observed_through(Arc::new(PlantedRewards { facts, reward, others, sung: AtomicBool::new(false) }))
            }
        })
    };
    Ok(Environment { draw: Box::new(draw), ..inner })
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
