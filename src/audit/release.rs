//! Attacks on the releases of real data. Their noise is keyed by the operating system for every release, so the figures differ a
//! little from run to run.

use super::rewards::half;
use super::{Case, Claim, Side};
use crate::privacy::accounting::sensitivity::{Participation, Relation};
use crate::privacy::release::{BitRelease, DensityRelease, LaplaceRelease, TreeRelease, VectorRelease};
use crate::privacy::{Delta, Epsilon, Raw};
use crate::rng::Stream;

/// Budget of the pure releases.
const PURE: Claim = Claim { epsilon: 2.0, delta: 0.0 };
/// Budget of the Gaussian ones.
const GAUSSIAN: Claim = Claim { epsilon: 4.0, delta: 1e-3 };
/// Rounds of the stream.
const ROUNDS: u64 = 8;
const NUMBERS: &str = "one number 1 against -1: the ends of the clip range";
const SOURCE: &str = "docs/proofs/discrete.md";

fn pure(name: &'static str, release: fn(Epsilon, Raw<f64>) -> Option<f64>) -> Vec<Case> {
    let attack = move |side: Side, _: &mut Stream| {
        Epsilon::try_from(PURE.epsilon).ok().and_then(|epsilon| release(epsilon, Raw::seal(half(side, 2.0)))).unwrap_or(f64::NAN)
    };
    vec![Case::new(name, PURE, NUMBERS, "the released value", attack).source(SOURCE)]
}

/// Discrete Laplace noise.
#[must_use]
pub fn laplace() -> Vec<Case> {
    pure("discrete-laplace", |epsilon, number| {
        Some(*LaplaceRelease::calibrated(epsilon, -1.0, 1.0).ok()?.release(number).ok()?.value())
    })
}

/// One bit.
#[must_use]
pub fn bit() -> Vec<Case> {
    pure("bit", |epsilon, number| Some(*BitRelease::calibrated(epsilon, -1.0, 1.0).ok()?.release(number).ok()?.value()))
}

/// The hybrid mechanism on a grid.
#[must_use]
pub fn density() -> Vec<Case> {
    pure("hybrid-on-a-grid", |epsilon, number| {
        Some(*DensityRelease::calibrated(epsilon, -1.0, 1.0).ok()?.release(number).ok()?.value())
    })
}

fn budget() -> Option<(Epsilon, Delta)> {
    Some((Epsilon::try_from(GAUSSIAN.epsilon).ok()?, Delta::try_from(GAUSSIAN.delta).ok()?))
}

/// Discrete Gaussian noise on a vector.
#[must_use]
pub fn vector() -> Vec<Case> {
    let attack = |side: Side, _: &mut Stream| {
        let released = || {
            let (epsilon, delta) = budget()?;
            let mechanism = VectorRelease::calibrated(epsilon, delta, 1.0, 2, Relation::Replace).ok()?;
            Some(mechanism.release(Raw::seal(vec![half(side, 2.0), 0.0])).ok()?.value()[0])
        };
        released().unwrap_or(f64::NAN)
    };
    let pair = "(1, 0) against (-1, 0), clipped to L2 norm 1";
    vec![Case::new("discrete-gaussian-vector", GAUSSIAN, pair, "the first entry", attack).gaussian().source(SOURCE)]
}

/// The tree on integers.
#[must_use]
pub fn tree() -> Vec<Case> {
    let attack = |side: Side, _: &mut Stream| {
        let released = || {
            let terms = (Relation::Replace, Participation::ONCE);
            let mut stream = TreeRelease::calibrated(budget()?, 1.0, 1, ROUNDS, terms).ok()?;
            let mut score = 0.0;
            for round in 1..=ROUNDS {
                let item = if round == 1 { half(side, 2.0) } else { 0.0 };
                let prefix = stream.add(Raw::seal(vec![item])).ok()?.value()[0];
                score += if round.is_power_of_two() { prefix } else { 0.0 };
            }
            Some(score)
        };
        released().unwrap_or(f64::NAN)
    };
    let pair = format!("x_1 = 1 against -1, all else known, {ROUNDS} rounds");
    let score = "the sum of the nodes that hold round 1";
    vec![Case::new("discrete-gaussian-tree", GAUSSIAN, pair, score, attack).gaussian().source(SOURCE)]
}
