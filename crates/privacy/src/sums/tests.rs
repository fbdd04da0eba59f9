//! Tests guarantees, noise and counts of every mechanism for sums.

use super::{Epochs, Spectrum, SumsEntry, SumsMechanism, SumsNeed, joint, local, none, privunit};
use crate::printed::dubey2021;
use crate::testing::{delta, epsilon as e};
use crate::{
    Budget, Calibration, Delta, Event, Guarantee, Protection, Query, Raw, Refusal, Request, RewardFacts, Signal,
    analytic_gaussian_sigma,
};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use std::sync::Arc;

fn entries() -> Vec<SumsEntry> {
    joint::ENTRIES.into_iter().chain([local::ENTRY]).collect()
}

fn need(rounds: u64, n_features: usize) -> SumsNeed {
    SumsNeed::of_features(n_features, rounds, rounds)
}

/// A request with what a mechanism is built for.
struct SumsCase {
    request: Request,
    facts: RewardFacts,
    need: SumsNeed,
}

impl SumsCase {
    fn build(&self, entry: &SumsEntry) -> Result<Arc<dyn SumsMechanism>, Refusal> {
        (entry.build)(&self.request, &self.facts, self.need)
    }
}

fn request(entry: &SumsEntry, calibration: Calibration, epsilon: f64, need: SumsNeed) -> SumsCase {
    let facts = RewardFacts {
        bound: 1.0,
        noise_bound: Some(1.0),
        range: Some((0.0, 1.0)),
        noise_variance: Some(0.25),
        rounds: need.rounds,
    };
    let budget = Budget::new(Some(epsilon), Some(1e-3)).expect("a budget");
    SumsCase { request: Request { mechanism: entry.name, calibration, budget, clip: None }, facts, need }
}

fn built(entry: &SumsEntry, calibration: Calibration, epsilon: f64, need: SumsNeed) -> Option<Arc<dyn SumsMechanism>> {
    request(entry, calibration, epsilon, need).build(entry).ok()
}

fn stream(label: &str) -> Stream {
    Streams::new(11, label).of(0, Purpose::Mechanism("sums"))
}

/// Checks that the ledger reports a failed guarantee: rewards in [0, 1], epsilon 10, delta 0.1.
#[test]
fn the_local_printed_reading_may_have_no_guarantee() {
    let mut request = request(&local::ENTRY, Calibration::AsPrinted, 10.0, need(100, 50));
    request.request.budget.delta = Delta::try_from(0.1).ok();
    let ledger = request.build(&local::ENTRY).expect("a mechanism").ledger();
    assert!(matches!(&ledger.guarantee, Guarantee::NoGuarantee { erratum, .. } if erratum.contains("E13")), "{ledger:?}");
    assert!(ledger.delivered_epsilon.is_some_and(|epsilon| (epsilon - 11.9).abs() < 0.1), "{ledger:?}");
    assert!(ledger.notes.iter().any(|note| note.contains("E12")), "{ledger:?}");
}

