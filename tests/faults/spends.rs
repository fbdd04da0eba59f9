//! Spends and answers: a fault never lets an answer leave before its spend is on the disk, and never blocks the next command.

use super::campaign::{Campaign, Faulted, assert_tidy, counted, fine, said, says_kept};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Makes the file of a data holder with a first answer; another round of the same record.
const FIRST: [&str; 11] =
    ["release", "--mechanism", "hybrid", "--epsilon", "2", "--clip", "-1,1", "--state", "holder", "1", "0.5"];
const AGAIN: [&str; 7] = ["release", "--state", "holder", "--round", "2", "1", "0.5"];

fn three_rows(folder: &Path) {
    fs::write(folder.join("points.csv"), "x,y\n0.0,0.0\n1.0,0.5\n0.2,1.0\n").expect("written");
    let text = "rounds = 8\n[environment]\nkind = \"points-table\"\nfile = \"points.csv\"\ninputs = [\"x\", \"y\"]\nstandardise = false\n\
                kernel = { kind = \"squared-exponential\", lengthscale = 1.0 }\nnoise = { kind = \"gaussian\", sd = 0.05 }\nbound = 1.0\n\
                [privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]\n[[policy]]\nkind = \"igp-ucb\"\n";
    fs::write(folder.join("modeler.toml"), text).expect("written");
    fine(folder, &["odometer", "shared", "--budget", "epsilon=20", "--filter", "sum", "--rows", "3"]);
}

/// Spends that a file counts.
fn spends(faulted: &Faulted, name: &str) -> i64 {
    counted(faulted.folder.path(), name, "SELECT count(*) FROM spends")
}

/// A spend and its answer are one: both are there after a fault, or neither, in both files.
fn agree(faulted: &Faulted, names: &[&str]) -> i64 {
    let counts: Vec<i64> = names.iter().map(|name| spends(faulted, name)).collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{}: {counts:?}", faulted.case);
    let text = said(&faulted.output);
    let says = says_kept(faulted) || text.contains("nothing was spent") || !text.contains("cannot write");
    assert!(faulted.killed() || says, "{}: {text}", faulted.case);
    counts[0]
}

#[test]
fn tell_on_a_shared_odometer() {
    let mut campaign = Campaign::new("tell shared", &[], |folder| {
        three_rows(folder);
        fine(folder, &["init", "state", "modeler.toml", "--odometer", "shared"]);
        let row = fine(folder, &["ask", "state"]).stdout;
        fs::write(folder.join("row"), row).expect("written");
    })
    .on_database();
    let row = fs::read_to_string(campaign.before.path().join("row")).expect("a row");
    let row: &'static str = row.trim().to_owned().leak();
    campaign.words = vec!["tell", "state", row, "0.125", "--odometer", "shared"];
    campaign.run(|faulted| {
        let spent = agree(faulted, &["state", "shared"]);
        assert!(faulted.killed() || (spent == 1) == says_kept(faulted), "{}: {}", faulted.case, said(&faulted.output));
        let asked = faulted.then(&["ask", "state", "--odometer", "shared"], &[0]);
        assert_tidy(faulted);
        if spent == 0 {
            assert_eq!(String::from_utf8_lossy(&asked.stdout).trim(), row, "{}", faulted.case);
            faulted.then(&campaign.words, &[0]);
            assert_eq!(agree(faulted, &["state", "shared"]), 1, "{}", faulted.case);
        }
        faulted.then(&["ledger", "state", "shared"], &[0]);
    });
}

