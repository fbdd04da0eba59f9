//! `batched-gp-ucb`: what it plays, and what it is without privacy.

use crate::support::{prepared, ran};
use privateer::engine::Quantity;
use privateer::env::DataFolder;

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
            let facts = preparation.cell(&sweep.cells[0]).expect("a cell").trial(0).expect("a trial").facts;
            facts.into_iter().find(|(name, _)| name == "users of a batch").expect("stated").1
        });
        assert_eq!(users, expected, "{privacy}, {rounds} rounds");
    }
}
