//! Sessions of policies that learn from sums over users, and states that do not hang together.

use crate::program::*;

const LINEAR: &str = "kind = \"jdp-linucb\"\nbeta = { kind = \"scaled\", factor = 0.3 }";
const JOINT: &str =
    "kind = \"jdp-gp-ucb\"\nfeatures = { kind = \"nystrom\", size = 6 }\nbeta = { kind = \"scaled\", factor = 0.3 }";
const LOCAL: &str = "kind = \"local-jdp-gp-ucb\"\nfeatures = { kind = \"nystrom\", size = 6 }\nbeta = { kind = \"scaled\", factor = 0.3 }\n\
     privacy = { protects = \"contexts and rewards\" }";

/// A batch of users is asked for one row, and its rewards are held until its end; the state passes the disk between commands.
#[test]
fn batches_of_users_run() {
    let here = &curated();
    spec(here, "[privacy]\nepsilon = 4.0\nclip = [-1.0, 1.0]\n", "kind = \"batched-gp-ucb\"\nbatch = 3");
    here.ends(&["init", "held", "modeler.toml", "--form", "data-holder"], 2, &[]);
    // Every user of a batch would be charged to one row, and the row's budget would end before the batch.
    here.ends(&["init", "budgeted", "modeler.toml", "--budget", "epsilon=40"], 2, &["no `--budget`"]);
    assert!(!here.holds("budgeted"));
    here.ends(&["init", "state", "modeler.toml"], 0, &["as secret as the rewards"]);
    let mut rows = Vec::new();
    for round in 1..=8 {
        let row = here.ask("state");
        let index: usize = row.parse().expect("a row");
        let told = here.fine_json(&["tell", "state", &row, &outcome(index), "--json"]);
        assert!(told["released"].is_null(), "no reward is given out by itself: {told}");
        rows.push(index);
        let kept: Vec<f64> = here.all("state", "SELECT reward FROM releases ORDER BY round");
        assert_eq!(kept.len(), round, "the raw rewards are held, and nothing is given out one by one");
    }
    assert!(rows.chunks(3).all(|batch| batch.iter().all(|row| *row == batch[0])), "{rows:?}");
    here.fine(&["ask", "state", "--best"]);
}

/// Every policy that learns from sums runs to its end, under every form of running sums and own items, with the sums that it saw kept from
/// one command to the next: what was released is never drawn anew.
#[test]
fn policies_that_learn_from_sums_run() {
    let here = &curated();
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
        let begun = here.ends(&["init", &name, "modeler.toml"], 0, &[]);
        let local = policy == LOCAL;
        assert_eq!(stderr(&begun).contains("as secret as the rewards"), !local && mechanism != "none", "{}", stderr(&begun));
        let noise = |name: &str| -> Vec<Option<Vec<u8>>> {
            here.all(name, "SELECT coalesce(noise_key, item) FROM releases ORDER BY round")
        };
        for round in 1..=8usize {
            let row = here.ask(&name);
            let reward = outcome(row.parse().expect("a row"));
            if round == 3 {
                // The same command on a copy draws other noise: it is drawn when told, and never from a seed.
                here.copy(&name, "copy");
                here.copy(&name, "aside");
                here.remove(&name);
                here.fine(&["tell", "copy", &row, &reward]);
                here.rename("aside", &name);
            }
            let before = noise(&name);
            let told = here.fine_json(&["tell", &name, &row, &reward, "--json"]);
            assert!(told["released"].is_null(), "no reward is given out by itself: {told}");
            let now = noise(&name);
            assert_eq!((now.len(), &now[..round - 1]), (round, &before[..]), "what was released is kept");
            assert!(now.iter().all(Option::is_some) && (1..round).all(|at| now[at] != now[at - 1]), "{mechanism}");
            if round == 3 {
                assert_ne!(noise("copy")[2], now[2], "{mechanism}");
                here.remove("copy");
            }
        }
        here.refused(&["ask", &name], &["over"]);
        let best: u64 = here.fine(&["ask", &name, "--best"]).trim().parse().expect("a row");
        assert!(here.all::<i64>(&name, "SELECT record FROM releases").contains(&(best as i64)));
        let provenance: String = here.one(&name, "SELECT value FROM terms WHERE part = 'ledger' AND name = 'provenance'");
        assert_eq!(provenance, "released");
        // What real people release is stated, not what a simulation draws.
        let event: Vec<String> = here.all(&name, "SELECT name || value FROM terms WHERE part = 'ledger' AND name LIKE '%event%'");
        assert_eq!(event.iter().any(|value| value.to_lowercase().contains("ranks")), local, "{event:?}");
        // Own items alone leave no raw reward behind.
        assert_eq!(here.one::<i64>(&name, "SELECT count(reward) FROM releases") == 0, local, "{mechanism}");
    }
    // Readings whose noise is not that of their claim have no exact form.
    let privacy = "[privacy]\ncalibration = \"corrected\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n";
    spec(here, privacy, JOINT);
    here.refused(&["init", "corrected", "modeler.toml"], &["tight"]);
}

