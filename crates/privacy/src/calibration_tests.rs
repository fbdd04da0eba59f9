//! Tests the one calibration function over all mechanisms, against the price of the event just above and below its noise.

use crate::curator::{InputsNeed, input_noise};
use crate::gradients::{BatchPlan, Constants, SampleClip, Terms};
use crate::gram::GramLayout;
use crate::interactions::sums::{InteractionSums, SumsTerms};
use crate::mechanism::MECHANISMS;
use crate::sums::{Epochs, SUMS, SumsNeed};
use crate::{Budget, Calibration, Delta, Epsilon, Event, PrivacyLoss, Request, RewardFacts, price};
use privateer_numerics::linalg::Norm;

/// Returns the event with all noise `factor` times as large; `None` for a randomiser, whose parameter is epsilon itself.
fn scaled(event: &Event, factor: f64) -> Option<Event> {
    let mut event = *event;
    match &mut event {
        Event::Laplace { scale: size, .. }
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

/// Asserts that the noise of a tight event is the least to 1e-12, and that of a corrected event at least that: by the price, the
/// event keeps the budget with slightly more noise and breaks it with slightly less.
#[track_caller]
fn least(event: &Event, epsilon: f64, delta: Option<Delta>, calibration: Calibration, what: &str) {
    // A mechanism is claimed without delta where its loss is pure.
    let delta = delta.filter(|_| !matches!(price(event), PrivacyLoss::Pure { .. }));
    // The bound on secretly drawn samples is searched to 1e-9.
    let tolerance = if matches!(event, Event::Subsampled { .. }) { 2e-9 } else { 1e-12 };
    let keeps = |factor: f64| match scaled(event, factor) {
        Some(event) => price(&event).epsilon(delta).is_some_and(|price| price <= epsilon),
        None => price(event).epsilon(delta).is_some_and(|price| price <= factor * epsilon),
    };
    let said = format!("{what}, {calibration}, epsilon {epsilon}, {delta:?}: {event:?}");
    assert!(keeps(1.0 + tolerance), "the noise is too small: {said}");
    assert!(calibration != Calibration::Tight || !keeps(1.0 - tolerance), "the noise is larger than needed: {said}");
}

const EPSILONS: [f64; 6] = [1e-3, 0.03, 0.6, 1.0, 4.0, 20.0];
const DELTAS: [f64; 3] = [0.1, 1e-3, 1e-10];

/// Calls `check` with all budgets, under the calibrations that hold.
fn over_budgets(check: impl Fn(Calibration, Epsilon, Delta)) {
    for calibration in [Calibration::Corrected, Calibration::Tight] {
        for epsilon in EPSILONS.map(|epsilon| Epsilon::try_from(epsilon).expect("a budget")) {
            for delta in DELTAS.map(|delta| Delta::try_from(delta).expect("a probability")) {
                check(calibration, epsilon, delta);
            }
        }
    }
}

fn facts(range: Option<(f64, f64)>, rounds: u64) -> RewardFacts {
    RewardFacts { bound: 1.0, noise_bound: Some(0.5), range, noise_variance: Some(0.1), rounds }
}

#[test]
fn rewards_take_the_least_noise() {
    over_budgets(|calibration, epsilon, delta| {
        let budget = Budget::from((epsilon, delta));
        for clip in [None, Some((0.0, 1.0)), Some((-3.0, 1e4)), Some((1.0, 1.0 + 1e-3))] {
            for entry in MECHANISMS.iter().filter(|entry| entry.name != "none") {
                let request = Request { mechanism: entry.name, calibration, budget, clip };
                let ledger = (entry.build)(&request, &facts(None, 100)).expect("a mechanism").ledger();
                least(&ledger.event, epsilon.get(), Some(delta), calibration, entry.name);
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
            for entry in SUMS.iter().filter(|entry| entry.name != "none" && (!entry.local || epochs == Epochs::One)) {
                let need = SumsNeed { n_features: 5, rounds, releases: rounds, epochs, linear: false };
                let request = Request { mechanism: entry.name, calibration, budget, clip: Some(clip) };
                let ledger = (entry.build)(&request, &facts(None, rounds), need).expect("a mechanism").ledger();
                least(&ledger.event, epsilon.get(), Some(delta), calibration, entry.name);
            }
        }
    });
}

#[test]
fn interactions_take_the_least_noise() {
    over_budgets(|calibration, epsilon, delta| {
        for (mechanism, rounds, local) in [("tree", 100, false), ("blt", 7, false), ("local-gaussian", 10, true)] {
            for (context_length, range) in [(1.0, (0.0, 1.0)), (3.0, (-2.0, 7.0)), (0.1, (-1.0, 0.5))] {
                let layout = GramLayout { n_blocks: 3, dimension: 2, joint: !calibration.redesigns() };
                let (due, budget) = ((1..=rounds).collect(), (epsilon, delta));
                let terms = SumsTerms { layout, due, rounds, context_length, range, calibration, mechanism, budget, local };
                let ledger = InteractionSums::calibrated(terms).expect("a mechanism").ledger();
                least(&ledger.event, epsilon.get(), Some(delta), calibration, mechanism);
            }
        }
    });
}

#[test]
fn gradients_take_the_least_noise() {
    over_budgets(|calibration, epsilon, delta| {
        for (p, rounds) in [(1.5, 4), (1.0, 1000), (2.0, 17)] {
            let norm = Norm::of(p).expect("a norm");
            let actual = Constants { diameter: 2.0, smoothness: 0.7, lipschitz: 1.3 };
            let (budget, clip) = (Some((epsilon, delta)), Some(SampleClip { norm: norm.dual(), radius: 1.0 }));
            let terms = Terms { calibration, budget, rounds, dimension: 9, norm, actual, stated: actual, clip };
            let check = |event: Event, what| least(&event, epsilon.get(), Some(delta), calibration, what);
            let tree = crate::Factor::Tree.factorisation(rounds);
            let plan = BatchPlan { first: 2, batch: 1, steps: rounds - 2 };
            for generalized in [true, false].into_iter().filter(|generalized| *generalized || calibration.redesigns()) {
                check(terms.sum_noise(generalized, tree.as_ref(), 0.5).expect("sums").event, "sums of gradients");
                check(terms.step_noise(generalized).expect("steps").event, "steps");
                check(terms.batch_noise(generalized, plan, 0.1).expect("batches").event, "batches");
                check(terms.choice_noise(!generalized, 0.5).expect("choices").event, "choices");
            }
        }
    });
}

/// One order of the Rényi bound costs much time: one budget for each calibration.
#[test]
fn stored_gradients_take_the_least_noise() {
    let (epsilon, delta) = (Epsilon::try_from(1.0).expect("a budget"), Delta::try_from(1e-3).expect("a probability"));
    for calibration in [Calibration::Corrected, Calibration::Tight] {
        let norm = Norm::of(2.0).expect("a norm");
        let actual = Constants { diameter: 2.0, smoothness: 0.7, lipschitz: 1.3 };
        let clip = Some(SampleClip { norm, radius: 1.0 });
        let terms =
            Terms { calibration, budget: Some((epsilon, delta)), rounds: 30, dimension: 3, norm, actual, stated: actual, clip };
        least(&terms.stored_noise(899).expect("calibrated").event, 1.0, Some(delta), calibration, "stored samples");
    }
}

#[test]
fn inputs_take_the_least_noise() {
    over_budgets(|calibration, epsilon, delta| {
        for (radius, columns) in [(1.0, None), (7.0, Some(2))] {
            let request = Request { mechanism: "input-noise", calibration, budget: (epsilon, delta).into(), clip: None };
            let need = InputsNeed { radius: Some(radius), columns };
            let ledger = (input_noise::ENTRY.build)(&request, need).expect("a curator").ledger(10, 4);
            least(&ledger.event, epsilon.get(), Some(delta), calibration, "input-noise");
        }
    });
}

/// As printed, a mechanism takes the paper's number and words, whatever the least noise is.
#[test]
fn printed_noise_is_the_formula() {
    let [printed, corrected, tight] = Calibration::ALL.map(|calibration| {
        let delta = Delta::try_from(0.1).expect("a probability");
        let budget = Budget::from((Epsilon::try_from(1.0).expect("a budget"), delta));
        let request = Request { mechanism: "laplace", calibration, budget, clip: None };
        let built = (MECHANISMS[1].build)(&request, &facts(Some((0.0, 1.0)), 10)).expect("a mechanism");
        (built.laplace_scale(), built.ledger().noise_formula)
    });
    assert_eq!((printed.0, corrected.0, tight.0), (Some(3.0), Some(1.0), Some(1.0)));
    assert!(printed.1.starts_with("scale = 2 (B + R)/epsilon [Zhou2021"), "{}", printed.1);
    assert!(corrected.1 == tight.1 && tight.1.contains("hi - lo"), "{} {}", corrected.1, tight.1);
}
