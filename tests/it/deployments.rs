//! Deployments: what each record has spent, who sees raw values, copies, crashes, budgets at their boundary.

use crate::problems;
use crate::program::*;
use privateer::deploy::{self, AccountOptions, RecordValue, ReleaseOptions, account};
use privateer::record::{is_sealed, seal_text};
use privateer_config::error::Error;

pub const HYBRID: &str = "[privacy]\nmechanism = \"hybrid\"\nepsilon = 2.0\nclip = [-1.0, 1.0]\n";

pub fn three_rows(folder: &Folder, privacy: &str) {
    problems::three_rows(folder, 12, privacy, "tgp-ucb");
}

/// The ledger that `privateer ledger --json` states over the files.
pub fn ledger(folder: &Folder, files: &[&str]) -> Value {
    let said = folder.fine_json(&[&["ledger", "--json"], files].concat());
    if files.len() == 1 { said["files"][0]["ledger"].clone() } else { said["together"].clone() }
}

/// Its total; `None` where it states no total.
fn total(folder: &Folder, files: &[&str]) -> Option<(f64, f64)> {
    let most = &ledger(folder, files)["total"]["largest"];
    Some((most["epsilon"].as_f64()?, most["delta"].as_f64()?))
}

/// Asks and tells until the session stops; the answers by row, and what the refusal said.
pub fn until_stopped(folder: &Folder, state: &[&str], rounds: usize) -> (Vec<u64>, String) {
    let mut answers = vec![0; 3];
    for _ in 0..rounds {
        let asked = folder.run(&[&["ask"], state].concat());
        if code(&asked) != Some(0) {
            assert_eq!(code(&asked), Some(1), "{}", stderr(&asked));
            return (answers, stderr(&asked));
        }
        let row: usize = stdout(&asked).trim().parse().expect("a row");
        folder.fine(&[&["tell"], state, &[row.to_string().as_str(), "0.5"]].concat());
        answers[row] += 1;
    }
    (answers, String::new())
}

pub fn with_rows(privacy: &str) -> Folder {
    let here = folder();
    three_rows(&here, privacy);
    here
}

pub fn begun(privacy: &str, more: &[&str]) -> Folder {
    let here = with_rows(privacy);
    here.fine(&[&["init", "state", "modeler.toml"], more].concat());
    here
}

/// Releases the answer of the row that a session of the form `data-holder` asks for, and tells it: how that ends.
pub fn taken(folder: &Folder, session: &str, release: &[&str], round: u64) -> Output {
    let row = folder.fine_json(&["ask", session, "--json"])["row"].to_string();
    let answer = folder.fine(&[release, &["--round", &round.to_string(), &row, "0.5"]].concat());
    folder.write("answer", answer);
    folder.run(&["tell", "--released", session, &row, "answer"])
}

#[test]
fn repeated_rows_spend_what_they_are_asked() {
    let here = &begun(HYBRID, &[]);
    let (answers, _) = until_stopped(here, &["state"], 12);
    let most = answers.iter().max().copied().expect("three rows");
    assert!(4 <= most, "twelve answers of three rows: {answers:?}");
    assert_eq!(total(here, &["state"]), Some((2.0 * most as f64, 0.0)));
    let claimed: String = here.one("state", "SELECT value FROM terms WHERE part = 'ledger' AND name = 'claimed'");
    assert_eq!(claimed, "epsilon = 2 per answer, pure");
    let ledger = ledger(here, &["state"]);
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
        here.fine(&["init", &state, "modeler.toml", "--budget", budget]);
        let (answers, said) = until_stopped(here, &[&state], 12);
        assert!(answers.iter().all(|count| *count <= most) && answers.contains(&most), "{answers:?} at {budget}");
        assert!(said.contains("has spent") && said.contains("nothing was released") && said.contains("--best"), "{said}");
        let held = || (here.content(&state), here.one::<i64>(&state, "SELECT count(*) FROM refusals"));
        let (before, n) = held();
        here.ends(&["ask", &state], 1, &[]);
        let (after, n_after) = held();
        let is_same = |(one, other): (&(String, _), &(String, _))| one == other || one.0 == "refusals";
        assert!(before.iter().zip(&after).all(is_same), "a refusal spends nothing");
        assert_eq!(n_after, n + 1, "and is in the books");
        here.fine(&["ask", &state, "--best"]);
    }
    // A budget below one answer, budgets that no filter can use, mechanisms that none bounds.
    three_rows(here, HYBRID);
    for (options, expected) in [
        ("--budget epsilon=1", "not one answer"),
        ("--budget four", "budget"),
        ("--budget epsilon=4 --filter zcdp", "delta"),
        ("--filter moments", "--filter"),
        ("--odometer x --budget epsilon=4", "cannot be used with"),
    ] {
        here.ends(&words(&format!("init bad modeler.toml {options}")), 2, &[expected]);
        assert!(!here.holds("bad"));
    }
    three_rows(here, "");
    here.refused(&["init", "bad", "modeler.toml", "--budget", "epsilon=4"], &["no mechanism"]);
}

