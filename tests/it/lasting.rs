//! Deployments that last: tables of a day, people who join and leave, budgets that are renewed, older copies, many programs at once.

use crate::deployments::{ledger, taken, three_rows, until_stopped, with_rows};
use crate::program::*;

const LAPLACE: &str = "[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [0.0, 1.0]\n";

/// A release with this mechanism from a file, and more words.
fn release<'a>(state: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["release", "--state", state, "--mechanism", "laplace", "--epsilon", "1", "--clip", "0,1"], more].concat()
}

fn by_dep<'a>(more: &[&'a str]) -> Vec<&'a str> {
    release("dep", more)
}

fn table(here: &Folder, name: &str, rows: &[(&str, &str)]) {
    here.table(name, "id,outcome", rows.iter().map(|(id, value)| format!("{id},{value}")));
}

/// Answers of a table, by id, and what the command said.
fn released(here: &Folder, more: &[&str]) -> (Vec<(String, f64)>, String, Option<i32>) {
    let output = here.run(&by_dep(&[&["--value", "outcome", "--record", "id"], more].concat()));
    let lines = stdout(&output);
    let answers = lines.lines().map(|line| {
        let answer = json(line);
        (answer["id"].as_str().expect("an id").to_owned(), answer["released"].as_f64().expect("a number"))
    });
    (answers.collect(), stderr(&output), code(&output))
}

/// A day's values leave in one transaction; refused records are listed, and the same day again gives the same answers.
#[test]
fn a_table_is_released_once_and_nothing_of_it_is_lost() {
    let here = &folder();
    let day = [("ann", "0.5"), ("bob", "nan"), ("cy", ""), ("dee", "0.25"), ("ann", "0.75"), ("eve", "1e6"), (" dee", "1")];
    table(here, "day.csv", &day);
    here.refused(&by_dep(&["--ids", "--table", "day.csv", "--value", "outcome", "--record", "id"]), &["--round"]);
    here.refused(&by_dep(&["--ids", "--table", "day.csv", "--value", "none", "--round", "1"]), &["no column `none`"]);
    assert!(!here.holds("dep"));
    let (unknown, said, ended) = released(here, &["--ids", "--table", "day.csv", "--round", "1"]);
    assert!(unknown.is_empty() && ended == Some(1) && said.contains("knows no record `ann`"), "{said}");
    let first = released(here, &["--ids", "--join", "--table", "day.csv", "--round", "1"]);
    assert_eq!((first.0.len(), first.2), (2, Some(1)), "{}", first.1);
    assert!(first.0[0].0 == "ann" && first.0[1].0 == "dee" && !here.holds_number("dep", 0.25), "raw values are kept nowhere");
    for line in
        ["line 2, record `bob`", "line 3, record `cy`", "line 5, record `ann`", "line 6, record `eve`", "line 7, record `dee`"]
    {
        assert!(first.1.contains(line), "{line}: {}", first.1);
    }
    let spends = || here.one::<i64>("dep", "SELECT count(*) FROM spends");
    assert_eq!(spends(), 2);
    let again = released(here, &["--ids", "--table", "day.csv", "--round", "1"]);
    assert!(again.0 == first.0 && spends() == 2 && again.1.contains("spend nothing again"), "{}", again.1);
    let next = released(here, &["--ids", "--table", "day.csv", "--round", "2"]);
    assert!(next.0.len() == 2 && next.0 != first.0 && spends() == 4, "{}", next.1);
    // One by one and by rows too.
    let answer = here.fine_json(&["release", "--state", "dep", "--round", "1", "ann", "0.9"]);
    assert_eq!(answer["released"].as_f64(), Some(first.0[0].1));
    table(here, "rows.csv", &[("a", "0.5"), ("b", "0.25")]);
    let lines = here.fine(&release("rows", &["--table", "rows.csv", "--value", "outcome", "--round", "1"]));
    let found: Vec<u64> = lines.lines().map(|line| json(line)["row"].as_u64().expect("a row")).collect();
    assert_eq!(found, [0, 1]);
    here.refused(&["release", "--state", "rows", "ann", "0.5"], &["is not a row", "--ids"]);
}

