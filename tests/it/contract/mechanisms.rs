//! Mechanisms under every calibration: unbiased for the clipped reward, a ledger that prices what is done.

use crate::support::{mechanism, stream};
use privateer::registry::MECHANISMS;
use privateer_privacy::{Calibration, Guarantee, Query, Raw, RewardFacts, Signal, price};

fn facts(noise_bound: Option<f64>) -> RewardFacts {
    RewardFacts { bound: 1.0, noise_bound, range: None, noise_variance: Some(1.0 / 3.0), rounds: 1000 }
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
