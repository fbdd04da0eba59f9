//! Saved states that were damaged: refused or harmless, and never a panic.

use super::policies::{Way, policy_streams, settings, spec};
use crate::support::prepared;
use privateer::env::DataFolder;
use privateer::policy::{PolicyMaker, Setting};
use privateer_numerics::rng::Purpose;
use privateer_privacy::{Raw, Released, Signal};
use serde_json::{Value, json};

/// Pointers to every value inside, long arrays by their first two and their last entries.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                places(inner, format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (i, inner) in items.iter().enumerate().filter(|(i, _)| *i < 2 || i + 1 == items.len()) {
                places(inner, format!("{at}/{i}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}

/// The state with the value at one place replaced, taken away, or cut short.
fn damaged(state: &Value, place: &str) -> Vec<Value> {
    let (mut shorter, mut longer) =
        (state.pointer(place).expect("a place").clone(), state.pointer(place).expect("a place").clone());
    shorter.as_array_mut().map(Vec::pop);
    if let Some(items) = longer.as_array_mut() {
        items.extend(items.last().cloned());
    }
    let others = [json!(null), json!(-1), json!(0), json!(1_000_000_007_u64), json!(1e300), json!([]), json!("x"), json!({})];
    let with = |other: Value| {
        let mut copy = state.clone();
        *copy.pointer_mut(place).expect("a place") = other;
        copy
    };
    others.into_iter().chain([shorter, longer]).map(with).collect()
}

/// Two more rounds from a state, if it is accepted.
fn go_on(
    maker: &dyn PolicyMaker,
    setting: &Setting,
    state: Value,
    mut open: impl FnMut(Box<dyn privateer::policy::Policy>) -> Way,
    signal: &Released<Signal>,
    n: usize,
) -> bool {
    let Ok(policy) = maker.restore(setting, state) else { return false };
    let mut way = open(policy);
    for _ in 0..2 {
        // A score that is not finite is an error and no panic: the state said so.
        let Ok((point, _)) = way.try_next(n) else { return true };
        way.policy.update(point, signal);
        way.policy.recommend();
    }
    true
}

#[test]
fn damaged_states_never_panic() {
    for (name, setting) in settings() {
        let text = spec(&setting, "mechanism = \"none\"");
        let cell =
            prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.cell(&sweep.cells[0])).expect("a cell");
        let trial = cell.trial(0).expect("a trial");
        let facts = trial.setting;
        let n = cell.environment.gram.n_points();
        let open = |policy| Way::new(policy, policy_streams(&cell.streams), cell.domain.as_ref());
        let mut privatizer = trial.mechanism.privatizer();
        let mut way = open(trial.policy);
        let (mut random, mut last) = (cell.streams.of(0, Purpose::Noise), None);
        for _ in 0..12 {
            let (point, _) = way.next(n);
            let signal = privatizer.release(&way.policy.query(point), Raw::seal(0.5), (&mut random).into());
            way.policy.update(point, &signal);
            last = Some(signal);
        }
        let signal = last.expect("a signal");
        let state = way.policy.save();
        assert!(go_on(cell.maker.as_ref(), &facts, state.clone(), open, &signal, n), "{name}: an honest state");
        let mut found = Vec::new();
        places(&state, String::new(), &mut found);
        assert!(5 < found.len(), "{name}");
        let mut refused = 0;
        for place in &found {
            for copy in damaged(&state, place) {
                refused += usize::from(!go_on(cell.maker.as_ref(), &facts, copy, open, &signal, n));
            }
        }
        assert!(found.len() < refused, "{name}: {refused} of {} places", found.len());
    }
}
