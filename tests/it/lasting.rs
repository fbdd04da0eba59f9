//! Deployments that last: tables of a day, people who join and leave, budgets that are renewed, older copies, many programs at once.

use crate::database::{all, alter, holds_number, one};
use crate::deployments::json;
use crate::program::{assert_private, code, ends, folder, run, stderr, stdout};
use crate::two_parties::{fine, refused};
use std::fs;
use std::path::Path;
use std::process::Command;

const TERMS: [&str; 7] = ["release", "--state", "dep", "--mechanism", "laplace", "--epsilon", "1"];

/// A release with the usual mechanism and more words.
fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&TERMS[..], &["--clip", "0,1"], more].concat()
}

fn table(here: &Path, name: &str, rows: &[(&str, &str)]) {
    let rows: String = rows.iter().map(|(id, value)| format!("{id},{value}\n")).collect();
    fs::write(here.join(name), format!("id,outcome\n{rows}")).expect("written");
}

/// Answers of a table, by id, and what the command said.
fn released(here: &Path, more: &[&str]) -> (Vec<(String, f64)>, String, Option<i32>) {
    let output = run(here, &words(&[&["--value", "outcome", "--record", "id"], more].concat()));
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
    refused(here, &words(&["--ids", "--table", "day.csv", "--value", "outcome", "--record", "id"]), &["--round"]);
    refused(here, &words(&["--ids", "--table", "day.csv", "--value", "none", "--round", "1"]), &["no column `none`"]);
    assert!(!here.join("dep").exists());
    let (unknown, said, ended) = released(here, &["--ids", "--table", "day.csv", "--round", "1"]);
    assert!(unknown.is_empty() && ended == Some(1) && said.contains("knows no record `ann`"), "{said}");
    let first = released(here, &["--ids", "--join", "--table", "day.csv", "--round", "1"]);
    assert_eq!((first.0.len(), first.2), (2, Some(1)), "{}", first.1);
    assert!(first.0[0].0 == "ann" && first.0[1].0 == "dee" && !holds_number(here, "dep", 0.25), "raw values are kept nowhere");
    for line in
        ["line 2, record `bob`", "line 3, record `cy`", "line 5, record `ann`", "line 6, record `eve`", "line 7, record `dee`"]
    {
        assert!(first.1.contains(line), "{line}: {}", first.1);
    }
    let spends = || one::<i64>(here, "dep", "SELECT count(*) FROM spends");
    assert_eq!(spends(), 2);
    let again = released(here, &["--ids", "--table", "day.csv", "--round", "1"]);
    assert!(again.0 == first.0 && spends() == 2 && again.1.contains("spend nothing again"), "{}", again.1);
    let next = released(here, &["--ids", "--table", "day.csv", "--round", "2"]);
    assert!(next.0.len() == 2 && next.0 != first.0 && spends() == 4, "{}", next.1);
    // One by one and by rows too.
    let answer = json(&fine(here, &["release", "--state", "dep", "--round", "1", "ann", "0.9"]));
    assert_eq!(answer["released"].as_f64(), Some(first.0[0].1));
    let rows = ["release", "--state", "rows", "--mechanism", "laplace", "--epsilon", "1", "--clip", "0,1"];
    table(here, "rows.csv", &[("a", "0.5"), ("b", "0.25")]);
    let output = run(here, &[&rows[..], &["--table", "rows.csv", "--value", "outcome", "--round", "1"]].concat());
    let found: Vec<u64> = stdout(&output).lines().map(|line| json(line)["row"].as_u64().expect("a row")).collect();
    assert_eq!((found, code(&output)), (vec![0, 1], Some(0)));
    refused(here, &["release", "--state", "rows", "ann", "0.5"], &["is not a row", "--ids"]);
}

