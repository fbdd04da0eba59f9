//! Sessions of policies that learn from sums over users, and states that do not hang together.

use crate::program::{code, run, stderr};
use crate::two_parties::{curated, fine, refused, spec};
use privateer::record::StateFile;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn state(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join(name)).expect("a state")).expect("JSON")
}

/// Writes a state as one that was made here.
fn write(folder: &Path, name: &str, value: &Value) {
    let mut value = value.clone();
    value["place"] = folder.canonicalize().expect("a folder").join(name).display().to_string().into();
    fs::write(folder.join(name), StateFile::text(value)).expect("written");
}

const LINEAR: &str = "kind = \"jdp-linucb\"\nbeta = { kind = \"scaled\", factor = 0.3 }";
const JOINT: &str =
    "kind = \"jdp-gp-ucb\"\nfeatures = { kind = \"nystrom\", size = 6 }\nbeta = { kind = \"scaled\", factor = 0.3 }";
const LOCAL: &str =
    "kind = \"local-jdp-gp-ucb\"\nfeatures = { kind = \"nystrom\", size = 6 }\nbeta = { kind = \"scaled\", factor = 0.3 }";

/// A batch of users is asked for one row, and its rewards are held until its end; the state passes the disk between commands.
#[test]
fn batches_of_users_run() {
    let (folder, outcome) = curated();
    let here = folder.path();
    spec(here, "[privacy]\nepsilon = 4.0\nclip = [-1.0, 1.0]\n", "kind = \"batched-gp-ucb\"\nbatch = 3");
    let refused = run(here, &["init", "held", "modeler.toml", "--form", "data-holder"]);
    assert_eq!(code(&refused), Some(2), "{}", stderr(&refused));
    // Every user of a batch would be charged to one row, and the row's budget would end before the batch.
    let budgeted = run(here, &["init", "budgeted", "modeler.toml", "--budget", "epsilon=40"]);
    assert!(code(&budgeted) == Some(2) && stderr(&budgeted).contains("no `--budget`"), "{}", stderr(&budgeted));
    assert!(!here.join("budgeted").exists());
    let begun = run(here, &["init", "state", "modeler.toml"]);
    assert!(stderr(&begun).contains("as secret as the rewards"), "{}", stderr(&begun));
    let mut rows = Vec::new();
    for round in 1..=8 {
        let row = fine(here, &["ask", "state"]);
        let index: usize = row.trim().parse().expect("a row");
        let told = fine(here, &["tell", "state", row.trim(), &outcome[index].to_string(), "--json"]);
        let told: Value = serde_json::from_str(&told).expect("JSON");
        assert!(told["released"].is_null(), "no reward is given out by itself: {told}");
        rows.push(index);
        let kept = state(here, "state")["session"]["privatizer"].clone();
        assert_eq!((kept["users"].as_u64(), kept["counts"]["releases"].as_u64()), (Some(round % 3), Some(round / 3)), "{kept}");
    }
    assert!(rows.chunks(3).all(|batch| batch.iter().all(|row| *row == batch[0])), "{rows:?}");
    fine(here, &["ask", "state", "--best"]);
}

/// Every policy that learns from sums runs to its end, under every form of running sums and own items, with the sums that it saw kept from
/// one command to the next: what was released is never drawn anew.
#[test]
fn policies_that_learn_from_sums_run() {
    let (folder, outcome) = curated();
    let here = folder.path();
    for (at, (mechanism, policy, extra)) in [
        ("tree", JOINT, ""),
        ("honaker", LINEAR, ""),
        ("auto", JOINT, "\nepochs = \"carry\""),
        ("sqrt-toeplitz", LINEAR, "\nepochs = \"restart\""),
        ("blt", LINEAR, "\nrelease = { kind = \"count\", factor = 1.4 }"),
        ("auto", LOCAL, ""),
        ("none", LINEAR, ""),
    ]
    .into_iter()
    .enumerate()
    {
        let privacy = format!("[privacy]\nmechanism = \"{mechanism}\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n");
        let privacy = if mechanism == "none" { "[privacy]\nmechanism = \"none\"\n".to_owned() } else { privacy };
        spec(here, &privacy, &format!("{policy}{extra}"));
        let name = format!("state-{at}");
        let begun = run(here, &["init", &name, "modeler.toml"]);
        assert_eq!(code(&begun), Some(0), "{mechanism} {policy}: {}", stderr(&begun));
        let local = policy == LOCAL;
        assert_eq!(stderr(&begun).contains("as secret as the rewards"), !local && mechanism != "none", "{}", stderr(&begun));
        let mut seen = state(here, &name)["session"]["policy"]["released"].clone();
        for round in 1..=8u64 {
            let before = state(here, &name);
            assert_eq!(before["session"]["policy"]["released"], seen, "what was released is kept");
            let row = fine(here, &["ask", &name]);
            let index: usize = row.trim().parse().expect("a row");
            let told = fine(here, &["tell", &name, row.trim(), &outcome[index].to_string(), "--json"]);
            let told: Value = serde_json::from_str(&told).expect("JSON");
            assert!(told["released"].is_null(), "no reward is given out by itself: {told}");
            let now = state(here, &name);
            seen = now["session"]["policy"]["released"].clone();
            assert_eq!(now["session"]["policy"]["round"], round + 1);
            assert_ne!(now["session"]["privatizer"], before["session"]["privatizer"], "{mechanism}");
            if round == 3 {
                // The same command on a copy draws other noise: it is drawn when told, and never from a seed.
                write(here, "copy", &before);
                fine(here, &["ask", "copy"]);
                fine(here, &["tell", "copy", row.trim(), &outcome[index].to_string()]);
                let copy = &state(here, "copy")["session"]["policy"];
                let mine = &now["session"]["policy"];
                // On a schedule this round may release nothing.
                assert_eq!(copy == mine, mechanism == "none" || mine["released"] == before["session"]["policy"]["released"]);
            }
        }
        refused(here, &["ask", &name], &["over"]);
        let best: u64 = fine(here, &["ask", &name, "--best"]).trim().parse().expect("a row");
        let last = state(here, &name);
        assert!(last["session"]["told"].as_array().expect("rounds").iter().any(|told| told["row"] == best));
        assert!(mechanism == "none" || last["ledger"]["provenance"] == "released", "{}", last["ledger"]);
    }
    // Readings whose noise is not that of their claim have no exact form.
    let privacy = "[privacy]\ncalibration = \"corrected\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n";
    spec(here, privacy, JOINT);
    refused(here, &["init", "corrected", "modeler.toml"], &["tight"]);
}

