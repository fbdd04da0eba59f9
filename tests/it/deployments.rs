//! Deployments: what each record has spent, who sees raw values, copies, crashes, budgets at their boundary.

use crate::database::{all, alter, content, holds_number, one};
use crate::program::{assert_private, code, ends, folder, run, stderr, stdout, words};
use crate::two_parties::{fine, refused};
use privateer::record::{is_sealed, seal_text};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

pub const HYBRID: &str = "[privacy]\nmechanism = \"hybrid\"\nepsilon = 2.0\nclip = [-1.0, 1.0]\n";

/// Three rows, so that any policy repeats one of them within four rounds.
pub fn three_rows(folder: &Path, privacy: &str) {
    fs::write(folder.join("points.csv"), "x,y\n0.0,0.0\n1.0,0.5\n0.2,1.0\n").expect("written");
    let text = format!(
        "rounds = 12\n[environment]\nkind = \"points-table\"\nfile = \"points.csv\"\ninputs = [\"x\", \"y\"]\nstandardise = false\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\nnoise = {{ kind = \"gaussian\", sd = 0.05 }}\nbound = 1.0\n\
         {privacy}\n[[policy]]\nkind = \"tgp-ucb\"\n"
    );
    fs::write(folder.join("modeler.toml"), text).expect("written");
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

pub fn file(folder: &Path, name: &str) -> Value {
    json(&fs::read_to_string(folder.join(name)).expect("a file"))
}

/// What `privateer ledger --json` states in total over the files; `None` where it states no total.
pub fn total(folder: &Path, files: &[&str]) -> Option<(f64, f64)> {
    let words: Vec<&str> = ["ledger", "--json"].into_iter().chain(files.iter().copied()).collect();
    let said = json(&fine(folder, &words));
    let ledger = if files.len() == 1 { &said["files"][0]["ledger"] } else { &said["together"] };
    let most = &ledger["total"]["largest"];
    Some((most["epsilon"].as_f64()?, most["delta"].as_f64()?))
}

/// Asks and tells until the session stops; the answers by row, and what the refusal said.
pub fn until_stopped(folder: &Path, state: &str, rounds: usize) -> (Vec<u64>, String) {
    let mut answers = vec![0; 3];
    for _ in 0..rounds {
        let asked = run(folder, &["ask", state]);
        if code(&asked) != Some(0) {
            assert_eq!(code(&asked), Some(1), "{}", stderr(&asked));
            return (answers, stderr(&asked));
        }
        let row: usize = stdout(&asked).trim().parse().expect("a row");
        fine(folder, &["tell", state, &row.to_string(), "0.5"]);
        answers[row] += 1;
    }
    (answers, String::new())
}

/// A row that was asked ten times spent ten times its epsilon, and the ledger says so.
#[test]
fn repeated_rows_spend_what_they_are_asked() {
    let here = &folder();
    three_rows(here, HYBRID);
    fine(here, &["init", "state", "modeler.toml"]);
    let (answers, _) = until_stopped(here, "state", 12);
    let most = answers.iter().max().copied().expect("three rows");
    assert!(4 <= most, "twelve answers of three rows: {answers:?}");
    assert_eq!(total(here, &["state"]), Some((2.0 * most as f64, 0.0)));
    let claimed: String = one(here, "state", "SELECT value FROM terms WHERE part = 'ledger' AND name = 'claimed'");
    assert_eq!(claimed, "epsilon = 2 per answer, pure");
    let said = json(&fine(here, &["ledger", "--json", "state"]));
    let ledger = &said["files"][0]["ledger"];
    for record in ledger["total"]["records"].as_array().expect("records") {
        let row = record["record"].as_u64().expect("a row") as usize;
        assert_eq!(record["releases"], answers[row]);
    }
    assert!(ledger["notes"].to_string().contains("cannot be detected"), "copies are spoken of");
    assert_private(&here.join("state"));
}

/// A budget of twice one answer allows two answers of a row, also in sums that doubles round, and never a third; a budget a
/// millionth below allows one.
#[test]
fn a_session_stops_at_its_budget_and_not_before() {
    let here = &folder();
    for (epsilon, budget, most) in
        [("2.0", "epsilon=4", 2), ("2.0", "epsilon=3.999996", 1), ("0.1", "epsilon=0.3", 3), ("2.0", "epsilon=4,delta=1e-6", 2)]
    {
        three_rows(here, &HYBRID.replace("2.0", epsilon));
        let state = format!("state-{epsilon}-{budget}");
        fine(here, &["init", &state, "modeler.toml", "--budget", budget]);
        let (answers, said) = until_stopped(here, &state, 12);
        assert!(answers.iter().all(|count| *count <= most) && answers.contains(&most), "{answers:?} at {budget}");
        assert!(said.contains("has spent") && said.contains("nothing was released") && said.contains("--best"), "{said}");
        let held = || (content(here, &state), one::<i64>(here, &state, "SELECT count(*) FROM refusals"));
        let (before, n) = held();
        let again = run(here, &["ask", &state]);
        assert_eq!(code(&again), Some(1));
        let (after, n_after) = held();
        let is_same = |(one, other): (&(String, _), &(String, _))| one == other || one.0 == "refusals";
        assert!(before.iter().zip(&after).all(is_same), "a refusal spends nothing");
        assert_eq!(n_after, n + 1, "and is in the books");
        fine(here, &["ask", &state, "--best"]);
    }
    // A budget below one answer, budgets that no filter can use, mechanisms that none bounds.
    three_rows(here, HYBRID);
    for (words, expected) in [
        (vec!["--budget", "epsilon=1"], "not one answer"),
        (vec!["--budget", "four"], "budget"),
        (vec!["--budget", "epsilon=4", "--filter", "zcdp"], "delta"),
        (vec!["--filter", "moments"], "--filter"),
        (vec!["--odometer", "x", "--budget", "epsilon=4"], "cannot be used with"),
    ] {
        let all: Vec<&str> = ["init", "bad", "modeler.toml"].into_iter().chain(words).collect();
        ends(&run(here, &all), 2, &[expected]);
        assert!(!here.join("bad").exists());
    }
    three_rows(here, "");
    refused(here, &["init", "bad", "modeler.toml", "--budget", "epsilon=4"], &["no mechanism"]);
}

/// Whoever edits a deployment is stopped by `tell` as well as by `ask`.
#[test]
fn tell_checks_the_budget_by_itself() {
    let here = &folder();
    three_rows(here, HYBRID);
    fine(here, &["init", "state", "modeler.toml", "--budget", "epsilon=2"]);
    let row = fine(here, &["ask", "state"]);
    fine(here, &["tell", "state", row.trim(), "0.5"]);
    // Of a budget that somebody enlarged nothing is believed, nor of a row that somebody entered.
    let asked = format!("UPDATE sessions SET asked = {}", row.trim());
    for change in [asked.as_str(), "UPDATE budgets SET epsilon = 20", "DELETE FROM budgets"] {
        fs::copy(here.join("state"), here.join("kept")).expect("copied");
        alter(here, "state", change);
        {
            ends(&run(here, &["ask", "state"]), 2, &["was altered"]);
        }
        fs::copy(here.join("kept"), here.join("state")).expect("restored");
    }
    let told = run(here, &["ask", "state"]);
    assert!([Some(0), Some(1)].contains(&code(&told)), "{}", stderr(&told));
}

fn release<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["release", "--mechanism", "hybrid", "--epsilon", "2", "--clip", "-1,1", "--state", "holder"]
        .into_iter()
        .chain(more.iter().copied())
        .collect()
}

