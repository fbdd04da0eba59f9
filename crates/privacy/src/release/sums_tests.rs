//! Tests exact sums over users.
//! The sums are right, the noise has the stated size, and a restored state continues like an uninterrupted one.

use super::{ReleaseError, SumsRelease};
use crate::noise::Entropy;
use crate::sums::{Epochs, SumsEntry, SumsMechanism, SumsNeed, joint, local};
use crate::{Budget, Calibration, Query, Raw, Request, RewardFacts, Signal};
use std::sync::Arc;

/// Number of features.
const M: usize = 3;

fn entries() -> Vec<SumsEntry> {
    joint::ENTRIES.into_iter().chain([local::ENTRY]).collect()
}

fn built(
    entry: &SumsEntry,
    calibration: Calibration,
    rounds: u64,
    releases: u64,
    epochs: Epochs,
) -> Option<Arc<dyn SumsMechanism>> {
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: Some((0.0, 1.0)), noise_variance: Some(0.25), rounds };
    let (mechanism, need) = (entry.name, SumsNeed { n_features: M, releases, rounds, epochs, linear: false });
    let budget = Budget::new(Some(2.0), Some(1e-5)).expect("a budget");
    (entry.build)(&Request { mechanism, calibration, budget, clip: None }, &facts, need).ok()
}

fn release(entry: &SumsEntry, rounds: u64, releases: u64, epochs: Epochs) -> Option<SumsRelease> {
    built(entry, Calibration::Tight, rounds, releases, epochs)
        .map(|mechanism| SumsRelease::new(mechanism.exact().expect("tight")).expect("sizes"))
}

/// Returns features and reward of a user, and the user's `phi phi^T` (packed) and `(y - 1/2) phi`.
fn user(t: u64) -> ([f64; M], f64, Vec<f64>) {
    let angle = 0.7 * t as f64;
    let (phi, reward) = ([0.6 * angle.cos(), 0.6 * angle.sin(), 0.5], (t % 5) as f64 / 4.0);
    let mut item: Vec<f64> = (0..M).flat_map(|i| (i..M).map(move |j| phi[i] * phi[j])).collect();
    item.extend(phi.iter().map(|x| (reward - 0.5) * x));
    (phi, reward, item)
}

fn take(release: &mut SumsRelease, t: u64, give: bool, words: &mut Entropy) -> Signal {
    let (phi, reward, _) = user(t);
    let query = Query { features: phi.to_vec().into(), release: give };
    release.noised(&query, Raw::seal(reward), words).value().clone()
}

/// Checks that the residual from the true sums has the stated standard deviation.
/// 600 independent streams of 9 entries at one prefix; on the diagonal sqrt(2) times as much. Seeds are fixed.
#[test]
fn sums_are_right_and_noise_is_of_the_stated_size() {
    for entry in entries() {
        let mut squares = [0.0; 9];
        let mut words = Entropy::seeded(3);
        let (rounds, streams) = (6, 600);
        for _ in 0..streams {
            let mut release = release(&entry, rounds, rounds, Epochs::One).expect("a release");
            let mut items = [0.0; 9];
            let (mut truth, mut std) = (vec![0.0; 9], 0.0);
            for t in 1..=rounds {
                truth.iter_mut().zip(user(t).2).for_each(|(sum, x)| *sum += x);
                match take(&mut release, t, true, &mut words) {
                    Signal::Sums(sums) => {
                        assert_eq!((sums.users, sums.gram_std), (t, sums.moment_std));
                        items.copy_from_slice(&sums.entries);
                        std = sums.gram_std;
                    }
                    Signal::Item(item) => {
                        items.iter_mut().zip(&item.entries).for_each(|(sum, x)| *sum += x);
                        std = libm::hypot(std, item.gram_std);
                    }
                    other => panic!("{other:?}"),
                }
            }
            for (i, square) in squares.iter_mut().enumerate() {
                let unit = if [0, 3, 5].contains(&i) { std::f64::consts::SQRT_2 } else { 1.0 };
                *square += ((items[i] - truth[i]) / (std * unit)).powi(2);
            }
        }
        // A mean of 600 squares has standard deviation sqrt(2/600) = 0.058; six of them. Without sqrt(2), the diagonal would
        // give 2.
        for square in squares {
            assert!((square / f64::from(streams) - 1.0).abs() < 0.35, "{}: {squares:?}", entry.name);
        }
    }
}

