//! Attacks running sums: one user's items change, and all others are known.
//!
//! The releases are Gaussian with one of two means, so the likelihood ratio is `w · releases`, where `w` solves `(B B^T) w =
//! what the change adds to each prefix`. B is measured from the noise itself, one draw at a time. So noise that differs from
//! its stated factorisation still faces the attack that fits it.

use super::{Case, Claim, Side};
use privateer_numerics::linalg::{cholesky, solve_spd};
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::{Participation, Relation};
use privateer_privacy::quote::{self, StreamKind, StreamTerms};
use privateer_privacy::streams::{Factorisation, PrefixSums, Shape};
use privateer_privacy::{Delta, Epsilon, Raw};
use std::sync::Arc;

/// Number of rounds of the attacked streams.
const ROUNDS: u64 = 64;
/// The claim, at a delta for which the attack shows most of it.
pub const CLAIM: Claim = Claim { epsilon: 4.0, delta: 1e-3 };

/// Describes one of several running sums released together: shape, noise, and both sides' items.
#[derive(Debug, Clone)]
pub struct Part {
    pub shape: Shape,
    /// Standard deviation of a noise draw.
    pub sigma: f64,
    /// The changed item on the first side.
    pub first: Vec<f64>,
    /// The changed item on the second side.
    pub second: Vec<f64>,
}

impl Part {
    /// Creates a stream of numbers: `distance/2` against `-distance/2`.
    pub fn scalar(sigma: f64, distance: f64) -> Self {
        Self { shape: Shape::Vector(1), sigma, first: vec![0.5 * distance], second: vec![-0.5 * distance] }
    }

    /// Creates a stream of `phi phi^T` in packed form: one feature vector against another.
    pub fn gram(sigma: f64, first: &[f64], second: &[f64]) -> Self {
        Self { shape: Shape::Symmetric(first.len()), sigma, first: packed_square(first), second: packed_square(second) }
    }

    /// Creates a stream of `y phi`: one pair of features and reward against another.
    pub fn rewards(sigma: f64, first: (&[f64], f64), second: (&[f64], f64)) -> Self {
        let item = |(features, reward): (&[f64], f64)| features.iter().map(|x| reward * x).collect();
        Self { shape: Shape::Vector(first.0.len()), sigma, first: item(first), second: item(second) }
    }

    /// Returns the same part with equal variance for every stored entry.
    #[must_use]
    pub fn even(self) -> Self {
        Self { shape: Shape::Vector(self.first.len()), ..self }
    }

    /// Returns `(first - second)/variance`, entry by entry.
    fn direction(&self) -> Vec<f64> {
        let mut scale = vec![1.0; self.first.len()];
        if let Shape::Symmetric(n) | Shape::Bordered(n) = self.shape {
            // The variance on the diagonal is twice that of the other entries.
            let mut at = 0;
            for row in 0..n {
                scale[at] = 0.5;
                at += n - row;
            }
        }
        let variance = self.sigma * self.sigma;
        self.first.iter().zip(&self.second).zip(scale).map(|((a, b), scale)| (a - b) * scale / variance).collect()
    }
}

/// Returns the upper triangle of `z z^T`, row by row.
pub fn packed_square(z: &[f64]) -> Vec<f64> {
    z.iter().enumerate().flat_map(|(i, a)| z[i..].iter().map(move |b| a * b)).collect()
}