/// Compares with published standard deviations.
/// Node sigma 86.4 of the paper's own experiment; 3.76 for both halves of the local default at (1, .01), Y = 1; a centred
/// reward in [0, 1] costs 1.25 instead of 2.
#[test]
fn sigmas_of_the_reference() {
    let sigma = |entry: &SumsEntry, calibration: Calibration, epsilon: f64, failure: f64, clip: Option<(f64, f64)>| {
        let mut request = request(entry, calibration, epsilon, need(1024, 36));
        (request.request.budget.delta, request.request.clip) = (Delta::try_from(failure).ok(), clip);
        match request.build(entry).expect("a mechanism").ledger().event {
            Event::Sums { gram_sigma, moment_sigma, reward, .. } => (gram_sigma, moment_sigma, reward.expect("bounded")),
            other => panic!("{other:?}"),
        }
    };
    let tree = joint::ENTRIES[0];
    let (printed, ..) = sigma(&tree, Calibration::AsPrinted, 1.0, 0.1, None);
    assert!((printed - 86.4).abs() < 0.05, "{printed}");
    let (gram, moment, reach) = sigma(&local::ENTRY, Calibration::Tight, 1.0, 0.01, Some((-1.0, 1.0)));
    // Y = 1 is 1/2 of the range [-1, 1]: 1.25 in place of 2, and twice that in units of the reward.
    assert!((gram - 3.76 * 1.25 / 2.0).abs() < 0.005, "{gram}");
    assert_eq!((2.0 * gram, reach), (moment, 1.0));
    let (centred, _, reach) = sigma(&tree, Calibration::Tight, 1.0, 0.1, None);
    assert_eq!(reach, 0.5);
    let expected = 1.25 * libm::sqrt(11.0) * analytic(1.0, 0.1);
    assert!((centred - expected).abs() < 1e-12 * expected, "{centred} {expected}");
    // The corrected tree: lemma 2 at sensitivity 2, eleven nodes.
    let (corrected, ..) = sigma(&tree, Calibration::Corrected, 1.0, 0.1, None);
    assert!((corrected - 4.0 * libm::sqrt(11.0) * 2.0 * libm::log(100.0)).abs() < 1e-9, "{corrected}");
}

fn analytic(epsilon: f64, failure: f64) -> f64 {
    analytic_gaussian_sigma(e(epsilon), delta(failure))
}

/// Checks that clipping is counted.
/// Rewards outside the range move to its ends, NaN counts as the centre, long features are shortened.
#[test]
fn clipping_is_counted() {
    let phi = [0.6, 0.8];
    let tree = joint::ENTRIES[0];
    let built = built(&tree, Calibration::Tight, 1.0, need(9, 2)).expect("a mechanism");
    let give = |rewards: &[f64], scale: f64| {
        let (mut privatizer, mut random) = (built.privatizer(), stream("clip"));
        let mut last = Signal::Nothing;
        for &reward in rewards {
            let features: Vec<f64> = phi.iter().map(|x| scale * x).collect();
            let query = Query { features: features.into(), release: true };
            last = privatizer.release(&query, Raw::seal(reward), (&mut random).into()).value().clone();
        }
        let Signal::Sums(sums) = last else { panic!("no sums") };
        (sums.entries.clone(), privatizer.counts())
    };
    let (inside, counts) = give(&[1.0, 0.0, 0.5], 1.0);
    assert_eq!((counts.rewards, counts.clipped, counts.releases, counts.shortened), (3, 0, 3, 0));
    let (outside, counts) = give(&[7.0, f64::NEG_INFINITY, f64::NAN], 1.0);
    assert_eq!((counts.clipped, &outside), (3, &inside), "the same noise on the same clipped rewards");
    let (long, counts) = give(&[1.0, 0.0, 0.5], 3.0);
    assert_eq!(counts.shortened, 3);
    assert!(long.iter().zip(&inside).all(|(a, b)| (a - b).abs() < 1e-12));
}

/// Returns whether a sum of n squared standard normals is plausible.
/// Chi-square bound of Laurent and Massart: the sum lies within n ± (2 sqrt(n x) + 2x) with probability 1 - 2 e^-x. With x = 25
/// the false alarm is below 3e-11 per figure, and seeds are fixed.
fn plausible(squares: f64, n: f64) -> bool {
    let x = 25.0;
    (squares - n).abs() <= 2.0 * libm::sqrt(n * x) + 2.0 * x
}