/// Whoever has left is answered about no more, and what they have spent stays; a keyed file holds no ids.
#[test]
fn people_join_and_leave() {
    let here = &folder();
    here.write("key", "0123456789abcdef0123");
    here.write("other", "another key of many bytes");
    for keyed in [false, true] {
        let key: &[&str] = if keyed { &["--id-key", "key"] } else { &[] };
        let naming: &[&str] = if keyed { key } else { &["--ids"] };
        here.fine(&[&["odometer", "dep", "--budget", "epsilon=2", "--filter", "sum"], naming].concat());
        here.fine(&[&["people", "dep", "--join", "secret-ann", "bob"], key].concat());
        let released = |id: &str, round: &str, expected: i32, texts: &[&str]| {
            here.ends(&by_dep(&[key, &["--round", round, id, "0.5"]].concat()), expected, texts);
        };
        released("secret-ann", "1", 0, &[]);
        released("cy", "1", 2, &["knows no record `cy`"]);
        here.fine(&[&["people", "dep", "--leave", "secret-ann"], key].concat());
        released("secret-ann", "2", 1, &["has left"]);
        here.fine(&[&["people", "dep", "--join", "secret-ann"], key].concat());
        released("secret-ann", "2", 0, &[]);
        released("secret-ann", "3", 1, &["record secret-ann has spent epsilon = 2"]);
        released("bob", "1", 0, &[]);
        let bytes = here.bytes("dep");
        assert_ne!(bytes.windows(10).any(|found| found == b"secret-ann"), keyed, "ids stand where no key is stated alone");
        if keyed {
            for wrong in [&["--id-key", "other"][..], &[]] {
                here.refused(&[&["people", "dep", "--join", "dee"], wrong].concat(), &["--id-key"]);
            }
        } else {
            here.refused(&["people", "dep", "--join", "dee", "--id-key", "key"], &["no `--id-key`"]);
            here.refused(&["people", "dep"], &["--join ID"]);
            here.refused(&["people", "dep", "--leave", "nobody"], &["knows no record `nobody`"]);
        }
        here.remove("dep");
    }
}

/// A budget of a month allows as many answers in each month of the calendar, and time does not run back.
#[test]
fn budgets_are_renewed_by_the_calendar() {
    let here = &folder();
    assert_eq!(code(&here.run(&by_dep(&["--per", "month", "1", "0.5"]))), Some(2), "there is no budget that could be renewed");
    // The number of answers that each day may add, with two a period: weeks begin on Monday, 2025-12-29.
    let days = ["2025-12-31T23:59:59Z", "2026-01-01", "2026-01-04T12:00:00", "2026-01-05", "2026-01-31T23:59:59Z", "2026-02-01"];
    for (period, another, allowed) in [
        ("day", "week", [2; 6]),
        ("week", "day", [2, 0, 0, 2, 2, 0]),
        ("month", "day", [2, 2, 0, 0, 0, 2]),
        ("year", "day", [2, 2, 0, 0, 0, 0]),
    ] {
        let mut round = 0;
        for (day, allowed) in days.into_iter().zip(allowed) {
            for answer in 0..3 {
                round += 1;
                let round = round.to_string();
                let more = ["--budget", "epsilon=2", "--per", period, "--time", day, "--round", &round, "4", "0.5"];
                let output = here.run(&by_dep(&more));
                let expected = if answer < allowed { 0 } else { 1 };
                assert_eq!(code(&output), Some(expected), "{period} {day} {answer}: {}", stderr(&output));
            }
        }
        here.refused(&by_dep(&["--time", "2025-12-30", "--round", "99", "5", "0.5"]), &["before the newest answer"]);
        here.refused(&by_dep(&["--time", "2099-01-01", "--round", "99", "5", "0.5"]), &["still to come"]);
        let said = here.fine(&["ledger", "dep"]);
        assert!(said.contains(&format!("renewed each {period} (UTC)")), "{said}");
        here.refused(&by_dep(&["--per", another, "--budget", "epsilon=2", "5", "0.5"]), &["--per"]);
        here.remove("dep");
    }
}