/// A state whose parts contradict each other is refused, whoever changed it.
#[test]
fn contradictory_states_are_refused() {
    let (folder, outcome) = curated();
    let here = folder.path();
    let sums = "[privacy]\nmechanism = \"tree\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n";
    for (name, privacy, policy) in
        [("rewards", "", "kind = \"gp-ucb\"\nridge = 0.01"), ("visits", "", "kind = \"uniform\""), ("sums", sums, LINEAR)]
    {
        spec(here, privacy, policy);
        fine(here, &["init", name, "modeler.toml"]);
        for _ in 0..2 {
            let row = fine(here, &["ask", name]);
            let index: usize = row.trim().parse().expect("a row");
            fine(here, &["tell", name, row.trim(), &outcome[index].to_string()]);
        }
        let whole = state(here, name);
        let bad = |change: &dyn Fn(&mut Value), words: &[&str]| {
            let mut planted = whole.clone();
            change(&mut planted["session"]);
            assert_ne!(planted, whole);
            write(here, "bad", &planted);
            for command in [&["ask", "bad"][..], &["ask", "bad", "--best"], &["tell", "bad", "0", "1.0"]] {
                refused(here, command, words);
            }
        };
        let again = whole["session"]["told"][1].clone();
        let rounds = |session: &mut Value, count: usize| session["told"] = Value::Array(vec![again.clone(); count]);
        bad(&|session| session["told"].as_array_mut().expect("rounds").clear(), &["damaged"]);
        bad(&|session| rounds(session, 1), &["revision 4 does not follow from 1 rounds"]);
        bad(
            &|session| {
                rounds(session, 1);
                session["revision"] = 2.into();
            },
            &["1 rounds are told", "taken 2"],
        );
        bad(
            &|session| {
                rounds(session, 9);
                session["revision"] = 18.into();
            },
            &["more than the 8 rounds"],
        );
        bad(
            &|session| {
                rounds(session, 8);
                session["revision"] = 17.into();
                session["asked"] = 3.into();
            },
            &["more than the 8 rounds"],
        );
        bad(&|session| session["asked"] = 3.into(), &["revision"]);
        bad(&|session| session["revision"] = 5.into(), &["revision 5"]);
        bad(
            &|session| {
                let flip = session["told"][0]["released"].is_null();
                session["told"][0]["released"] = if flip { 0.5.into() } else { Value::Null }
            },
            &["do not belong together"],
        );
        let elsewhere =
            (0..60u64).find(|row| whole["session"]["told"].as_array().expect("rounds").iter().all(|told| told["row"] != *row));
        bad(
            &|session| {
                for told in session["told"].as_array_mut().expect("rounds") {
                    told["row"] = elsewhere.into()
                }
            },
            &["never told"],
        );
        bad(&|session| session["privatizer"] = serde_json::json!({ "version": 7 }), &["mechanism keeps"]);
        if name == "sums" {
            // More releases than users; a user whom no round told.
            bad(&|session| session["privatizer"]["rounds"] = 1.into(), &["mechanism keeps"]);
            bad(
                &|session| {
                    session["privatizer"]["rounds"] = 3.into();
                    session["privatizer"]["counts"]["rewards"] = 3.into();
                },
                &["taken 3"],
            );
        }
        fine(here, &["ask", name]);
    }
}