/// Answers of one row that enter running sums are priced as a group: k times mu, as `privateer account` does.
#[test]
fn repeated_rows_of_one_stream_are_a_group() {
    let here = &folder();
    three_rows(here, "[privacy]\nmechanism = \"tree\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n");
    let text = fs::read_to_string(here.join("modeler.toml")).expect("a spec");
    fs::write(here.join("modeler.toml"), text.replace("tgp-ucb", "jdp-linucb")).expect("written");
    refused(here, &["init", "state", "modeler.toml", "--form", "data-holder"], &["sums over users"]);
    fine(here, &["init", "state", "modeler.toml"]);
    let (answers, _) = until_stopped(here, "state", 7);
    let most = answers.iter().max().copied().expect("three rows");
    assert!(3 <= most, "seven answers of three rows: {answers:?}");
    // A group of k spends k times mu, and what a Gaussian of this mu loses is in the ledger of one answer.
    let mu: f64 = one(here, "state", "SELECT value FROM terms WHERE part = 'spend' AND name = 'loss.loss.mu'");
    let delta = privateer_privacy::Delta::try_from(1e-5).expect("a probability");
    assert!((privateer_privacy::gdp_epsilon(mu, delta) - 4.0).abs() < 1e-6);
    let group = privateer_privacy::gdp_epsilon(mu * most as f64, delta);
    let (epsilon, found) = total(here, &["state"]).expect("a total");
    assert!((epsilon - group).abs() < 1e-9 * group && found == 1e-5, "{epsilon} {group}");
    assert!(2.0 * 4.0 < epsilon, "{most} answers spend {epsilon}");
}