/// An older copy is refused by the anchor, by the session that took a newer answer, and by an odometer; a copy that went on, too.
#[test]
fn older_copies_are_refused_by_whatever_knows_better() {
    let here = &folder();
    fs::create_dir(here.join("usb")).expect("a folder");
    let released = |round: &str, expected: i32, texts: &[&str]| {
        here.ends(&by_dep(&["--anchor", "usb/anchor", "--round", round, "0", "0.5"]), expected, texts);
    };
    released("1", 0, &[]);
    here.copy("dep", "old");
    here.copy("usb/anchor", "old-anchor");
    released("2", 0, &[]);
    here.copy("dep", "newest");
    here.copy("old", "dep");
    released("2", 2, &["is an older copy: it has made 1 answers"]);
    // With as many answers, and another one among them.
    here.copy("old-anchor", "usb/anchor");
    released("3", 0, &[]);
    here.copy("dep", "forked");
    here.copy("newest", "dep");
    released("4", 2, &["went on by itself"]);
    here.rename("usb", "away");
    released("4", 2, &["cannot read the anchor"]);
    here.write("away/anchor", "nothing");
    here.rename("away", "usb");
    here.refused(&by_dep(&["--round", "4", "0", "0.5"]), &["is not the anchor"]);

    // The other party knows the newest answer it was given.
    three_rows(here, LAPLACE);
    here.fine(&["init", "session", "modeler.toml", "--form", "data-holder"]);
    let take = |round: u64| taken(here, "session", &release("holder", &[]), round);
    ends(&take(1), 0, &[]);
    here.copy("holder", "old-holder");
    ends(&take(2), 0, &[]);
    here.copy("old-holder", "holder");
    ends(&take(3), 2, &["an older copy of the data holder's file"]);
}

#[test]
fn eight_programs_at_once_lose_nothing() {
    let here = &folder();
    here.fine(&by_dep(&["--budget", "epsilon=6", "0", "0.5"]));
    let (n_programs, n_answers) = (8u64, 12u64);
    let answers = |program: u64| -> Vec<f64> {
        let answer = |at: u64| {
            // Every program asks for four records, in rounds of its own.
            let (row, round) = ((1 + at % 4).to_string(), (1 + program * n_answers + at).to_string());
            let output = here.run(&["release", "--state", "dep", "--wait", "60", "--round", &round, &row, "0.5"]);
            assert!([Some(0), Some(1)].contains(&code(&output)), "{}", stderr(&output));
            (code(&output) == Some(0)).then(|| json(&stdout(&output))["released"].as_f64().expect("a number"))
        };
        (0..n_answers).filter_map(answer).collect()
    };
    let mut given: Vec<f64> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..n_programs).map(|program| scope.spawn(move || answers(program))).collect();
        started.into_iter().flat_map(|thread| thread.join().expect("a program")).collect()
    });
    let mut kept: Vec<f64> = here.all("dep", "SELECT released FROM releases WHERE record > 0");
    [&mut given, &mut kept].into_iter().for_each(|values| values.sort_by(f64::total_cmp));
    assert_eq!(given, kept, "what was given out is what was kept");
    // 96 questions about four records with a budget of six answers each.
    let counts: Vec<i64> = here.all("dep", "SELECT count(*) FROM spends WHERE record > 0 GROUP BY record");
    assert_eq!(counts, [6; 4], "no answer is missing, and none too many");
    assert_eq!(here.one::<i64>("dep", "SELECT count(*) FROM refusals"), (n_programs * n_answers) as i64 - 24);
    here.fine(&["ledger", "dep"]);
}

