//! Tests exact sums over users.
//! The sums are right, the noise has the stated size, and a restored state continues like an uninterrupted one.

use super::{Epochs, Spectrum, SumsEntry, SumsMechanism, SumsNeed, joint, local, privunit};
use crate::accounting::sensitivity::Participation;
use crate::noise::{Entropy, Noise, ReleaseError, SamplerLaw};
use crate::release::{ChannelRelease, KeptRelease};
use crate::{Budget, Calibration, Channel, Factor, Privatizer, Protection, Query, Raw, Request, RewardFacts, Signal};
use privateer_numerics::rng::{Purpose, Streams};
use std::sync::Arc;

/// Number of features.
const M: usize = 3;

fn entries() -> Vec<SumsEntry> {
    joint::ENTRIES.into_iter().chain([local::ENTRY, privunit::ENTRY]).collect()
}

fn built(
    entry: &SumsEntry,
    calibration: Calibration,
    rounds: u64,
    releases: u64,
    epochs: Epochs,
) -> Option<Arc<dyn SumsMechanism>> {
    protecting(entry, calibration, (rounds, releases), epochs, false)
}

fn protecting(
    entry: &SumsEntry,
    calibration: Calibration,
    (rounds, releases): (u64, u64),
    epochs: Epochs,
    rewards_alone: bool,
) -> Option<Arc<dyn SumsMechanism>> {
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: Some((0.0, 1.0)), noise_variance: Some(0.25), rounds };
    let (mechanism, need) = (entry.name, SumsNeed { epochs, rewards_alone, ..SumsNeed::of_features(M, releases, rounds) });
    let budget = Budget::new(Some(2.0), Some(1e-5)).expect("a budget");
    (entry.build)(&Request { mechanism, calibration, budget, clip: None }, &facts, need).ok()
}

fn exact(entry: &SumsEntry, rounds: u64, releases: u64, epochs: Epochs) -> Option<Arc<dyn SumsMechanism>> {
    built(entry, Calibration::Tight, rounds, releases, epochs).map(|mechanism| mechanism.exact().expect("sizes"))
}