#[test]
fn altered_budgets_are_refused_by_ask() {
    let here = &begun(HYBRID, &["--budget", "epsilon=2"]);
    // Of a budget that somebody enlarged nothing is believed, nor of a row that somebody entered.
    let asked = format!("UPDATE sessions SET asked = {}", here.answer("state", "0.5"));
    for change in [asked.as_str(), "UPDATE budgets SET epsilon = 20", "DELETE FROM budgets"] {
        here.copy("state", "kept");
        here.alter("state", change);
        here.ends(&["ask", "state"], 2, &["was altered"]);
        here.copy("kept", "state");
    }
    let told = here.run(&["ask", "state"]);
    assert!([Some(0), Some(1)].contains(&code(&told)), "{}", stderr(&told));
}

fn release<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["release", "--mechanism", "hybrid", "--epsilon", "2", "--clip", "-1,1", "--state", "holder"], more].concat()
}

/// Answers of one row that enter running sums are priced as a group: k times mu, as `privateer account` does.
#[test]
fn repeated_rows_of_one_stream_are_a_group() {
    let here = &folder();
    let tree = "[privacy]\nmechanism = \"tree\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n";
    problems::three_rows(here, 12, tree, "jdp-linucb");
    here.refused(&["init", "state", "modeler.toml", "--form", "data-holder"], &["sums over users"]);
    here.fine(&["init", "state", "modeler.toml"]);
    let (answers, _) = until_stopped(here, &["state"], 7);
    let most = answers.iter().max().copied().expect("three rows");
    assert!(3 <= most, "seven answers of three rows: {answers:?}");
    // A group of k spends k times mu, and what a Gaussian of this mu loses is in the ledger of one answer.
    let mu: f64 = here.one("state", "SELECT value FROM terms WHERE part = 'spend' AND name = 'loss.loss.mu'");
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
    let first = here.fine(&release(&["--budget", "epsilon=4", "7", "0.25"]));
    let value = json(&first);
    assert!(value["released"].as_f64().is_some_and(|x| x != 0.25 && x.abs() < 10.0), "{value}");
    assert_eq!((&value["row"], &value["round"], &value["ledger"]["guarantee"]), (&7.into(), &1.into(), &"holds".into()));
    let kept = here.content("holder");
    assert!(!here.holds_number("holder", 0.25), "the raw value is kept nowhere");
    assert!(here.holds_number("holder", value["released"].as_f64().expect("a number")));
    for again in [&["7", "0.25"][..], &["7", "-0.9"], &["--round", "1", "7", "0.25"]] {
        assert_eq!(here.fine(&release(again)), first, "the stored answer");
        assert_eq!(here.content("holder"), kept, "nothing is spent");
    }
    assert_eq!(total(here, &["holder"]), Some((2.0, 0.0)));
    // Options may be left out, and may not differ.
    here.fine(&["release", "--state", "holder", "--round", "2", "7", "0.25"]);
    assert_eq!(total(here, &["holder"]), Some((4.0, 0.0)));
    let third = here.ends(&release(&["--round", "3", "7", "0.25"]), 1, &["epsilon = 6"]);
    assert!(stdout(&third).is_empty());
    let again = here.fine_json(&release(&["7", "0.25"]));
    for same in ["released", "name", "row", "round", "source"] {
        assert_eq!(again[same], value[same], "what was released can always be given out again");
    }
    assert_eq!(again["newest"][0], 2, "with the number of answers so far");
    here.fine(&release(&["8", "0.25"]));
    for (line, expected) in [
        ("holder --epsilon 1 9 0.5", "--epsilon"),
        ("holder --mechanism laplace 9 0.5", "--mechanism"),
        ("holder --clip 0,1 9 0.5", "--clip"),
        ("holder --budget epsilon=9 9 0.5", "--budget"),
        ("holder --column other 9 0.5", "no column `other`"),
        ("holder --round 1 9 nan", "NaN"),
        ("fresh --round 1 9 0.5", "--mechanism"),
    ] {
        here.refused(&words(&format!("release --state {line}")), &[expected]);
    }
    assert!(!here.holds("fresh"));
    assert_private(&here.join("holder"));
}