/// The page and the list of an auditor hold what SQL finds, and no file is overwritten.
#[test]
fn books_are_what_the_database_says() {
    let here = &folder();
    table(here, "day.csv", &[("<i>ann</i>", "0.5"), ("=cmd", "0.25"), ("cy", "0.125")]);
    for (round, day) in [("1", "2026-01-01"), ("2", "2026-01-11"), ("3", "2026-01-21")] {
        let more =
            ["--ids", "--join", "--budget", "epsilon=2", "--table", "day.csv", "--round", round, "--time", day, "--who", "nurse"];
        let _ = released(here, &more);
    }
    here.fine(&["ledger", "dep", "--html", "books.html", "--csv", "books.csv"]);
    here.refused(&["ledger", "dep", "--html", "books.html"], &["there already"]);
    here.refused(&["ledger", "dep", "day.csv", "--html", "other.html"], &["one deployment"]);
    let page = here.text("books.html");
    for words in [
        "Confidential",
        "6 answers about 3 records",
        "epsilon=2",
        "basic composition",
        "3 answers were refused",
        "nurse",
        "&lt;i&gt;ann",
        "2026-01-11",
        "2 × 1 = 2",
        "SELECT * FROM answers WHERE record = 17;",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("<i>ann"), "{page}");
    let list = here.text("books.csv");
    assert!(list.lines().count() == 7 && !list.contains(",=cmd") && list.contains("'=cmd"), "{list}");
    let epsilon: f64 = here.one("dep", "SELECT sum(epsilon) FROM answers WHERE id = 'cy'");
    let stated = ledger(here, &["dep"]);
    let cy = stated["total"]["records"].as_array().expect("records").last().expect("three");
    assert_eq!((epsilon, cy["epsilon"].as_f64()), (2.0, Some(2.0)));
    ["dep", "books.html", "books.csv"].iter().for_each(|name| assert_private(&here.join(name)));
}

#[test]
fn one_file_holds_sessions_and_columns_under_one_budget() {
    let here = &with_rows(LAPLACE);
    here.fine(&["odometer", "dep", "--budget", "epsilon=3", "--filter", "sum", "--rows", "3"]);
    for name in ["first", "second"] {
        here.fine(&["init", "dep", "modeler.toml", "--session", name, "--column", name]);
    }
    here.refused(&["init", "dep", "modeler.toml", "--session", "first"], &["there already"]);
    here.refused(&["init", "dep", "modeler.toml", "--session", "third", "--budget", "epsilon=9"], &["--budget"]);
    here.refused(&["ask", "dep"], &["2 sessions", "--session NAME"]);
    here.refused(&["ask", "dep", "--session", "third"], &["no session `third`", "first, second"]);
    here.fine(&by_dep(&["--column", "third", "0", "0.5"]));
    let mut spent = [1, 0, 0];
    for name in ["first", "second"] {
        let (answers, said) = until_stopped(here, &["dep", "--session", name], 12);
        assert!(said.contains("epsilon=3"), "{said}");
        spent.iter_mut().zip(answers).for_each(|(spent, more)| *spent += more as i64);
    }
    assert!(spent.iter().all(|count| *count <= 3) && spent.contains(&3), "{spent:?}");
    let counts: Vec<i64> = here.all("dep", "SELECT count(*) FROM spends GROUP BY record ORDER BY record");
    assert_eq!(counts.iter().sum::<i64>(), spent.iter().sum::<i64>());
    assert!(here.fine(&["ledger", "dep"]).starts_with("dep (deployment)"));
}

/// A disk that is full, and a database of somebody else or of a newer program: nothing is spent.
#[test]
fn full_disks_and_foreign_databases_spend_nothing() {
    let here = &folder();
    here.fine(&by_dep(&["0", "0.5"]));
    let spends = || here.one::<i64>("dep", "SELECT count(*) FROM spends");
    table(here, "day.csv", &(0..4000).map(|_| ("", "0.5")).collect::<Vec<_>>());
    // Files of at most 128 KiB: the journal or the file itself meets the limit.
    let output = here.shell("ulimit -f 128; exec privateer release --state dep --table day.csv --value outcome --round 2");
    ends(&output, 4, &[]);
    assert!(["nothing was spent", "limit"].iter().any(|text| stderr(&output).contains(text)), "{}", stderr(&output));
    assert!(output.stdout.is_empty(), "no answer leaves");
    assert_eq!(spends(), 1);
    here.fine(&["ledger", "dep"]);
    here.alter("foreign", "CREATE TABLE spends (spend_id INTEGER PRIMARY KEY)");
    here.copy("dep", "newer");
    here.alter("newer", "PRAGMA user_version = 2");
    for (name, problem) in [("foreign", "not a deployment"), ("newer", "version 2; this program reads version 1")] {
        for command in [&["ledger", name][..], &["release", "--state", name, "0", "0.5"], &["people", name, "--leave", "0"]] {
            here.refused(command, &[problem]);
        }
    }
}

