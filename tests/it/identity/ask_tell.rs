//! A policy that is asked and told by hand plays what the loop plays.

use crate::contract::policies::Way;
use crate::support::{opened, prepared, ran};
use privateer::engine::Quantity;
use privateer::env::DataFolder;
use privateer::policy::PolicyStreams;
use privateer::spec::CellPlan;
use privateer::{AskTell, AskTellState, Preparation};
use privateer_numerics::rng::Purpose;

const SPEC: &str = "seed = 8\nrounds = 150\ntrials = 2\nrecord = { rounds = \"all\" }\n[environment]\nkind = \"rkhs\"\n\
     domain = { kind = \"grid\", points = 60 }\nkernel = { kind = \"matern\", nu = 1.5, lengthscale = 0.2 }\n\
     noise = { kind = \"uniform\", bound = 1.0 }\n[privacy]\nepsilon = 2.0\n[[policy]]\nkind = \"tgp-ucb\"\n\
     beta = { kind = \"order\", factor = 0.5 }\n[[policy]]\nkind = \"igp-ucb\"\nfeatures = \"exact\"\n[[policy]]\nkind = \"uniform\"\n";

#[test]
fn asked_and_told_by_hand() {
    let found = ran(SPEC);
    prepared(SPEC, &DataFolder::default(), |sweep, preparation| {
        for plan in sweep.cells.iter() {
            let cell = preparation.cell(plan).expect("a cell");
            let mut played = Vec::new();
            let mut recommended = Vec::new();
            for number in 0..2 {
                let trial = cell.trial(number).expect("a trial");
                let of = |purpose| cell.streams.of(number, purpose);
                let streams = PolicyStreams { start: of(Purpose::Start), own: of(Purpose::Policy(&plan.policy)) };
                let mut by_hand = Way::new(trial.policy, streams, cell.domain.as_ref());
                let (mut noise, mut random) = (of(Purpose::Noise), of(Purpose::Mechanism(&plan.policy)));
                let mut privatizer = trial.mechanism.privatizer();
                for _ in 0..150 {
                    let (point, _) = by_hand.next(60);
                    let reward = trial.instance.observe(point, &mut noise);
                    let signal = privatizer.release(&by_hand.policy.query(point), reward, (&mut random).into());
                    by_hand.policy.update(point, &signal);
                    played.push(Some(point as i64));
                    let best = by_hand.policy.recommend().expect("something was played");
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

/// What each kind of mechanism and policy keeps between rounds: rewards, sums, decision sets, released inputs' stand-ins.
const KINDS: [&str; 4] = [
    "[privacy]\nepsilon = 2.0\n[[policy]]\nkind = \"tgp-ucb\"\nbeta = { kind = \"order\", factor = 0.5 }\n[[policy]]\nkind = \"igp-ucb\"\n\
     features = \"exact\"\n[[policy]]\nkind = \"uniform\"\n[[policy]]\nkind = \"moma-gp-ucb\"\nk = 3\n",
    "[privacy]\nmechanism = \"tree\"\nepsilon = 5.0\ndelta = 1e-3\n[[policy]]\nkind = \"jdp-gp-ucb\"\n\
     features = { kind = \"quadrature-fourier\", nodes = 12 }\nbeta = { kind = \"constant\", value = 1.0 }\n",
    "[privacy]\nmechanism = \"none\"\n[[policy]]\nkind = \"gp-ucb\"\nbeta = { kind = \"constant\", value = 1.0 }\n",
    "sets = { kind = \"random\", points = 7 }\n[privacy]\nepsilon = 1.0\n[[policy]]\nkind = \"tgp-ucb\"\n",
];

fn kind_spec(kind: &str) -> String {
    let (sets, rest) = kind.split_at(kind.find('[').expect("a table"));
    format!(
        "seed = 8\nrounds = 40\ntrials = 5\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"rkhs\"\n\
         domain = {{ kind = \"grid\", points = 30 }}\nkernel = {{ kind = \"squared-exponential\", lengthscale = 0.2 }}\n\
         noise = {{ kind = \"uniform\", bound = 1.0 }}\n{sets}{rest}"
    )
}

#[test]
fn trials_whose_rewards_are_told_play_what_a_run_plays_whenever_they_are_saved() {
    for kind in KINDS {
        let spec = kind_spec(kind);
        let found = ran(&spec);
        prepared(&spec, &DataFolder::default(), |sweep, preparation| {
            for plan in sweep.cells.iter() {
                let cell = preparation.cell(plan).expect("a cell");
                let mut noises: Vec<_> = (1..4).map(|number| cell.streams.of(number, Purpose::Noise)).collect();
                let instances: Vec<_> = (1..4).map(|number| cell.trial(number).expect("a trial").instance).collect();
                let mut trials = AskTell::new(preparation, plan, 1..4).expect("trials");
                let mut played = vec![Vec::new(); 3];
                while !trials.is_over() {
                    let round = trials.round();
                    let points = trials.ask().expect("points").to_vec();
                    if round.is_multiple_of(7) {
                        trials = saved_and_restored(&trials, preparation, plan);
                    }
                    assert_eq!(trials.ask().expect("the same points"), points, "{} {round}", plan.policy);
                    let of = |(place, &point): (usize, &usize)| opened(instances[place].observe(point, &mut noises[place]));
                    let rewards: Vec<f64> = points.iter().enumerate().map(of).collect();
                    trials.tell(&rewards).expect("told");
                    played.iter_mut().zip(points).for_each(|(played, point)| played.push(Some(point as i64)));
                    if round.is_multiple_of(5) {
                        trials = saved_and_restored(&trials, preparation, plan);
                    }
                }
                let rows = &found.cell(plan.index).point;
                assert_eq!(rows[40..160], played.concat(), "{}", plan.policy);
                assert!(trials.ask().is_err() && trials.tell(&[0.0; 3]).is_err());
            }
        });
    }
}

fn saved_and_restored(trials: &AskTell, preparation: &Preparation<'_>, plan: &CellPlan) -> AskTell {
    let text = serde_json::to_string(&trials.save().expect("a state")).expect("plain data");
    AskTell::restore(preparation, plan, &serde_json::from_str(&text).expect("plain data")).expect("restored")
}

#[test]
fn wrong_rewards_and_damaged_states_are_refused_and_change_nothing() {
    prepared(&kind_spec(KINDS[0]), &DataFolder::default(), |sweep, preparation| {
        let plan = &sweep.cells[0];
        let mut trials = AskTell::new(preparation, plan, 0..2).expect("trials");
        let said = |error: privateer::Error| error.to_string();
        assert!(said(trials.tell(&[0.0, 0.0]).expect_err("nothing is asked")).contains("no points are asked"));
        let points = trials.ask().expect("points").to_vec();
        assert!(said(trials.tell(&[0.0]).expect_err("one is missing")).contains("1 rewards are told"));
        assert!(said(trials.tell(&[0.0, f64::NAN]).expect_err("no number")).contains("the reward of trial 1 is NaN"));
        assert_eq!(trials.ask().expect("as before"), points);
        assert!(said(AskTell::new(preparation, plan, 3..3).err().expect("no trial")).contains("no trial is asked for"));
        let state = serde_json::to_value(trials.save().expect("a state")).expect("plain data");
        let refused = |change: &dyn Fn(&mut serde_json::Value), plan: &CellPlan| {
            let mut state = state.clone();
            change(&mut state);
            let state: AskTellState = serde_json::from_value(state).expect("a state");
            said(AskTell::restore(preparation, plan, &state).err().expect("refused"))
        };
        assert!(refused(&|state| state["spec_hash"] = "x".into(), plan).contains("another spec or cell"));
        assert!(refused(&|_| (), &sweep.cells[1]).contains("another spec or cell"));
        assert!(refused(&|state| state["n_trials"] = u64::MAX.into(), plan).contains("ask for fewer trials"));
        assert!(refused(&|state| state["first"] = u64::MAX.into(), plan).contains("damaged"));
        assert!(refused(&|state| state["told"] = vec![vec![0.5]].into(), plan).contains("damaged"));
        assert!(refused(&|state| state["told"] = vec![vec![0.5, 0.5]; 5000].into(), plan).contains("rounds are told"));
    });
}