/// Checks that saving and restoring after every user leaves the released values unchanged.
/// At equal random bits, for every form, schedule and kind of epoch; an altered state is refused.
#[test]
fn a_saved_stream_goes_on() {
    for entry in entries() {
        for (epochs, every) in [(Epochs::One, 1), (Epochs::One, 3), (Epochs::Restart, 1), (Epochs::Carry, 1)] {
            let rounds = 13;
            let make = || release(&entry, rounds, rounds.div_ceil(every), epochs);
            let Some(mut whole) = make() else {
                assert!(entry.local && epochs != Epochs::One);
                continue;
            };
            let mut cut = make().expect("the same");
            let (mut one, mut other) = (Entropy::seeded(9), Entropy::seeded(9));
            for t in 1..=rounds {
                let give = t % every == 0;
                let expected = take(&mut whole, t, give, &mut one);
                assert_eq!(take(&mut cut, t, give, &mut other), expected, "{} {epochs:?} {t}", entry.name);
                assert_eq!(cut.users(), t);
                let saved = cut.save();
                cut = make().expect("the same");
                let text = saved.to_string();
                cut.load(serde_json::from_str(&text).expect("JSON")).expect("its own state");
                assert_eq!(cut.save(), saved);
            }
            let saved = cut.save();
            for (key, value) in [("version", 2), ("epoch", 99), ("users", 14)] {
                let mut bad = saved.clone();
                bad[key] = value.into();
                assert!(make().expect("the same").load(bad).is_err(), "{} {key}", entry.name);
            }
            let mut bad = saved.clone();
            bad["grids"][0][0] = 0.5.into();
            assert!(make().expect("the same").load(bad).is_err_and(|said| said.contains("other steps")), "{}", entry.name);
            if !saved["stream"].is_null() {
                let mut bad = saved.clone();
                bad["stream"]["row"][0] = i64::MAX.into();
                assert!(make().expect("the same").load(bad).is_err(), "{}", entry.name);
                let mut bad = saved.clone();
                bad["stream"]["rows"] = 1.into();
                assert!(make().expect("the same").load(bad).is_err(), "{}", entry.name);
            }
        }
    }
}

/// Checks that streams whose running sums f64 rounds get more noise.
/// The additional noise exceeds that for rounding to integers, and is absent where sums of nodes are exact. Streams beyond 2^53
/// steps are refused.
#[test]
fn streams_near_the_end_of_exact_doubles_pay_for_rounding() {
    let of = |entry: &SumsEntry, rounds: u64| {
        let mechanism = built(entry, Calibration::Tight, rounds, 8, Epochs::One).expect("built");
        SumsRelease::new(mechanism.exact().expect("tight")).map(|release| release.sigma())
    };
    let (few, many) = (100, 4_000_000_000);
    for entry in &joint::ENTRIES {
        let share = of(entry, many).expect("sizes") / of(entry, few).expect("sizes") - 1.0;
        let exact = ["tree", "honaker"].contains(&entry.name);
        assert!(if exact { share == 0.0 } else { 1e-6 < share }, "{}: {share}", entry.name);
        assert!(of(entry, 1_000_000_000_000).is_err());
    }
}

/// Checks that noise on the grid is at least that of the calibration on f64, and at most 2 % more.
/// Rounding is included. Calibrations other than tight, streams too long for their form, and NaN rewards are refused.
#[test]
fn calibrations_are_kept() {
    for entry in entries() {
        let mechanism = built(&entry, Calibration::Tight, 100, 100, Epochs::One).expect("built");
        let simulated = match mechanism
            .privatizer()
            .release(
                &Query { features: vec![0.0; M].into(), release: true },
                Raw::seal(0.5),
                (&mut privateer_numerics::rng::Streams::new(1, "sigma").of(0, privateer_numerics::rng::Purpose::Noise)).into(),
            )
            .value()
        {
            Signal::Sums(sums) => sums.gram_std,
            Signal::Item(item) => item.gram_std,
            other => panic!("{other:?}"),
        };
        let mut exact = SumsRelease::new(mechanism.exact().expect("tight")).expect("sizes");
        // The first prefix has the noise of one draw, for the square root of Toeplitz and for trees.
        assert!((1.0..1.02).contains(&(exact.sigma() / simulated)), "{}: {} {simulated}", entry.name, exact.sigma());
        let query = Query { features: vec![0.0; M].into(), release: true };
        assert_eq!(exact.release(&query, Raw::seal(f64::NAN)).expect_err("no number"), ReleaseError::NotFinite);
        assert_eq!(exact.users(), 0, "a refusal takes nobody in");
        let corrected = built(&entry, Calibration::Corrected, 100, 100, Epochs::One).expect("built");
        assert!(corrected.exact().is_none(), "{}", entry.name);
    }
    // Rows of a Toeplitz form are rounded in every later round: ten million rows cost more than 2 %.
    let long = built(&joint::ENTRIES[2], Calibration::Tight, 10_000_000, 10_000_000, Epochs::One).expect("built");
    assert!(SumsRelease::new(long.exact().expect("tight")).is_err());
}
