//! Sums of batches of rewards: what is released, when, and with how much noise.

use super::parts::{mean_square, stream, sums};
use privateer_privacy::release::ChannelRelease;
use privateer_privacy::sums::{SumsEntry, batch, shuffle};
use privateer_privacy::{Channel, Event, Guarantee, Query, Raw, Signal};

/// Means of batches of `batch` rewards at epsilon = 2 on [-1, 1], from a stream or with exact noise.
fn means(entry: &SumsEntry, rewards: &[f64], batch: usize, seed: Option<u64>) -> Vec<f64> {
    let mechanism = sums(entry, 2.0, 1000);
    let mut exact = ChannelRelease::of(&Channel::Sums(mechanism.clone())).expect("sizes");
    let (mut privatizer, mut stream) = (mechanism.privatizer(), stream(seed.unwrap_or(0)));
    let mut found = Vec::new();
    for (at, &reward) in rewards.iter().enumerate() {
        let query = Query { release: (at + 1).is_multiple_of(batch), ..Query::default() };
        let signal = if seed.is_some() {
            privatizer.release(&query, Raw::seal(reward), (&mut stream).into())
        } else {
            exact.release(&query, Raw::seal(reward)).expect("entropy")
        };
        assert_eq!(signal.value() == &Signal::Nothing, !query.release, "a batch is released at its end and never before");
        found.extend(signal.reward());
    }
    found
}

#[test]
fn rewards_are_clipped() {
    for entry in &batch::ENTRIES {
        let outside = means(entry, &[1e6, f64::NEG_INFINITY, f64::NAN, 0.5], 4, Some(3));
        assert_eq!(outside, means(entry, &[1.0, -1.0, 0.0, 0.5], 4, Some(3)), "{}", entry.name);
        let released = means(entry, &[1e6, 1e6, 0.5, 0.5], 4, None);
        // Within 60 scales, but for once in e^60.
        assert!(released[0].abs() < 1.0 + 60.0, "{released:?}");
    }
}

/// Mean squares over the stated variance of 20 000 simulated and 4000 exact means, within six standard errors.
#[test]
fn a_mean_has_the_stated_noise() {
    for entry in &batch::ENTRIES {
        let variance = match sums(entry, 2.0, 10).ledger().event {
            Event::Laplace { scale, sensitivity } => {
                assert_eq!((scale, sensitivity), (1.0, Some(2.0)), "width 2 at epsilon 2");
                2.0
            }
            Event::Gaussian { sigma, sensitivity } => {
                assert_eq!(sensitivity, 2.0);
                sigma * sigma
            }
            other => panic!("{other:?}"),
        };
        for (n, seed) in [(20_000, Some(2)), (4000, None)] {
            let errors: Vec<f64> = means(entry, &[0.5, -0.25, 0.5].repeat(n), 3, seed).iter().map(|mean| mean - 0.25).collect();
            assert_eq!(errors.len(), n);
            let ratio = mean_square(&errors) / (variance / 9.0);
            assert!((ratio - 1.0).abs() < 6.0 * (5.0 / n as f64).sqrt(), "{}: {ratio}", entry.name);
        }
    }
}

#[test]
fn a_batch_holds_nothing_of_the_one_before() {
    for entry in &batch::ENTRIES {
        let [low, high] = [-1.0, 1.0].map(|last| means(entry, &[0.5, last, 0.25, 0.0, 0.0, 0.0], 2, Some(7)));
        assert!((high[0] - low[0] - 1.0).abs() < 1e-12, "{low:?} {high:?}");
        assert_eq!(low[1..], high[1..], "{}", entry.name);
    }
}

/// The failure probability of 64 answers on `levels` levels, where it is seen who answers at random, by sums over all counts.
fn failure(epsilon: f64, rare: f64, levels: u64) -> f64 {
    let (k, e) = (levels as f64, epsilon.exp());
    let chances = |n: u64, p: f64| -> Vec<f64> {
        let step = |law: Vec<f64>, _| {
            let at = |i: usize| law.get(i).copied().unwrap_or(0.0);
            (0..=law.len()).map(|i| (1.0 - p) * at(i) + if i == 0 { 0.0 } else { p * at(i - 1) }).collect()
        };
        (0..n).fold(vec![1.0], step)
    };
    let random = k * rare;
    let others = chances(63, random);
    let of_answers = |answers: u64| {
        let at_own = |n: usize| (1.0 - random) * k / answers as f64 * n as f64 + random;
        // The answers at either level of the user, and of those the answers at the first.
        let cells = chances(answers, 2.0 / k).into_iter().enumerate().flat_map(|(both, p)| {
            let halves = chances(both as u64, 0.5).into_iter().enumerate();
            halves.map(move |(first, q)| p * q * (at_own(first) - e * at_own(both - first)).max(0.0)).collect::<Vec<_>>()
        });
        cells.sum::<f64>()
    };
    others.iter().zip(1..).map(|(weight, answers)| weight * of_answers(answers)).sum()
}

/// Answers are as random as the budget of 64 of them asks, by another sum and by 40 000 draws; fewer than 64 are never released.
#[test]
fn shuffled_answers_keep_their_price() {
    let ledger = sums(&shuffle::ENTRY, 2.0, 64).ledger();
    let Event::Shuffled { rare, levels: 4, users: 64 } = ledger.event else { panic!("{ledger:?}") };
    let (spent, least) = (failure(2.0, rare, 4), failure(2.0, rare * (1.0 - 1e-6), 4));
    assert!(spent <= ledger.delta * (1.0 + 1e-9) && ledger.delta < least, "{spent}, {least}, {}", ledger.delta);
    assert_eq!(ledger.guarantee, Guarantee::Holds);
    let (mechanism, mut stream) = (sums(&shuffle::ENTRY, 2.0, 64), stream(5));
    let mut privatizer = mechanism.privatizer();
    let mut means = Vec::new();
    for round in 1..=40_064_u64 {
        // The first batch is too small; it is dropped, and none of its bits enters the next.
        let query = Query { release: round == 63 || round % 64 == 63, ..Query::default() };
        let signal = privatizer.release(&query, Raw::seal(1e6), (&mut stream).into());
        means.extend(signal.reward());
    }
    assert_eq!(means.len(), 40_064 / 64 - 1);
    // Unbiased for the clipped reward, within six standard errors of the stated variance.
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    // At the end of the range: 1/kept² of the mean square of the levels -1, -1/3, 1/3 and 1, less 1.
    let kept = 1.0 - 4.0 * rare;
    let variance = ((kept + (1.0 - kept) * 5.0 / 9.0) / (kept * kept) - 1.0) / 64.0;
    assert!((mean - 1.0).abs() < 6.0 * (variance / means.len() as f64).sqrt(), "{mean}");
    let errors: Vec<f64> = means.iter().map(|mean| mean - 1.0).collect();
    let ratio = mean_square(&errors) / variance;
    assert!((ratio - 1.0).abs() < 6.0 * (3.0 / means.len() as f64).sqrt(), "{ratio}");
}
