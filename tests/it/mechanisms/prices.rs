//! Sensitivities that noise is calibrated with, against what they are by hand.

use super::parts::{d, e, facts, request, rewards, sums};
use privateer_numerics::linalg::Norm;
use privateer_privacy::accounting::choices;
use privateer_privacy::accounting::sensitivity::{self, Participation, Relation};
use privateer_privacy::gradients::{Constants, SampleClip, Terms, VectorLaw};
use privateer_privacy::mechanism::{MECHANISMS, laplace};
use privateer_privacy::release::{RowsRelease, SamplerLaw};
use privateer_privacy::streams::Factorisation;
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::sums::{SUMS, SumsNeed, batch, joint};
use privateer_privacy::{Calibration, Event, Guarantee, gdp_mu, quote};

#[test]
fn every_participation_is_priced() {
    for name in quote::FACTORISATIONS {
        let factorisation = quote::factorisation(name, 64, Participation::ONCE).expect("a factorisation");
        let of = |count: u64, separation: u64| factorisation.sensitivity(Participation { count, separation });
        assert!(1.7 * of(1, 1) < of(3, 16) * 1.0001, "{name}: {} {}", of(1, 1), of(3, 16));
    }
}

/// What a row of each round changes in `C x` is no longer than the price says, and as long for the longest.
#[test]
fn no_column_is_longer_than_priced() {
    for (name, rounds) in quote::FACTORISATIONS.into_iter().flat_map(|name| [(name, 1), (name, 9), (name, 64)]) {
        let factorisation = quote::factorisation(name, rounds, Participation::ONCE).expect("a factorisation");
        let priced = factorisation.sensitivity(Participation::ONCE);
        let norm = |of: u64| {
            let (mut rows, mut squares) = (factorisation.transform(1).expect("an exact form"), 0.0);
            (0..rounds).for_each(|at| rows.next(&[f64::from(u8::from(at == of))], &mut |row| squares += row[0] * row[0]));
            f64::sqrt(squares)
        };
        let longest = (0..rounds).map(norm).fold(0.0, f64::max);
        assert!((longest / priced - 1.0).abs() < 1e-9, "{name} {rounds}: {longest} for {priced}");
    }
}

/// A reward at a public point moves the sum by the whole clip range, in each row that a column of the tree reaches.
#[test]
fn rewards_at_public_points_cover_a_replaced_reward() {
    let need = SumsNeed { rewards_alone: true, ..SumsNeed::of_features(2, 64, 64) };
    let tree = (joint::ENTRIES[0].build)(&request("tree", 1.0), &facts(64), need).expect("a mechanism");
    let Event::Gaussian { sensitivity, .. } = tree.ledger().event else { panic!("no Gaussian noise") };
    // The first round of 64 is in the nodes of 1, 2, 4, ..., 64 rounds; rewards are in [-1, 1].
    assert!((sensitivity - 2.0 * f64::sqrt(7.0)).abs() < 1e-9, "{sensitivity}");
}