/// Returns whether the noise of one stream agrees with the stated figures.
/// Compared are the standard deviations of diagonal, off-diagonal and vector entries at some rounds, and the covariance of two
/// releases.
fn noise_is_as_stated(entry: &SumsEntry) -> bool {
    let (rounds, m, runs) = (12_usize, 4, 400);
    let built = built(entry, Calibration::Tight, 1.0, need(rounds as u64, m)).expect("a mechanism");
    let zero = || Query { features: vec![0.0; m].into(), release: true };
    let mut random = stream(entry.name);
    let length = m * (m + 1) / 2 + m;
    let diagonal: Vec<usize> = (0..m).map(|i| i * m - i * i.saturating_sub(1) / 2).collect();
    // Sums of squares by kind (diagonal, off-diagonal, vector) and round, of differences between rounds 8 and 9, and counts.
    let (mut squares, mut differences) = (vec![[0.0; 3]; rounds], 0.0);
    let mut stds = vec![0.0; rounds];
    for _ in 0..runs {
        let mut privatizer = built.privatizer();
        let mut before = vec![0.0; length];
        let mut total = vec![0.0; length];
        for round in 0..rounds {
            let noise = match privatizer.release(&zero(), Raw::seal(0.5), (&mut random).into()).value() {
                Signal::Sums(sums) => {
                    stds[round] = sums.gram_std;
                    sums.entries.clone()
                }
                Signal::Item(item) => {
                    stds[round] = libm::sqrt((round + 1) as f64) * item.gram_std;
                    total.iter_mut().zip(&item.entries).for_each(|(sum, x)| *sum += x);
                    total.clone()
                }
                other => panic!("{other:?}"),
            };
            for (at, x) in noise.iter().enumerate() {
                let kind = if m * (m + 1) / 2 <= at { 2 } else { usize::from(!diagonal.contains(&at)) };
                let scale = if kind == 0 { 2.0 } else { 1.0 };
                squares[round][kind] += x * x / (scale * stds[round] * stds[round]);
            }
            if round == 8 {
                // In a tree, prefix 9 is prefix 8 plus fresh noise of variance 1; for any factorisation the variance of the
                // difference is stated.
                differences += noise.iter().zip(&before).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            }
            before = noise;
        }
    }
    let n = |count: usize| (runs * count) as f64;
    let counts = [m, m * (m - 1) / 2, m];
    let entries_fit = squares.iter().all(|kinds| kinds.iter().zip(counts).all(|(&found, count)| plausible(found, n(count))));
    let step = match entry.name {
        "tree" | "local-gaussian" | "privunit" => stds[0] * stds[0],
        _ => return entries_fit,
    };
    // Diagonal entries have twice the variance.
    let weights = (2 * m + m * (m - 1) / 2 + m) as f64;
    let variance = differences / (step * weights);
    entries_fit && (variance - runs as f64).abs() < 0.35 * runs as f64
}

#[test]
fn noise_has_the_stated_covariance() {
    // The release of a vector of zeros has no normal law, and shorter tails.
    for entry in entries().into_iter().chain([privunit::ENTRY]) {
        assert!(noise_is_as_stated(&entry), "{}", entry.name);
    }
}

/// Checks epochs of 1, 1, 2, 4, …: counts of users, restarts, and noise that adds up.
/// Each epoch starts from zero or from the last release.
#[test]
fn epochs() {
    let blt = joint::ENTRIES[2];
    let query = || Query { features: vec![1.0].into(), release: true };
    let kinds = [(Epochs::Restart, [1, 1, 1, 2, 1, 2, 3, 4, 1, 2]), (Epochs::Carry, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])];
    for ((epochs, users), rewards_alone) in kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let need = SumsNeed { epochs, rewards_alone, ..need(10, 1) };
        let built = built(&blt, Calibration::Tight, 1.0, need).expect("a mechanism");
        let (mut privatizer, mut random) = (built.privatizer(), stream("epochs"));
        let mut last_std = 0.0;
        for (round, &expected) in users.iter().enumerate() {
            let Signal::Sums(sums) = privatizer.release(&query(), Raw::seal(1.0), (&mut random).into()).value().clone() else {
                panic!("no sums")
            };
            let horizon = (round as u64 + 1).next_power_of_two();
            assert_eq!((sums.users, sums.horizon), (expected, horizon), "{epochs:?} round {round}");
            let raw = expected as f64;
            let off = (sums.entries[0] - raw).abs();
            assert!(if rewards_alone { off == 0.0 } else { off < 9.0 * sums.gram_std }, "{epochs:?} round {round}: {sums:?}");
            assert_eq!(sums.gram_std, if rewards_alone { 0.0 } else { sums.moment_std });
            // A centred reward of 1 is 1/2.
            assert!((sums.entries[1] - 0.5 * raw).abs() < 9.0 * sums.moment_std, "{epochs:?} round {round}: {sums:?}");
            if epochs == Epochs::Carry {
                assert!([2, 4, 8].contains(&round) || round < 2 || 0.9 * last_std < sums.moment_std, "noise is carried");
            }
            last_std = sums.moment_std;
        }
    }
}

