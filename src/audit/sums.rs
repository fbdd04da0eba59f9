//! Attacks on sums of `phi phi^T` and `y phi` over people, by the privatizers themselves: the pair of one person at the worst angle
//! changes, everybody else's is known.

use super::prefix::{packed_square, weights};
use super::rewards::{claim, refused};
use super::{Case, Side};
use crate::error::Error;
use crate::privacy::sums::{Epochs, SumsEntry, SumsNeed, SumsRequest};
use crate::privacy::{Event, Query, Raw, Reading, Request, RewardFacts, Signal};
use crate::rng::Stream;
use std::borrow::Cow;

/// People, one a round, each followed by a release.
const ROUNDS: u64 = 16;
/// The claim, at a delta where the attack sees most of it.
const BUDGET: (f64, f64) = (4.0, 1e-3);

/// The sums of people with two features and rewards in [-1, 1].
///
/// # Errors
/// A mechanism that refuses them.
pub fn cases(entry: &SumsEntry) -> Result<Vec<Case>, Error> {
    let request = SumsRequest {
        spec: Request {
            mechanism: entry.name.to_owned(),
            reading: Reading::Tight,
            epsilon: Some(BUDGET.0),
            delta: Some(BUDGET.1),
            clip: Some((-1.0, 1.0)),
            facts: RewardFacts { bound: 0.5, noise_bound: Some(0.5), range: None, noise_variance: None, rounds: ROUNDS },
        },
        need: SumsNeed { n_features: 2, releases: ROUNDS, rounds: ROUNDS, epochs: Epochs::One, linear: false },
    };
    let mechanism = (entry.build)(&request).map_err(|refusal| refused(&refusal))?;
    let ledger = mechanism.ledger();
    // Which prefixes count how much, and the sizes of the noise in matrix and vector; equal ones where there is none.
    let (weights, gram, moment) = match ledger.event {
        Event::Sums { gram_sigma, moment_sigma, .. } if entry.local => (first_alone(), gram_sigma, moment_sigma),
        Event::Sums { factor, gram_sigma, moment_sigma, .. } => {
            (weights(factor.factorisation(ROUNDS).as_ref(), &[1]), gram_sigma, moment_sigma)
        }
        _ => (first_alone(), 1.0, 1.0),
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
            let mut privatizer = of.privatizer();
            let mut score = 0.0;
            for (round, weight) in weights.iter().enumerate() {
                let (features, reward) = if round == 0 { side.pick((phi, 1.0), (other, -1.0)) } else { (known[round % 2], 0.3) };
                let query = Query { features: Cow::Borrowed(&features), release: true };
                let released = privatizer.release(&query, Raw::seal(reward), stream);
                score += match released.value() {
                    Signal::Sums(sums) | Signal::Item(sums) => {
                        weight * sums.entries.iter().zip(&direction).map(|(x, d)| x * d).sum::<f64>()
                    }
                    Signal::Reward(_) | Signal::Nothing => f64::NAN,
                };
            }
            score
        };
        let name = format!("sums-{}{}", entry.name, if other == phi { "" } else { ", right angle" });
        let pair = format!("{words}, in round 1 of {ROUNDS}, all else known");
        let case =
            Case::new(name, claim(&ledger), pair, "the likelihood ratio of all releases", attack).source("docs/proofs/sums.md");
        if 0.0 < ledger.delta { case.gaussian() } else { case }
    });
    Ok(made.collect())
}

/// Only the first release is about the changed person.
fn first_alone() -> Vec<f64> {
    (0..ROUNDS).map(|round| if round == 0 { 1.0 } else { 0.0 }).collect()
}
