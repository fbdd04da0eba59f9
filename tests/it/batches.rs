//! `batched-gp-ucb` and elimination: what they play and ask for, and what the first is without privacy.

use crate::contract::policies::policy_streams;
use crate::support::*;
use privateer::policy::Proposal;

fn spec(policy: &str, privacy: &str) -> String {
    format!(
        "seed = 3\nrounds = 100\ntrials = 4\nreferences = false\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"rkhs\"\n\
         domain = {{ kind = \"grid\", points = 40 }}\nkernel = {{ kind = \"matern\", nu = 2.5, lengthscale = 0.2 }}\n\
         noise = {{ kind = \"uniform\", bound = 0.5 }}\n[privacy]\n{privacy}\n[[policy]]\nlabel = \"p\"\n{policy}\n\
         beta = {{ kind = \"order\", factor = 0.5 }}\nridge = \"mechanism\"\n"
    )
}

fn points(policy: &str, privacy: &str) -> Vec<Vec<u64>> {
    let rows = ran(&spec(policy, privacy)).rows.into_values().next().expect("a cell");
    let mut trials = vec![Vec::new(); 4];
    for (at, &trial) in rows.trial.iter().enumerate() {
        trials[trial as usize].push(rows[Quantity::Regret][at].to_bits());
    }
    trials
}

/// The price of batches is measured against `gp-ucb`, whatever the size of a batch under privacy.
#[test]
fn without_privacy_it_is_gp_ucb() {
    let none = "mechanism = \"none\"";
    let alone = points("kind = \"gp-ucb\"", none);
    assert_eq!(points("kind = \"batched-gp-ucb\"\nbatch = 7", none), alone);
    assert_eq!(points("kind = \"batched-gp-ucb\"", none), alone);
    assert_ne!(points("kind = \"batched-gp-ucb\"\nbatch = 7", "epsilon = 8.0"), alone);
}

/// Regret counts in every round of a batch, the last one included, and all rounds of a batch have one point.
#[test]
fn a_batch_plays_one_point() {
    for trial in points("kind = \"batched-gp-ucb\"\nbatch = 7", "epsilon = 8.0") {
        assert_eq!(trial.len(), 100);
        assert!(trial.chunks(7).all(|batch| batch.iter().all(|regret| *regret == batch[0])));
        assert!(trial.chunks(7).any(|batch| batch[0] != trial[0]), "a batch changes what is played");
    }
}

/// W/epsilon sqrt(2) over W/8, the least of 8 and the prior, at most T/32: from public numbers alone.
#[test]
fn the_size_of_a_batch_follows_from_public_numbers() {
    for (privacy, rounds, expected) in [
        ("epsilon = 1.0\nclip = [-2.0, 2.0]", 3200, 12),
        ("epsilon = 4.0\nclip = [-2.0, 2.0]", 3200, 3),
        ("epsilon = 1.0\nclip = [-20.0, 20.0]", 3200, 57),
        ("epsilon = 0.01\nclip = [-2.0, 2.0]", 3200, 100),
        ("epsilon = 100.0\nclip = [-2.0, 2.0]", 3200, 1),
        ("epsilon = 1.0\nclip = [-2.0, 2.0]", 31, 1),
    ] {
        let text = spec("kind = \"batched-gp-ucb\"", privacy).replace("rounds = 100", &format!("rounds = {rounds}"));
        let users = prepared(&text, &DataFolder::default(), |sweep, preparation| {
            let cell = preparation.cell(&sweep.cells[0]).expect("a cell");
            fact(&cell.maker.facts(&cell.trial(0).expect("a trial").setting), "users of a batch").expect("stated")
        });
        assert_eq!(users, FactValue::Whole(expected), "{privacy}, {rounds} rounds");
    }
}

/// A point is played in one row, released in the last of its rounds and not before, and does not come back in its batch.
#[test]
fn elimination_releases_one_sum_for_each_point_and_batch() {
    for (kind, batches) in [("dp-bpe", vec![32, 179, 424, 365]), ("dp-se", vec![])] {
        let text =
            spec(&format!("kind = \"{kind}\""), "epsilon = 4.0\nclip = [-2.0, 2.0]").replace("rounds = 100", "rounds = 1000");
        let text = text.replace("ridge = \"mechanism\"\n", "").replace("factor = 0.5", "factor = 0.1");
        prepared(&text, &DataFolder::default(), |sweep, preparation| {
            let cell = preparation.cell(&sweep.cells[0]).expect("a cell");
            let trial = cell.trial(0).expect("a trial");
            let (mut policy, mut streams) = (trial.policy, policy_streams(&cell.streams));
            let (mut noise, mut stream) = (cell.streams.of(0, Purpose::Noise), cell.streams.of(0, Purpose::Mechanism("p")));
            let mut privatizer = trial.mechanism.privatizer();
            let (mut streaks, mut open) = (Vec::new(), 0);
            for _ in 0..1000 {
                let Proposal::Play(point) = policy.propose(&mut streams) else { panic!("a point") };
                let query = policy.query(point);
                let ends = query.release;
                let signal = privatizer.release(&query, trial.instance.observe(point, &mut noise), (&mut stream).into());
                assert_eq!(signal.reward().is_some(), ends, "{kind}");
                policy.update(point, &signal);
                open += 1;
                if ends {
                    streaks.push((point, open));
                    open = 0;
                }
            }
            assert_eq!(
                (open, privatizer.counts().releases),
                (0, streaks.len() as u64),
                "{kind}: the last streak ends with the run"
            );
            let distinct = |points: &[(usize, u64)]| points.iter().map(|streak| streak.0).collect::<BTreeSet<_>>();
            let mut rest = streaks.as_slice();
            for length in &batches {
                let ends = (1..=rest.len()).find(|n| rest[..*n].iter().map(|streak| streak.1).sum::<u64>() == *length);
                let (batch, later) = rest.split_at(ends.expect("a batch ends with a streak"));
                assert_eq!(distinct(batch).len(), batch.len(), "{kind}: {batch:?}");
                rest = later;
            }
            let last = *streaks.last().expect("a streak");
            assert!(distinct(&streaks).len() < 40 || last.1 > streaks[0].1, "{kind}: {streaks:?}");
        });
    }
}
