//! Attacks on sums of `phi phi^T` and `y phi` over people, by the privatizers themselves: the pair of one person at the worst angle
//! changes, everybody else's is known.

use super::prefix::{packed_square, weights};
use super::rewards::{claim, refused};
use super::{Case, Side};
use crate::error::Error;
use crate::privacy::release::SumsRelease;
use crate::privacy::sums::{Epochs, SumsEntry, SumsMechanism, SumsNeed, SumsRequest, joint, local};
use crate::privacy::{Event, Query, Raw, Reading, Released, Request, RewardFacts, Signal};
use crate::rng::Stream;
use std::borrow::Cow;

/// People, one a round, each followed by a release.
const ROUNDS: u64 = 16;
/// Of releases for real, whose noise takes longer to draw.
const EXACT_ROUNDS: u64 = 4;
/// The claim, at a delta where the attack sees most of it.
const BUDGET: (f64, f64) = (4.0, 1e-3);

/// The sums of people with two features and rewards in [-1, 1].
///
/// # Errors
/// A mechanism that refuses them.
pub fn cases(entry: &SumsEntry) -> Result<Vec<Case>, Error> {
    of(entry, ROUNDS, Noise::Simulated)
}

/// The same sums for real: running sums in buffers, and own items.
///
/// # Errors
/// A mechanism that refuses them.
pub fn released() -> Result<Vec<Case>, Error> {
    let mut cases = of(&joint::ENTRIES[2], EXACT_ROUNDS, Noise::Exact)?;
    cases.extend(of(&local::ENTRY, EXACT_ROUNDS, Noise::Exact)?);
    Ok(cases)
}

/// Whose noise is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Noise {
    Simulated,
    Exact,
}

/// Gives out what follows from one person's features and reward.
type Taker = Box<dyn FnMut(&Query<'_>, Raw<f64>, &mut Stream) -> Option<Released<Signal>>>;

impl Noise {
    fn taker(self, mechanism: &dyn SumsMechanism) -> Option<Taker> {
        if self == Self::Simulated {
            let mut privatizer = mechanism.privatizer();
            return Some(Box::new(move |query, reward, stream| Some(privatizer.release(query, reward, stream))));
        }
        let mut release = SumsRelease::new(mechanism.exact()?).ok()?;
        Some(Box::new(move |query, reward, _| release.release(query, reward).ok()))
    }
}

fn of(entry: &SumsEntry, rounds: u64, noise: Noise) -> Result<Vec<Case>, Error> {
    let request = SumsRequest {
        spec: Request {
            mechanism: entry.name.to_owned(),
            reading: Reading::Tight,
            epsilon: Some(BUDGET.0),
            delta: Some(BUDGET.1),
            clip: Some((-1.0, 1.0)),
            facts: RewardFacts { bound: 0.5, noise_bound: Some(0.5), range: None, noise_variance: None, rounds },
        },
        need: SumsNeed { n_features: 2, releases: rounds, rounds, epochs: Epochs::One, linear: false },
    };
    let mechanism = (entry.build)(&request).map_err(|refusal| refused(&refusal))?;
    let ledger = mechanism.ledger();
    // Which prefixes count how much, and the sizes of the noise in matrix and vector; equal ones where there is none.
    let (weights, gram, moment) = match ledger.event {
        Event::Sums { gram_sigma, moment_sigma, .. } if entry.local => (first_alone(rounds), gram_sigma, moment_sigma),
        Event::Sums { factor, gram_sigma, moment_sigma, .. } => {
            (weights(factor.factorisation(rounds).as_ref(), &[1]), gram_sigma, moment_sigma)
        }
        _ => (first_alone(rounds), 1.0, 1.0),
    };
    // At Y = 1 the worst angle is none: phi' = phi, y' = -y (E7). At a right angle the matrix is seen too.
    let pairs =
        [("the same phi, y = 1 against -1", [1.0, 0.0]), ("phi against one at a right angle, y = 1 against -1", [0.0, 1.0])];
    let known = [[0.6, 0.8], [0.8, -0.6]];
    let made = pairs.into_iter().map(|(words, other)| {
        let phi = [1.0, 0.0];
        let item = |phi: [f64; 2], y: f64| [packed_square(&phi), phi.map(|x| y * x).to_vec()].concat();
        let (first, second) = (item(phi, 1.0), item(other, -1.0));
        // Variances: 2 gram² on the diagonal, gram² beside it, moment² in the vector.
        let precision = [0.5 / gram / gram, 1.0 / gram / gram, 0.5 / gram / gram, 1.0 / moment / moment, 1.0 / moment / moment];
        let direction: Vec<f64> = first.iter().zip(&second).zip(precision).map(|((a, b), p)| (a - b) * p).collect();
        let (of, weights) = (std::sync::Arc::clone(&mechanism), weights.clone());
        let attack = move |side: Side, stream: &mut Stream| {
            let Some(mut take) = noise.taker(of.as_ref()) else { return f64::NAN };
            let mut score = 0.0;
            for (round, weight) in weights.iter().enumerate() {
                let (features, reward) = if round == 0 { side.pick((phi, 1.0), (other, -1.0)) } else { (known[round % 2], 0.3) };
                let query = Query { features: Cow::Borrowed(&features), release: true };
                let released = take(&query, Raw::seal(reward), stream);
                score += match released.as_ref().map(Released::value) {
                    Some(Signal::Sums(sums) | Signal::Item(sums)) => {
                        weight * sums.entries.iter().zip(&direction).map(|(x, d)| x * d).sum::<f64>()
                    }
                    _ => f64::NAN,
                };
            }
            score
        };
        let angle = if other == phi { "" } else { ", right angle" };
        let (name, source) = match noise {
            Noise::Simulated => (format!("sums-{}{angle}", entry.name), "docs/proofs/sums.md"),
            Noise::Exact => (format!("discrete-gaussian-sums, {}{angle}", entry.name), "docs/proofs/released-sums.md"),
        };
        let pair = format!("{words}, in round 1 of {rounds}, all else known");
        let case = Case::new(name, claim(&ledger), pair, "the likelihood ratio of all releases", attack).source(source);
        if 0.0 < ledger.delta { case.gaussian() } else { case }
    });
    Ok(made.collect())
}

/// Only the first release is about the changed person.
fn first_alone(rounds: u64) -> Vec<f64> {
    (0..rounds).map(|round| if round == 0 { 1.0 } else { 0.0 }).collect()
}
