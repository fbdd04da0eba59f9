//! What these tests share: budgets, streams, calibrated mechanisms.

use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::gram::GramLayout;
use privateer_privacy::interactions::sums::{InteractionSums, SumsTerms};
use privateer_privacy::release::ChannelRelease;
use privateer_privacy::sums::{Epochs, SumsEntry, SumsMechanism, SumsNeed};
use privateer_privacy::{
    Budget, Calibration, Channel, Delta, Epsilon, MechanismEntry, Query, Raw, Request, RewardFacts, RewardMechanism,
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

fn request(mechanism: &'static str, epsilon: f64) -> Request {
    let budget = Budget::new(Some(epsilon), Some(1e-3)).expect("a budget");
    Request { mechanism, calibration: Calibration::Tight, budget, clip: Some((-1.0, 1.0)) }
}

fn facts(rounds: u64) -> RewardFacts {
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

/// Sums over users with two features and rewards in [-1, 1], released after every round.
pub fn sums(entry: &SumsEntry, epsilon: f64, rounds: u64) -> Arc<dyn SumsMechanism> {
    let batch = Some(rounds.min(64));
    let need = SumsNeed { n_features: 2, releases: rounds, rounds, epochs: Epochs::One, linear: false, batch };
    (entry.build)(&request(entry.name, epsilon), &facts(rounds), need).expect("a mechanism")
}

/// Sums over interactions with two arms, contexts of two features up to length 1 and rewards in [-1, 1].
pub fn interactions(local: bool, due: &[u64]) -> InteractionSums {
    let terms = SumsTerms {
        participation: Default::default(),
        layout: GramLayout { n_blocks: 2, dimension: 2, joint: false },
        due: due.into(),
        rounds: due.last().copied().unwrap_or(1),
        context_length: 1.0,
        range: (-1.0, 1.0),
        calibration: Calibration::Tight,
        mechanism: if local { "local-gaussian" } else { "auto" },
        budget: (e(1.0), d(1e-3)),
        local,
    };
    InteractionSums::calibrated(terms).expect("a mechanism")
}

/// Mean of the squares.
pub fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64
}
