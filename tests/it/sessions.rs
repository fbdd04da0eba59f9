//! Sessions of policies that learn from sums over users, and states that do not hang together.

use crate::database::{all, alter, content, one};
use crate::program::{code, ends, run, stderr};
use crate::two_parties::{curated, fine, refused, spec};
use rusqlite::types::Value as Cell;
use serde_json::Value;
use std::fs;

const LINEAR: &str = "kind = \"jdp-linucb\"\nbeta = { kind = \"scaled\", factor = 0.3 }";
const JOINT: &str =
    "kind = \"jdp-gp-ucb\"\nfeatures = { kind = \"nystrom\", size = 6 }\nbeta = { kind = \"scaled\", factor = 0.3 }";
const LOCAL: &str =
    "kind = \"local-jdp-gp-ucb\"\nfeatures = { kind = \"nystrom\", size = 6 }\nbeta = { kind = \"scaled\", factor = 0.3 }";

/// A batch of users is asked for one row, and its rewards are held until its end; the state passes the disk between commands.
#[test]
fn batches_of_users_run() {
    let (here, outcome) = &curated();
    spec(here, "[privacy]\nepsilon = 4.0\nclip = [-1.0, 1.0]\n", "kind = \"batched-gp-ucb\"\nbatch = 3");
    ends(&run(here, &["init", "held", "modeler.toml", "--form", "data-holder"]), 2, &[]);
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
        let kept: Vec<f64> = all(here, "state", "SELECT reward FROM releases ORDER BY round");
        assert_eq!(kept.len(), round, "the raw rewards are held, and nothing is given out one by one");
    }
    assert!(rows.chunks(3).all(|batch| batch.iter().all(|row| *row == batch[0])), "{rows:?}");
    fine(here, &["ask", "state", "--best"]);
}

/// Every policy that learns from sums runs to its end, under every form of running sums and own items, with the sums that it saw kept from
/// one command to the next: what was released is never drawn anew.
#[test]
fn policies_that_learn_from_sums_run() {
    let (here, outcome) = &curated();
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
        let noise = |name: &str| -> Vec<Option<Vec<u8>>> {
            all(here, name, "SELECT coalesce(noise_key, item) FROM releases ORDER BY round")
        };
        for round in 1..=8usize {
            let row = fine(here, &["ask", &name]);
            let index: usize = row.trim().parse().expect("a row");
            let reward = outcome[index].to_string();
            if round == 3 {
                // The same command on a copy draws other noise: it is drawn when told, and never from a seed.
                for (from, to) in [(&name, "copy"), (&name, "aside")] {
                    fs::copy(here.join(from), here.join(to)).expect("copied");
                }
                fs::remove_file(here.join(&name)).expect("removed");
                fine(here, &["tell", "copy", row.trim(), &reward]);
                fs::rename(here.join("aside"), here.join(&name)).expect("renamed");
            }
            let before = noise(&name);
            let told = fine(here, &["tell", &name, row.trim(), &reward, "--json"]);
            let told: Value = serde_json::from_str(&told).expect("JSON");
            assert!(told["released"].is_null(), "no reward is given out by itself: {told}");
            let now = noise(&name);
            assert_eq!((now.len(), &now[..round - 1]), (round, &before[..]), "what was released is kept");
            assert!(now.iter().all(Option::is_some) && (1..round).all(|at| now[at] != now[at - 1]), "{mechanism}");
            if round == 3 {
                assert_ne!(noise("copy")[2], now[2], "{mechanism}");
                fs::remove_file(here.join("copy")).expect("removed");
            }
        }
        refused(here, &["ask", &name], &["over"]);
        let best: u64 = fine(here, &["ask", &name, "--best"]).trim().parse().expect("a row");
        assert!(all::<i64>(here, &name, "SELECT record FROM releases").contains(&(best as i64)));
        let provenance: String = one(here, &name, "SELECT value FROM terms WHERE part = 'ledger' AND name = 'provenance'");
        assert_eq!(provenance, "released");
        // What real people release is stated, not what a simulation draws.
        let event: String = one(
            here,
            &name,
            "SELECT coalesce(group_concat(name || ' ' || value), '') FROM terms WHERE part = 'ledger' AND name LIKE '%event%'",
        );
        assert_eq!(event.to_lowercase().contains("ranks"), local, "{event}");
        // Own items alone leave no raw reward behind.
        assert_eq!(one::<i64>(here, &name, "SELECT count(reward) FROM releases") == 0, local, "{mechanism}");
    }
    // Readings whose noise is not that of their claim have no exact form.
    let privacy = "[privacy]\ncalibration = \"corrected\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n";
    spec(here, privacy, JOINT);
    refused(here, &["init", "corrected", "modeler.toml"], &["tight"]);
}