/// Every cell of every table that somebody changes is noticed, and every row of what was released that somebody takes away.
#[test]
fn altered_rows_are_refused() {
    let here = &curated();
    let sums = "[privacy]\nmechanism = \"tree\"\nepsilon = 4.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\n";
    for (name, privacy, policy) in [("rewards", LAPLACE, "kind = \"igp-ucb\""), ("sums", sums, LINEAR)] {
        spec(here, privacy, policy);
        let budget = if name == "rewards" { &["--budget", "epsilon=3", "--per", "year"][..] } else { &[] };
        here.fine(&[&["init", name, "modeler.toml"], budget].concat());
        for _ in 0..3 {
            let row = here.ask(name);
            here.fine(&["tell", name, &row, &outcome(row.parse().expect("a row")), "--who", "one"]);
        }
        // Whoever is asked must be there: points are released with real noise, so that any row may come next.
        let leaves = if here.ask(name) == "59" { "58" } else { "59" };
        here.fine(&["people", name, "--leave", leaves]);
        let whole = here.bytes(name);
        let mut n_run = 0;
        for (table, rows) in here.content(name) {
            let columns: Vec<String> = here.all(name, &format!("SELECT name FROM pragma_table_info('{table}')"));
            for (column, at) in columns.iter().zip(0..) {
                // The first and the last row.
                for row in [rows.first(), rows.last()].into_iter().flatten() {
                    let other = match &row[at] {
                        Cell::Null => Cell::Integer(1),
                        Cell::Integer(number) => Cell::Integer(number + 1),
                        Cell::Real(number) => Cell::Real(number + 0.5),
                        Cell::Text(text) => Cell::Text(format!("{text}x")),
                        Cell::Blob(_) => Cell::Blob((0..16).map(|digit| 0x11 * digit).collect()),
                    };
                    let sql = format!("UPDATE OR REPLACE {table} SET {column} = ? WHERE {} IS ?", columns.join(" IS ? AND "));
                    let cells = rusqlite::params_from_iter(std::iter::once(&other).chain(row));
                    here.database(name).execute(&sql, cells).expect("an update");
                    assert_ne!(here.bytes(name), whole, "{table}.{column}");
                    println!("{name} {table}.{column}");
                    here.ends(&["ledger", name], 2, &["altered", "hint"]);
                    here.write(name, &whole);
                    n_run += 1;
                }
            }
        }
        for table in ["spends", "releases", "accounts", "columns", "budgets", "terms", "commands"] {
            let rows: i64 = here.one(name, &format!("SELECT count(*) FROM {table}"));
            for at in [0, rows - 1] {
                let key = match table {
                    "accounts" => "record, column_id",
                    "terms" => "column_id, part, name",
                    _ => "rowid",
                };
                let one_row = format!("SELECT {key} FROM {table} LIMIT 1 OFFSET {at}");
                here.alter(name, &format!("DELETE FROM {table} WHERE ({key}) IN ({one_row})"));
                here.ends(&["ledger", name], 2, &["altered"]);
                here.write(name, &whole);
            }
        }
        println!("{name}: {n_run} cells, none unnoticed");
        here.ask(name);
        here.fine(&["ledger", name]);
    }
}
