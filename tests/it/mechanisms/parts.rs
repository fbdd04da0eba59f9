//! What these tests share: budgets, streams, calibrated mechanisms.

use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::gradients::{Gradient, Sample, Start};
use privateer_privacy::gram::GramLayout;
use privateer_privacy::interactions::choices::{ChoiceLaw, ChoiceTerms};
use privateer_privacy::interactions::sums::{InteractionSums, SumsTerms};
use privateer_privacy::interactions::{InteractionSignal, Link};
use privateer_privacy::release::ChannelRelease;
use privateer_privacy::sums::{SumsEntry, SumsMechanism, SumsNeed};
use privateer_privacy::{
    Budget, Calibration, Channel, Delta, Epsilon, MechanismEntry, Query, Raw, Request, RewardFacts, RewardMechanism, Signal,
};
use std::sync::Arc;

pub fn e(epsilon: f64) -> Epsilon {
    Epsilon::try_from(epsilon).expect("a budget")
}

pub fn d(delta: f64) -> Delta {
    Delta::try_from(delta).expect("a probability")
}

/// A stream by its seed.
pub fn stream(seed: u64) -> Stream {
    Streams::new(seed, "mechanisms").of(0, Purpose::Noise)
}

/// Rewards on [-1, 1] at delta 1e-3.
pub fn request(mechanism: &'static str, epsilon: f64) -> Request {
    let budget = Budget::new(Some(epsilon), Some(1e-3)).expect("a budget");
    Request { mechanism, calibration: Calibration::Tight, budget, clip: Some((-1.0, 1.0)) }
}

pub fn facts(rounds: u64) -> RewardFacts {
    RewardFacts { bound: 0.5, noise_bound: Some(0.5), range: None, noise_variance: None, rounds }
}

/// A reward mechanism on [-1, 1].
pub fn rewards(entry: &MechanismEntry, epsilon: f64) -> Arc<dyn RewardMechanism> {
    (entry.build)(&request(entry.name, epsilon), &facts(10)).expect("a mechanism")
}

/// One reward on [-1, 1] with exact noise.
pub fn released(entry: &MechanismEntry, epsilon: f64, reward: f64) -> f64 {
    let mut release = ChannelRelease::of(&Channel::Rewards(rewards(entry, epsilon))).expect("exact noise");
    release.release(&Query::default(), Raw::seal(reward)).expect("entropy").reward().expect("a reward")
}

/// What a server of `n_features` features needs that releases after every round.
pub fn need(n_features: usize, rounds: u64) -> SumsNeed {
    SumsNeed::of_features(n_features, rounds, rounds)
}

/// Sums over users with two features and rewards in [-1, 1], released after every round.
pub fn sums(entry: &SumsEntry, epsilon: f64, rounds: u64) -> Arc<dyn SumsMechanism> {
    let need = SumsNeed { batch: Some(rounds.min(64)), ..need(2, rounds) };
    (entry.build)(&request(entry.name, epsilon), &facts(rounds), need).expect("a mechanism")
}

/// Sums over interactions with two arms, contexts of two features up to length 1 and rewards in [-1, 1].
pub fn interactions(local: bool, due: &[u64]) -> InteractionSums {
    let terms = SumsTerms {
        layout: GramLayout { n_blocks: 2, dimension: 2, joint: false },
        due: due.into(),
        rounds: due.last().copied().unwrap_or(1),
        context_length: 1.0,
        range: (-1.0, 1.0),
        request: request(if local { "local-gaussian" } else { "auto" }, 1.0),
        budget: (e(1.0), d(1e-3)),
        local,
    };
    InteractionSums::calibrated(terms).expect("a mechanism")
}

/// Choices of vertices for as many arms as contexts have features, without bounds.
pub fn choice_terms(size: usize, law: ChoiceLaw) -> ChoiceTerms {
    ChoiceTerms {
        n_arms: size,
        dimension: size,
        radius: 1.0,
        link: Link::Linear,
        warm_up: 1,
        start: Start::Half,
        law,
        bounds: None,
        synthetic: true,
    }
}

/// Released sums, or one user's item.
pub fn entries(signal: &Signal) -> Vec<f64> {
    match signal {
        Signal::Sums(sums) | Signal::Item(sums) => sums.entries.clone(),
        other => panic!("{other:?}"),
    }
}

/// Released sums over interactions.
pub fn entries_of(signal: &InteractionSignal<'_>) -> Vec<f64> {
    match signal {
        InteractionSignal::Sums { entries, .. } => entries.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// The gradient y x.
#[derive(Debug)]
pub struct Linear;

impl Gradient for Linear {
    fn gradient(&self, _theta: &[f64], sample: Sample<'_>, out: &mut [f64]) {
        out.iter_mut().zip(sample.x).for_each(|(out, x)| *out = sample.y * x);
    }
}

pub fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64
}
