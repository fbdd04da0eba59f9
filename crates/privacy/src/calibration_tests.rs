//! Tests the one calibration function over all mechanisms, against the price of the event.

use crate::accounting::sensitivity::Participation;
use crate::curator::{InputsNeed, input_noise};
use crate::gradients::{BatchPlan, Constants, PricedNoise, SampleClip, Terms};
use crate::gram::GramLayout;
use crate::interactions::sums::{InteractionSums, SumsTerms};
use crate::mechanism::MECHANISMS;
use crate::sums::{Epochs, SUMS, SumsNeed};
use crate::testing::{delta as d, epsilon as e};
use crate::{
    Budget, Calibration, Claim, ClaimUnit, Delta, Epsilon, Event, Guarantee, Ledger, Protection, Refusal, Request, RewardFacts,
    price,
};
use privateer_numerics::linalg::Norm;

/// Returns the event with all noise `factor` times as large.
/// `None` for a randomiser, whose parameter is epsilon itself.
fn scaled(event: &Event, factor: f64) -> Option<Event> {
    let mut event = *event;
    match &mut event {
        Event::Laplace { scale: size, .. }
        | Event::Choice { scale: size, .. }
        | Event::Gaussian { sigma: size, .. }
        | Event::GeneralizedGaussian { sigma: size, .. }
        | Event::Subsampled { sigma: size, .. } => *size *= factor,
        Event::Sums { gram_sigma, moment_sigma, .. } => {
            *gram_sigma *= factor;
            *moment_sigma *= factor;
        }
        Event::Choices { squares, .. } => *squares = squares.map(|squares| squares / (factor * factor)),
        _ => return None,
    }
    Some(event)
}

/// Asserts that a ledger's guarantee follows from its price, and that its noise is large enough.
/// A corrected or tight claim holds, and tight noise is the least to 1e-8: by the price, the event keeps the budget with
/// slightly more noise and breaks it with slightly less.
#[track_caller]
fn sound(ledger: &Ledger) {
    let (Ledger { event, calibration, .. }, epsilon) = (ledger, ledger.epsilon.expect("a claim"));
    let delta = Delta::try_from(ledger.delta).ok();
    assert_eq!(ledger.delivered_epsilon, price(event).epsilon(delta).filter(|price| price.is_finite()), "{ledger:?}");
    let holds = ledger.delivered_epsilon.is_some_and(|price| price <= epsilon * (1.0 + 1e-9));
    assert_eq!(ledger.guarantee == Guarantee::Holds, holds, "{ledger:?}");
    // The bound on secretly drawn samples is searched to 1e-9, that on choices to 1e-8, and tails of the counts of answers are rounded.
    let tolerance = match event {
        Event::Choices { rounds: 1.., .. } => 1e-8,
        Event::Subsampled { .. } | Event::Shuffled { .. } => 2e-9,
        _ => 1e-12,
    };
    let keeps = |factor: f64| match scaled(event, factor) {
        Some(event) => price(&event).epsilon(delta).is_some_and(|price| price <= epsilon),
        None => price(event).epsilon(delta).is_some_and(|price| price <= factor * epsilon),
    };
    assert!(!calibration.corrects() || keeps(1.0 + tolerance), "the noise is too small: {ledger:?}");
    assert!(!calibration.redesigns() || !keeps(1.0 - tolerance), "the noise is larger than needed: {ledger:?}");
}

/// As [`sound`], for gradients, whose ledgers the learners make.
#[track_caller]
fn sound_noise<N>(noise: Result<PricedNoise<N>, Refusal>, (epsilon, delta): (Epsilon, Delta), calibration: Calibration) {
    let PricedNoise { event, noise_formula, .. } = noise.expect("calibrated");
    let unit = ClaimUnit::Sample { clipped: true, local: false };
    let budget = (epsilon, delta).into();
    let (doubt, notes) = (None, Vec::new());
    sound(&Ledger::of(Claim { mechanism: "gradients", calibration, unit, event, budget, noise_formula, doubt, notes }));
}

const EPSILONS: [f64; 6] = [1e-3, 0.03, 0.6, 1.0, 4.0, 20.0];
const DELTAS: [f64; 3] = [0.1, 1e-3, 1e-10];

/// Calls `check` with all budgets, under all calibrations.
fn over_budgets(check: impl Fn(Calibration, Epsilon, Delta)) {
    for calibration in Calibration::ALL {
        for epsilon in EPSILONS.map(e) {
            for delta in DELTAS.map(d) {
                check(calibration, epsilon, delta);
            }
        }
    }
}

fn facts(range: Option<(f64, f64)>, rounds: u64) -> RewardFacts {
    RewardFacts { bound: 1.0, noise_bound: Some(0.5), range, noise_variance: Some(0.1), rounds }
}

/// Makes the terms of gradients in the norm l_p.
fn terms(calibration: Calibration, budget: (Epsilon, Delta), p: f64) -> Terms {
    let norm = Norm::of(p).expect("a norm");
    let actual = Constants { diameter: 2.0, smoothness: 0.7, lipschitz: 1.3 };
    Terms {
        participation: Participation::ONCE,
        calibration,
        budget: Some(budget),
        rounds: 1,
        dimension: 1,
        norm,
        actual,
        stated: actual,
        clip: Some(SampleClip { norm: norm.dual(), radius: 1.0 }),
    }
}

