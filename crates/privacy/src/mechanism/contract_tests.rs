//! Tests what every mechanism must satisfy, under every calibration.

use super::law::{facts, request, stream};
use super::{MECHANISMS, MechanismEntry, duchi, gaussian, hybrid, laplace};
use crate::{Budget, Calibration, Delta, Guarantee, Ledger, Query, Raw, Refusal, Request, RewardFacts};

fn budget(epsilon: f64) -> Budget {
    Budget::new(Some(epsilon), Some(1e-5)).expect("a budget")
}

fn private() -> impl Iterator<Item = &'static MechanismEntry> {
    MECHANISMS.iter().filter(|entry| entry.name != "none")
}

fn refusal(entry: &MechanismEntry, request: &Request, facts: &RewardFacts) -> Refusal {
    (entry.build)(request, facts).map(|built| format!("{built:?}")).expect_err("a refusal")
}

/// Checks that claim and price agree for all mechanisms, calibrations and a wide range of budgets.
/// The two are computed independently.
#[test]
fn what_is_claimed_is_delivered() {
    for entry in private() {
        for calibration in Calibration::ALL {
            for epsilon in [1e-6, 1e-3, 0.1, 0.6, 0.61, 1.0, 4.0, 30.0, 700.0] {
                let ledger = (entry.build)(&request(entry.name, calibration, epsilon), &facts()).expect("a mechanism").ledger();
                assert_eq!(ledger.guarantee, Guarantee::Holds, "{} {calibration} {epsilon}: {}", entry.name, ledger.delivered);
                let delivered = ledger.delivered_epsilon.expect("a bounded loss");
                assert!((delivered - epsilon).abs() <= 1e-6 * epsilon, "{} {epsilon}: {delivered}", entry.name);
                assert_eq!(ledger.epsilon, Some(epsilon));
                assert_eq!(
                    (ledger.mechanism.as_str(), ledger.calibration, ledger.clip),
                    (entry.name, calibration, Some([-2.0, 2.0]))
                );
                assert_eq!(ledger.provenance, crate::Provenance::Simulated);
                let text = serde_json::to_string(&ledger).expect("json");
                assert_eq!(serde_json::from_str::<Ledger>(&text).expect("a ledger"), ledger);
            }
        }
    }
}

/// Checks worst-case variances on [-1, 1] against an independent reference.
/// The comparison is to the digits of its table.
#[test]
fn worst_case_variances() {
    let table: [(&str, [f64; 5], f64); 5] = [
        ("laplace", [800.0, 32.0, 8.0, 2.0, 0.5], 1e-12),
        ("duchi", [400.7, 16.67, 4.683, 1.724, 1.076], 1e-3),
        ("piecewise", [533.2, 21.22, 5.224, 1.228, 0.241], 3e-3),
        ("hybrid", [400.7, 16.67, 4.289, 1.042, 0.219], 3e-3),
        // By a search over the same bands, not on cells, in NumPy.
        ("warped-piecewise", [400.0002, 16.00413, 4.00711, 0.87124, 0.12826], 5e-4),
    ];
    let gaussian: [(f64, [f64; 5]); 2] = [(1e-2, [364.0, 39.6, 14.1, 4.98, 1.79]), (1e-5, [3782.0, 198.0, 55.7, 15.9, 4.68])];
    let variance = |name: &'static str, epsilon: f64, delta: f64| {
        let mut request = request(name, Calibration::Corrected, epsilon);
        request.clip = Some((-1.0, 1.0));
        request.budget.delta = Delta::try_from(delta).ok();
        let entry = MECHANISMS.iter().find(|entry| entry.name == name).expect("a known name");
        (entry.build)(&request, &facts()).expect("a mechanism").noise_variance()
    };
    for (i, epsilon) in [0.1, 0.5, 1.0, 2.0, 4.0].into_iter().enumerate() {
        for (name, expected, tolerance) in &table {
            let found = variance(name, epsilon, 0.5);
            assert!((found - expected[i]).abs() <= tolerance * expected[i], "{name} {epsilon}: {found}");
        }
        for (delta, expected) in gaussian {
            let found = variance("gaussian", epsilon, delta);
            assert!((found - expected[i]).abs() <= 5e-3 * expected[i], "gaussian {epsilon} {delta}: {found}");
        }
    }
}

