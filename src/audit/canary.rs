//! A problem in which one person's reward is planted: round 1 observes the canary, every later round the mean reward itself. Domain,
//! function and starting points are those of the problem it wraps, with its first trial's function in every trial.

use crate::env::noise::Noise;
use crate::env::{BuildContext, Environment, EnvironmentPlan, Instance, RegretUnit};
use crate::error::Error;
use crate::gp::kernel::Kernel;
use crate::gp::{Points, TrainReadings};
use crate::privacy::RewardFacts;
use crate::rng::Stream;
use crate::score::GramSource;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The plan of such a problem.
pub(super) struct CanaryPlan {
    /// The problem as the spec has it.
    pub(super) inner: Arc<dyn EnvironmentPlan>,
    /// The reward of the first round.
    pub(super) reward: f64,
}

impl EnvironmentPlan for CanaryPlan {
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Environment>, Error> {
        let inner = self.inner.build(context)?;
        let (first, n_points) = (inner.draw(0)?, inner.gram().n_points());
        let values = Arc::new((0..n_points).map(|point| first.mean(point)).collect());
        Ok(Arc::new(Planted { inner, values, facts: first.facts().clone(), reward: self.reward }))
    }
}

struct Planted {
    inner: Arc<dyn Environment>,
    values: Arc<Vec<f64>>,
    facts: RewardFacts,
    reward: f64,
}

impl Environment for Planted {
    fn gram(&self) -> &Arc<dyn GramSource> {
        self.inner.gram()
    }

    fn points(&self) -> Option<&Points> {
        self.inner.points()
    }

    fn kernel(&self) -> Option<&Arc<dyn Kernel>> {
        self.inner.kernel()
    }

    fn draw(&self, _trial: u64) -> Result<Instance, Error> {
        let canary = Canary { facts: self.facts.clone(), reward: self.reward, sung: AtomicBool::new(false) };
        let bound = Some(self.facts.bound);
        Instance::new(Arc::clone(&self.values), Arc::new(canary), bound, self.facts.rounds, RegretUnit::Raw)
    }

    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        self.inner.facts()
    }

    fn train_readings(&self) -> Option<&Arc<TrainReadings>> {
        self.inner.train_readings()
    }
}

/// The planted reward, then means; to the mechanism it looks like the noise of the problem.
struct Canary {
    facts: RewardFacts,
    reward: f64,
    sung: AtomicBool,
}

impl fmt::Debug for Canary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Canary")
    }
}

impl Noise for Canary {
    fn reward(&self, mean: f64, _point: usize, _stream: &mut Stream) -> f64 {
        // One trial observes in one thread at a time.
        if self.sung.swap(true, Ordering::Relaxed) { mean } else { self.reward }
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