/// Returns all cases of one factorisation: one participation, and three at distance 16 rounds.
pub fn cases(name: &'static str) -> Vec<Case> {
    let Some(factorisation) = quote::factorisation(name, ROUNDS, Participation { count: 3, separation: 16 }) else {
        return Vec::new();
    };
    let (what, relation) = (StreamKind::Vector { radius: 1.0 }, Relation::Replace);
    let of = |participation: Participation, changed: &[u64], words: &str| {
        let sigma = sigma(&what, StreamTerms { relation, participation }, factorisation.as_ref());
        let name =
            if participation.count == 1 { name.to_owned() } else { format!("{name}, {} participations", participation.count) };
        case(name, CLAIM, &factorisation, vec![Part::scalar(sigma, 2.0)], changed, words)
    };
    let mut cases = vec![of(Participation::ONCE, &[1], "x_1 = 1 against -1")];
    let thrice = Participation { count: 3, separation: 16 };
    cases.push(of(thrice, &[1, 17, 33], "x_1, x_17 and x_33 = 1 against -1"));
    if name == "tree" {
        cases.push(by_nodes(256));
        cases.push(not_finite(
            &factorisation,
            sigma(&what, StreamTerms { relation, participation: Participation::ONCE }, factorisation.as_ref()),
        ));
    }
    cases
}

/// Returns the cases of `phi phi^T` and `y phi` in running sums, without the corner.
///
/// Rewards are up to 1, and up to 1/2.
pub fn gram_cases() -> Vec<Case> {
    let of = |name: &str, kind: &str, reward: f64| {
        let terms = StreamTerms { relation: Relation::Replace, participation: Participation::ONCE };
        let what = StreamKind::Gram { reward };
        let factorisation = quote::factorisation(kind, 16, Participation::ONCE)?;
        let sigma = sigma(&what, terms, factorisation.as_ref());
        // The worst angle of the two feature vectors has phi·phi' = Y² (erratum E7, `docs/privacy.md`).
        let c = (reward * reward).min(1.0);
        let (phi, other) = ([1.0, 0.0], [c, libm::sqrt(1.0 - c * c)]);
        let parts = vec![Part::gram(sigma, &phi, &other), Part::rewards(sigma, (&phi, reward), (&other, -reward))];
        let words = format!("(phi, y) = (e1, {reward}) against (phi', -{reward}) in round 1, phi·phi' = {c}");
        Some(case(name.to_owned(), CLAIM, &factorisation, parts, &[1], &words))
    };
    [("gram-prefix", "blt", 1.0), ("gram-prefix, centred rewards", "blt", 0.5), ("gram-prefix, tree", "tree", 1.0)]
        .into_iter()
        .filter_map(|(name, kind, reward)| of(name, kind, reward))
        .collect()
}

/// Returns the least noise for [`CLAIM`].
fn sigma(what: &StreamKind, terms: StreamTerms, factorisation: &dyn Factorisation) -> f64 {
    match (Epsilon::try_from(CLAIM.epsilon), Delta::try_from(CLAIM.delta)) {
        (Ok(epsilon), Ok(delta)) => quote::least_sigma(what, terms, factorisation, (epsilon, delta)),
        _ => f64::NAN,
    }
}

/// Returns the attack on running sums that are released together.
///
/// One user's items, at the `changed` rounds, are those of either side; all other items are zero.
pub fn case(
    name: String,
    claim: Claim,
    factorisation: &Arc<dyn Factorisation>,
    parts: Vec<Part>,
    changed: &[u64],
    pair: &str,
) -> Case {
    let weights = weights(factorisation.as_ref(), changed);
    let directions: Vec<Vec<f64>> = parts.iter().map(Part::direction).collect();
    let (of, changed) = (Arc::clone(factorisation), changed.to_vec());
    let attack = move |side: Side, stream: &mut Stream| {
        let mut score = 0.0;
        for (part, direction) in parts.iter().zip(&directions) {
            let mut sums = PrefixSums::new(&of, part.shape, part.sigma);
            let zero = vec![0.0; part.shape.len()];
            for (round, weight) in (1..).zip(&weights) {
                let item = if changed.contains(&round) { side.pick(&part.first, &part.second) } else { &zero };
                let Ok(released) = sums.release(Raw::seal(item), stream) else { return f64::NAN };
                score += weight * released.value().iter().zip(direction).map(|(x, d)| x * d).sum::<f64>();
            }
        }
        score
    };
    let rounds = factorisation.rounds();
    Case::new(name, claim, format!("{pair}, all else known, {rounds} rounds"), "the likelihood ratio of all prefixes", attack)
        .gaussian()
        .source("docs/proofs/streams.md")
}

