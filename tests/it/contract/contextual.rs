//! Contextual policies and environments: the same bytes whatever runs them, states that can be saved, ledgers that hold, better than
//! chance without noise.

use super::cuts;
use crate::support::{prepared, ran, ran_of, sweep};
use privateer::engine::Quantity;
use privateer::env::DataFolder;
use privateer::policy::contextual::Scratch;
use privateer::registry::{CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, names};
use privateer::spec::Sweep;
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::interactions::seal;
use privateer_privacy::{Guarantee, Raw};

/// Settings of every environment, as lines of its table.
pub fn environments() -> Vec<String> {
    let settings = |name: &str| -> Vec<&str> {
        match name {
            "generalized-linear" => vec![
                "dimension = 7\nnoise = { kind = \"uniform\", bound = 0.05 }\n",
                "dimension = 7\narms = 4\nlink = \"logistic\"\nnoise = \"bernoulli\"\nradius = 3.0\nparameters = \"gaussian\"\n",
                "dimension = 7\narms = 3\ncontexts = \"uniform\"\nscale = \"length\"\nparameters = \"uniform\"\nmargin = 0.02\nnoise = \"none\"\n",
                "dimension = 7\ncontexts = { kind = \"sparse\", nonzeros = 2 }\nscale = \"none\"\nsigns = \"random\"\nnoise = { kind = \"uniform\", bound = 0.1 }\n",
            ],
            "contexts-table" => vec![
                "file = \"x.csv\"\nsynthetic = true\nnumbers = [\"age\"]\nlows = [0]\nhighs = [100]\nlabel = \"dose\"\ncuts = [21, 49]\n",
                "file = \"x.csv\"\nsynthetic = true\ncategories = [\"town\"]\nleast = 3\nrewards = [\"a\", \"b\"]\nusers = \"again\"\n",
            ],
            // No regrets: tested on its own.
            _ => vec![],
        }
    };
    names(CONTEXTUAL_ENVIRONMENTS)
        .into_iter()
        .flat_map(|name| settings(name).into_iter().map(move |lines| format!("kind = \"{name}\"\n{lines}")))
        .collect()
}

pub fn spec(environment: &str, privacy: &str, policies: &str) -> String {
    format!(
        "seed = 5\nrounds = 60\ntrials = 5\nblock = 3\nrecord = {{ rounds = \"all\" }}\n[environment]\n{environment}[privacy]\n{privacy}\n{policies}"
    )
}

/// One table a policy.
pub fn policies() -> String {
    names(CONTEXTUAL_POLICIES).into_iter().map(|name| format!("[[policy]]\nkind = \"{name}\"\n")).collect()
}

#[test]
fn every_policy_meets_every_environment_with_the_same_bytes() {
    for environment in environments() {
        for calibration in ["as-printed", "corrected", "tight"] {
            let text = spec(&environment, &format!("epsilon = 2.0\ncalibration = \"{calibration}\""), &policies());
            let cuts = [1, 2, 7].map(|batch| (2, Some(batch)));
            let whole = cuts::whole(&text, &sweep(&text), &DataFolder::default(), &cuts);
            for rows in whole.rows.values() {
                assert!(rows[Quantity::Regret].iter().all(|regret| regret.is_finite() && 0.0 <= *regret), "{text}");
                assert!(rows[Quantity::BestShare].iter().all(|share| (0.0..=1.0).contains(share)));
                assert_eq!(rows[Quantity::BestShare].len(), rows[Quantity::Regret].len());
            }
        }
    }
}

/// Users do not depend on who chooses: with the same arm every round, regrets would be the same. The first round of two policies that
/// show the same arm has the same regret.
#[test]
fn all_policies_meet_the_same_users() {
    for environment in environments() {
        let run = ran(&spec(&environment, "epsilon = 2.0", &policies()).replace("block = 3", "block = 5"));
        let mut seen = std::collections::BTreeMap::new();
        for rows in run.rows.values() {
            for i in 0..rows.trial.len() {
                let key = (rows.trial[i], rows.round[i], rows.point[i]);
                let regret = seen.entry(key).or_insert(rows[Quantity::Regret][i]);
                assert_eq!(regret.to_bits(), rows[Quantity::Regret][i].to_bits(), "{key:?}\n{environment}");
            }
        }
    }
}

/// Claims hold wherever they are made, but for what the as-printed calibrations get wrong, which says so.
#[test]
fn ledgers_hold() {
    for environment in environments() {
        for calibration in ["as-printed", "corrected", "tight"] {
            for epsilon in ["0.1", "1.0", "8.0", "1000.0"] {
                let text = spec(&environment, &format!("epsilon = {epsilon}\ncalibration = \"{calibration}\""), &policies());
                prepared(&text, &DataFolder::default(), |sweep: &Sweep, preparation| {
                    for plan in sweep.cells.iter() {
                        let ledger = preparation.facts(plan).expect("facts").ledger.reward;
                        let private = ["dp-hdb", "dp-linucb", "ldp-linucb"].contains(&&*plan.policy);
                        assert_eq!(ledger.epsilon.is_some(), private, "{}", plan.policy);
                        match (&ledger.guarantee, private) {
                            (Guarantee::NotPrivate, false) | (Guarantee::Holds, true) => {}
                            (Guarantee::NoGuarantee { reason, .. }, true) if calibration == "as-printed" => {
                                assert!(!reason.is_empty())
                            }
                            (other, _) => panic!("{other:?} of {} at {epsilon}\n{text}", plan.policy),
                        }
                    }
                });
            }
        }
    }
}

