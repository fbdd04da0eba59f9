//! The integers that exact samplers are given, against the stated price. Nothing is drawn: an error of any size shows.

use super::parts::{d, e};
use privateer_privacy::accounting::Composition;
use privateer_privacy::accounting::sensitivity::{Participation, Relation, gram_and_reward};
use privateer_privacy::mechanism::MECHANISMS;
use privateer_privacy::release::{ChannelRelease, ReleaseLedger, RowsRelease, SamplerLaw};
use privateer_privacy::streams::Shape;
use privateer_privacy::sums::{Epochs, SumsNeed, batch, exponential, joint, local, privunit};
use privateer_privacy::{Budget, Calibration, Channel, Event, Factor, Protection, Request, RewardFacts, gaussian_delta};

/// Room for the margin of a grid and whole steps.
const TIGHT: f64 = 1e-5;
/// Integer weights at the ends of epsilon's range.
const WEIGHTS: f64 = 1e-4;
/// Rounding of running sums, beyond which a release is refused.
const SUMS: f64 = 0.02;

/// The loss of neighbours at a distance, which rounding moves apart by some more steps: epsilon, or `mu` of Gaussian noise.
fn loss(law: SamplerLaw, distance: f64, rounding: f64) -> f64 {
    let odds = |a: u64, b: u64| (a as f64 / b as f64).ln();
    match law {
        SamplerLaw::Laplace { scale: noise, step }
        | SamplerLaw::Choice { scale: noise, step }
        | SamplerLaw::Gaussian { sigma: noise, step } => {
            assert_eq!(step.log2().fract(), 0.0, "a step is a power of two");
            (distance / step + rounding) / noise as f64
        }
        SamplerLaw::Bit { upper, lower, total } => odds(upper, lower).max(odds(total - lower, total - upper)),
        SamplerLaw::Levels { high, low } => odds(high, low),
    }
}

/// The loss is at most the stated one, and no smaller than it by more than the margin.
fn keeps(what: &str, law: SamplerLaw, (distance, rounding): (f64, f64), stated: f64, margin: f64) {
    let loss = loss(law, distance, rounding);
    // A last digit of logarithms and quotients of f64.
    assert!(loss <= stated * (1.0 + 1e-9), "{what}: {law:?} loses {loss}, stated is {stated}");
    assert!((1.0 - margin) * stated <= loss, "{what}: {law:?} loses {loss}, stated is {stated}");
}

/// The stated price of a released value: what its ledger says is what its composition costs.
fn priced(composition: &Composition, (epsilon, delta): (f64, f64)) -> f64 {
    let Some(mu) = composition.mu() else {
        assert_eq!((composition.pure(), delta), (Some(epsilon), 0.0));
        return epsilon;
    };
    let reached = gaussian_delta(epsilon, mu);
    assert!(reached <= delta && 0.999 * delta < reached, "{epsilon} {delta}: {reached}");
    mu
}

fn of_ledger(ledger: &ReleaseLedger) -> f64 {
    priced(&ledger.composition, (ledger.epsilon, ledger.delta))
}

const CLIPS: [(f64, f64); 4] = [(-1.0, 1.0), (0.0, 0.3), (-1e4, 7.0), (5.0, 5.0 + 1e-6)];
const BUDGETS: [(f64, f64); 6] = [(1.0, 1e-5), (0.1, 1e-9), (8.0, 0.01), (1e-3, 1e-6), (20.0, 1e-12), (3.7, 0.2)];

