//! Wraps a problem so that one user's rounds, from round 1 on, observe a planted reward, the canary.
//!
//! Domain, function and decision sets are those of the wrapped problem, with its first trial's function in every trial.

use super::participation::takes_part;
use super::replay::side_of;
use privateer_config::error::Error;
use privateer_engine::env::noise::Noise;
use privateer_engine::env::{BuildContext, Environment, EnvironmentPlan};
use privateer_numerics::rng::Stream;
use privateer_privacy::RewardFacts;
use privateer_privacy::accounting::sensitivity::Participation;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Holds the planted rewards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Canary {
    /// Number of trials of the first side.
    pub(super) samples: u64,
    /// The user's reward on either side.
    pub(super) rewards: (f64, f64),
    /// The user's rounds.
    pub(super) participation: Participation,
    /// All other rewards; `None` for the mean rewards.
    pub(super) others: Option<f64>,
    /// Whether every round's decision set is the first point alone.
    pub(super) one_point: bool,
}

/// Returns the problem of a plan with planted rewards, or with its first trial's function in every trial.
pub(super) fn planted(plan: &EnvironmentPlan, canary: Option<Canary>, context: &BuildContext<'_>) -> Result<Environment, Error> {
    let inner = (plan.build)(context)?;
    let first = (inner.draw)(0)?;
    let draw = move |trial| {
        let first = first.clone();
        Ok(match canary {
            None => first,
            Some(canary) => {
                let facts = first.facts().clone();
                let reward = side_of(trial, canary.samples).pick(canary.rewards.0, canary.rewards.1);
                let first = if canary.one_point { first.with_one_point() } else { first };
                first.observed_through(Arc::new(PlantedRewards { facts, reward, canary, rounds: AtomicU64::new(0) }))
            }
        })
    };
    let set_size = if canary.is_some_and(|canary| canary.one_point) { Some(1) } else { inner.set_size };
    Ok(Environment { draw: Box::new(draw), set_size, ..inner })
}

/// Returns the planted reward in the user's rounds, and the others elsewhere; a mechanism treats them as the problem's noise.
struct PlantedRewards {
    facts: RewardFacts,
    reward: f64,
    canary: Canary,
    /// Number of rounds so far.
    rounds: AtomicU64,
}

impl fmt::Debug for PlantedRewards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rewards")
    }
}

impl Noise for PlantedRewards {
    fn reward(&self, mean: f64, _point: usize, _stream: &mut Stream) -> f64 {
        // One trial observes in one thread at a time.
        let round = self.rounds.fetch_add(1, Ordering::Relaxed) + 1;
        if takes_part(self.canary.participation, round) { self.reward } else { self.canary.others.unwrap_or(mean) }
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