/// Checks that users between two releases enter the later one together, each once.
/// Rounds without a release release nothing and draw nothing.
#[test]
fn rows_of_several_users() {
    let nothing = request(&none::ENTRY, Calibration::Tight, 1.0, need(6, 1)).build(&none::ENTRY).expect("no mechanism");
    let built = built(&joint::ENTRIES[0], Calibration::Tight, 1.0, SumsNeed { releases: 2, ..need(6, 1) }).expect("a mechanism");
    let (mut noisy, mut plain, mut random) = (built.privatizer(), nothing.privatizer(), stream("rows"));
    for round in 1..=6 {
        let query = Query { features: vec![1.0].into(), release: round == 2 || round == 6 };
        let words = random.drawn();
        let (signal, exact) = (
            noisy.release(&query, Raw::seal(0.5), (&mut random).into()).value().clone(),
            plain.release(&query, Raw::seal(0.5), (&mut random).into()).value().clone(),
        );
        match (signal, exact) {
            (Signal::Nothing, Signal::Nothing) => assert_eq!((random.drawn(), query.release), (words, false)),
            (Signal::Sums(noisy), Signal::Sums(plain)) => {
                assert_eq!((noisy.users, plain.users, random.drawn()), (round, round, words + 2));
                assert_eq!(plain.entries[0], round as f64);
                assert!((noisy.entries[0] - plain.entries[0]).abs() < 9.0 * noisy.gram_std);
            }
            other => panic!("{other:?}"),
        }
    }
    // There is no third release.
    let more = noisy.release(&Query { features: vec![1.0].into(), release: true }, Raw::seal(0.5), (&mut random).into());
    assert_eq!(*more.value(), Signal::Nothing);
    // Two releases need less noise than six.
    let sigma =
        |releases: u64| match self::built(&joint::ENTRIES[2], Calibration::Tight, 1.0, SumsNeed { releases, ..need(6, 1) })
            .expect("a mechanism")
            .ledger()
            .event
        {
            Event::Sums { gram_sigma, .. } => gram_sigma,
            other => panic!("{other:?}"),
        };
    assert!(sigma(2) < sigma(6));
}