/// Whoever has left is answered about no more, and what they have spent stays; a keyed file holds no ids.
#[test]
fn people_join_and_leave() {
    let here = &folder();
    for (name, bytes) in [("key", "0123456789abcdef0123"), ("other", "another key of many bytes")] {
        fs::write(here.join(name), bytes).expect("written");
    }
    for keyed in [false, true] {
        let key: &[&str] = if keyed { &["--id-key", "key"] } else { &[] };
        let naming: &[&str] = if keyed { key } else { &["--ids"] };
        fine(here, &[&["odometer", "dep", "--budget", "epsilon=2", "--filter", "sum"], naming].concat());
        fine(here, &[&["people", "dep", "--join", "secret-ann", "bob"], key].concat());
        let release = |id: &str, round: &str| run(here, &words(&[key, &["--round", round, id, "0.5"]].concat()));
        assert_eq!(code(&release("secret-ann", "1")), Some(0));
        ends(&release("cy", "1"), 2, &["knows no record `cy`"]);
        fine(here, &[&["people", "dep", "--leave", "secret-ann"], key].concat());
        ends(&release("secret-ann", "2"), 1, &["has left"]);
        fine(here, &[&["people", "dep", "--join", "secret-ann"], key].concat());
        assert_eq!(code(&release("secret-ann", "2")), Some(0));
        ends(&release("secret-ann", "3"), 1, &["record secret-ann has spent epsilon = 2"]);
        assert_eq!(code(&release("bob", "1")), Some(0));
        let bytes = fs::read(here.join("dep")).expect("a file");
        assert_ne!(bytes.windows(10).any(|found| found == b"secret-ann"), keyed, "ids stand where no key is stated alone");
        if keyed {
            for wrong in [&["--id-key", "other"][..], &[]] {
                refused(here, &[&["people", "dep", "--join", "dee"], wrong].concat(), &["--id-key"]);
            }
        } else {
            refused(here, &["people", "dep", "--join", "dee", "--id-key", "key"], &["no `--id-key`"]);
            refused(here, &["people", "dep"], &["--join ID"]);
            refused(here, &["people", "dep", "--leave", "nobody"], &["knows no record `nobody`"]);
        }
        fs::remove_file(here.join("dep")).expect("removed");
    }
}

/// A budget of a month allows as many answers in each month of the calendar, and time does not run back.
#[test]
fn budgets_are_renewed_by_the_calendar() {
    let here = &folder();
    assert_eq!(code(&run(here, &words(&["--per", "month", "1", "0.5"]))), Some(2), "there is no budget that could be renewed");
    // The number of answers that each day may add, with two a period: weeks begin on Monday, 2025-12-29.
    let days = ["2025-12-31T23:59:59Z", "2026-01-01", "2026-01-04T12:00:00", "2026-01-05", "2026-01-31T23:59:59Z", "2026-02-01"];
    for (period, allowed) in
        [("day", [2; 6]), ("week", [2, 0, 0, 2, 2, 0]), ("month", [2, 2, 0, 0, 0, 2]), ("year", [2, 2, 0, 0, 0, 0])]
    {
        let mut round = 0;
        for (day, allowed) in days.into_iter().zip(allowed) {
            for answer in 0..3 {
                round += 1;
                let round = round.to_string();
                let more = ["--budget", "epsilon=2", "--per", period, "--time", day, "--round", &round, "4", "0.5"];
                let output = run(here, &words(&more));
                let expected = if answer < allowed { 0 } else { 1 };
                assert_eq!(code(&output), Some(expected), "{period} {day} {answer}: {}", stderr(&output));
            }
        }
        refused(here, &words(&["--time", "2025-12-30", "--round", "99", "5", "0.5"]), &["before the newest answer"]);
        refused(here, &words(&["--time", "2099-01-01", "--round", "99", "5", "0.5"]), &["still to come"]);
        let said = fine(here, &["ledger", "dep"]);
        assert!(said.contains(&format!("renewed each {period} (UTC)")), "{said}");
        refused(
            here,
            &words(&["--per", if period == "day" { "week" } else { "day" }, "--budget", "epsilon=2", "5", "0.5"]),
            &["--per"],
        );
        fs::remove_file(here.join("dep")).expect("removed");
    }
}