/// With a key, an answer that somebody else sealed is refused, and one that was sealed with it is taken with it alone.
#[test]
fn forged_answers_are_refused_by_a_key() {
    let here = &begun(HYBRID, &["--form", "data-holder"]);
    let row = here.ask("state");
    let row = row.as_str();
    for (name, bytes) in [("key", "0123456789abcdef, and more"), ("other", "another key of many bytes"), ("short", "too short")] {
        here.write(name, bytes);
    }
    here.refused(&release(&["--key", "short", row, "0.5"]), &["has 9 bytes", "at least 16"]);
    here.refused(&release(&["--key", "nothing", row, "0.5"]), &["nothing"]);
    here.write("answer", here.fine(&release(&["--key", "key", row, "0.5"])));
    here.write("forged", seal_text(&here.json("answer").to_string(), None));
    let tell = |key: &[&'static str], answer: &'static str| [&["tell", "--released", "state", row], key, &[answer]].concat();
    here.refused(&tell(&["--key", "key"], "forged"), &["its seal does not fit", "the key of `--key`"]);
    here.refused(&tell(&["--key", "other"], "answer"), &["its seal does not fit"]);
    here.refused(&tell(&[], "answer"), &["its seal does not fit", "needs `--key`"]);
    here.refused(&tell(&[], "."), &["not a regular file"]);
    here.fine(&tell(&["--key", "key"], "answer"));
}

#[test]
fn standard_input_holds_one_value() {
    let here = &begun(HYBRID, &[]);
    let row = here.ask("state");
    let told = |input: &str| here.run_with(&["tell", "state", &row, "-"], input);
    for input in ["0.5\n0.6\n".to_owned(), "0.5 0.6".to_owned(), "5".repeat(100_000), format!("0.5{}", " ".repeat(100_000))] {
        ends(&told(&input), 2, &["standard input holds more than the reward"]);
    }
    assert_eq!(code(&told("  0.5 \n\n")), Some(0));
}

/// A session of the form `data-holder` takes released values that state what it declares, and nothing raw.
#[test]
fn released_values_are_checked_against_the_session() {
    let here = &begun(HYBRID, &["--form", "data-holder"]);
    here.fine(&["init", "curator", "modeler.toml"]);
    let row = here.ask("state");
    let row = row.as_str();
    let answer = here.fine(&release(&[row, "0.5"]));
    let released = json(&answer)["released"].as_f64().expect("a number");
    let refuses = |planted: &[u8], texts: &[&str]| {
        here.write("planted", planted);
        here.refused(&["tell", "--released", "state", row, "planted"], texts);
    };
    let refuses_sealed = |key: &str, value: Value, texts: &[&str]| {
        let mut planted = json(&answer);
        planted[key] = value;
        refuses(seal_text(&planted.to_string(), None).as_bytes(), texts);
    };
    for (key, value) in [
        ("row", Value::from(9)),
        ("round", 2.into()),
        ("mechanism", "laplace".into()),
        ("epsilon", 1.0.into()),
        ("delta", 0.1.into()),
        ("clip", serde_json::json!([0.0, 1.0])),
        ("version", 1.into()),
    ] {
        refuses_sealed(key, value, &["not the one that was asked for", key]);
    }
    // What the mechanism cannot give: it releases two pieces of a bounded range.
    for value in [1e308, -1e308, 1e6, 40.0] {
        refuses_sealed("released", value.into(), &["releases no value like"]);
    }
    // Each changed byte breaks the seal, wherever it is.
    for byte in 0..answer.len() {
        let mut changed = answer.clone().into_bytes();
        changed[byte] ^= 1;
        assert!(!String::from_utf8(changed.clone()).is_ok_and(|text| is_sealed(&text, None)), "byte {byte}");
        if byte % 61 == 0 || byte + 2 == answer.len() {
            refuses(&changed, &[]);
        }
    }
    let mut planted = json(&answer);
    planted["ledger"]["guarantee"] = "fails".into();
    refuses(planted.to_string().as_bytes(), &["its seal does not fit"]);
    here.write("answer", &answer);
    here.refused(&["tell", "state", row, "0.5"], &["raw reward", "data-holder"]);
    here.fine(&["ask", "curator"]);
    here.refused(&["tell", "--released", "curator", row, "answer"], &["trusted-curator"]);
    here.refused(&["tell", "--released", "state", row, "modeler.toml"], &["not a released value"]);
    here.fine(&["tell", "--released", "state", row, "answer"]);
    assert_eq!(here.one::<f64>("state", "SELECT released FROM releases"), released);
    for (name, adversary, words) in [("state", "recipient", "cannot verify"), ("curator", "observer", "trusted curator")] {
        let terms = "SELECT value FROM terms WHERE column_id = 1 AND part = 'ledger' AND name";
        let kind: String = here.one(name, &format!("{terms} = 'threat_model.adversary.kind'"));
        let notes: Vec<String> = here.all(name, &format!("{terms} LIKE 'notes.%'"));
        assert!(kind == adversary && notes.iter().any(|note| note.contains(words)), "{kind} {notes:?}");
    }
    let row = here.ask("state");
    let mut again = here.fine_json(&release(&["--round", "2", &row, "0.5"]));
    again["name"] = json(&answer)["name"].clone();
    here.write("again", seal_text(&again.to_string(), None));
    here.refused(&["tell", "--released", "state", &row, "again"], &["told before"]);
    // Both files are about one answer, which is counted once.
    assert_eq!(ledger(here, &["state", "holder"])["total"]["of_one"], 2, "the second answer was released, and never told");
    here.refused(&["init", "both", "modeler.toml", "--form", "data-holder", "--odometer", "x"], &["count twice"]);
}

#[test]
fn an_odometer_counts_sessions_columns_and_releases_together() {
    let here = &with_rows(HYBRID);
    here.fine(&["odometer", "shared", "--budget", "epsilon=6", "--filter", "sum", "--rows", "3"]);
    here.refused(&["odometer", "shared", "--budget", "epsilon=6", "--filter", "sum", "--rows", "3"], &["there already"]);
    here.refused(
        &["odometer", "large", "--budget", "epsilon=6,delta=0.4", "--filter", "sum", "--rows", "3"],
        &["--allow-large-delta"],
    );
    here.fine(&["odometer", "tight", "--budget", "epsilon=6,delta=1e-6", "--filter", "zcdp", "--rows", "3"]);
    here.refused(&["init", "none", "modeler.toml", "--odometer", "tight"], &["not one answer"]);
    here.fine(&["odometer", "long", "--budget", "epsilon=6", "--filter", "sum", "--rows", "4"]);
    here.refused(&["init", "none", "modeler.toml", "--odometer", "long"], &["of 4 records", "here are 3"]);
    assert!(!here.holds("none"));
    for (name, column) in [("first", "outcome"), ("second", "cost")] {
        here.fine(&["init", name, "modeler.toml", "--odometer", "shared", "--column", column]);
    }
    let mut spent = [0u64; 3];
    for name in ["first", "second"] {
        spent[here.answer(name, "0.5").parse::<usize>().expect("a row")] += 1;
    }
    here.fine(&release(&["--odometer", "shared", "0", "0.5"]));
    spent[0] += 1;
    let most = spent.iter().max().copied().expect("three") as f64;
    assert_eq!(total(here, &["shared"]), Some((2.0 * most, 0.0)));
    // What the odometer counts is not counted again from the files that spend from it.
    assert_eq!(total(here, &["first", "shared", "second", "holder"]), Some((2.0 * most, 0.0)));
    // Together they stop where the budget of a record ends: nine answers in all.
    for name in ["first", "second"] {
        let (answers, said) = until_stopped(here, &[name], 12);
        assert!(said.contains("epsilon=6"), "{said}");
        spent.iter_mut().zip(answers).for_each(|(spent, more)| *spent += more);
    }
    assert!(spent.iter().all(|count| *count <= 3) && spent.contains(&3), "{spent:?}");
    here.refused(&["release", "--state", "holder", "--round", "2", "3", "0.5"], &["no record 3 among 3"]);
}

#[test]
fn copies_are_refused_by_a_shared_odometer() {
    let here = &with_rows(HYBRID);
    let odometer = |name: &str| here.fine(&["odometer", name, "--budget", "epsilon=20", "--filter", "sum", "--rows", "3"]);
    odometer("shared");
    odometer("other");
    here.fine(&["init", "state", "modeler.toml", "--odometer", "shared"]);
    let row = here.ask("state");
    here.copy("state", "state-copy");
    here.copy("shared", "shared-copy");
    here.fine(&["tell", "state", &row, "0.5"]);
    let copied = [&["ask", "state-copy"][..], &["tell", "state-copy", &row, "0.5"]];
    copied.iter().for_each(|words| here.refused(words, &["is a copy", "still stands at"]));
    // Where the original has moved, the odometer tells them apart.
    here.rename("state", "aside");
    copied.iter().for_each(|words| here.refused(words, &["is a copy", "has made 0 answers", "knows of 1"]));
    here.rename("aside", "state");
    let with = |name: &'static str| ["ask", "state", "--odometer", name];
    here.refused(&with("shared-copy"), &["is a copy", "still stands at"]);
    here.refused(&with("other"), &["not the odometer"]);
    here.rename("shared", "moved");
    here.refused(&with("shared-copy"), &["older copy"]);
    assert_eq!(code(&here.run(&["ask", "state"])), Some(2), "no odometer, no answer");
    here.fine(&with("moved"));
    assert_eq!(total(here, &["moved"]), Some((2.0, 0.0)));
}

/// Commands at once on one release state: whoever prints a value prints the one that was stored. With the lock on the replaced file
/// alone, some 7 of 100 rounds printed two values; 40 rounds let that pass once in 20 runs.
#[test]
fn commands_at_once_release_one_value() {
    let here = &folder();
    here.fine(&["odometer", "shared", "--rows", "10", "--budget", "epsilon=1000", "--filter", "sum"]);
    for round in 1..=40 {
        // A file or a column of one is new in every second round: commands that declare it at once declare one.
        let place = format!("--state state-{} --column c{}", round / 4, round / 2);
        let line =
            format!("release --mechanism laplace --epsilon 0.5 --clip 0,1 --odometer shared {place} --round {round} 7 0.5");
        let release = || here.run(&words(&line));
        let outputs = std::thread::scope(|scope| {
            let started: Vec<_> = (0..4).map(|_| scope.spawn(release)).collect();
            started.into_iter().map(|thread| thread.join().expect("a command")).collect::<Vec<_>>()
        });
        let done = outputs.iter().filter(|output| code(output) == Some(0));
        let mut values: Vec<String> = done.map(|output| json(&stdout(output))["released"].to_string()).collect();
        values.dedup();
        assert_eq!(values.len(), 1, "round {round}: {values:?} {:?}", outputs.iter().map(stderr).collect::<Vec<_>>());
    }
}

#[test]
fn an_older_copy_is_not_taken_for_the_whole() {
    let here = &with_rows(HYBRID);
    here.fine(&["odometer", "shared", "--rows", "3", "--budget", "epsilon=1000", "--filter", "sum"]);
    here.fine(&["init", "state", "modeler.toml", "--odometer", "shared"]);
    here.copy("shared", "older");
    until_stopped(here, &["state"], 2);
    assert!(total(here, &["shared", "state"]).is_some());
    here.refused(&["ledger", "older", "state"], &["older copy"]);
    here.refused(&["ledger", "shared", "older"], &["older copy"]);
    // A place that cannot be kept as text would make a copy look like a file that has moved.
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt;
        let odd = here.join(std::ffi::OsStr::from_bytes(b"n\xff"));
        fs::copy(here.join("shared"), &odd).expect("copied");
        let output = privateer(here).args(["ask", "state", "--odometer"]).arg(&odd).output().expect("started");
        ends(&output, 2, &["not UTF-8"]);
    }
}