/// On the data holder's side one record and round has one answer, whatever is asked again; each new round spends.
#[test]
fn a_data_holder_releases_once_for_each_record_and_round() {
    let here = &folder();
    let first = fine(here, &release(&["--budget", "epsilon=4", "7", "0.25"]));
    let value = json(&first);
    assert!(value["released"].as_f64().is_some_and(|x| x != 0.25 && x.abs() < 10.0), "{value}");
    assert_eq!((&value["row"], &value["round"], &value["ledger"]["guarantee"]), (&7.into(), &1.into(), &"holds".into()));
    let kept = content(here, "holder");
    assert!(!holds_number(here, "holder", 0.25), "the raw value is kept nowhere");
    assert!(holds_number(here, "holder", value["released"].as_f64().expect("a number")));
    for again in [&["7", "0.25"][..], &["7", "-0.9"], &["--round", "1", "7", "0.25"]] {
        assert_eq!(fine(here, &release(again)), first, "the stored answer");
        assert_eq!(content(here, "holder"), kept, "nothing is spent");
    }
    assert_eq!(total(here, &["holder"]), Some((2.0, 0.0)));
    // Options may be left out, and may not differ.
    fine(here, &["release", "--state", "holder", "--round", "2", "7", "0.25"]);
    assert_eq!(total(here, &["holder"]), Some((4.0, 0.0)));
    let third = run(here, &release(&["--round", "3", "7", "0.25"]));
    assert!(code(&third) == Some(1) && stdout(&third).is_empty() && stderr(&third).contains("epsilon = 6"), "{}", stderr(&third));
    let again = json(&fine(here, &release(&["7", "0.25"])));
    for same in ["released", "name", "row", "round", "source"] {
        assert_eq!(again[same], value[same], "what was released can always be given out again");
    }
    assert_eq!(again["newest"][0], 2, "with the number of answers so far");
    fine(here, &release(&["8", "0.25"]));
    for (words, expected) in [
        (["release", "--state", "holder", "--epsilon", "1", "9", "0.5"], "--epsilon"),
        (["release", "--state", "holder", "--mechanism", "laplace", "9", "0.5"], "--mechanism"),
        (["release", "--state", "holder", "--clip", "0,1", "9", "0.5"], "--clip"),
        (["release", "--state", "holder", "--budget", "epsilon=9", "9", "0.5"], "--budget"),
        (["release", "--state", "holder", "--column", "other", "9", "0.5"], "no column `other`"),
        (["release", "--state", "holder", "--round", "1", "9", "nan"], "NaN"),
        (["release", "--state", "fresh", "--round", "1", "9", "0.5"], "--mechanism"),
    ] {
        refused(here, &words, &[expected]);
    }
    assert!(!here.join("fresh").exists());
    assert_private(&here.join("holder"));
}

