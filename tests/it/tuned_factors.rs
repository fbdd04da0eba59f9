//! A tuned exploration factor is the best of its candidates on pilot trials, and the run is that of a spec which states it.

use crate::support::{self, *};
use privateer::spec::CellPlan;
use privateer::{RunObserver, RunOptions, run_in_memory};

fn spec(beta: &str, trials: u64) -> String {
    format!(
        "seed = 5\nreferences = false\nrounds = 150\ntrials = {trials}\n[environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", points = 40 }}\n\
         kernel = {{ kind = \"matern\", nu = 2.5, lengthscale = 0.2 }}\nnoise = {{ kind = \"gaussian\", sd = 0.3 }}\n[privacy]\nepsilon = 4.0\n\
         clip = [-4.0, 4.0]\n[[policy]]\nkind = \"igp-ucb\"\nbeta = {beta}\n"
    )
}

fn fact(spec: &str, name: &str) -> Option<FactValue> {
    prepared(spec, &DataFolder::default(), |sweep, preparation| {
        support::fact(&preparation.facts(&sweep.cells[0]).expect("facts").facts, name)
    })
}

/// Bits of what is recorded, whatever the spec states.
fn bits(spec: &str, batch: usize) -> Vec<u64> {
    let options = Options { batch: Some(batch), ..Options::default() };
    run_all(&sweep(spec), &DataFolder::default(), &Cpu::default(), options).expect("a run").bits()
}

