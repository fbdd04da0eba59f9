//! A policy that is asked and told by hand plays what the loop plays.

use crate::support::{prepared, ran};
use privateer::engine::AskTell;
use privateer::engine::Quantity;
use privateer::env::DataFolder;
use privateer::policy::PolicyStreams;
use privateer_numerics::rng::Purpose;

const SPEC: &str = "seed = 8\nrounds = 150\ntrials = 2\nrecord = { rounds = \"all\" }\n[environment]\nkind = \"rkhs\"\n\
     domain = { kind = \"grid\", points = 60 }\nkernel = { kind = \"matern\", nu = 1.5, lengthscale = 0.2 }\n\
     noise = { kind = \"uniform\", bound = 1.0 }\n[privacy]\nepsilon = 2.0\n[[policy]]\nkind = \"tgp-ucb\"\n\
     beta = { kind = \"order\", factor = 0.5 }\n[[policy]]\nkind = \"igp-ucb\"\nfeatures = \"exact\"\n[[policy]]\nkind = \"uniform\"\n";

#[test]
fn asked_and_told_by_hand() {
    let found = ran(SPEC);
    prepared(SPEC, &DataFolder::default(), |sweep, preparation| {
        for plan in &sweep.cells {
            let cell = preparation.cell(plan).expect("a cell");
            let mut played = Vec::new();
            let mut recommended = Vec::new();
            for number in 0..2 {
                let trial = cell.trial(number).expect("a trial");
                let of = |purpose| cell.streams.of(number, purpose);
                let streams = PolicyStreams { start: of(Purpose::Start), own: of(Purpose::Policy(&plan.policy)) };
                let mut by_hand = AskTell::new(trial.policy, streams, cell.domain.as_ref());
                let (mut noise, mut random) = (of(Purpose::Noise), of(Purpose::Mechanism(&plan.policy)));
                let mut privatizer = trial.mechanism.privatizer();
                for _ in 0..150 {
                    let point = by_hand.ask().expect("a point");
                    assert_eq!(by_hand.ask().expect("the same point"), point, "{}", plan.policy);
                    let signal = privatizer.release(&by_hand.query(), trial.instance.observe(point, &mut noise), &mut random);
                    by_hand.tell(&signal);
                    played.push(Some(point as i64));
                    let best = by_hand.policy().recommend().expect("something was played");
                    recommended.push(trial.instance.regret(best).to_bits());
                }
            }
            let rows = found.cell(plan.index);
            assert_eq!(rows.point, played, "{}", plan.policy);
            assert_eq!(
                rows[Quantity::RecommendedRegret].iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
                recommended,
                "{}",
                plan.policy
            );
        }
    });
}