/// With a key, an answer that somebody else sealed is refused, and one that was sealed with it is taken with it alone.
#[test]
fn forged_answers_are_refused_by_a_key() {
    let here = &folder();
    three_rows(here, HYBRID);
    fine(here, &["init", "state", "modeler.toml", "--form", "data-holder"]);
    let row = fine(here, &["ask", "state"]);
    let row = row.trim();
    for (name, bytes) in [("key", "0123456789abcdef, and more"), ("other", "another key of many bytes"), ("short", "too short")] {
        fs::write(here.join(name), bytes).expect("written");
    }
    refused(here, &release(&["--key", "short", row, "0.5"]), &["has 9 bytes", "at least 16"]);
    refused(here, &release(&["--key", "nothing", row, "0.5"]), &["nothing"]);
    fs::write(here.join("answer"), fine(here, &release(&["--key", "key", row, "0.5"]))).expect("written");
    let forged = seal_text(&json(&fs::read_to_string(here.join("answer")).expect("read")).to_string(), None);
    fs::write(here.join("forged"), forged).expect("written");
    let tell = |key: &[&'static str], answer: &'static str| [&["tell", "--released", "state", row], key, &[answer]].concat();
    refused(here, &tell(&["--key", "key"], "forged"), &["its seal does not fit", "the key of `--key`"]);
    refused(here, &tell(&["--key", "other"], "answer"), &["its seal does not fit"]);
    refused(here, &tell(&[], "answer"), &["its seal does not fit", "needs `--key`"]);
    refused(here, &tell(&[], "."), &["not a regular file"]);
    fine(here, &tell(&["--key", "key"], "answer"));
}

/// One value is asked for, and a second one is no part of it.
#[test]
fn standard_input_holds_one_value() {
    let here = &folder();
    three_rows(here, HYBRID);
    fine(here, &["init", "state", "modeler.toml"]);
    let row = fine(here, &["ask", "state"]);
    let row = row.trim();
    let told = |input: &str| {
        let mut command = crate::program::privateer(here);
        let command =
            command.args(["tell", "state", row, "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // A program that has read enough closes its end.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("it ends")
    };
    for input in ["0.5\n0.6\n".to_owned(), "0.5 0.6".to_owned(), "5".repeat(100_000), format!("0.5{}", " ".repeat(100_000))] {
        let output = told(&input);
        assert_eq!(code(&output), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("standard input holds more than the reward"), "{}", stderr(&output));
    }
    assert_eq!(code(&told("  0.5 \n\n")), Some(0));
}

/// A session of the form `data-holder` takes released values that state what it declares, and nothing raw.
#[test]
fn released_values_are_checked_against_the_session() {
    let here = &folder();
    three_rows(here, HYBRID);
    fine(here, &["init", "state", "modeler.toml", "--form", "data-holder"]);
    fine(here, &["init", "curator", "modeler.toml"]);
    let row = fine(here, &["ask", "state"]);
    let row = row.trim();
    let answer = fine(here, &release(&[row, "0.5"]));
    let released = json(&answer)["released"].as_f64().expect("a number");
    for (key, value) in [
        ("row", Value::from(9)),
        ("round", 2.into()),
        ("mechanism", "laplace".into()),
        ("epsilon", 1.0.into()),
        ("delta", 0.1.into()),
        ("clip", serde_json::json!([0.0, 1.0])),
        ("version", 1.into()),
    ] {
        let mut planted = json(&answer);
        planted[key] = value;
        fs::write(here.join("planted"), seal_text(&planted.to_string(), None)).expect("written");
        refused(here, &["tell", "--released", "state", row, "planted"], &["not the one that was asked for", key]);
    }
    // What the mechanism cannot give: it releases two pieces of a bounded range.
    for value in [1e308, -1e308, 1e6, 40.0] {
        let mut planted = json(&answer);
        planted["released"] = value.into();
        fs::write(here.join("planted"), seal_text(&planted.to_string(), None)).expect("written");
        refused(here, &["tell", "--released", "state", row, "planted"], &["releases no value like"]);
    }
    // Each changed byte breaks the seal, wherever it is.
    for byte in 0..answer.len() {
        let mut changed = answer.clone().into_bytes();
        changed[byte] ^= 1;
        assert!(!String::from_utf8(changed.clone()).is_ok_and(|text| is_sealed(&text, None)), "byte {byte}");
        if byte % 61 == 0 || byte + 2 == answer.len() {
            fs::write(here.join("planted"), changed).expect("written");
            refused(here, &["tell", "--released", "state", row, "planted"], &[]);
        }
    }
    let mut planted = json(&answer);
    planted["ledger"]["guarantee"] = "fails".into();
    fs::write(here.join("planted"), planted.to_string()).expect("written");
    refused(here, &["tell", "--released", "state", row, "planted"], &["its seal does not fit"]);
    fs::write(here.join("answer"), &answer).expect("written");
    refused(here, &["tell", "state", row, "0.5"], &["raw reward", "data-holder"]);
    fine(here, &["ask", "curator"]);
    refused(here, &["tell", "--released", "curator", row, "answer"], &["trusted-curator"]);
    refused(here, &["tell", "--released", "state", row, "modeler.toml"], &["not a released value"]);
    fine(here, &["tell", "--released", "state", row, "answer"]);
    assert_eq!(one::<f64>(here, "state", "SELECT released FROM releases"), released);
    for (name, adversary, words) in [("state", "recipient", "cannot verify"), ("curator", "observer", "trusted curator")] {
        let terms = "SELECT value FROM terms WHERE column_id = 1 AND part = 'ledger' AND name";
        let kind: String = one(here, name, &format!("{terms} = 'threat_model.adversary.kind'"));
        let notes: Vec<String> = all(here, name, &format!("{terms} LIKE 'notes.%'"));
        assert!(kind == adversary && notes.iter().any(|note| note.contains(words)), "{kind} {notes:?}");
    }
    let row = fine(here, &["ask", "state"]);
    let mut again = json(&fine(here, &release(&["--round", "2", row.trim(), "0.5"])));
    again["name"] = json(&answer)["name"].clone();
    fs::write(here.join("again"), seal_text(&again.to_string(), None)).expect("written");
    refused(here, &["tell", "--released", "state", row.trim(), "again"], &["told before"]);
    // Both files are about one answer, which is counted once.
    let ledger = json(&fine(here, &["ledger", "--json", "state", "holder"]));
    assert_eq!(ledger["together"]["total"]["of_one"], 2, "the second answer was released, and never told");
    refused(here, &["init", "both", "modeler.toml", "--form", "data-holder", "--odometer", "x"], &["count twice"]);
}

/// Two sessions, a release state and a curated table share one budget of each record.
#[test]
fn an_odometer_counts_sessions_columns_and_releases_together() {
    let here = &folder();
    three_rows(here, HYBRID);
    fine(here, &["odometer", "shared", "--budget", "epsilon=6", "--filter", "sum", "--rows", "3"]);
    refused(here, &["odometer", "shared", "--budget", "epsilon=6", "--filter", "sum", "--rows", "3"], &["there already"]);
    refused(
        here,
        &["odometer", "large", "--budget", "epsilon=6,delta=0.4", "--filter", "sum", "--rows", "3"],
        &["--allow-large-delta"],
    );
    fine(here, &["odometer", "tight", "--budget", "epsilon=6,delta=1e-6", "--filter", "zcdp", "--rows", "3"]);
    refused(here, &["init", "none", "modeler.toml", "--odometer", "tight"], &["not one answer"]);
    fine(here, &["odometer", "long", "--budget", "epsilon=6", "--filter", "sum", "--rows", "4"]);
    refused(here, &["init", "none", "modeler.toml", "--odometer", "long"], &["of 4 records", "here are 3"]);
    assert!(!here.join("none").exists());
    for (name, column) in [("first", "outcome"), ("second", "cost")] {
        fine(here, &["init", name, "modeler.toml", "--odometer", "shared", "--column", column]);
    }
    let mut spent = [0u64; 3];
    for name in ["first", "second"] {
        let row = fine(here, &["ask", name]);
        fine(here, &["tell", name, row.trim(), "0.5"]);
        spent[row.trim().parse::<usize>().expect("a row")] += 1;
    }
    let holder = release(&["--odometer", "shared", "0", "0.5"]);
    fine(here, &holder);
    spent[0] += 1;
    let most = spent.iter().max().copied().expect("three") as f64;
    assert_eq!(total(here, &["shared"]), Some((2.0 * most, 0.0)));
    // What the odometer counts is not counted again from the files that spend from it.
    assert_eq!(total(here, &["first", "shared", "second", "holder"]), Some((2.0 * most, 0.0)));
    // Together they stop where the budget of a record ends: nine answers in all.
    for name in ["first", "second"] {
        for _ in 0..12 {
            let asked = run(here, &["ask", name]);
            if code(&asked) != Some(0) {
                assert!(stderr(&asked).contains("epsilon=6"), "{}", stderr(&asked));
                break;
            }
            let row = stdout(&asked);
            fine(here, &["tell", name, row.trim(), "0.5"]);
            spent[row.trim().parse::<usize>().expect("a row")] += 1;
        }
    }
    assert!(spent.iter().all(|count| *count <= 3) && spent.contains(&3), "{spent:?}");
    refused(here, &["release", "--state", "holder", "--round", "2", "3", "0.5"], &["no record 3 among 3"]);
}

/// A copy of a session, an older odometer and another odometer are refused.
#[test]
fn copies_are_refused_by_a_shared_odometer() {
    let here = &folder();
    three_rows(here, HYBRID);
    let odometer = |name: &str| fine(here, &["odometer", name, "--budget", "epsilon=20", "--filter", "sum", "--rows", "3"]);
    odometer("shared");
    odometer("other");
    fine(here, &["init", "state", "modeler.toml", "--odometer", "shared"]);
    let row = fine(here, &["ask", "state"]);
    for name in ["state", "shared"] {
        fs::copy(here.join(name), here.join(format!("{name}-copy"))).expect("copied");
    }
    fine(here, &["tell", "state", row.trim(), "0.5"]);
    let copied = [&["ask", "state-copy"][..], &["tell", "state-copy", row.trim(), "0.5"]];
    copied.iter().for_each(|words| refused(here, words, &["is a copy", "still stands at"]));
    // Where the original has moved, the odometer tells them apart.
    fs::rename(here.join("state"), here.join("aside")).expect("renamed");
    copied.iter().for_each(|words| refused(here, words, &["is a copy", "has made 0 answers", "knows of 1"]));
    fs::rename(here.join("aside"), here.join("state")).expect("renamed");
    let asked = ["ask", "state", "--odometer"];
    let with = |name: &'static str| asked.into_iter().chain([name]).collect::<Vec<_>>();
    refused(here, &with("shared-copy"), &["is a copy", "still stands at"]);
    refused(here, &with("other"), &["not the odometer"]);
    fs::rename(here.join("shared"), here.join("moved")).expect("renamed");
    refused(here, &with("shared-copy"), &["older copy"]);
    assert_eq!(code(&run(here, &["ask", "state"])), Some(2), "no odometer, no answer");
    fine(here, &with("moved"));
    assert_eq!(total(here, &["moved"]), Some((2.0, 0.0)));
    // Without an odometer a copy is refused while the original stands; one that went on elsewhere is added to it, answer by answer.
    fine(here, &["init", "alone", "modeler.toml"]);
    let row = fine(here, &["ask", "alone"]);
    fs::copy(here.join("alone"), here.join("twin")).expect("copied");
    refused(here, &["tell", "twin", row.trim(), "0.5"], &["is a copy", "still stands at"]);
    refused(here, &["ledger", "alone", "twin"], &["is a copy"]);
    for (name, aside) in [("alone", "twin"), ("twin", "alone")] {
        fs::rename(here.join(aside), here.join("aside")).expect("renamed");
        fine(here, &["tell", name, row.trim(), "0.5"]);
        fs::rename(here.join("aside"), here.join(aside)).expect("renamed");
    }
    let shown = run(here, &["ledger", "alone", "twin"]);
    assert!(stderr(&shown).contains("both went on") && stdout(&shown).contains("epsilon = 4, pure"), "{}", stderr(&shown));
}

/// Commands at once on one release state: whoever prints a value prints the one that was stored. With the lock on the replaced file
/// alone, some 7 of 100 rounds printed two values; 40 rounds let that pass once in 20 runs.
#[test]
fn commands_at_once_release_one_value() {
    let here = &folder();
    fine(here, &["odometer", "shared", "--rows", "10", "--budget", "epsilon=1000", "--filter", "sum"]);
    for round in 1..=40 {
        let line =
            format!("release --mechanism laplace --epsilon 0.5 --clip 0,1 --odometer shared --state state --round {round} 7 0.5");
        let release = || run(here, &words(&line));
        let outputs = std::thread::scope(|scope| {
            let started: Vec<_> = (0..4).map(|_| scope.spawn(release)).collect();
            started.into_iter().map(|thread| thread.join().expect("a command")).collect::<Vec<_>>()
        });
        let done = outputs.iter().filter(|output| code(output) == Some(0));
        let mut values: Vec<String> = done.map(|output| json(&stdout(output))["released"].to_string()).collect();
        if values.is_empty() {
            let said: Vec<String> = outputs.iter().map(stderr).collect();
            panic!("round {round}: {said:?}");
        }
        values.dedup();
        assert_eq!(values.len(), 1, "round {round}: {values:?}");
    }
}

/// An older copy of an odometer or a release state understates: files that disagree are refused.
#[test]
fn an_older_copy_is_not_taken_for_the_whole() {
    let here = &folder();
    three_rows(here, HYBRID);
    fine(here, &["odometer", "shared", "--rows", "3", "--budget", "epsilon=1000", "--filter", "sum"]);
    fine(here, &["init", "state", "modeler.toml", "--odometer", "shared"]);
    fs::copy(here.join("shared"), here.join("older")).expect("copied");
    until_stopped(here, "state", 2);
    assert!(total(here, &["shared", "state"]).is_some());
    refused(here, &["ledger", "older", "state"], &["older copy"]);
    refused(here, &["ledger", "shared", "older"], &["older copy"]);
    // A place that cannot be kept as text would make a copy look like a file that has moved.
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt;
        let odd = here.join(std::ffi::OsStr::from_bytes(b"n\xff"));
        fs::copy(here.join("shared"), &odd).expect("copied");
        ends(
            &crate::program::privateer(here).args(["ask", "state", "--odometer"]).arg(&odd).output().expect("started"),
            2,
            &["not UTF-8"],
        );
    }
    // A hard link would split the odometer at the next write.
    fs::hard_link(here.join("shared"), here.join("link")).expect("linked");
    refused(here, &["ask", "state"], &["hard links"]);
}

/// Deltas at which a record leaves unchanged are refused, in answers and in budgets.
#[test]
fn large_deltas_are_refused() {
    let here = &folder();
    three_rows(here, HYBRID);
    refused(here, &["init", "state", "modeler.toml", "--budget", "epsilon=4,delta=0.9"], &["--allow-large-delta"]);
    let line = "release --mechanism gaussian --epsilon 1 --delta 0.9 --clip 0,1 --state values 0 0.5";
    refused(here, &words(line), &["--allow-large-delta"]);
}

/// Sessions, release states and odometers, each older, copied, forked, moved and linked: refused, or counted right.
#[test]
fn every_kind_of_file_against_every_kind_of_copy() {
    let answers_of = |here: &Path, files: &[&str]| {
        let words: Vec<&str> = ["ledger", "--json"].into_iter().chain(files.iter().copied()).collect();
        let said = json(&fine(here, &words));
        let ledger = if files.len() == 1 { &said["files"][0]["ledger"] } else { &said["together"] };
        ledger["total"]["of_one"].as_u64().expect("a number")
    };
    for kind in ["session", "holder", "shared"] {
        let here = &folder();
        three_rows(here, HYBRID);
        fine(here, &["odometer", "shared", "--budget", "epsilon=40", "--filter", "sum", "--rows", "3"]);
        // Makes one more answer with a file of this kind; each odometer is used by a new release state.
        let line = |file: &str, round: &str| match kind {
            "session" => {
                let asked = run(here, &["ask", file]);
                if code(&asked) == Some(0) { format!("tell {file} {} 0.5", stdout(&asked).trim()) } else { format!("ask {file}") }
            }
            "holder" => format!("release --mechanism hybrid --epsilon 2 --clip -1,1 --state {file} --round {round} 1 0.5"),
            _ => format!("release --mechanism hybrid --epsilon 2 --clip -1,1 --odometer {file} --state s{file}{round} 1 0.5"),
        };
        let answer = |file: &str, round: &str| fine(here, &words(&line(file, round)));
        let is_refused = |file: &str, texts: &[&str]| refused(here, &words(&line(file, "9")), texts);
        let rename = |from: &str, to: &str| fs::rename(here.join(from), here.join(to)).expect("renamed");
        if kind == "session" {
            fine(here, &["init", "session", "modeler.toml"]);
        }
        answer(kind, "1");
        fs::copy(here.join(kind), here.join("copy")).expect("copied");
        is_refused("copy", &["is a copy", "still stands at"]);
        for pair in [[kind, "copy"], ["copy", kind]] {
            refused(here, &["ledger", pair[0], pair[1]], &["is a copy of"]);
        }
        answer(kind, "2");
        is_refused("copy", &["is a copy", "still stands at"]);
        for pair in [[kind, "copy"], ["copy", kind]] {
            refused(here, &["ledger", pair[0], pair[1]], &["older copy"]);
        }
        assert_eq!(answers_of(here, &[kind]), 2, "{kind}");
        // A copy that goes on once the original is gone is one that has moved; where the original comes back, both count.
        rename(kind, "aside");
        answer("copy", "3");
        assert_eq!(answers_of(here, &["copy"]), 2, "{kind}");
        rename("aside", kind);
        // Each answer has a name, and counts once.
        assert_eq!(answers_of(here, &[kind, "copy"]), 3, "{kind}");
        assert!(stderr(&run(here, &["ledger", kind, "copy"])).contains("both went on"), "{kind}");
        rename(kind, "moved");
        answer("moved", "4");
        assert_eq!(answers_of(here, &["moved"]), 3, "{kind}");
        fs::hard_link(here.join("moved"), here.join("link")).expect("linked");
        for name in ["moved", "link"] {
            is_refused(name, &["hard links"]);
        }
        refused(here, &["ledger", "moved", "link"], &["is a copy of"]);
    }
}

/// A release state that is older than the session that took its values, or that went on without it, is refused beside it.
#[test]
fn a_release_state_that_lacks_an_answer_is_refused() {
    let here = &folder();
    three_rows(here, HYBRID);
    fine(here, &["init", "state", "modeler.toml", "--form", "data-holder"]);
    let take = |round: u64| {
        let asked = json(&fine(here, &["ask", "state", "--json"]));
        let (row, round) = (asked["row"].to_string(), round.to_string());
        let answer = fine(here, &release(&["--round", &round, &row, "0.5"]));
        fs::write(here.join("answer"), answer).expect("written");
        fine(here, &["tell", "--released", "state", &row, "answer"]);
    };
    take(1);
    fs::copy(here.join("holder"), here.join("older")).expect("copied");
    (2..=4).for_each(take);
    for pair in [["older", "state"], ["state", "older"]] {
        refused(here, &["ledger", pair[0], pair[1]], &["does not know of an answer", "older copy"]);
    }
    // A copy that made as many answers is no better.
    fs::rename(here.join("holder"), here.join("aside")).expect("renamed");
    for round in ["2", "3", "4"] {
        fine(here, &["release", "--state", "older", "--round", round, "1", "0.5"]);
    }
    refused(here, &["ledger", "older", "state"], &["does not know of an answer"]);
    let words = ["ledger", "--json", "aside", "state"];
    assert_eq!(json(&fine(here, &words))["together"]["total"]["of_one"], 4, "each answer once");
    // Without the state that made them, two sessions' answers of one source are told apart by their names.
    fs::copy(here.join("state"), here.join("twin")).expect("copied");
    refused(here, &["ledger", "state", "twin"], &["is a copy of"]);
}