/// What a release printed is in its file, and is printed again.
fn releases(name: &'static str, words: &[&'static str], prepare: impl FnOnce(&Path)) {
    let campaign = Campaign::new(name, words, prepare).on_database();
    let is_shared = words.contains(&"--odometer");
    campaign.run(|faulted| {
        let printed: Option<Value> = serde_json::from_slice(&faulted.output.stdout).ok();
        let round = words.iter().position(|word| *word == "--round").map_or("1", |at| words[at + 1]);
        let is_kept = counted(
            faulted.folder.path(),
            "holder",
            &format!("SELECT count(*) FROM releases WHERE record = 1 AND round = {round}"),
        );
        assert!(printed.is_none() || is_kept == 1, "{}: printed and not kept", faulted.case);
        assert!(
            faulted.killed() || printed.is_some() == (faulted.code() == Some(0)),
            "{}: {}",
            faulted.case,
            said(&faulted.output)
        );
        if is_shared {
            agree(faulted, &["holder", "shared"]);
        }
        let again = faulted.then(&campaign.words, &[0]);
        let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
        if let Some(printed) = printed {
            assert_eq!(again["released"], printed["released"], "{}: a second draw for one round", faulted.case);
        }
        assert_tidy(faulted);
        faulted.then(&["ledger", "holder"], &[0]);
    });
}

/// The anchor is never ahead of the file, and never lets an answer leave that it does not know.
#[test]
fn release_with_an_anchor() {
    let first = [&FIRST[..], &["--anchor", "anchor"]].concat();
    let mut campaign = Campaign::new("release anchor", &AGAIN, |folder| drop(fine(folder, &first))).on_database();
    // The anchor of the copies is that of the folder in which they were made.
    let anchor = campaign.prepared().join("anchor");
    let known = fs::read(&anchor).expect("an anchor");
    campaign.put_back = Some((anchor.clone(), known.clone()));
    campaign.run(|faulted| {
        let printed = !faulted.output.stdout.is_empty();
        // Without its place, which is another one in each copy.
        let answer = |anchor: &[u8]| -> Vec<String> {
            String::from_utf8_lossy(anchor).split_whitespace().take(3).map(str::to_owned).collect()
        };
        let newer = answer(&fs::read(&anchor).expect("an anchor")) != answer(&known);
        let spent = spends(faulted, "holder");
        assert!(!printed || newer && spent == 2, "{}", faulted.case);
        assert!(!newer || spent == 2, "{}: the anchor knows of an answer that the file does not have", faulted.case);
        faulted.then(&AGAIN, &[0]);
        assert_eq!(spends(faulted, "holder"), 2, "{}", faulted.case);
    });
}

/// A table is released as a whole or not at all.
#[test]
fn release_of_a_table() {
    let words =
        ["release", "--state", "holder", "--table", "day.csv", "--value", "outcome", "--record", "id", "--round", "2", "--join"];
    let first: Vec<&str> =
        "release --mechanism laplace --epsilon 2 --clip -1,1 --state holder --ids --join p1 0.5".split(' ').collect();
    let campaign = Campaign::new("release table", &words, |folder| {
        let rows: String = (0..50).map(|i| format!("p{i},0.5\n")).collect();
        fs::write(folder.join("day.csv"), format!("id,outcome\n{rows}")).expect("written");
        fine(folder, &first);
    })
    .on_database();
    campaign.run(|faulted| {
        let n_printed = String::from_utf8_lossy(&faulted.output.stdout).lines().count() as i64;
        let spent = spends(faulted, "holder") - 1;
        assert!([0, 50].contains(&spent) && (n_printed == 0 || spent == 50), "{}: {n_printed} of {spent}", faulted.case);
        faulted.then(&words, &[0]);
        assert_eq!(spends(faulted, "holder"), 51, "{}", faulted.case);
        faulted.then(&["ledger", "holder"], &[0]);
    });
}

#[test]
fn release_first() {
    releases("release first", &FIRST, |_| {});
}

#[test]
fn release_again() {
    releases("release again", &AGAIN, |folder| {
        fine(folder, &FIRST);
    });
}

#[test]
fn release_on_a_shared_odometer() {
    let first = [&FIRST[..], &["--odometer", "shared"]].concat();
    let words = [&first[..], &["--round", "2"]].concat();
    releases("release shared", &words, |folder| {
        three_rows(folder);
        fine(folder, &first);
    });
}