#[test]
fn large_deltas_are_refused() {
    let here = &with_rows(HYBRID);
    here.refused(&["init", "state", "modeler.toml", "--budget", "epsilon=4,delta=0.9"], &["--allow-large-delta"]);
    let line = "release --mechanism gaussian --epsilon 1 --delta 0.9 --clip 0,1 --state values 0 0.5";
    here.refused(&words(line), &["--allow-large-delta"]);
}

/// Sessions, release states and odometers, each older, copied, forked, moved and linked: refused, or counted right.
#[test]
fn every_kind_of_file_against_every_kind_of_copy() {
    for kind in ["session", "holder", "shared"] {
        let here = &folder();
        three_rows(here, HYBRID);
        here.fine(&["odometer", "shared", "--budget", "epsilon=40", "--filter", "sum", "--rows", "3"]);
        // Makes one more answer with a file of this kind; each odometer is used by a new release state.
        let line = |file: &str, round: &str| match kind {
            "session" => {
                let asked = here.run(&["ask", file]);
                if code(&asked) == Some(0) { format!("tell {file} {} 0.5", stdout(&asked).trim()) } else { format!("ask {file}") }
            }
            "holder" => format!("release --mechanism hybrid --epsilon 2 --clip -1,1 --state {file} --round {round} 1 0.5"),
            _ => format!("release --mechanism hybrid --epsilon 2 --clip -1,1 --odometer {file} --state s{file}{round} 1 0.5"),
        };
        let answer = |file: &str, round: &str| here.fine(&words(&line(file, round)));
        let is_refused = |file: &str, texts: &[&str]| here.refused(&words(&line(file, "9")), texts);
        let both_refused = |text: &str| {
            here.refused(&["ledger", kind, "copy"], &[text]);
            here.refused(&["ledger", "copy", kind], &[text]);
        };
        let answers_of = |files: &[&str], expected: u64| assert_eq!(ledger(here, files)["total"]["of_one"], expected, "{kind}");
        if kind == "session" {
            here.fine(&["init", "session", "modeler.toml"]);
        }
        answer(kind, "1");
        here.copy(kind, "copy");
        is_refused("copy", &["is a copy", "still stands at"]);
        both_refused("is a copy of");
        answer(kind, "2");
        is_refused("copy", &["is a copy", "still stands at"]);
        both_refused("older copy");
        answers_of(&[kind], 2);
        // A copy that goes on once the original is gone is one that has moved; where the original comes back, both count.
        here.rename(kind, "aside");
        answer("copy", "3");
        answers_of(&["copy"], 2);
        here.rename("aside", kind);
        // Each answer has a name, and counts once.
        answers_of(&[kind, "copy"], 3);
        here.ends(&["ledger", kind, "copy"], 0, &["both went on"]);
        here.rename(kind, "moved");
        answer("moved", "4");
        answers_of(&["moved"], 3);
        fs::hard_link(here.join("moved"), here.join("link")).expect("linked");
        is_refused("moved", &["hard links"]);
        is_refused("link", &["hard links"]);
        here.refused(&["ledger", "moved", "link"], &["is a copy of"]);
    }
}