#[test]
fn rewards_take_the_least_noise() {
    over_budgets(|calibration, epsilon, delta| {
        let budget = Budget::from((epsilon, delta));
        for clip in [None, Some((0.0, 1.0)), Some((-3.0, 1e4)), Some((1.0, 1.0 + 1e-3))] {
            for entry in MECHANISMS.iter().filter(|entry| entry.name != "none") {
                let request = Request { mechanism: entry.name, calibration, budget, clip };
                for noise_bound in [Some(0.5), None] {
                    let Ok(built) = (entry.build)(&request, &RewardFacts { noise_bound, ..facts(None, 100) }) else {
                        assert_eq!((noise_bound, clip), (None, None), "{} refuses bounded rewards", entry.name);
                        continue;
                    };
                    sound(&built.ledger());
                    // A mechanism that keeps its claim on every input clips.
                    assert!(built.ledger().guarantee != Guarantee::Holds || built.clip().is_some(), "{built:?}");
                }
            }
        }
    });
}

#[test]
fn sums_take_the_least_noise() {
    over_budgets(|calibration, epsilon, delta| {
        let budget = Budget::from((epsilon, delta));
        for (rounds, clip, epochs) in
            [(1, (0.0, 1.0), Epochs::One), (100, (-6.0, 2.0), Epochs::One), (37, (0.0, 1.0), Epochs::Restart)]
        {
            for entry in SUMS
                .iter()
                .filter(|entry| entry.name != "none" && (entry.serves != Protection::LocalSums || epochs == Epochs::One))
            {
                if !calibration.corrects() && !matches!(entry.name, "tree" | "local-gaussian") {
                    continue; // refused: the papers print no other mechanism
                }
                let need = SumsNeed { epochs, ..SumsNeed::of_features(5, rounds, rounds) };
                let request = Request { mechanism: entry.name, calibration, budget, clip: Some(clip) };
                sound(&(entry.build)(&request, &facts(None, rounds), need).expect("a mechanism").ledger());
            }
        }
    });
}

#[test]
fn interactions_take_the_least_noise() {
    over_budgets(|calibration, epsilon, delta| {
        for (mechanism, rounds, local) in [("tree", 100, false), ("blt", 7, false), ("local-gaussian", 10, true)] {
            if !calibration.corrects() && mechanism == "blt" {
                continue;
            }
            for (context_length, range) in [(1.0, (0.0, 1.0)), (3.0, (-2.0, 7.0)), (0.1, (-1.0, 0.5))] {
                let layout = GramLayout { n_blocks: 3, dimension: 2, joint: !calibration.redesigns() };
                let (due, budget) = ((1..=rounds).collect(), (epsilon, delta));
                let request = Request { mechanism, calibration, ..Request::NONE };
                let terms = SumsTerms { request, layout, due, rounds, context_length, range, budget, local };
                sound(&InteractionSums::calibrated(terms).expect("a mechanism").ledger());
            }
        }
    });
}

#[test]
fn gradients_take_the_least_noise() {
    over_budgets(|calibration, epsilon, delta| {
        for (p, rounds) in [(1.5, 4), (1.0, 200), (2.0, 17)] {
            let terms = Terms { rounds, dimension: 9, ..terms(calibration, (epsilon, delta), p) };
            let tree = crate::Factor::Tree.factorisation(rounds, Participation::ONCE);
            let plan = BatchPlan { first: 2, batch: 1, steps: rounds - 2 };
            for generalized in [true, false].into_iter().filter(|generalized| *generalized || calibration.redesigns()) {
                sound_noise(terms.sum_noise(generalized, tree.as_ref(), 0.5), (epsilon, delta), calibration);
                sound_noise(terms.step_noise(generalized), (epsilon, delta), calibration);
                sound_noise(terms.batch_noise(generalized, plan, 0.1), (epsilon, delta), calibration);
                sound_noise(terms.choice_noise(!generalized, 0.5, true), (epsilon, delta), calibration);
            }
        }
    });
}

/// One order of the Rényi bound costs much time: one budget for each calibration.
#[test]
fn stored_gradients_take_the_least_noise() {
    let budget = (e(1.0), d(1e-3));
    for calibration in Calibration::ALL {
        let terms = Terms { rounds: 30, dimension: 3, ..terms(calibration, budget, 2.0) };
        sound_noise(terms.stored_noise(899), budget, calibration);
    }
}

#[test]
fn inputs_take_the_least_noise() {
    over_budgets(|calibration, epsilon, delta| {
        for (radius, columns) in [(1.0, None), (7.0, Some(2))] {
            let request = Request { mechanism: "input-noise", calibration, budget: (epsilon, delta).into(), clip: None };
            let need = InputsNeed { radius: Some(radius), columns };
            sound(&(input_noise::ENTRY.build)(&request, need).expect("a curator").ledger(10, 4));
        }
    });
}