/// An older copy is refused by the anchor, by the session that took a newer answer, and by an odometer; a copy that went on, too.
#[test]
fn older_copies_are_refused_by_whatever_knows_better() {
    let here = &folder();
    fs::create_dir(here.join("usb")).expect("a folder");
    let release = |round: &str, row: &str| run(here, &words(&["--anchor", "usb/anchor", "--round", round, row, "0.5"]));
    let copy = |from: &str, to: &str| assert!(fs::copy(here.join(from), here.join(to)).is_ok(), "{from}");
    assert_eq!(code(&release("1", "0")), Some(0));
    copy("dep", "old");
    copy("usb/anchor", "old-anchor");
    assert_eq!(code(&release("2", "0")), Some(0));
    copy("dep", "newest");
    copy("old", "dep");
    ends(&release("2", "0"), 2, &["is an older copy: it has made 1 answers"]);
    // With as many answers, and another one among them.
    copy("old-anchor", "usb/anchor");
    assert_eq!(code(&release("3", "0")), Some(0));
    copy("dep", "forked");
    copy("newest", "dep");
    ends(&release("4", "0"), 2, &["went on by itself"]);
    fs::rename(here.join("usb"), here.join("away")).expect("renamed");
    ends(&release("4", "0"), 2, &["cannot read the anchor"]);
    fs::write(here.join("away/anchor"), "nothing").expect("written");
    fs::rename(here.join("away"), here.join("usb")).expect("renamed");
    refused(here, &words(&["--round", "4", "0", "0.5"]), &["is not the anchor"]);

    // The other party knows the newest answer it was given.
    crate::deployments::three_rows(here, "[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [0.0, 1.0]\n");
    fine(here, &["init", "session", "modeler.toml", "--form", "data-holder"]);
    let take = |round: u64| {
        let row = json(&fine(here, &["ask", "session", "--json"]))["row"].to_string();
        let mut all = words(&[]);
        all[2] = "holder";
        let round = round.to_string();
        let answer = fine(here, &[&all[..], &["--round", &round, &row, "0.5"]].concat());
        fs::write(here.join("answer"), answer).expect("written");
        run(here, &["tell", "--released", "session", &row, "answer"])
    };
    assert_eq!(code(&take(1)), Some(0));
    copy("holder", "old-holder");
    assert_eq!(code(&take(2)), Some(0));
    copy("old-holder", "holder");
    ends(&take(3), 2, &["an older copy of the data holder's file"]);
}

/// Eight programs at once on one file: every answer is paid for once, and none is lost.
#[test]
fn eight_programs_at_once_lose_nothing() {
    let here = &folder();
    fine(here, &words(&["--budget", "epsilon=6", "0", "0.5"]));
    let (n_programs, n_answers) = (8u64, 12u64);
    let outcomes: Vec<Vec<(u64, Option<f64>)>> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..n_programs)
            .map(|program| {
                scope.spawn(move || {
                    let answers = (0..n_answers).map(|at| {
                        // Every program asks for four records, in rounds of its own.
                        let (row, round) = (1 + at % 4, 1 + program * n_answers + at);
                        let (row_text, round) = (row.to_string(), round.to_string());
                        let output =
                            run(here, &["release", "--state", "dep", "--wait", "60", "--round", &round, &row_text, "0.5"]);
                        assert!([Some(0), Some(1)].contains(&code(&output)), "{}", stderr(&output));
                        (row, (code(&output) == Some(0)).then(|| json(&stdout(&output))["released"].as_f64().expect("a number")))
                    });
                    answers.collect::<Vec<_>>()
                })
            })
            .collect();
        started.into_iter().map(|thread| thread.join().expect("a program")).collect()
    });
    let mut given: Vec<f64> = outcomes.iter().flatten().filter_map(|(_, answer)| *answer).collect();
    let mut kept: Vec<f64> = all(here, "dep", "SELECT released FROM releases WHERE record > 0");
    [&mut given, &mut kept].into_iter().for_each(|values| values.sort_by(f64::total_cmp));
    assert_eq!(given, kept, "what was given out is what was kept");
    // 96 questions about four records with a budget of six answers each.
    let counts: Vec<i64> = all(here, "dep", "SELECT count(*) FROM spends WHERE record > 0 GROUP BY record");
    assert_eq!(counts, [6; 4], "no answer is missing, and none too many");
    assert_eq!(one::<i64>(here, "dep", "SELECT count(*) FROM refusals"), (n_programs * n_answers) as i64 - 24);
    fine(here, &["ledger", "dep"]);
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
    fine(here, &["ledger", "dep", "--html", "books.html", "--csv", "books.csv"]);
    refused(here, &["ledger", "dep", "--html", "books.html"], &["there already"]);
    refused(here, &["ledger", "dep", "day.csv", "--html", "other.html"], &["one deployment"]);
    let page = fs::read_to_string(here.join("books.html")).expect("a page");
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
    let list = fs::read_to_string(here.join("books.csv")).expect("a list");
    assert!(list.lines().count() == 7 && !list.contains(",=cmd") && list.contains("'=cmd"), "{list}");
    let epsilon: f64 = one(here, "dep", "SELECT sum(epsilon) FROM answers WHERE id = 'cy'");
    let stated = json(&fine(here, &["ledger", "dep", "--json"]));
    let cy = stated["files"][0]["ledger"]["total"]["records"].as_array().expect("records").last().expect("three").clone();
    assert_eq!((epsilon, cy["epsilon"].as_f64()), (2.0, Some(2.0)));
    ["dep", "books.html", "books.csv"].iter().for_each(|name| assert_private(&here.join(name)));
}