/// One number means one person in all files that count together, and whoever has left is answered about by none of them.
#[test]
fn files_that_count_together_mean_the_same_people() {
    let here = &folder();
    here.fine(&["odometer", "people", "--ids", "--budget", "epsilon=2", "--filter", "sum"]);
    here.fine(&["odometer", "rows", "--rows", "9", "--budget", "epsilon=2", "--filter", "sum"]);
    for odometer in ["people", "rows"] {
        here.refused(&by_dep(&["--ids", "--join", "--odometer", odometer, "ann", "0.5"]), &["by ids", "one file for all"]);
        assert!(!here.holds("dep"));
    }
    here.refused(&by_dep(&["--odometer", "people", "0", "0.5"]), &["people` names records by ids"]);

    here.fine(&by_dep(&["--odometer", "rows", "0", "0.5"]));
    // A second column counts where the first one does.
    let second = ["--column", "second", "0", "0.5"];
    here.refused(&by_dep(&second), &["counts in the odometer", "--odometer"]);
    here.fine(&by_dep(&[&["--odometer", "rows"], &second[..]].concat()));
    here.fine(&["people", "rows", "--leave", "1"]);
    here.ends(&["release", "--state", "dep", "--column", "reward", "1", "0.5"], 1, &["has left"]);

    three_rows(here, LAPLACE);
    here.fine(&["init", "session", "modeler.toml"]);
    let row = here.ask("session");
    here.fine(&["people", "session", "--leave", &row]);
    for words in [&["ask", "session"][..], &["tell", "session", &row, "0.5"]] {
        here.ends(words, 1, &["has left"]);
    }
}

/// An anchor overwrites no file, and one that is missing was taken away: also after a first table.
#[test]
fn an_anchor_overwrites_nothing_and_is_there_from_the_start() {
    let here = &folder();
    here.write("notes", "precious");
    here.refused(&by_dep(&["--anchor", "notes", "0", "0.5"]), &["`notes` is there already"]);
    assert_eq!(here.text("notes"), "precious");
    assert!(!here.holds("dep"));
    table(here, "day", &[("0", "0.5"), ("1", "0.5"), ("2", "0.5")]);
    here.fine(&by_dep(&["--anchor", "anchor", "--table", "day", "--value", "outcome", "--record", "id", "--round", "1"]));
    here.remove("anchor");
    here.refused(&by_dep(&["--round", "2", "0", "0.5"]), &["cannot read the anchor"]);
    here.write("anchor", "another");
    let odometer = ["odometer", "od", "--rows", "9", "--budget", "epsilon=2", "--filter", "sum", "--anchor", "anchor"];
    here.refused(&odometer, &["is there already"]);
}

#[test]
fn a_curated_table_is_never_made_before_the_newest_answer() {
    let here = &with_table();
    let budget = "epsilon=1000,delta=1e-3";
    here.fine(&["odometer", "od", "--budget", budget, "--filter", "sum", "--rows", "60", "--per", "month"]);
    let at = |out, time| curate_with(&[("-o", out), ("--odometer", "od"), ("--time", time)]);
    here.fine(&at("one.csv", "2026-03-02T00:00:00Z"));
    here.ends(&at("two.csv", "2026-02-03T00:00:00Z"), 2, &["before the newest answer"]);
    assert_eq!(here.one::<i64>("od", "SELECT count(*) FROM spends"), 1);
}
