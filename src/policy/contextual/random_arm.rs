//! Implements `random-arm`: a uniformly random arm, the baseline that a private policy must beat.

use super::contract::{restored, saved};
use super::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, Scratch};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use privateer_privacy::interactions::{CalibratedInteractions, ContextFacts, InteractionSignal};
use privateer_privacy::{Refusal, Released};

const NAME: &str = "random-arm";

/// Reads the policy's keys; there are none.
pub fn parse(_args: &Args<'_>) -> Box<dyn ContextPolicyPlan> {
    Box::new(RandomArmPlan)
}

struct RandomArmPlan;

impl ContextPolicyPlan for RandomArmPlan {
    fn maker(&self, facts: &ContextFacts, _mechanism: &CalibratedInteractions) -> Result<Box<dyn ContextPolicyMaker>, Refusal> {
        Ok(Box::new(RandomArmMaker { n_arms: facts.n_arms }))
    }
}

struct RandomArmMaker {
    n_arms: usize,
}

impl ContextPolicyMaker for RandomArmMaker {
    fn make(&self) -> Box<dyn ContextPolicy> {
        Box::new(RandomArm { n_arms: self.n_arms })
    }

    fn restore(&self, state: &serde_json::Value) -> Result<Box<dyn ContextPolicy>, Error> {
        restored::<()>(NAME, state)?;
        Ok(self.make())
    }
}

struct RandomArm {
    n_arms: usize,
}

impl ContextPolicy for RandomArm {
    fn choose(&self, _context: &[f64], own: &mut Stream, _scratch: &mut Scratch) -> Result<usize, Error> {
        Ok(own.index(self.n_arms))
    }

    fn update(&mut self, _signal: &Released<InteractionSignal<'_>>) {}

    fn save(&self) -> serde_json::Value {
        saved(NAME, &())
    }
}