/// Checks that noise of sums is in proportion to the clip range, and that public features have none.
///
/// The same rewards in a hundredfold range give the same matrix and a hundredfold vector. Rewards alone: the matrix is the sum of
/// products, computed here, and `sigma` is that of one reward of the range times the norm of a column.
#[test]
fn noise_follows_the_range_and_public_features_have_none() {
    for (entry, rewards_alone) in joint::ENTRIES.into_iter().flat_map(|entry| [(entry, false), (entry, true)]) {
        let of = |range| {
            let mut case = request(&entry, Calibration::Tight, 1.0, SumsNeed { rewards_alone, ..need(7, 2) });
            case.facts.range = Some(range);
            case.build(&entry).expect("a mechanism")
        };
        let (one, hundred) = (of((0.0, 1.0)), of((-30.0, 70.0)));
        if rewards_alone {
            let column = crate::quote::factorisation(entry.name, 7, crate::accounting::sensitivity::Participation::ONCE);
            let column = column.expect("a factorisation").sensitivity(crate::accounting::sensitivity::Participation::ONCE);
            let Event::Gaussian { sigma, sensitivity } = hundred.ledger().event else { panic!("no Gaussian noise") };
            assert!((sensitivity / (100.0 * column) - 1.0).abs() < 1e-12, "{}: {sensitivity} {column}", entry.name);
            assert!((sigma / (sensitivity * analytic(1.0, 1e-3)) - 1.0).abs() < 1e-12, "{}: {sigma}", entry.name);
            assert_eq!(hundred.ledger().threat_model.unit, crate::Unit::Reward);
        }
        assert!(hundred.ledger().delivered_epsilon.is_some_and(|delivered| (delivered - 1.0).abs() < 1e-9));
        let play = |mechanism: &dyn SumsMechanism, scale: f64, shift: f64| {
            let (mut privatizer, mut random) = (mechanism.privatizer(), stream("range"));
            let round = move |t: u32| {
                let (angle, reward) = (f64::from(t), f64::from(t % 3) / 2.0);
                let query = Query { features: vec![0.5 * angle.cos(), 0.5 * angle.sin()].into(), release: true };
                match privatizer.release(&query, Raw::seal(scale * reward + shift), (&mut random).into()).value() {
                    Signal::Sums(sums) => sums.as_ref().clone(),
                    other => panic!("{other:?}"),
                }
            };
            (1..=7).map(round).collect::<Vec<_>>()
        };
        let mut exact = [0.0; 3];
        for (t, (one, hundred)) in play(&*one, 1.0, 0.0).into_iter().zip(play(&*hundred, 100.0, -30.0)).enumerate() {
            let (x, y) = (0.5 * (t as f64 + 1.0).cos(), 0.5 * (t as f64 + 1.0).sin());
            exact.iter_mut().zip([x * x, x * y, y * y]).for_each(|(sum, product)| *sum += product);
            assert_eq!(one.entries[..3], hundred.entries[..3], "{}", entry.name);
            assert_eq!(rewards_alone, one.gram_std == 0.0 && one.entries[..3] == exact, "{}", entry.name);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
            assert!(near(hundred.moment_std, 100.0 * one.moment_std) && 0.5 < one.moment_std, "{}", entry.name);
            assert!(one.entries[3..].iter().zip(&hundred.entries[3..]).all(|(one, hundred)| near(*hundred, 100.0 * one)));
        }
    }
    for entry in [joint::ENTRIES[0], local::ENTRY] {
        let printed = request(&entry, Calibration::AsPrinted, 1.0, SumsNeed { rewards_alone: true, ..need(7, 2) });
        assert_eq!(printed.build(&entry).map(|_| ()).expect_err("refused").key, "protects");
    }
}

/// Checks that the derivation in words leads to the number beside it, whatever the clip range, calibration and mechanism: the bound
/// of an item at the stated |y|, times all stated factors.
#[test]
fn derivations_in_words_lead_to_their_number() {
    let calibrations = [Calibration::Corrected, Calibration::Tight];
    for (entry, calibration) in entries().into_iter().flat_map(|entry| calibrations.map(|calibration| (entry, calibration))) {
        for range in [(0.0, 1.0), (-1.0, 1.0), (-10.0, 10.0), (3.0, 3.1), (-0.2, 7.0)] {
            let mut case = request(&entry, calibration, 1.0, need(7, 2));
            case.facts.range = Some(range);
            let Ok(mechanism) = case.build(&entry) else { continue };
            let ledger = mechanism.ledger();
            let Event::Sums { .. } = ledger.event else { panic!("no sums: {ledger:?}") };
            let report = crate::quote::PriceReport::of_ledger(&ledger, 1).expect("a price");
            let words = &report.derivation;
            let number = |text: &str| {
                let digits = text.split([' ', ':', ';', ',']).next().expect("a word");
                digits.parse::<f64>().unwrap_or_else(|_| panic!("{words}"))
            };
            let y = number(words.split("|y| <= ").nth(1).expect("a bound"));
            let item = if y <= 1.0 { 1.0 + y * y } else { 2.0 * y };
            let stated = words.split("times ").skip(1).map(number).fold(item, |product, factor| product * factor);
            let found = report.sensitivity.expect("a number");
            assert!((stated / found - 1.0).abs() < 1e-4, "{} {calibration} {range:?}: {stated} {found}: {words}", entry.name);
        }
    }
}

