//! Implements `random-arm`: a uniformly random arm, the baseline that a private policy must beat.

use super::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, Scratch};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use privateer_privacy::Released;
use privateer_privacy::interactions::InteractionSignal;

/// Reads the policy's keys; there are none.
pub fn parse(_args: &Args<'_>) -> ContextPolicyPlan {
    ContextPolicyPlan::unprotected(|facts| {
        let n_arms = facts.n_arms;
        ContextPolicyMaker::new(move || RandomArm { n_arms })
    })
}

struct RandomArm {
    n_arms: usize,
}

impl ContextPolicy for RandomArm {
    fn choose(&self, _context: &[f64], own: &mut Stream, _scratch: &mut Scratch) -> Result<usize, Error> {
        Ok(own.index(self.n_arms))
    }

    fn update(&mut self, _signal: &Released<InteractionSignal<'_>>) {}
}