/// One file for a party: several sessions and columns under one budget.
#[test]
fn one_file_holds_sessions_and_columns_under_one_budget() {
    let here = &folder();
    crate::deployments::three_rows(here, "[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [0.0, 1.0]\n");
    fine(here, &["odometer", "dep", "--budget", "epsilon=3", "--filter", "sum", "--rows", "3"]);
    for name in ["first", "second"] {
        fine(here, &["init", "dep", "modeler.toml", "--session", name, "--column", name]);
    }
    refused(here, &["init", "dep", "modeler.toml", "--session", "first"], &["there already"]);
    refused(here, &["init", "dep", "modeler.toml", "--session", "third", "--budget", "epsilon=9"], &["--budget"]);
    refused(here, &["ask", "dep"], &["2 sessions", "--session NAME"]);
    refused(here, &["ask", "dep", "--session", "third"], &["no session `third`", "first, second"]);
    fine(here, &words(&["--column", "third", "0", "0.5"]));
    let mut spent = [1, 0, 0];
    for name in ["first", "second"] {
        for _ in 0..12 {
            let asked = run(here, &["ask", "dep", "--session", name]);
            if code(&asked) != Some(0) {
                assert!(stderr(&asked).contains("epsilon=3"), "{}", stderr(&asked));
                break;
            }
            let row = stdout(&asked);
            fine(here, &["tell", "dep", "--session", name, row.trim(), "0.5"]);
            spent[row.trim().parse::<usize>().expect("a row")] += 1;
        }
    }
    assert!(spent.iter().all(|count| *count <= 3) && spent.contains(&3), "{spent:?}");
    let counts: Vec<i64> = all(here, "dep", "SELECT count(*) FROM spends GROUP BY record ORDER BY record");
    assert_eq!(counts.iter().sum::<i64>(), spent.iter().sum::<i64>());
    assert!(fine(here, &["ledger", "dep"]).starts_with("dep (deployment)"));
}

/// A disk that is full, and a database of somebody else or of a newer program: nothing is spent.
#[test]
fn full_disks_and_foreign_databases_spend_nothing() {
    let here = &folder();
    fine(here, &words(&["0", "0.5"]));
    let spends = || one::<i64>(here, "dep", "SELECT count(*) FROM spends");
    table(here, "day.csv", &(0..4000).map(|_| ("", "0.5")).collect::<Vec<_>>());
    // Files of at most 128 KiB: the journal or the file itself meets the limit.
    let script = "ulimit -f 128; exec \"$0\" release --state dep --table day.csv --value outcome --round 2";
    let output =
        Command::new("bash").args(["-c", script, env!("CARGO_BIN_EXE_privateer")]).current_dir(here).output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(4) && said.contains("nothing was spent") | said.contains("limit"),
        "{:?} {said}",
        output.status
    );
    assert!(output.stdout.is_empty(), "no answer leaves");
    assert_eq!(spends(), 1);
    fine(here, &["ledger", "dep"]);
    alter(here, "foreign", "CREATE TABLE spends (spend_id INTEGER PRIMARY KEY)");
    fs::copy(here.join("dep"), here.join("newer")).expect("copied");
    alter(here, "newer", "PRAGMA user_version = 2");
    for (name, problem) in [("foreign", "not a deployment"), ("newer", "version 2; this program reads version 1")] {
        for command in [&["ledger", name][..], &["release", "--state", name, "0", "0.5"], &["people", name, "--leave", "0"]] {
            refused(here, command, &[problem]);
        }
    }
}

