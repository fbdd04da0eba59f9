//! Implements `epsilon-greedy` without privacy: the best ridge estimate, or sometimes a random arm.

use super::contract::{best_arm, misfit, restored, saved};
use super::linucb::LinUcbState;
use super::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, Scratch};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use privateer_privacy::interactions::{CalibratedInteractions, ContextFacts, InteractionSignal};
use privateer_privacy::{Refusal, Released};

const NAME: &str = "epsilon-greedy";

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> Box<dyn ContextPolicyPlan> {
    let explore = args.number("explore", "share of rounds with a random arm").at_least(0.0).at_most(1.0).or(0.05);
    let decay = args.flag("decay", "whether that share falls as explore · K/t, from 1 on", false);
    let ridge = args.number("ridge", "what is added to the diagonal of every arm's matrix").above(0.0).at_most(1e12).or(1.0);
    Box::new(EpsilonGreedyPlan { explore, decay, ridge })
}

#[derive(Debug, Clone, Copy)]
struct EpsilonGreedyPlan {
    explore: f64,
    decay: bool,
    ridge: f64,
}

impl ContextPolicyPlan for EpsilonGreedyPlan {
    fn maker(&self, facts: &ContextFacts, _mechanism: &CalibratedInteractions) -> Result<Box<dyn ContextPolicyMaker>, Refusal> {
        Ok(Box::new(EpsilonGreedyMaker { plan: *self, n_arms: facts.n_arms, dimension: facts.dimension }))
    }
}

struct EpsilonGreedyMaker {
    plan: EpsilonGreedyPlan,
    n_arms: usize,
    dimension: usize,
}

impl EpsilonGreedyMaker {
    fn of(&self, state: LinUcbState) -> Box<dyn ContextPolicy> {
        Box::new(EpsilonGreedy { plan: self.plan, n_arms: self.n_arms, gains: vec![0.0; self.dimension], state })
    }
}

impl ContextPolicyMaker for EpsilonGreedyMaker {
    fn make(&self) -> Box<dyn ContextPolicy> {
        self.of(LinUcbState::new(self.n_arms, self.dimension, self.plan.ridge))
    }

    fn restore(&self, state: &serde_json::Value) -> Result<Box<dyn ContextPolicy>, Error> {
        let state: LinUcbState = restored(NAME, state)?;
        if state.fits(self.n_arms, self.dimension) { Ok(self.of(state)) } else { Err(misfit(NAME)) }
    }
}

struct EpsilonGreedy {
    plan: EpsilonGreedyPlan,
    n_arms: usize,
    gains: Vec<f64>,
    state: LinUcbState,
}

impl ContextPolicy for EpsilonGreedy {
    fn choose(&self, context: &[f64], own: &mut Stream, scratch: &mut Scratch) -> Result<usize, Error> {
        let t = (self.state.round + 1) as f64;
        let share = if self.plan.decay { self.plan.explore * self.n_arms as f64 / t } else { self.plan.explore };
        // Both draws are made in every round, so that each round uses two words of the stream.
        let (explores, random) = (own.bernoulli(share), own.index(self.n_arms));
        if explores {
            return Ok(random);
        }
        scratch.scored.clear();
        scratch.scored.extend((0..self.n_arms).map(|arm| (arm, self.state.mean(arm, context))));
        best_arm(&scratch.scored)
    }

    fn update(&mut self, signal: &Released<InteractionSignal<'_>>) {
        self.state.round += 1;
        if let InteractionSignal::Interaction(interaction) = signal.value() {
            self.state.add(interaction, &mut self.gains);
        }
    }

    fn save(&self) -> serde_json::Value {
        saved(NAME, &self.state)
    }
}