/// Returns `w` with `(B B^T) w = a`, where a is the number of changed rounds up to each round.
pub(super) fn weights(factorisation: &dyn Factorisation, changed: &[u64]) -> Vec<f64> {
    let n = factorisation.rounds() as usize;
    // Column k is the noise of each prefix when draw k alone is 1; the loop ends when there is no draw k.
    let mut columns: Vec<Vec<f64>> = Vec::new();
    loop {
        let mut noise = factorisation.noise(Shape::Vector(1));
        let mut drawn = 0;
        let column: Vec<f64> = (0..n)
            .map(|_| {
                noise.next(&mut |out| {
                    out[0] = if drawn == columns.len() { 1.0 } else { 0.0 };
                    drawn += 1;
                })[0]
            })
            .collect();
        if drawn <= columns.len() {
            break;
        }
        columns.push(column);
    }
    let mut covariance = vec![0.0; n * n];
    for column in &columns {
        for (i, a) in column.iter().enumerate() {
            for (j, b) in column.iter().enumerate() {
                covariance[i * n + j] += a * b;
            }
        }
    }
    // Noise that is zero along a direction makes the matrix singular. A small ridge keeps the solution finite, and huge along
    // it.
    let size = (0..n).map(|i| covariance[i * n + i]).fold(0.0, f64::max);
    (0..n).for_each(|i| covariance[i * n + i] += 1e-9 * size);
    let mut w: Vec<f64> = (1..=n as u64).map(|t| changed.iter().filter(|&&round| round <= t).count() as f64).collect();
    if cholesky(&mut covariance, n).is_ok() {
        solve_spd(&covariance, &mut w);
    }
    w
}

/// Returns the case of a non-finite item, which must count as zero.
fn not_finite(factorisation: &Arc<dyn Factorisation>, sigma: f64) -> Case {
    let of = Arc::clone(factorisation);
    let play = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
        let mut sums = PrefixSums::new(&of, Shape::Vector(1), sigma);
        row.iter_mut().enumerate().all(|(round, out)| {
            let item = if round == 0 { side.pick([f64::INFINITY], [-1.0]) } else { [0.0] };
            sums.release(Raw::seal(&item), stream).is_ok_and(|released| {
                *out = released.value()[0];
                true
            })
        })
    };
    let pair = format!("x_1 infinite against -1, all else known, {ROUNDS} rounds");
    let case = Case::discriminant(format!("{}, not finite", factorisation.name()), CLAIM, pair, ROUNDS as usize, play);
    case.gaussian().source("docs/proofs/streams.md")
}

/// Returns another attack on the tree, by its nodes alone.
///
/// Rounds 1, 2, 4, … each read one node, and these nodes contain round 1.
fn by_nodes(rounds: u64) -> Case {
    let factorisation: Arc<dyn Factorisation> = Arc::new(privateer_privacy::streams::tree::Tree::new(rounds));
    let terms = StreamTerms { relation: Relation::Replace, participation: Participation::ONCE };
    let sigma = sigma(&StreamKind::Vector { radius: 1.0 }, terms, factorisation.as_ref());
    let attack = move |side: Side, stream: &mut Stream| {
        let mut sums = PrefixSums::new(&factorisation, Shape::Vector(1), sigma);
        let mut score = 0.0;
        for round in 1..=rounds {
            let item = if round == 1 { side.pick([1.0], [-1.0]) } else { [0.0] };
            let Ok(released) = sums.release(Raw::seal(&item), stream) else { return f64::NAN };
            score += if round.is_power_of_two() { released.value()[0] } else { 0.0 };
        }
        score
    };
    let pair = format!("x_1 = 1 against -1, all else known, {rounds} rounds");
    Case::new("tree, by its nodes", CLAIM, pair, "the sum of the nodes that hold round 1", attack)
        .gaussian()
        .source("docs/proofs/streams.md")
}
