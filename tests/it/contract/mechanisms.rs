//! Mechanisms under every calibration: unbiased for the clipped reward, a ledger that prices what is done.

use crate::support::{mechanism, stream};
use privateer::registry::MECHANISMS;
use privateer_privacy::{Calibration, Guarantee, Query, Raw, RewardFacts, Signal, price};

fn facts(noise_bound: Option<f64>) -> RewardFacts {
    RewardFacts { bound: 1.0, noise_bound, range: None, noise_variance: Some(1.0 / 3.0), rounds: 1000 }
}

/// Means of 20000 releases within five standard errors: false alarm below 1e-6 a figure, fixed seeds.
#[test]
fn unbiased_for_the_clipped_reward() {
    let n = 20_000;
    for entry in MECHANISMS {
        for calibration in Calibration::ALL {
            for epsilon in [0.3, 3.0] {
                let built = mechanism(entry.name, calibration, Some(epsilon), facts(Some(1.0))).expect("a mechanism");
                for reward in [-2.0_f64, -0.7, 0.0, 1.3, 2.0, 50.0] {
                    let clipped = built.clip().map_or(reward, |(lo, hi)| reward.clamp(lo, hi));
                    let (mut privatizer, mut random) = (built.privatizer(), stream(entry.name));
                    let mut sum = 0.0;
                    for _ in 0..n {
                        let signal = privatizer.release(&Query::default(), Raw::seal(reward), (&mut random).into());
                        let released = signal.reward().expect("a reward");
                        assert!(built.output_range().is_none_or(|(lo, hi)| (lo..=hi).contains(&released)), "{}", entry.name);
                        sum += released;
                    }
                    let error = libm::sqrt(built.noise_variance() / f64::from(n));
                    let mean = sum / f64::from(n);
                    let off = (mean - clipped).abs();
                    assert!(off <= 5.0 * error + 1e-9, "{} {calibration} {epsilon} {reward}: mean {mean}", entry.name);
                }
            }
        }
    }
}

#[test]
fn the_ledger_prices_what_is_done() {
    for entry in MECHANISMS {
        for calibration in Calibration::ALL {
            for epsilon in [1e-3, 0.3, 1.0, 8.0] {
                for noise_bound in [Some(1.0), None] {
                    // Unbounded rewards without a clip range may be refused; what is built must be honest.
                    let Ok(built) = mechanism(entry.name, calibration, Some(epsilon), facts(noise_bound)) else {
                        assert!(noise_bound.is_none(), "{} {calibration} refuses bounded rewards", entry.name);
                        continue;
                    };
                    let ledger = built.ledger();
                    let said = format!("{} {calibration} {epsilon} {noise_bound:?}: {ledger:?}", entry.name);
                    assert_eq!((ledger.mechanism.as_str(), ledger.calibration), (entry.name, calibration), "{said}");
                    assert_eq!(ledger.provenance, privateer_privacy::Provenance::Simulated, "{said}");
                    let delta = (0.0 < ledger.delta).then(|| ledger.delta.try_into().expect("a probability"));
                    assert_eq!(ledger.delivered_epsilon, price(&ledger.event).epsilon(delta), "{said}");
                    match &ledger.guarantee {
                        Guarantee::NotPrivate => assert_eq!((entry.name, ledger.epsilon), ("none", None), "{said}"),
                        Guarantee::Unverified { .. } => panic!("a mechanism of our own: {said}"),
                        Guarantee::Holds => {
                            assert_eq!(ledger.epsilon, Some(epsilon), "{said}");
                            let delivered = ledger.delivered_epsilon.expect("a price");
                            assert!((delivered - epsilon).abs() <= 1e-6 * epsilon, "no more and no less than the claim: {said}");
                            // What keeps its promise on every input must clip.
                            assert!(built.clip().is_some(), "{said}");
                        }
                        Guarantee::NoGuarantee { reason, .. } => {
                            assert!(!reason.is_empty(), "{said}");
                            assert!(ledger.delivered_epsilon.is_none_or(|e| epsilon < e), "{said}");
                            assert_eq!(
                                calibration,
                                Calibration::AsPrinted,
                                "only a printed formula may break its promise: {said}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn without_a_mechanism_nothing_is_clipped() {
    for calibration in Calibration::ALL {
        let none = mechanism("none", calibration, None, facts(Some(1.0))).expect("no mechanism");
        assert_eq!((none.clip(), none.noise_variance(), none.output_range()), (None, 0.0, None));
        for reward in [0.0, -3.5, 1e300] {
            let released = none.privatizer().release(&Query::default(), Raw::seal(reward), (&mut stream("none")).into());
            assert_eq!(*released.value(), Signal::Reward(reward));
        }
    }
}