#[test]
fn a_release_state_that_lacks_an_answer_is_refused() {
    let here = &begun(HYBRID, &["--form", "data-holder"]);
    let take = |round: u64| ends(&taken(here, "state", &release(&[]), round), 0, &[]);
    take(1);
    here.copy("holder", "older");
    (2..=4).for_each(take);
    for pair in [["older", "state"], ["state", "older"]] {
        here.refused(&["ledger", pair[0], pair[1]], &["does not know of an answer", "older copy"]);
    }
    // A copy that made as many answers is no better.
    here.rename("holder", "aside");
    for round in ["2", "3", "4"] {
        here.fine(&["release", "--state", "older", "--round", round, "1", "0.5"]);
    }
    here.refused(&["ledger", "older", "state"], &["does not know of an answer"]);
    assert_eq!(ledger(here, &["aside", "state"])["total"]["of_one"], 4, "each answer once");
    // Without the state that made them, two sessions' answers of one source are told apart by their names.
    here.copy("state", "twin");
    here.refused(&["ledger", "state", "twin"], &["is a copy of"]);
}

fn refusal<T>(result: Result<T, Error>) -> String {
    result.err().expect("a refusal").to_string()
}

/// What the command line refuses by its arguments, the functions of the library refuse themselves.
#[test]
fn numbers_without_meaning_and_contradictions_are_refused() {
    let rewards = AccountOptions { epsilon: Some(1.0), clip: Some((0.0, 1.0)), ..AccountOptions::default() };
    let stream = AccountOptions { sigma: Some(1.0), ..AccountOptions::default() };
    assert!(account("laplace", &rewards).is_ok() && account("vector-prefix", &stream).is_ok());
    for (mechanism, options, cause) in [
        ("laplace", AccountOptions { participations: Some(0), ..rewards.clone() }, "`--participations` is 0"),
        ("laplace", AccountOptions { answer_epsilon: Some(2.0), ..rewards }, "`--epsilon` and `--answer-epsilon`"),
        ("vector-prefix", AccountOptions { separation: Some(0), ..stream.clone() }, "`--separation` is 0"),
        ("vector-prefix", AccountOptions { epsilon: Some(1.0), ..stream }, "`--epsilon` and `--sigma`"),
    ] {
        assert!(refusal(account(mechanism, &options)).contains(cause), "{cause}");
    }
    assert!(refusal(deploy::ledger(&[], None, None, &|_| ())).contains("no file is named"));
}

/// A slip, or a round that no session has, leaves no state behind.
#[test]
fn a_refused_first_release_writes_nothing() {
    let here = folder();
    let state = here.join("state");
    let mechanism = Some("laplace".to_owned());
    let options = ReleaseOptions { mechanism, epsilon: Some(1.0), clip: Some((0.0, 1.0)), ..ReleaseOptions::default() };
    let first = |round, value| {
        let value = RecordValue { record: "0".to_owned(), round, value, yes: false };
        deploy::release(&state, &value, &options, &|_| ())
    };
    assert!(refusal(first(0, 0.5)).contains("the round is 0"));
    refusal(first(1, 500.0));
    refusal(first(1, f64::NAN));
    assert!(!state.exists());
    first(1, 0.5).expect("released");
    assert!(state.exists());
}