/// Mean regret of the stated number of trials.
fn regret(spec: &str) -> f64 {
    let all: Vec<f64> = ran(spec).rows.values().flat_map(|rows| finals(rows, Quantity::CumulativeRegret)).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn the_chosen_factor_is_played() {
    for (of, stated, factors) in [
        ("order", "kind = \"order\", factor", [0.05, 0.5, 40.0]),
        ("constant", "kind = \"constant\", value", [0.0, 0.5, 60.0]),
        ("theory", "kind = \"scaled\", factor", [0.01, 0.1, 30.0]),
    ] {
        let tuned = |pilot: u64| format!("{{ kind = \"tuned\", of = \"{of}\", factors = {factors:?}, pilot = {pilot} }}");
        let text = spec(&tuned(20), 3);
        let chosen = fact(&text, "tuned_factor_of_beta").and_then(|value| value.as_f64()).expect("a factor");
        // A factor that plays at random for ever is not the best of three.
        assert!(factors[..2].contains(&chosen), "{of}: {chosen}");
        let by_hand = spec(&format!("{{ {stated} = {chosen:?} }}"), 3);
        assert_eq!(bits(&text, 1), bits(&by_hand, 1), "{of}");
        assert_eq!(bits(&text, 3), bits(&by_hand, 1), "{of}: the choice depends on no batch");
        assert_eq!(fact(&text, "pilot_trials_of_each_factor"), Some(20_u64.into()));
        assert_eq!(fact(&by_hand, "tuned_factor_of_beta"), None);
        // The number of reported trials changes nothing, since pilot trials are others.
        assert_eq!(fact(&spec(&tuned(20), 40), "tuned_factor_of_beta"), Some(chosen.into()));
        // Forty other trials find the same order, or a difference within chance (a quarter of the larger).
        let losses = factors.map(|factor| regret(&spec(&format!("{{ {stated} = {factor:?} }}"), 40)));
        let of_chosen = losses[factors.iter().position(|factor| *factor == chosen).expect("a candidate")];
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(of_chosen <= 1.25 * least, "{of}: {losses:?}");
    }
}

#[test]
fn a_policy_and_the_same_without_privacy_have_their_own() {
    let text = spec("{ kind = \"tuned\", factors = [0.02, 2.0], pilot = 6 }", 2).replace("references = false\n", "");
    prepared(&text.replace("epsilon = 4.0", "epsilon = 0.2"), &DataFolder::default(), |sweep, preparation| {
        let fact =
            |cell: usize, wanted: &str| support::fact(&preparation.facts(&sweep.cells[cell]).expect("facts").facts, wanted);
        let of = |cell: usize| fact(cell, "tuned_factor_of_beta");
        let labels: Vec<&str> = sweep.cells.iter().map(|cell| &*cell.policy).collect();
        assert_eq!(labels, ["igp-ucb", "uniform", "igp-ucb without privacy"]);
        assert!(of(0).is_some() && of(2).is_some() && of(1).is_none());
        // All prices of a problem rest on the factor of its reference.
        let pilots = |cell: usize| fact(cell, "pilot_trials_of_each_factor");
        assert_eq!((pilots(0), pilots(2)), (Some(6_u64.into()), Some(24_u64.into())));
    });
}

/// Exploring nothing is among the usual factors of a reference, and not among stated ones.
#[test]
fn a_reference_may_explore_nothing() {
    for (beta, expected) in [
        ("\"tuned\"", Some([0.0, 0.05])),
        ("{ kind = \"tuned\", pilot = 6 }", Some([0.0, 0.05])),
        ("{ kind = \"tuned\", factors = [0.3, 2.0] }", Some([0.3, 2.0])),
        ("{ kind = \"tuned\", of = \"theory\" }", Some([0.05, 0.1])),
        ("{ kind = \"order\", factor = 0.3 }", None),
    ] {
        let sweep = sweep(&spec(beta, 2).replace("references = false\n", ""));
        let first = |cell: &CellPlan| cell.tuning.as_ref().map(|tuning| [tuning.candidates[0].0, tuning.candidates[1].0]);
        let of = |policy: &str| sweep.cells.iter().find(|cell| &*cell.policy == policy).map(first);
        assert_eq!(of("igp-ucb without privacy"), Some(expected), "{beta}");
        assert_eq!(of("igp-ucb"), Some(expected.map(|_| if beta.contains("0.3") { [0.3, 2.0] } else { [0.05, 0.1] })), "{beta}");
    }
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    for (beta, words) in [
        ("{ kind = \"tuned\", factors = [] }", "`factors` is empty"),
        ("{ kind = \"tuned\", factors = [-1.0] }", "`factors` is empty, or holds a number out of range"),
        ("{ kind = \"tuned\", pilot = 0 }", "out of range"),
        ("{ kind = \"tuned\", factor = 2 }", "did you mean `factors`?"),
    ] {
        let said = Sweep::parse("spec.toml", &spec(beta, 2), &[]).map(drop).expect_err("a mistake").to_string();
        assert!(said.contains(words), "{beta}: {said}");
    }
}

/// Notes the threads that pilot trials are played on.
#[derive(Default)]
struct Threads(Mutex<(BTreeSet<String>, Vec<u64>)>);

impl RunObserver for Threads {
    fn tuned(&self, factors: u64) {
        let mut noted = self.0.lock().expect("no panic");
        noted.0.insert(format!("{:?}", std::thread::current().id()));
        noted.1.push(factors);
    }
}

/// Pilot trials keep to the threads of the run, are counted, and choose the same on any number of them.
#[test]
fn pilot_trials_are_played_on_the_threads_of_the_run() {
    let text = format!("{}[sweep.product]\n\"privacy.epsilon\" = [1.0, 4.0]\n", spec("\"tuned\"", 3));
    let mut factors = Vec::new();
    for threads in [1, 3] {
        let (noted, options) = (Threads::default(), RunOptions { threads: Some(threads), ..RunOptions::default() });
        let ran = run_in_memory(&sweep(&text), &options, &Stop::new(), &noted).expect("a run");
        let (on, counts) = noted.0.into_inner().expect("no panic");
        assert!(on.len() <= threads && !on.contains(&format!("{:?}", std::thread::current().id())), "{on:?}");
        assert_eq!(counts, vec![12; 12], "six factors of two cells");
        factors.push(ran.cells.iter().map(|cell| cell.facts.get("tuned_factor_of_beta").cloned()).collect::<Vec<_>>());
    }
    assert_eq!(factors[0], factors[1]);
}