/// No mechanism answers for a user who comes three times with the price of one answer: it asks for more or refuses.
#[test]
fn three_answers_never_cost_as_little_as_one() {
    let of_rewards = MECHANISMS.iter().map(|entry| rewards(entry, 1.0).ledger());
    let of_sums = SUMS.iter().map(|entry| sums(entry, 1.0, 64).ledger());
    let mut refused = Vec::new();
    for ledger in of_rewards.chain(of_sums).filter(|ledger| ledger.epsilon.is_some()) {
        let price = |participations| quote::PriceReport::of_ledger(&ledger, participations);
        let once = price(1).expect("a price");
        let Ok(thrice) = price(3) else {
            refused.push(ledger.mechanism);
            continue;
        };
        assert_eq!(once.curve.len(), thrice.curve.len());
        for (one, three) in once.curve.iter().zip(&thrice.curve).filter(|(one, _)| one.epsilon.upper.is_finite()) {
            let (one, three, delta) = (one.epsilon.upper, three.epsilon.upper, one.delta);
            assert!(1.2 * one < three || one == 0.0, "{} at delta {delta}: {one}, {three}", ledger.mechanism);
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

/// Four answers of one user: pure losses add up to the budget, batches pay for four in one sum.
#[test]
fn noise_of_rewards_covers_every_answer() {
    let of = |mechanism, count| {
        let (mut request, facts) = (request(mechanism, 2.0), facts(8));
        request.budget.participation = Participation { count, separation: 1 };
        match batch::ENTRIES.iter().find(|entry| entry.name == mechanism) {
            Some(entry) => (entry.build)(&request, &facts, SumsNeed::of_rewards(8, None)).expect("a mechanism").ledger(),
            None => {
                let entry = MECHANISMS.iter().find(|entry| entry.name == mechanism).expect("registered");
                (entry.build)(&request, &facts).expect("a mechanism").ledger()
            }
        }
    };
    let size = |mechanism, count| match of(mechanism, count).event {
        Event::Laplace { scale, .. } => scale,
        Event::Gaussian { sigma, .. } => sigma,
        other => panic!("{other:?}"),
    };
    for (mechanism, growth) in [("laplace", 4.0), ("gaussian", 2.0), ("batch-laplace", 4.0), ("batch-gaussian", 4.0)] {
        let (once, four) = (size(mechanism, 1), size(mechanism, 4));
        assert!((four - growth * once).abs() < 1e-9 * four, "{mechanism}: {once} {four}");
        assert_eq!(of(mechanism, 4).guarantee, Guarantee::Holds);
    }
}

/// Rounds of one user in one released stream are a group: k of them are k mu.
#[test]
fn a_group_in_one_stream_is_priced_as_a_group() {
    let ledger = sums(&joint::ENTRIES[0], 1.0, 8).ledger();
    let mu = |k: u64| ledger.composition(k).and_then(|composition| composition.mu()).expect("a Gaussian price");
    assert!((mu(3) - 3.0 * mu(1)).abs() < 1e-12, "{} {}", mu(3), mu(1));
}

/// Round 1 of 64 is in seven nodes: of 1, 2, 4, … and 64 rounds.
#[test]
fn every_node_that_holds_a_round_is_priced() {
    for (rounds, nodes) in [(64, 7.0_f64), (8, 4.0), (7, 3.0), (1, 1.0)] {
        assert_eq!(Tree::new(rounds).sensitivity(Participation::ONCE), nodes.sqrt(), "{rounds}");
    }
}

/// Gradients of length 3 at most.
fn gradient_terms() -> Terms {
    let norm = Norm::of(2.0).expect("a norm");
    let constants = Constants { diameter: 2.0, smoothness: 5.0, lipschitz: 3.0 };
    Terms {
        participation: Participation::ONCE,
        calibration: Calibration::Tight,
        budget: Some((e(1.0), d(1e-3))),
        rounds: 8,
        dimension: 4,
        norm,
        actual: constants,
        stated: constants,
        clip: Some(SampleClip { norm, radius: 1.0 }),
    }
}

/// By hand: a replaced sample moves a gradient by twice its bound, and each of its rounds moves the draws of the tree that hold it.
#[test]
fn sums_of_plain_gradients_cover_a_replaced_sample() {
    let terms = gradient_terms();
    // Rounds 1 and 5 of 8: nodes of 1 and 2 rounds hold one of them each, that of rounds 1 to 4 the first, the root both; no prefix
    // uses the node of rounds 5 to 8.
    for (count, norm_of_columns) in [(1, 2.0), (2, (2.0_f64 + 2.0 + 1.0 + 4.0).sqrt())] {
        let participation = Participation { count, separation: 4 };
        let priced = terms.plain_sum_noise(false, &Tree::new(8), participation).expect("noise");
        let VectorLaw::Gaussian { sigma } = priced.noise else { panic!("{:?}", priced.noise) };
        let by_hand = 2.0 * 3.0 * norm_of_columns / gdp_mu(e(1.0), d(1e-3));
        assert!((sigma - by_hand).abs() < 1e-9 * by_hand, "{count}: {sigma} {by_hand}");
    }
}

#[test]
fn a_hidden_descent_covers_a_replaced_sample() {
    for share in [1.0, 0.25] {
        let VectorLaw::Gaussian { sigma } = gradient_terms().hidden_noise(share).expect("noise").noise else { panic!("a law") };
        let by_hand = 2.0 * 3.0 * share / gdp_mu(e(1.0), d(1e-3));
        assert!((sigma - by_hand).abs() < 1e-9 * by_hand, "{share}: {sigma} {by_hand}");
    }
}

/// The first sample moves all iterates, each by as many standard deviations.
#[test]
fn every_iterate_that_a_sample_moves_is_priced() {
    let terms = Terms { rounds: 49, ..gradient_terms() };
    let VectorLaw::Gaussian { sigma } = terms.iterate_noise().expect("noise").noise else { panic!("a law") };
    let by_hand = 2.0 * 3.0 * 7.0 / gdp_mu(e(1.0), d(1e-3));
    assert!((sigma - by_hand).abs() < 1e-9 * by_hand, "{sigma} {by_hand}");
}

#[test]
fn a_replaced_vector_moves_by_twice_its_norm() {
    assert_eq!(sensitivity::vector(1.5, Relation::Replace), 3.0);
    assert_eq!(sensitivity::vector(1.5, Relation::AddRemove), 1.5);
}

/// The noise is that of the distance after rounding: one step more for a number, the root of the entries for a row.
#[test]
fn rounding_to_the_grid_is_paid_for() {
    let laws = rewards(&laplace::ENTRY, 1.0).exact().expect("laws");
    let [SamplerLaw::Laplace { scale, step }] = laws[..] else { panic!("{laws:?}") };
    assert!(2.0 + step <= scale as f64 * step / (1.0 + 0.9e-6), "{scale} {step}");
    let (mu, n) = (gdp_mu(e(1.0), d(1e-3)), 10_000);
    let laws = RowsRelease::calibrated(e(1.0), d(1e-3), 2.0, 1.0, n).expect("a mechanism").laws();
    let [SamplerLaw::Gaussian { sigma, step }] = laws[..] else { panic!("{laws:?}") };
    assert!((2.0 + 100.0 * step) / mu <= sigma as f64 * step, "{sigma} {step}");
}

/// Largest delta at epsilon x that an adversary reaches who sees each choice before the next: by all intervals of the next loss, and by
/// the closed form for the last choice.
fn largest_delta(ranges: &[f64], x: f64) -> f64 {
    let (range, later) = (ranges[0], &ranges[1..]);
    if later.is_empty() {
        let one = |x: f64| ((0.5 * range).exp() - (0.5 * x.min(range)).exp()).powi(2) / range.exp_m1();
        return if x < 0.0 { x.exp() * one(-x) - x.exp_m1() } else { one(x) };
    }
    let of = |most: f64| {
        let share = (range.exp() - most.exp()) / range.exp_m1();
        share * largest_delta(later, x - most) + (1.0 - share) * largest_delta(later, x - most + range)
    };
    (0..=STEPS).map(|step| of(range * f64::from(step) / f64::from(STEPS))).fold(0.0, f64::max)
}

/// Intervals that are tried for each choice.
const STEPS: u32 = 240;

/// The price is never below the enumeration, which lies below the truth, and near it.
#[test]
fn choices_that_depend_on_earlier_ones_are_enumerated() {
    for (squares, rounds, epsilon) in [(1.0, 1, 0.3), (1.0, 2, 0.5), (4.0, 3, 1.0), (0.04, 3, 0.1), (9.0, 3, 3.0)] {
        let shape = |t: u32| f64::from(t).sqrt() / f64::from(t + 1);
        let unit = f64::sqrt(squares / (1..=rounds).map(|t| shape(t).powi(2)).sum::<f64>());
        let ranges: Vec<f64> = (1..=rounds).map(|t| unit * shape(t)).collect();
        let (least, priced) = (largest_delta(&ranges, epsilon), choices::delta(squares, u64::from(rounds), epsilon));
        assert!(least * (1.0 - 1e-9) <= priced && priced <= 1.001 * least, "{squares} {rounds} {epsilon}: {priced} for {least}");
    }
}
