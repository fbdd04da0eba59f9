//! No mechanism, under every calibration.

use crate::support::{no_mechanism, stream};
use privateer_privacy::{Calibration, Event, Guarantee, Query, Raw, RewardFacts, Signal};

#[test]
fn without_a_mechanism_nothing_is_clipped() {
    for calibration in Calibration::ALL {
        let facts = RewardFacts { bound: 1.0, noise_bound: Some(1.0), range: None, noise_variance: None, rounds: 1000 };
        let none = no_mechanism(calibration, &facts);
        assert_eq!((none.clip(), none.noise_variance(), none.output_range()), (None, 0.0, None));
        let ledger = none.ledger();
        assert_eq!((ledger.guarantee, ledger.event, ledger.epsilon), (Guarantee::NotPrivate, Event::NonPrivate, None));
        assert_eq!(ledger.delivered, "not private");
        for reward in [0.0, -3.5, 1e300] {
            let released = none.privatizer().release(&Query::default(), Raw::seal(reward), (&mut stream("none")).into());
            assert_eq!(*released.value(), Signal::Reward(reward));
        }
    }
}