/// One number means one person in all files that count together, and whoever has left is answered about by none of them.
#[test]
fn files_that_count_together_mean_the_same_people() {
    let here = &folder();
    fine(here, &["odometer", "people", "--ids", "--budget", "epsilon=2", "--filter", "sum"]);
    fine(here, &["odometer", "rows", "--rows", "9", "--budget", "epsilon=2", "--filter", "sum"]);
    for odometer in ["people", "rows"] {
        refused(here, &words(&["--ids", "--join", "--odometer", odometer, "ann", "0.5"]), &["by ids", "one file for all"]);
        assert!(!here.join("dep").exists());
    }
    refused(here, &words(&["--odometer", "people", "0", "0.5"]), &["people` names records by ids"]);

    fine(here, &words(&["--odometer", "rows", "0", "0.5"]));
    // A second column counts where the first one does.
    let second = ["--column", "second", "0", "0.5"];
    refused(here, &words(&second), &["counts in the odometer", "--odometer"]);
    fine(here, &words(&[&["--odometer", "rows"], &second[..]].concat()));
    fine(here, &["people", "rows", "--leave", "1"]);
    ends(&run(here, &["release", "--state", "dep", "--column", "reward", "1", "0.5"]), 1, &["has left"]);

    crate::deployments::three_rows(here, "[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [0.0, 1.0]\n");
    fine(here, &["init", "session", "modeler.toml"]);
    let row = fine(here, &["ask", "session"]).trim().to_owned();
    fine(here, &["people", "session", "--leave", &row]);
    for words in [&["ask", "session"][..], &["tell", "session", &row, "0.5"]] {
        ends(&run(here, words), 1, &["has left"]);
    }
}

/// An anchor overwrites no file, and one that is missing was taken away: also after a first table.
#[test]
fn an_anchor_overwrites_nothing_and_is_there_from_the_start() {
    let here = &folder();
    fs::write(here.join("notes"), "precious").expect("written");
    refused(here, &words(&["--anchor", "notes", "0", "0.5"]), &["`notes` is there already"]);
    assert_eq!(fs::read_to_string(here.join("notes")).expect("there"), "precious");
    assert!(!here.join("dep").exists());
    table(here, "day", &[("0", "0.5"), ("1", "0.5"), ("2", "0.5")]);
    fine(here, &words(&["--anchor", "anchor", "--table", "day", "--value", "outcome", "--record", "id", "--round", "1"]));
    fs::remove_file(here.join("anchor")).expect("removed");
    refused(here, &words(&["--round", "2", "0", "0.5"]), &["cannot read the anchor"]);
    fs::write(here.join("anchor"), "another").expect("written");
    refused(
        here,
        &["odometer", "od", "--rows", "9", "--budget", "epsilon=2", "--filter", "sum", "--anchor", "anchor"],
        &["is there already"],
    );
}

/// Curated tables keep the order of times that releases keep.
#[test]
fn a_curated_table_is_never_made_before_the_newest_answer() {
    let here = &folder();
    crate::two_parties::table(here);
    let budget = "epsilon=1000,delta=1e-3";
    fine(here, &["odometer", "od", "--budget", budget, "--filter", "sum", "--rows", "60", "--per", "month"]);
    let at = |out: &str, time: &str| -> Vec<String> {
        let words = crate::two_parties::CURATE.iter().map(|word| if *word == "released.csv" { out } else { word });
        words.chain(["--odometer", "od", "--time", time]).map(str::to_owned).collect()
    };
    let run_at = |out: &str, time: &str| {
        let words = at(out, time);
        run(here, &words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    ends(&run_at("one.csv", "2026-03-02T00:00:00Z"), 0, &[]);
    ends(&run_at("two.csv", "2026-02-03T00:00:00Z"), 2, &["before the newest answer"]);
    assert_eq!(one::<i64>(here, "od", "SELECT count(*) FROM spends"), 1);
}
