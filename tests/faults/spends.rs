//! Spends and answers: a fault never lets an answer leave before its spend is on the disk, and never blocks the next command.

use super::campaign::{Campaign, Faulted, assert_tidy, counted, fine, said, says_kept, tells};
use super::problems;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Makes the file of a data holder with a first answer; another round of the same record.
const FIRST: [&str; 11] =
    ["release", "--mechanism", "hybrid", "--epsilon", "2", "--clip", "-1,1", "--state", "holder", "1", "0.5"];
const AGAIN: [&str; 7] = ["release", "--state", "holder", "--round", "2", "1", "0.5"];

fn three_rows(folder: &Path) {
    problems::three_rows(folder, 8, problems::LAPLACE, "igp-ucb");
    fine(folder, &["odometer", "shared", "--budget", "epsilon=20", "--filter", "sum", "--rows", "3"]);
}

fn spends(faulted: &Faulted, name: &str) -> i64 {
    counted(faulted.folder.path(), name, "SELECT count(*) FROM spends")
}

/// A spend and its answer are one: both are there after a fault, or neither, in both files.
fn agree(faulted: &Faulted, names: &[&str]) -> i64 {
    let counts: Vec<i64> = names.iter().map(|name| spends(faulted, name)).collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    let text = said(&faulted.output);
    let says = says_kept(faulted) || text.contains("nothing was spent") || !text.contains("cannot write");
    assert!(faulted.killed() || says, "{text}");
    counts[0]
}

#[test]
fn tell_on_a_shared_odometer() {
    let prepare = |folder: &Path| {
        three_rows(folder);
        fine(folder, &["init", "state", "modeler.toml", "--odometer", "shared"]);
    };
    tells("tell shared", &["state", "shared"], prepare, |faulted| agree(faulted, &["state", "shared"]) == 1);
}

/// What a release printed is in its file, and is printed again.
fn releases(name: &'static str, words: &[&'static str], prepare: impl FnOnce(&Path)) {
    let campaign = Campaign::new(name, words, prepare).on_database();
    let is_shared = words.contains(&"--odometer");
    campaign.run(|faulted| {
        let printed: Option<Value> = serde_json::from_slice(&faulted.output.stdout).ok();
        let round = words.iter().position(|word| *word == "--round").map_or("1", |at| words[at + 1]);
        let sql = format!("SELECT count(*) FROM releases WHERE record = 1 AND round = {round}");
        let is_kept = counted(faulted.folder.path(), "holder", &sql);
        assert!(printed.is_none() || is_kept == 1, "printed and not kept");
        assert!(faulted.killed() || printed.is_some() == (faulted.code() == Some(0)));
        if is_shared {
            agree(faulted, &["holder", "shared"]);
        }
        let again = faulted.then(&campaign.words, &[0]);
        let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
        if let Some(printed) = printed {
            assert_eq!(again["released"], printed["released"], "a second draw for one round");
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
    let anchor = campaign.prepared.path().join("anchor");
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
        assert!(!printed || newer && spent == 2);
        assert!(!newer || spent == 2, "the anchor knows of an answer that the file does not have");
        faulted.then(&AGAIN, &[0]);
        assert_eq!(spends(faulted, "holder"), 2);
    });
}

/// A table is released as a whole or not at all.
#[test]
fn release_of_a_table() {
    let line = "release --state holder --table day.csv --value outcome --record id --round 2 --join";
    let words: Vec<&str> = line.split(' ').collect();
    let first = "release --mechanism laplace --epsilon 2 --clip -1,1 --state holder --ids --join p1 0.5";
    let campaign = Campaign::new("release table", &words, |folder| {
        let rows: String = (0..50).map(|i| format!("p{i},0.5\n")).collect();
        fs::write(folder.join("day.csv"), format!("id,outcome\n{rows}")).expect("written");
        fine(folder, &first.split(' ').collect::<Vec<_>>());
    })
    .on_database();
    campaign.run(|faulted| {
        let n_printed = String::from_utf8_lossy(&faulted.output.stdout).lines().count() as i64;
        let spent = spends(faulted, "holder") - 1;
        assert!([0, 50].contains(&spent) && (n_printed == 0 || spent == 50), "{n_printed} of {spent}");
        faulted.then(&words, &[0]);
        assert_eq!(spends(faulted, "holder"), 51);
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