/// Checks that notes on delta and centre, and the memory of the matrix, are those of sums with a noisy matrix.
#[test]
fn rewards_alone_are_noted_and_sized_as_all_sums() {
    for entry in joint::ENTRIES {
        let of = |rewards_alone, n_features| {
            let need = SumsNeed { rewards_alone, releases: 1, ..need(100, n_features) };
            let mut case = request(&entry, Calibration::Tight, 1.0, need);
            case.request.budget.delta = Delta::try_from(0.1).ok();
            case.build(&entry).expect("a mechanism")
        };
        for rewards_alone in [false, true] {
            let notes = of(rewards_alone, 3).ledger().notes;
            assert!(["(E7)", "(E12)"].iter().all(|code| notes.iter().any(|note| note.contains(code))), "{notes:?}");
        }
        // What is kept beside the noise is five matrices with their vectors.
        let m = 200.0;
        assert!(5.0 * m * (m + 3.0) / 2.0 <= of(true, 200).state() && of(true, 200).state() < of(false, 200).state());
    }
}

/// Checks that a ledger without names still says whether values are released in running sums.
#[test]
fn no_name_says_what_is_summed() {
    let of = |entry: &SumsEntry, calibration, rewards_alone| {
        let mut ledger = built(entry, calibration, 1.0, SumsNeed { rewards_alone, ..need(100, 3) })?.ledger();
        (ledger.mechanism, ledger.noise_formula, ledger.notes) = Default::default();
        Some(ledger.is_of_running_sums())
    };
    for calibration in Calibration::ALL {
        for entry in joint::ENTRIES {
            assert!([false, true].iter().all(|&alone| of(&entry, calibration, alone) != Some(false)), "{}", entry.name);
        }
        assert!([false, true].iter().all(|&alone| of(&local::ENTRY, calibration, alone) != Some(true)));
    }
    assert_eq!(of(&joint::ENTRIES[0], Calibration::Tight, true), Some(true));
}

/// Checks that the spectrum bounds of printed calibrations are the paper's sigma sqrt(n).
#[test]
fn spectra() {
    let tree = built(&joint::ENTRIES[0], Calibration::AsPrinted, 1.0, need(1024, 4)).expect("a mechanism");
    let sigma = dubey2021::sigma_of_the_proof(11, 2.0, 1.0, 1e-3);
    let Spectrum::Joint { gram: std, .. } = tree.facts().spectrum else { panic!("joint") };
    assert!((std - sigma * libm::sqrt(11.0)).abs() < 1e-9 * std);
    let nothing = request(&none::ENTRY, Calibration::Tight, 1.0, need(6, 1)).build(&none::ENTRY).expect("no mechanism");
    assert_eq!((nothing.facts().spectrum, nothing.ledger().guarantee), (Spectrum::None, Guarantee::NotPrivate));
}

#[test]
fn refusals_name_their_key() {
    for entry in entries() {
        let good = || request(&entry, Calibration::Tight, 1.0, need(100, 3));
        let refused = |change: &dyn Fn(&mut SumsCase)| {
            let mut request = good();
            change(&mut request);
            request.build(&entry).map(|_| ()).expect_err("refused").key
        };
        assert_eq!(refused(&|r| r.request.budget.epsilon = None), "epsilon");
        assert_eq!(refused(&|r| r.request.budget.delta = None), "delta");
        assert_eq!(refused(&|r| r.request.clip = Some((1.0, 1.0))), "clip");
        assert_eq!(refused(&|r| (r.facts.range, r.facts.noise_bound) = (None, None)), "clip");
        let mut unbounded = good();
        (unbounded.facts.range, unbounded.facts.noise_bound, unbounded.request.calibration) =
            (None, None, Calibration::AsPrinted);
        if entry.name == "tree" || entry.serves == Protection::LocalSums {
            let ledger = unbounded.build(&entry).expect("as printed").ledger();
            assert!(matches!(&ledger.guarantee, Guarantee::NoGuarantee { erratum, .. } if erratum == "E3"), "{ledger:?}");
        } else {
            assert_eq!(unbounded.build(&entry).map(|_| ()).expect_err("refused").key, "mechanism");
        }
    }
}
