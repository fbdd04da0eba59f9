//! Spends and answers: a fault never lets an answer leave before its spend is on the disk, and never blocks the next command.

use super::campaign::{Campaign, Faulted, assert_tidy, fine, said};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn three_rows(folder: &Path) {
    fs::write(folder.join("points.csv"), "x,y\n0.0,0.0\n1.0,0.5\n0.2,1.0\n").expect("written");
    let text = "rounds = 8\n[environment]\nkind = \"points-table\"\nfile = \"points.csv\"\ninputs = [\"x\", \"y\"]\nstandardise = false\n\
                kernel = { kind = \"squared-exponential\", lengthscale = 1.0 }\nnoise = { kind = \"gaussian\", sd = 0.05 }\nbound = 1.0\n\
                [privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]\n[[policy]]\nkind = \"igp-ucb\"\n";
    fs::write(folder.join("modeler.toml"), text).expect("written");
    fine(folder, &["odometer", "shared", "--budget", "epsilon=20", "--filter", "sum", "--rows", "3"]);
}

fn json(faulted: &Faulted, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(faulted.path(name)).expect("a file")).expect("whole")
}

/// Spends that the odometer counts, over all sessions.
fn spends(faulted: &Faulted) -> u64 {
    let shared = json(faulted, "shared");
    let spends = shared["odometer"]["spends"].as_array().cloned().unwrap_or_default();
    spends.iter().filter_map(|spend| spend["count"].as_u64()).sum()
}

/// Whoever reads of a failure knows whether it was paid for.
fn says_what_counts(faulted: &Faulted, spent: bool) {
    let text = said(&faulted.output);
    let counts = text.contains("the spend is recorded in") && text.contains("and counts");
    assert!(faulted.killed() || counts == spent, "{}: {text}", faulted.case);
    assert!(!(spent && text.contains("run the same command again")), "{}: {text}", faulted.case);
    // Once files are written, a failure says one of the two.
    let writes = text.contains("error: cannot write") || text.contains("error: cannot replace");
    assert!(faulted.killed() || !writes || counts || text.contains("nothing was spent"), "{}: {text}", faulted.case);
}

#[test]
fn tell_on_a_shared_odometer() {
    let mut campaign = Campaign::new("tell shared", &[], |folder| {
        three_rows(folder);
        fine(folder, &["init", "state", "modeler.toml", "--odometer", "shared"]);
        let row = fine(folder, &["ask", "state"]).stdout;
        fs::write(folder.join("row"), row).expect("written");
    });
    let row = fs::read_to_string(campaign.before.path().join("row")).expect("a row");
    let row: &'static str = row.trim().to_owned().leak();
    campaign.words = vec!["tell", "state", row, "0.125", "--odometer", "shared"];
    campaign.run(|faulted| {
        let told = || json(faulted, "state")["session"]["told"].as_array().expect("rounds").len() as u64;
        let (answers, spent) = (told(), spends(faulted));
        assert!(answers <= spent && spent <= 1, "{}: {answers} answers for {spent} spends", faulted.case);
        assert!(faulted.killed() || (answers == 1) == (faulted.code() == Some(0)), "{}", faulted.case);
        says_what_counts(faulted, answers < spent);
        let asked = faulted.then(&["ask", "state", "--odometer", "shared"], &[0]);
        assert_tidy(faulted);
        if answers == 0 {
            assert_eq!(String::from_utf8_lossy(&asked.stdout).trim(), row, "{}", faulted.case);
            faulted.then(&campaign.words, &[0]);
            // What was recorded stands, although its answer never left.
            assert_eq!((told(), spends(faulted)), (1, spent + 1), "{}", faulted.case);
        }
    });
}

/// What a release printed is in its state, and is printed again.
fn releases(name: &'static str, words: &[&'static str], prepare: impl FnOnce(&Path)) {
    let campaign = Campaign::new(name, words, prepare);
    let is_shared = words.contains(&"--odometer");
    campaign.run(|faulted| {
        let answers = |faulted: &Faulted| match fs::read_to_string(faulted.path("holder")) {
            Ok(text) => {
                let state: Value = serde_json::from_str(&text).expect("whole");
                state["answers"].as_array().expect("answers").clone()
            }
            Err(_) => Vec::new(),
        };
        let printed: Option<Value> = serde_json::from_slice(&faulted.output.stdout).ok();
        let round =
            words.iter().position(|word| *word == "--round").map_or(1, |at| words[at + 1].parse::<u64>().expect("a round"));
        let kept = answers(faulted).into_iter().find(|answer| answer["row"] == 1 && answer["round"] == round);
        if let Some(printed) = &printed {
            let kept = kept.as_ref().unwrap_or_else(|| panic!("{}: printed and not kept", faulted.case));
            assert_eq!(printed["released"], kept["released"], "{}", faulted.case);
        }
        if is_shared {
            let (answers, spent) = (answers(faulted).len() as u64, spends(faulted));
            assert!(answers <= spent, "{}: an answer without a spend", faulted.case);
            says_what_counts(faulted, answers < spent);
        }
        assert!(faulted.killed() || printed.is_some() == (faulted.code() == Some(0)), "{}", faulted.case);
        let again = faulted.then(&campaign.words, &[0]);
        let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
        if let Some(kept) = kept {
            assert_eq!(again["released"], kept["released"], "{}: a second draw for one round", faulted.case);
        }
        assert_tidy(faulted);
    });
}

#[test]
fn release_first() {
    let words = ["release", "--mechanism", "hybrid", "--epsilon", "2", "--clip", "-1,1", "--state", "holder", "1", "0.5"];
    releases("release first", &words, |_| {});
}

#[test]
fn release_again() {
    let first = ["release", "--mechanism", "hybrid", "--epsilon", "2", "--clip", "-1,1", "--state", "holder", "1", "0.5"];
    releases("release again", &["release", "--state", "holder", "--round", "2", "1", "0.5"], |folder| {
        fine(folder, &first);
    });
}

#[test]
fn release_on_a_shared_odometer() {
    let words = [
        "release",
        "--state",
        "holder",
        "--round",
        "2",
        "1",
        "0.5",
        "--mechanism",
        "hybrid",
        "--epsilon",
        "2",
        "--clip",
        "-1,1",
        "--odometer",
        "shared",
    ];
    releases("release shared", &words, |folder| {
        three_rows(folder);
        let mut first = words;
        first[4] = "1";
        fine(folder, &first);
    });
}
