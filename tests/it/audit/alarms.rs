//! The audit itself: it cries wolf no more often than it says, and its figures do not depend on threads.

use privateer::audit::{Claim, Settings, audit, false_alarms, find};

/// Claims that are exactly true, one a kind of noise, at a confidence low enough for alarms to be seen if there were any: with
/// fixed seeds, no more than the half that may be refuted.
#[test]
fn true_claims_are_seldom_refuted() {
    for name in ["laplace", "duchi", "piecewise", "gaussian", "tree"] {
        let case = (find(name)[0].cases)().expect("cases").remove(0);
        let settings = Settings { samples: 4000, confidence: 0.5, ..Settings::default() };
        let counted = false_alarms(&case, settings, 12).expect("scores");
        assert!(2 * counted.refuted <= counted.seeds, "{counted:?}");
        // The planted fault: a quarter of the claim is refuted at nearly all seeds.
        let less = Claim { epsilon: 0.25 * case.claim.epsilon, ..case.claim };
        let counted = false_alarms(&case.claiming("a quarter of the claim", less), settings, 12).expect("scores");
        assert!(10 <= counted.refuted, "{name}: {counted:?}");
    }
}

#[test]
fn threads_change_nothing() {
    let cases: Vec<_> = ["laplace", "blt"].into_iter().flat_map(|name| (find(name)[0].cases)().expect("cases")).collect();
    let settings = Settings { samples: 1000, ..Settings::default() };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| audit(&cases, settings, &|_| ())).expect("scores")
    };
    assert_eq!(run(1), run(3));
    assert_ne!(run(1), audit(&cases, Settings { seed: 2, ..settings }, &|_| ()).expect("scores"));
}