/// A pure mechanism is given what its epsilon needs, on any clip.
fn numbers() {
    for epsilon in [1e-6, 3e-4, 0.01, 0.3, 0.609, 0.61, 1.0, 2.0, 5.5, 12.0, 20.0] {
        for (lo, hi) in CLIPS {
            for entry in MECHANISMS.iter().filter(|entry| !["none", "gaussian"].contains(&entry.name)) {
                let what = format!("{} at {epsilon} on [{lo}, {hi}]", entry.name);
                let facts = RewardFacts { range: None, ..facts((lo, hi)) };
                let mechanism = (entry.build)(&request(entry.name, (epsilon, 0.1), (lo, hi)), &facts).expect("a mechanism");
                let Ok(laws) = mechanism.exact() else {
                    // Steps beyond 9e15 are refused: ends far from zero at a small epsilon.
                    assert!(entry.name == "laplace" && epsilon <= 12.0 && 5.0 <= lo, "{what}");
                    continue;
                };
                assert_eq!(laws.len(), if entry.name == "hybrid" && 0.6095 < epsilon { 2 } else { 1 }, "{what}");
                let (rounding, margin) = if entry.name == "laplace" { (1.0, TIGHT) } else { (0.0, WEIGHTS) };
                laws.iter().for_each(|law| keeps(&what, *law, (hi - lo, rounding), epsilon, margin));
            }
        }
    }
}

fn rows() {
    for (epsilon, delta) in BUDGETS {
        for (radius, n) in [(1.0, 1_usize), (0.02, 7), (3e5, 1000)] {
            // A bound of 10 radii, and one within the radius; half as many columns behind a projection.
            for bound in [10.0 * radius, 0.3 * radius] {
                let columns = n.div_ceil(2).min(20);
                let budget = (e(epsilon), d(delta));
                let plain = RowsRelease::calibrated(budget.0, budget.1, radius, bound, n).expect("rows");
                let mapped = RowsRelease::projected(budget, radius, bound, n, (columns, 3)).expect("rows");
                for (rows, columns) in [(plain, n), (mapped, columns)] {
                    let stretch = rows.projection().map_or(1.0, |map| map.stretch);
                    let at = (radius.min(2.0 * bound) * stretch, (columns as f64).sqrt());
                    let what = format!("({epsilon}, {delta}), rows of {n} within {bound}, {columns} columns");
                    rows.laws().iter().for_each(|law| keeps(&what, *law, at, of_ledger(rows.ledger()), TIGHT));
                    let (SamplerLaw::Gaussian { sigma, step }, 1) = (rows.laws()[0], rows.laws().len()) else {
                        panic!("{:?}", rows.laws())
                    };
                    assert_eq!(rows.sigma(), sigma as f64 * step);
                }
            }
        }
    }
}

fn facts((lo, hi): (f64, f64)) -> RewardFacts {
    RewardFacts { bound: 1.0, noise_bound: None, range: Some((lo, hi)), noise_variance: None, rounds: 40 }
}

fn request(mechanism: &'static str, (epsilon, delta): (f64, f64), clip: (f64, f64)) -> Request {
    let budget = Budget::new(Some(epsilon), Some(delta)).expect("a budget");
    Request { mechanism, calibration: Calibration::Tight, budget, clip: Some(clip) }
}

