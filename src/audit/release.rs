//! Attacks the releases of real data.
//!
//! The operating system supplies a new noise key for every release, so the figures differ a little from run to run.

use super::rewards::half;
use super::{Case, Claim, Side};
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::{Participation, Relation};
use privateer_privacy::release::{BitRelease, DensityRelease, LaplaceRelease, Release, TreeRelease, VectorRelease};
use privateer_privacy::{Delta, Epsilon, Raw, gdp_epsilon};

/// Budget of the pure releases.
const PURE: Claim = Claim { epsilon: 2.0, delta: 0.0 };
/// Budget of the Gaussian releases.
const GAUSSIAN: Claim = Claim { epsilon: 4.0, delta: 1e-3 };
/// Number of rounds of the stream.
const ROUNDS: u64 = 8;
const NUMBERS: &str = "one number 1 against -1: the ends of the clip range";
const OUTSIDE: &str = "one number 10^6 against -10^6, clipped to [-1, 1]";
const SOURCE: &str = "docs/proofs/discrete.md";

/// Releases one number; `None` if the mechanism refuses.
type ReleasedAnswer = fn(Epsilon, Raw<f64>) -> Option<Release<f64>>;

/// Returns the cases of a pure release of one number.
///
/// They are the ends of the clip range, numbers far outside it, and two releases of the same number at their joint price.
fn pure(name: &'static str, answer: ReleasedAnswer) -> Vec<Case> {
    let of = move |size: f64| {
        let epsilon = Epsilon::try_from(PURE.epsilon).ok()?;
        answer(epsilon, Raw::seal(size))
    };
    let once = move |size: f64| {
        move |side: Side, _: &mut Stream| of(half(side, 2.0 * size)).map_or(f64::NAN, |release| *release.value())
    };
    let twice = move |side: Side, _: &mut Stream| {
        let number = half(side, 2.0);
        of(number).zip(of(number)).map_or(f64::NAN, |(one, other)| one.value() + other.value())
    };
    let price = of(0.0).and_then(|release| release.ledger().composition.clone().times(2).pure()).unwrap_or(0.0);
    let twice =
        Case::new(format!("{name}, twice"), Claim { epsilon: price, delta: 0.0 }, NUMBERS, "the sum of two releases", twice);
    vec![
        Case::new(name, PURE, NUMBERS, "the released value", once(1.0)).source(SOURCE),
        Case::new(format!("{name}, outside"), PURE, OUTSIDE, "the released value", once(1e6)).source(SOURCE),
        twice.source(SOURCE),
    ]
}

/// Returns the attacks on discrete Laplace noise.
#[must_use]
pub fn laplace() -> Vec<Case> {
    pure("discrete-laplace", |epsilon, number| LaplaceRelease::calibrated(epsilon, -1.0, 1.0).ok()?.release(number).ok())
}

/// Returns the attacks on the release of one bit.
#[must_use]
pub fn bit() -> Vec<Case> {
    pure("bit", |epsilon, number| BitRelease::calibrated(epsilon, -1.0, 1.0).ok()?.release(number).ok())
}

/// Returns the attacks on the hybrid mechanism on a grid.
#[must_use]
pub fn density() -> Vec<Case> {
    pure("hybrid-on-a-grid", |epsilon, number| DensityRelease::calibrated(epsilon, -1.0, 1.0).ok()?.release(number).ok())
}

/// Returns the attacks on the two-level density on a grid.
#[must_use]
pub fn piecewise() -> Vec<Case> {
    pure("piecewise-on-a-grid", |epsilon, number| DensityRelease::dense(epsilon, -1.0, 1.0).ok()?.release(number).ok())
}

fn budget() -> Option<(Epsilon, Delta)> {
    Some((Epsilon::try_from(GAUSSIAN.epsilon).ok()?, Delta::try_from(GAUSSIAN.delta).ok()?))
}

/// Returns the attacks on discrete Gaussian noise on a vector.
///
/// They are vectors at the clip and far outside it, and two releases of the same vector.
#[must_use]
pub fn vector() -> Vec<Case> {
    let release = |first: f64| {
        let (epsilon, delta) = budget()?;
        let mechanism = VectorRelease::calibrated(epsilon, delta, 1.0, 2, Relation::Replace).ok()?;
        mechanism.release(Raw::seal(vec![first, 0.0])).ok()
    };
    let once = move |size: f64| {
        move |side: Side, _: &mut Stream| release(half(side, 2.0 * size)).map_or(f64::NAN, |release| release.value()[0])
    };
    let twice = move |side: Side, _: &mut Stream| {
        let first = half(side, 2.0);
        release(first).zip(release(first)).map_or(f64::NAN, |(one, other)| one.value()[0] + other.value()[0])
    };
    let price = |of: Release<Vec<f64>>| {
        let (_, delta) = budget()?;
        of.ledger().composition.clone().times(2).mu().map(|mu| gdp_epsilon(mu, delta))
    };
    let both = Claim { epsilon: release(0.0).and_then(price).unwrap_or(0.0), ..GAUSSIAN };
    let (name, pair) = ("discrete-gaussian-vector", "(1, 0) against (-1, 0), clipped to L2 norm 1");
    let outside = "(10^6, 0) against (-10^6, 0), clipped to L2 norm 1";
    vec![
        Case::new(name, GAUSSIAN, pair, "the first entry", once(1.0)).gaussian().source(SOURCE),
        Case::new(format!("{name}, outside"), GAUSSIAN, outside, "the first entry", once(1e6)).gaussian().source(SOURCE),
        Case::new(format!("{name}, twice"), both, pair, "the sum of both first entries", twice).gaussian().source(SOURCE),
    ]
}

/// Returns the attacks on the tree on integers.
///
/// The first round changes, or a later one, or items are far outside the clip.
#[must_use]
pub fn tree() -> Vec<Case> {
    let name = "discrete-gaussian-tree";
    let of = |suffix: &str, changed: u64, size: f64, pair: &str| {
        let play = move |side: Side, _: &mut Stream, row: &mut [f64]| {
            let terms = (Relation::Replace, Participation::ONCE);
            let stream = budget().and_then(|budget| TreeRelease::calibrated(budget, 1.0, 1, ROUNDS, terms).ok());
            let Some(mut stream) = stream else { return false };
            (1..=ROUNDS).zip(row).all(|(round, out)| {
                let item = if round == changed { half(side, 2.0 * size) } else { 0.0 };
                stream.add(Raw::seal(vec![item])).is_ok_and(|release| {
                    *out = release.value()[0];
                    true
                })
            })
        };
        let pair = format!("x_{changed} = {pair}, all else known, {ROUNDS} rounds");
        Case::discriminant(format!("{name}{suffix}"), GAUSSIAN, pair, ROUNDS as usize, play).gaussian().source(SOURCE)
    };
    vec![
        of("", 1, 1.0, "1 against -1"),
        of(", round 3", 3, 1.0, "1 against -1"),
        of(", outside", 1, 1e6, "10^6 against -10^6, clipped to 1"),
    ]
}