/// Printed and unclipped, DP-HDB bounds nothing; neither does it where arms that were not shown stand still.
#[test]
fn broken_promises_are_named() {
    let environment = &environments()[0];
    for (policy, privacy, word) in [
        ("kind = \"dp-hdb\"", "epsilon = 1.0\ncalibration = \"as-printed\"", "E31"),
        ("kind = \"dp-hdb\"\nsynthetic = false", "epsilon = 1.0", "E30"),
    ] {
        let text = spec(environment, privacy, &format!("[[policy]]\n{policy}\n"));
        prepared(&text, &DataFolder::default(), |sweep: &Sweep, preparation| {
            let guarantee = preparation.facts(&sweep.cells[0]).expect("facts").ledger.reward.guarantee.to_string();
            assert!(guarantee.starts_with("no guarantee") && guarantee.contains(word), "{guarantee}");
        });
    }
}

/// A policy that is told the same releases again chooses the same arms.
#[test]
fn told_again_it_chooses_the_same() {
    let text = spec(&environments()[0], "epsilon = 20.0", &policies());
    prepared(&text, &DataFolder::default(), |sweep: &Sweep, preparation| {
        for plan in sweep.listed() {
            let cell = preparation.contextual(plan).expect("a cell");
            let streams = Streams::new(1, "states");
            let (mut noise, mut own) = (streams.of(0, Purpose::Noise), streams.of(0, Purpose::Start));
            let mut users = (cell.environment.draw)(0).expect("users");
            let (mut policy, mut privatizer) = ((cell.prepared.maker.make)(), cell.prepared.mechanism.privatizer());
            let (mut again, mut scratch) = ((cell.prepared.maker.make)(), Scratch::default());
            for round in 0..50 {
                users.next();
                let mut same = own.clone();
                let arm = policy.choose(users.context(), &mut own, &mut scratch).expect("an arm");
                let signal = privatizer.release(seal(users.context(), arm, users.reward(arm, &mut noise)), (&mut noise).into());
                policy.update(&signal);
                if 20 <= round {
                    assert_eq!(again.choose(users.context(), &mut same, &mut scratch).ok(), Some(arm), "{} {round}", plan.policy);
                }
                again.update(&signal);
            }
        }
    });
}

/// What is not as agreed leaves nothing behind but a round: NaN, infinite and overlong contexts and rewards never reach a state.
#[test]
fn bad_interactions_do_no_harm() {
    let text = spec(&environments()[0], "epsilon = 5.0", &policies());
    prepared(&text, &DataFolder::default(), |sweep: &Sweep, preparation| {
        for plan in sweep.listed().iter().filter(|plan| plan.policy.starts_with("dp-") || plan.policy.starts_with("ldp-")) {
            let cell = preparation.contextual(plan).expect("a cell");
            let mut stream = Streams::new(1, "bad").of(0, Purpose::Noise);
            let (mut policy, mut privatizer, mut scratch) =
                ((cell.prepared.maker.make)(), cell.prepared.mechanism.privatizer(), Scratch::default());
            let odd = [f64::NAN, f64::INFINITY, -1e300, 1e6, 0.0];
            for round in 0..60 {
                let mut context = vec![0.3; 7];
                context[round % 7] = odd[round % 5];
                if round % 11 == 0 {
                    context.pop();
                }
                let reward = odd[(round / 5) % 5];
                policy.update(&privatizer.release(seal(&context, round % 2, Raw::seal(reward)), (&mut stream).into()));
                let arm = policy.choose(&[0.1; 7], &mut stream, &mut scratch).expect("an arm");
                assert!(arm < 2);
            }
        }
    });
}

/// Without noise worth the name, every policy but the random one finds the better arm most of the time.
#[test]
fn better_than_chance() {
    let environment = "kind = \"generalized-linear\"\ndimension = 5\nparameters = { kind = \"sparse\", nonzeros = 2 }\nnoise = { kind = \"uniform\", bound = 0.05 }\n";
    let narrow = "beta = { kind = \"scaled\", factor = 0.01 }\n";
    let policies: String = names(CONTEXTUAL_POLICIES)
        .into_iter()
        .map(|name| format!("[[policy]]\nkind = \"{name}\"\n{}", if name.contains("linucb") { narrow } else { "" }))
        .collect();
    let text =
        spec(environment, "epsilon = 1e5", &policies).replace("rounds = 60", "rounds = 2000").replace("block = 3", "block = 5");
    let sweep = sweep(&text.replace("rounds = \"all\"", "rounds = \"log\""));
    let run = ran_of(&sweep);
    for plan in sweep.listed() {
        let rows = run.cell(plan.index);
        let ends = (0..rows.round.len()).filter(|&i| rows.round[i] == 2000);
        let share = ends.map(|i| rows[Quantity::BestShare][i]).sum::<f64>() / 5.0;
        println!("{}: {share}", plan.policy);
        if &*plan.policy == "random-arm" {
            // Five trials of 2000 coins: the standard error is 0.005.
            assert!((share - 0.5).abs() < 0.03, "{share}");
        } else {
            assert!(0.8 < share, "{}: {share}", plan.policy);
        }
    }
}