/// Returns the standard deviation of a draw in the first epoch.
fn sigma(exact: &dyn SumsMechanism) -> f64 {
    match exact.laws()[0] {
        SamplerLaw::Gaussian { sigma, step } => sigma as f64 * step,
        SamplerLaw::Levels { .. } => match exact.facts().spectrum {
            Spectrum::Local { gram, .. } => gram,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Returns features and reward of a user, and the user's `phi phi^T` (packed) and `(y - 1/2) phi`.
fn user(t: u64) -> ([f64; M], f64, Vec<f64>) {
    let angle = 0.7 * t as f64;
    let (phi, reward) = ([0.6 * angle.cos(), 0.6 * angle.sin(), 0.5], (t % 5) as f64 / 4.0);
    let mut item: Vec<f64> = (0..M).flat_map(|i| (i..M).map(move |j| phi[i] * phi[j])).collect();
    item.extend(phi.iter().map(|x| (reward - 0.5) * x));
    (phi, reward, item)
}

fn take(release: &mut dyn Privatizer, t: u64, give: bool, entropy: &mut Entropy) -> Signal {
    let (phi, reward, _) = user(t);
    let query = Query { features: phi.to_vec().into(), release: give };
    release.release(&query, Raw::seal(reward), Noise::Exact(entropy)).value().clone()
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
            let mut release = exact(&entry, rounds, rounds, Epochs::One).expect("a release").privatizer();
            let mut items = [0.0; 9];
            let (mut truth, mut std) = (vec![0.0; 9], 0.0);
            for t in 1..=rounds {
                truth.iter_mut().zip(user(t).2).for_each(|(sum, x)| *sum += x);
                match take(release.as_mut(), t, true, &mut words) {
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

/// Checks exact sums of rewards at public points: 600 streams as above; the matrix is exact to rounding, the vector has its noise.
#[test]
fn exact_rewards_alone_leave_the_matrix_as_it_is() {
    for entry in joint::ENTRIES {
        let exact = protecting(&entry, Calibration::Tight, (6, 6), Epochs::One, true).expect("a mechanism").exact();
        let (exact, mut words, mut squares) = (exact.expect("sizes"), Entropy::seeded(5), [0.0; M]);
        for _ in 0..600 {
            let (mut privatizer, mut truth) = (exact.privatizer(), vec![0.0; 9]);
            for t in 1..=6 {
                truth.iter_mut().zip(user(t).2).for_each(|(sum, x)| *sum += x);
                let Signal::Sums(sums) = take(privatizer.as_mut(), t, true, &mut words) else { panic!("no sums") };
                assert!(sums.entries[..6].iter().zip(&truth).all(|(entry, truth)| (entry - truth).abs() < 1e-12));
                if t == 6 {
                    let residuals = sums.entries[6..].iter().zip(&truth[6..]).map(|(entry, truth)| entry - truth);
                    squares.iter_mut().zip(residuals).for_each(|(square, x)| *square += (x / sums.moment_std).powi(2));
                }
            }
        }
        assert!(squares.iter().all(|square| (square / 600.0 - 1.0).abs() < 0.35), "{}: {squares:?}", entry.name);
    }
}

/// Checks that a mechanism that takes what was kept again releases the same signals, and goes on from there.
/// For every form, schedule and kind of epoch; what another mechanism kept is refused.
#[test]
fn what_was_kept_gives_the_same_signals_again() {
    let alone = joint::ENTRIES.map(|entry| (entry, true));
    for (entry, rewards_alone) in entries().into_iter().map(|entry| (entry, false)).chain(alone) {
        for (epochs, every) in [
            (Epochs::One, 1),
            (Epochs::One, 3),
            (Epochs::Restart, 1),
            (Epochs::Restart, 3),
            (Epochs::Carry, 1),
            (Epochs::Carry, 3),
        ] {
            let rounds: u64 = 13;
            let releases = rounds.div_ceil(every);
            let Some(mechanism) = protecting(&entry, Calibration::Tight, (rounds, releases), epochs, rewards_alone) else {
                assert!(entry.serves == Protection::LocalSums && epochs != Epochs::One);
                continue;
            };
            let open = || ChannelRelease::of(&Channel::Sums(Arc::clone(&mechanism))).expect("sizes");
            // The fifth user has no valid item, and adds nothing.
            let features = |t: u64| if t == 5 { vec![f64::NAN; M] } else { user(t).0.to_vec() };
            let query = |t: u64| Query { features: features(t).into(), release: t.is_multiple_of(every) };
            let (mut whole, mut told) = (open(), Vec::new());
            let (mut truth, mut earlier, mut last) = ([0.0; 6], [0.0; 6], [0.0; 6]);
            for t in 1..=rounds {
                let reward = Raw::seal(0.05 * t as f64);
                told.push(whole.release_to_keep(&query(t), reward).expect("entropy"));
                if rewards_alone {
                    // The exact matrix is that of this epoch, or with the last release of those before.
                    let x = features(t);
                    if x[0].is_finite() {
                        let products = (0..M).flat_map(|i| (i..M).map(move |j| (i, j))).map(|(i, j)| x[i] * x[j]);
                        truth.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
                    }
                    if let Some(Signal::Sums(sums)) = told.last().map(|(signal, _)| signal.value()) {
                        last = std::array::from_fn(|at| earlier[at] + truth[at]);
                        let near = |(entry, truth): (&f64, &f64)| (entry - truth).abs() < 1e-12;
                        assert!(sums.entries[..6].iter().zip(&last).all(near), "{} {epochs:?} {t}: {sums:?}", entry.name);
                        assert_eq!(sums.gram_std, 0.0, "{} {epochs:?} {t}", entry.name);
                    }
                    if epochs != Epochs::One && t.is_power_of_two() {
                        truth = [0.0; 6];
                        if epochs == Epochs::Carry {
                            earlier = last;
                        }
                    }
                }
                let mut again = open();
                for (t, (signal, kept)) in (1..).zip(&told) {
                    assert_eq!(&again.again(&query(t), kept).expect("its own"), signal, "{} {epochs:?} {t}", entry.name);
                }
            }
            let is_local = entry.serves == Protection::LocalSums;
            assert!(told.iter().all(|(_, kept)| matches!(kept, KeptRelease::Item(_)) == is_local));
            assert!(!format!("{told:?}").contains("key"), "neither rewards nor keys are printed");
            // A key is drawn for each round.
            let keys: std::collections::BTreeSet<[u8; 32]> = told
                .iter()
                .filter_map(|(_, kept)| match kept {
                    KeptRelease::Raw { key, .. } => Some(*key),
                    _ => None,
                })
                .collect();
            assert_eq!(keys.len(), if is_local { 0 } else { rounds as usize });
            for other in
                [KeptRelease::Reward(0.5), KeptRelease::Item(vec![0.0; 3]), KeptRelease::Raw { reward: 0.5, key: [0; 32] }]
            {
                let fits = !is_local && matches!(other, KeptRelease::Raw { .. });
                assert_eq!(open().again(&query(1), &other).is_ok(), fits, "{}", entry.name);
            }
        }
    }
}

/// Checks that noise on doubles is drawn from no entropy, and exact noise from nothing else.
#[test]
fn noise_meets_its_own_source_alone() {
    for entry in entries() {
        let doubles = built(&entry, Calibration::Tight, 4, 4, Epochs::One).expect("built");
        let exact = doubles.exact().expect("sizes");
        let query = Query { features: vec![0.5; M].into(), release: true };
        let mut stream = Streams::new(1, "source").of(0, Purpose::Noise);
        let released = [
            doubles.privatizer().release(&query, Raw::seal(0.5), Noise::Exact(&mut Entropy::seeded(1))),
            exact.privatizer().release(&query, Raw::seal(0.5), (&mut stream).into()),
        ];
        for released in released {
            let (Signal::Sums(sums) | Signal::Item(sums)) = released.value() else { panic!("{released:?}") };
            assert!(sums.entries.iter().all(|entry| entry.is_nan()), "{}: {sums:?}", entry.name);
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
        mechanism.exact().map(|exact| sigma(exact.as_ref()))
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
/// Rounding is included. Own items of two sizes, streams too long for their form, and NaN rewards are refused.
#[test]
fn calibrations_are_kept() {
    for entry in entries() {
        let mechanism = built(&entry, Calibration::Tight, 100, 100, Epochs::One).expect("built");
        let simulated = match mechanism
            .privatizer()
            .release(
                &Query { features: vec![0.0; M].into(), release: true },
                Raw::seal(0.5),
                (&mut Streams::new(1, "sigma").of(0, Purpose::Noise)).into(),
            )
            .value()
        {
            Signal::Sums(sums) => sums.gram_std,
            Signal::Item(item) => item.gram_std,
            other => panic!("{other:?}"),
        };
        let sigma = sigma(mechanism.exact().expect("sizes").as_ref());
        // The first prefix has the noise of one draw, but for scaled rows.
        let scaled = Factor::named(entry.name).map(|factor| factor.factorisation(100, Participation::ONCE).variance(1));
        let simulated = simulated / scaled.map_or(1.0, f64::sqrt);
        assert!((1.0..1.02).contains(&(sigma / simulated)), "{}: {sigma} {simulated}", entry.name);
        let mut exact = ChannelRelease::of(&Channel::Sums(mechanism)).expect("sizes");
        let query = Query { features: vec![0.0; M].into(), release: true };
        assert_eq!(exact.release(&query, Raw::seal(f64::NAN)).expect_err("no number"), ReleaseError::NotFinite);
        let printed = built(&entry, Calibration::AsPrinted, 100, 100, Epochs::One);
        assert!(
            printed.is_none_or(|printed| entry.serves != Protection::LocalSums || printed.exact().is_err()),
            "{}",
            entry.name
        );
    }
    // Rows of a Toeplitz form are rounded in every later round: ten million rows cost more than 2 %.
    let long = built(&joint::ENTRIES[2], Calibration::Tight, 10_000_000, 10_000_000, Epochs::One).expect("built");
    assert!(long.exact().is_err());
}
