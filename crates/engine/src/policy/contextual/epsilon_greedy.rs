//! Implements `epsilon-greedy` without privacy: the best ridge estimate, or sometimes a random arm.

use super::contract::best_arm;
use super::linucb::LinUcbState;
use super::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, Scratch};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use privateer_privacy::Released;
use privateer_privacy::interactions::InteractionSignal;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> ContextPolicyPlan {
    let explore = args.number("explore", "share of rounds with a random arm").at_least(0.0).at_most(1.0).or(0.05);
    let decay = args.flag("decay", "whether that share falls as explore · K/t, from 1 on", false);
    let ridge = args.number("ridge", "what is added to the diagonal of every arm's matrix").above(0.0).at_most(1e12).or(1.0);
    ContextPolicyPlan::unprotected(move |facts| {
        let (n_arms, dimension) = (facts.n_arms, facts.dimension);
        ContextPolicyMaker::new(move || EpsilonGreedy {
            explore,
            decay,
            n_arms,
            gains: vec![0.0; dimension],
            state: LinUcbState::new(n_arms, dimension, ridge),
        })
    })
}

struct EpsilonGreedy {
    explore: f64,
    decay: bool,
    n_arms: usize,
    gains: Vec<f64>,
    state: LinUcbState,
}

impl ContextPolicy for EpsilonGreedy {
    fn choose(&self, context: &[f64], own: &mut Stream, scratch: &mut Scratch) -> Result<usize, Error> {
        let t = (self.state.round + 1) as f64;
        let share = if self.decay { self.explore * self.n_arms as f64 / t } else { self.explore };
        // Both draws are made in every round, so that each round uses two words of the stream.
        let (explores, random) = (own.bernoulli(share), own.index(self.n_arms));
        if explores {
            return Ok(random);
        }
        best_arm((0..self.n_arms).map(|arm| (arm, self.state.mean(arm, context))), &mut scratch.scored)
    }

    fn update(&mut self, signal: &Released<InteractionSignal<'_>>) {
        self.state.round += 1;
        if let InteractionSignal::Interaction(interaction) = signal.value() {
            self.state.add(interaction, &mut self.gains);
        }
    }
}