/// Checks means and variances of real releases to within five standard errors.
/// False alarm below 1e-6 per figure, fixed seeds. Outputs stay within their bound. The range is off centre, and one reward
/// lies outside the range.
#[test]
fn releases_are_unbiased_for_the_clipped_reward() {
    let n = 40_000;
    for entry in private() {
        for (calibration, epsilon) in
            Calibration::ALL.into_iter().flat_map(|calibration| [(calibration, 0.5), (calibration, 2.0)])
        {
            let mut request = request(entry.name, calibration, epsilon);
            request.clip = Some((1.0, 4.0));
            let built = (entry.build)(&request, &facts()).expect("a mechanism");
            for (reward, clipped) in [(1.5, 1.5), (4.0, 4.0), (99.0, 4.0)] {
                let (mut privatizer, mut stream) = (built.privatizer(), stream(entry.name));
                let mut sum = 0.0;
                for _ in 0..n {
                    let signal = privatizer.release(&Query::default(), Raw::seal(reward), (&mut stream).into());
                    let released = signal.reward().expect("a reward");
                    assert!(
                        built.output_range().is_none_or(|(lo, hi)| (lo..=hi).contains(&released)),
                        "{}: {released}",
                        entry.name
                    );
                    sum += released;
                }
                let error = libm::sqrt(built.noise_variance() / f64::from(n));
                let mean = sum / f64::from(n);
                assert!((mean - clipped).abs() < 5.0 * error, "{} {calibration} {epsilon} {reward}: mean {mean}", entry.name);
            }
        }
    }
}

#[test]
fn releases_take_a_fixed_number_of_words() {
    for entry in MECHANISMS {
        let mut words = None;
        for epsilon in [0.1, 1.0, 9.0] {
            let built = (entry.build)(&request(entry.name, Calibration::Tight, epsilon), &facts()).expect("a mechanism");
            for seed in 0..20 {
                let (mut used, mut before) = (stream(&seed.to_string()), stream(&seed.to_string()));
                built.privatizer().release(&Query::default(), Raw::seal(f64::from(seed) * 0.1 - 1.0), (&mut used).into());
                let next = used.word();
                let taken = (0..9).position(|_| before.word() == next);
                assert!(taken.is_some() && *words.get_or_insert(taken) == taken, "{} {epsilon}: {taken:?} words", entry.name);
            }
        }
    }
}

/// Checks that a NaN reward is treated as the centre of the stated range where nothing is clipped.
#[test]
fn no_nan_leaves() {
    let request = Request { clip: Some((1.0, 3.0)), ..request("laplace", Calibration::AsPrinted, 1.0) };
    let built = laplace::build(&request, &RewardFacts { noise_bound: None, ..facts() }).expect("a mechanism");
    let release = |reward: f64| {
        let signal = built.privatizer().release(&Query::default(), Raw::seal(reward), (&mut stream("nan")).into());
        signal.reward().expect("a reward")
    };
    assert_eq!(release(f64::NAN), release(2.0));
    assert!(release(f64::NAN).is_finite() && release(f64::INFINITY).is_finite());
}

#[test]
fn refusals_name_their_key() {
    for entry in private() {
        let good = || request(entry.name, Calibration::Tight, 1.0);
        let cases = [
            ("epsilon", Request { budget: Budget::default(), ..good() }),
            ("epsilon", Request { budget: budget(1e-300), ..good() }),
            ("epsilon", Request { budget: budget(1e300), clip: Some((0.0, 1e-20)), ..good() }),
            ("clip", Request { clip: Some((1.0, 1.0)), ..good() }),
            ("clip", Request { clip: Some((2.0, 1.0)), ..good() }),
            ("clip", Request { clip: Some((f64::NAN, 1.0)), ..good() }),
            ("clip", Request { clip: Some((-1e308, 1e308)), ..good() }),
        ];
        for (key, request) in cases {
            let refusal = refusal(entry, &request, &facts());
            assert_eq!(refusal.key, key, "{}: {refusal}", entry.name);
        }
        let unbounded = RewardFacts { noise_bound: None, ..facts() };
        assert_eq!(refusal(entry, &good(), &unbounded).key, "clip");
        let in_range = RewardFacts { range: Some((0.0, 1.0)), ..unbounded };
        assert_eq!((entry.build)(&good(), &in_range).expect("a hard range is a bound").clip(), Some((0.0, 1.0)));
    }
}

#[test]
fn refusal_texts() {
    let good = |name: &'static str| request(name, Calibration::Tight, 1.0);
    let missing = refusal(&hybrid::ENTRY, &Request { budget: Budget::default(), ..good("hybrid") }, &facts());
    assert_eq!(
        missing.to_string(),
        "`epsilon`: mechanism `hybrid` needs a privacy loss; expected a finite number > 0; \
         state `epsilon`, or `mechanism = \"none\"` for a run without privacy"
    );
    let pure = Budget { delta: None, ..good("gaussian").budget };
    let missing = refusal(&gaussian::ENTRY, &Request { budget: pure, ..good("gaussian") }, &facts());
    assert_eq!(missing.key, "delta");
    assert_eq!(missing.hint.as_deref(), Some("state `delta`, at most one over the number of users: 1e-3 here"));
    let large = refusal(&duchi::ENTRY, &Request { budget: budget(701.0), ..good("duchi") }, &facts());
    assert_eq!(large.message, "`epsilon` is 7.01e2, beyond what mechanism `duchi` can resolve");
    let small = refusal(&laplace::ENTRY, &Request { budget: budget(1e-200), ..good("laplace") }, &facts());
    assert_eq!(small.message, "with `epsilon` = 1e-200 the noise of mechanism `laplace` is too large for double precision");
}