/// Every cell of every table that somebody changes is noticed, and every row of what was released that somebody takes away.
#[test]
fn altered_rows_are_refused() {
    let (here, outcome) = &curated();
    let rewards = "[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]\n";
    let sums = "[privacy]\nmechanism = \"tree\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n";
    for (name, privacy, policy) in [("rewards", rewards, "kind = \"igp-ucb\""), ("sums", sums, LINEAR)] {
        spec(here, privacy, policy);
        let budget = if name == "rewards" { &["--budget", "epsilon=3", "--per", "year"][..] } else { &[] };
        fine(here, &[&["init", name, "modeler.toml"], budget].concat());
        for _ in 0..3 {
            let row = fine(here, &["ask", name]);
            let index: usize = row.trim().parse().expect("a row");
            fine(here, &["tell", name, row.trim(), &outcome[index].to_string(), "--who", "one"]);
        }
        fine(here, &["people", name, "--leave", "59"]);
        fine(here, &["ask", name]);
        let whole = fs::read(here.join(name)).expect("a file");
        let mut n_run = 0;
        for (table, rows) in content(here, name) {
            let columns: Vec<String> = all(here, name, &format!("SELECT name FROM pragma_table_info('{table}')"));
            for (column, at) in columns.iter().zip(0..) {
                // The first and the last row.
                for row in [rows.first(), rows.last()].into_iter().flatten() {
                    let other = match &row[at] {
                        Cell::Null => "1".to_owned(),
                        Cell::Integer(number) => (number + 1).to_string(),
                        Cell::Real(number) => format!("{:?}", number + 0.5),
                        Cell::Text(text) => format!("'{}x'", text.replace('\'', "''")),
                        Cell::Blob(_) => "x'00112233445566778899aabbccddeeff'".to_owned(),
                    };
                    let is = |at: usize| match &row[at] {
                        Cell::Null => format!("{} IS NULL", columns[at]),
                        Cell::Integer(number) => format!("{} = {number}", columns[at]),
                        Cell::Real(number) => format!("{} = {number:?}", columns[at]),
                        Cell::Text(text) => format!("{} = '{}'", columns[at], text.replace('\'', "''")),
                        Cell::Blob(bytes) => {
                            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                            format!("{} = x'{digits}'", columns[at])
                        }
                    };
                    let whose: Vec<String> = (0..columns.len()).map(is).collect();
                    alter(here, name, &format!("UPDATE OR REPLACE {table} SET {column} = {other} WHERE {}", whose.join(" AND ")));
                    assert_ne!(fs::read(here.join(name)).expect("a file"), whole, "{table}.{column}");
                    let said = run(here, &["ledger", name]);
                    let text = stderr(&said);
                    assert!(
                        code(&said) == Some(2) && text.contains("altered") && text.contains("hint"),
                        "{name} {table}.{column}: {text}"
                    );
                    fs::write(here.join(name), &whole).expect("restored");
                    n_run += 1;
                }
            }
        }
        for table in ["spends", "releases", "accounts", "columns", "budgets", "terms", "commands"] {
            let rows: i64 = one(here, name, &format!("SELECT count(*) FROM {table}"));
            for at in [0, rows - 1] {
                let key = if ["accounts", "terms"].contains(&table) { "(record, column_id)" } else { "rowid" };
                let key = if table == "terms" { "(column_id, part, name)" } else { key };
                let names = key.trim_matches(['(', ')']);
                alter(
                    here,
                    name,
                    &format!("DELETE FROM {table} WHERE {key} IN (SELECT {names} FROM {table} LIMIT 1 OFFSET {at})"),
                );
                ends(&run(here, &["ledger", name]), 2, &["altered"]);
                fs::write(here.join(name), &whole).expect("restored");
            }
        }
        println!("{name}: {n_run} cells, none unnoticed");
        fine(here, &["ask", name]);
        fine(here, &["ledger", name]);
    }
}