/// What a policy is told passes the same samplers, with the numbers of the ledger.
fn channels() {
    for budget in BUDGETS {
        for clip in CLIPS.into_iter().take(3) {
            let at = clip.1 - clip.0;
            for entry in MECHANISMS.iter().filter(|entry| entry.name != "none") {
                let what = format!("{} at {budget:?} on {clip:?}", entry.name);
                let mechanism = (entry.build)(&request(entry.name, budget, clip), &facts(clip)).expect("a mechanism");
                let ledger = mechanism.ledger();
                let stated = match ledger.event {
                    Event::Gaussian { .. } => priced(&ledger.composition(1).expect("a price"), budget),
                    _ => budget.0,
                };
                let laws = mechanism.exact().expect("laws");
                assert!(!laws.is_empty());
                // One step of rounding for a number.
                laws.iter().for_each(|law| keeps(&what, *law, (at, 1.0), stated, WEIGHTS));
                let channel = ChannelRelease::of(&Channel::Rewards(mechanism)).map(|channel| channel.laws().to_vec());
                assert_eq!(channel, Ok(laws));
            }
        }
        for entry in batch::ENTRIES.into_iter().chain([exponential::ENTRY]) {
            let mechanism =
                (entry.build)(&request(entry.name, budget, (-1.0, 3.0)), &facts((-1.0, 3.0)), SumsNeed::of_rewards(40, None));
            let ledger = mechanism.as_ref().expect("a mechanism").ledger();
            let stated = match ledger.event {
                Event::Gaussian { .. } => priced(&ledger.composition(1).expect("a price"), budget),
                _ => budget.0,
            };
            let release = ChannelRelease::of(&Channel::Sums(mechanism.expect("a mechanism"))).expect("sizes");
            assert_eq!(release.laws().len(), 1);
            // One step of rounding for one reward, whatever the size of a batch.
            keeps(&format!("{} at {budget:?}", entry.name), release.laws()[0], (4.0, 1.0), stated, WEIGHTS);
        }
        // Points of a sphere, up to the loss that needs too many of them.
        let need = SumsNeed::of_features(4, 40, 40);
        let points = (privunit::ENTRY.build)(&request("privunit", budget, (-1.0, 1.0)), &facts((-1.0, 1.0)), need);
        match ChannelRelease::of(&Channel::Sums(points.expect("a mechanism"))) {
            Ok(release) => keeps("privunit", release.laws()[0], (0.0, 0.0), budget.0, WEIGHTS),
            Err(error) => assert!(6.0 < budget.0, "{error}"),
        }
        let of_sums = joint::ENTRIES.into_iter().flat_map(|entry| [(entry, false), (entry, true)]);
        for (entry, rewards_alone) in of_sums.chain([(local::ENTRY, false)]) {
            for (n_features, epochs, clip) in
                [(2, Epochs::One, (-1.0, 1.0)), (9, Epochs::Restart, (0.0, 1.0)), (3, Epochs::Carry, (0.0, 8.0))]
            {
                if entry.serves == Protection::LocalSums && epochs != Epochs::One {
                    continue;
                }
                let need = SumsNeed { epochs, rewards_alone, ..SumsNeed::of_features(n_features, 40, 40) };
                let mechanism = (entry.build)(&request(entry.name, budget, clip), &facts(clip), need).expect("a mechanism");
                let what = format!("{} at {budget:?} on {clip:?}, {epochs:?}, alone: {rewards_alone}", entry.name);
                let ledger = mechanism.ledger();
                let factor = Factor::named(entry.name).unwrap_or(Factor::Own);
                let stated = ledger.composition(1).and_then(|composition| composition.mu()).expect("a Gaussian price");
                // Small budgets need more steps for rounding than the release accepts.
                let Ok(release) = ChannelRelease::of(&Channel::Sums(mechanism)) else {
                    assert!(budget.0 <= 1e-3 || !["tree", "local-gaussian"].contains(&entry.name), "{what}");
                    continue;
                };
                let lengths: &[u64] = match epochs {
                    Epochs::One => &[40],
                    _ => &[1, 1, 2, 4, 8, 16, 32],
                };
                assert_eq!(release.laws().len(), lengths.len(), "{what}");
                // In units of the clip range.
                let distance = if rewards_alone { 1.0 } else { gram_and_reward(0.5, Relation::Replace) };
                let entries = if rewards_alone { n_features } else { Shape::Bordered(n_features).len() } as f64;
                for (law, &length) in release.laws().iter().zip(lengths) {
                    let releases = if factor == Factor::Own { 1 } else { length };
                    let columns = factor.factorisation(releases, Participation::ONCE).sensitivity(Participation::ONCE);
                    keeps(&what, *law, (distance * columns, entries.sqrt() * columns), stated, SUMS);
                }
            }
        }
    }
}

/// Every exact sampler is given what its price needs, and hardly more.
#[test]
fn samplers_keep_the_stated_price() {
    numbers();
    rows();
    channels();
}
