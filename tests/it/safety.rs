//! Nothing lost, nothing altered unnoticed: user files, races, altered folders, sessions, hostile text.
#![cfg(unix)]

use crate::cluster::script;
use crate::program::*;
use privateer::record::{CellInfo, Manifest, PartId, PreparedFile, Quantity, Trace, part_bytes, read_part, rewrite_listed};
use privateer_config::params::Scalar;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

const SPEC: &str = r#"
name = "safety"
seed = 5
rounds = 20
trials = 4
block = 2
record = { rounds = "all" }
[environment]
kind = "rkhs"
domain = { kind = "grid", dimension = 1, points = 20 }
kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }
noise = { kind = "uniform", bound = 1.0 }
[privacy]
mechanism = "laplace"
[[policy]]
kind = "tgp-ucb"
[[policy]]
kind = "igp-ucb"
[sweep.product]
"privacy.epsilon" = [0.5, 8.0]
"#;

#[test]
fn files_of_the_user_are_never_removed() {
    let here = &folder_with(SPEC);
    for name in ["thesis.tmp", ".lock", "spec.resolved.toml", "cells/c0000-b0000.parquet.9-9.tmp"] {
        let path = format!("x/{name}");
        here.write(&path, "precious");
        here.ends(&["run", "spec.toml", "--out", "x"], 2, &["is not a results folder", name, "--out"]);
        assert_eq!(here.text(&path), "precious");
        fs::remove_dir_all(here.join("x")).expect("removed");
    }
    // In a results folder they are left alone.
    here.fine(&RUN);
    let names = ["out/thesis.tmp", "out/cells/thesis.tmp", "out/plots/thesis.tmp"];
    names.iter().for_each(|name| here.write(name, "precious"));
    here.fine(&RUN);
    here.fine(&["report", "out"]);
    names.iter().for_each(|name| assert_eq!(here.text(name), "precious"));
}

/// Starts the same command four times at once; returns how many succeeded.
fn at_once(folder: &Folder, words: &[&str]) -> usize {
    let running: Vec<_> = (0..4).map(|_| folder.start(words)).collect();
    let outputs = running.into_iter().map(|child| child.wait_with_output().expect("ended"));
    let mut n_done = 0;
    for output in outputs {
        match code(&output) {
            Some(0) => n_done += 1,
            Some(5) => ends(&output, 5, &["is in use by another command", "`--wait SECONDS`"]),
            _ => ends(&output, 2, &["is there already", "hint: "]),
        }
    }
    n_done
}

#[test]
fn of_commands_at_once_one_makes_the_release_or_the_session() {
    let here = &with_table();
    for _ in 0..10 {
        assert_eq!(at_once(here, &CURATE), 1);
        // A session begins only where the ledger is the one of the released inputs.
        spec(here, "[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
        assert_eq!(at_once(here, &["init", "state", "modeler.toml"]), 1);
        here.ask("state");
        for name in ["released.csv", "released.csv.ledger.json", "state"] {
            here.remove(name);
        }
    }
    assert_eq!(listed(here).len(), 2, "the table and the spec alone are left");
}

/// Replaces a part by one with other texts or rows in it, as somebody could who knows the format.
fn forge(out: &Path, id: PartId, change: impl Fn(&mut CellInfo, &mut Trace)) -> Vec<u8> {
    let manifest = Manifest::load(out).expect("a manifest");
    let (_, mut rows) = read_part(&id.path(out), u64::MAX).expect("a part");
    let mut cell = manifest.cells[id.cell as usize].clone();
    change(&mut cell, &mut rows[0]);
    let bytes = part_bytes(&manifest.spec_hash, id, &[cell], &rows).expect("encoded");
    fs::write(id.path(out), &bytes).expect("written");
    bytes
}

#[test]
fn altered_parts_are_noticed_by_every_command() {
    let here = &finished(SPEC);
    let out = here.join("out");
    let id = PartId { cell: 0, block: 1 };
    let whole = fs::read(id.path(&out)).expect("a part");
    here.ends(&["verify", "out"], 0, &[]);
    let changes: [fn(&mut CellInfo, &mut Trace); 4] = [
        |cell, _| cell.policy = "igp-ucb".into(),
        |cell, _| cell.environment = "other".into(),
        |cell, _| cell.swept = cell.swept.iter().map(|(key, _)| (key.clone(), Scalar::Float(8.0))).collect(),
        |_, rows| rows[Quantity::CumulativeRegret][3] += 1.0,
    ];
    for change in changes {
        forge(&out, id, change);
        let named = "c0000-b0001.parquet";
        for (words, expected) in [(&["report", "out"][..], 2), (&["merge", "out", "--out", "all"], 2), (&["verify", "out"], 1)] {
            here.ends(words, expected, &[named, "not the file that was written"]);
            assert!(!here.holds("all"));
        }
        // Said even where only errors are asked for, and computed again.
        here.ends(&RUN, 0, &["warning: ", named, "it will be computed again"]);
        assert!(fs::read(id.path(&out)).expect("a part") == whole);
    }
    for name in ["manifest.json", "spec.resolved.toml", "SHA256SUMS"] {
        let path = format!("out/{name}");
        let bytes = here.bytes(&path);
        for at in (0..bytes.len()).step_by(bytes.len() / 5) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            here.write(&path, &flipped);
            let verified = here.run(&["verify", "out"]);
            assert!([Some(1), Some(2), Some(4)].contains(&code(&verified)), "{name} byte {at}: {}", stderr(&verified));
        }
        here.write(&path, &bytes);
    }
    here.ends(&["verify", "out"], 0, &[]);
    if let Ok(listed) = Command::new("sha256sum").args(["--quiet", "-c", "SHA256SUMS"]).current_dir(&out).output() {
        assert!(listed.status.success(), "{}", stderr(&listed));
    }
}

#[test]
fn forgery_with_its_digests_is_found_by_computing_again() {
    let here = &finished(SPEC);
    let out = here.join("out");
    let again = here.ends(&["verify", "out", "--rerun", "3"], 0, &["computing 3 parts again"]);
    assert!(stdout(&again).contains("with the same bytes"), "{}", stdout(&again));
    let id = PartId { cell: 2, block: 0 };
    let bytes = forge(&out, id, |_, rows| rows[Quantity::Regret].iter_mut().for_each(|regret| *regret *= 0.5));
    rewrite_listed(&out, &id.listed_name(), &bytes, "write").expect("listed");
    here.ends(&["verify", "out"], 0, &[]);
    here.ends(&["verify", "out", "--rerun", "99"], 1, &["`cells/c0002-b0000.parquet` is not what its spec gives"]);
    // A ledger that claims more than the spec gives.
    let mut manifest = Manifest::load(&out).expect("a manifest");
    std::sync::Arc::make_mut(&mut manifest.cells[0].ledger).reward.epsilon = Some(0.1);
    manifest.save(&out).expect("saved");
    here.ends(&["verify", "out", "--rerun", "1"], 1, &["another ledger for cell 0"]);
}

#[test]
fn folders_of_an_older_version_are_refused_by_name() {
    let here = &finished(SPEC);
    here.write("out/manifest.json", "{\"schema_version\": 1}");
    for words in [&RUN[..], &["report", "out"], &["verify", "out"], &["merge", "out", "--out", "all"]] {
        here.ends(words, 2, &["schema version 1; this program reads version 5", "hint: "]);
    }
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let here = &finished(SPEC);
    let part = "out/cells/c0001-b0000.parquet";
    here.remove(part);
    let made = Command::new("mkfifo").arg(here.join(part)).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no mkfifo");
        return;
    }
    let started = Instant::now();
    for words in [&RUN[..], &["report", "out"], &["merge", "out", "--out", "all"]] {
        here.ends(words, 2, &["c0001-b0000.parquet", "is not a regular file"]);
    }
    here.ends(&["verify", "out"], 1, &["is not a regular file"]);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_reward_far_beyond_its_bound_is_refused_and_the_last_one_can_be_taken_back() {
    let here = &curated();
    session(here, "[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
    here.refused(&["undo", "state"], &["nothing is told so far"]);
    let row = &here.ask("state");
    // The totals keep that there was an answer, and the list of commands who made it.
    let state = || {
        let lasting = |(name, _): &(String, _)| !["accounts", "commands"].contains(&name.as_str());
        here.content("state").into_iter().filter(lasting).collect::<Vec<_>>()
    };
    let before = state();
    for reward in ["1e308", "-1000.1", "1001"] {
        here.refused(&["tell", "state", row, reward], &["more than 1000 times the declared bound of 1"]);
    }
    assert_eq!(state(), before);
    // A mistyped reward that passes is taken back: the file is what it was.
    for reward in ["999", "0.5"] {
        here.fine(&["tell", "state", row, reward]);
        assert_ne!(state(), before);
        if reward == "999" {
            here.ask("state");
        }
        here.ends(&["undo", "state"], 0, &["round 1 is taken back", &format!("row {row} is asked for again")]);
        assert_eq!(state(), before);
    }
    // After several rounds too.
    for reward in ["0.25", "-0.5", "0.125"] {
        here.answer("state", reward);
    }
    let row = here.ask("state");
    let asked = state();
    here.fine(&["tell", "state", &row, "7"]);
    here.fine(&["undo", "state"]);
    assert_eq!(state(), asked);

    // What was released is not taken back, and a mechanism clips what is told.
    spec(here, LAPLACE, "kind = \"igp-ucb\"");
    here.fine(&["init", "private", "modeler.toml"]);
    here.fine(&["tell", "private", &here.ask("private"), "1e308", "--yes"]);
    here.refused(&["undo", "private"], &["was released with noise"]);
}

#[test]
fn of_releases_at_once_one_spends() {
    let here = &with_table();
    for number in 0..10 {
        let (odometer, out) = (format!("od{number}"), format!("rel{number}.csv"));
        here.fine(&["odometer", &odometer, "--budget", "epsilon=1000,delta=1e-3", "--filter", "sum", "--rows", "60"]);
        assert_eq!(at_once(here, &curate_with(&[("-o", &out), ("--odometer", &odometer)])), 1);
        assert_eq!(here.one::<i64>(&odometer, "SELECT count(*) FROM spends"), 1);
    }
}

#[test]
fn files_in_use_are_waited_for() {
    let here = &curated();
    session(here, "[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
    let held = here.database("state");
    held.execute_batch("BEGIN IMMEDIATE").expect("free");
    for words in [&["ask", "state"][..], &["tell", "state", "0", "0.5"], &["undo", "state"]] {
        here.ends(words, 5, &["`state` is in use by another command", "`--wait SECONDS` waits"]);
    }
    let mut waiting = here.start(&["ask", "state", "--wait", "600"]);
    let mut said = String::new();
    BufReader::new(waiting.stderr.as_mut().expect("a pipe")).read_line(&mut said).expect("a line");
    assert_eq!(said, "waiting: `state` is in use by another command\n");
    drop(held);
    ends(&waiting.wait_with_output().expect("ended"), 0, &[]);
    for wrong in ["-1", "nan", "1e9", "soon"] {
        here.ends(&["ask", "state", "--wait", wrong], 2, &["--wait"]);
    }
}

#[test]
fn bad_ledgers_and_specs_are_bad_input() {
    let here = &curated();
    spec(here, "[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
    here.write("released.csv.ledger.json", [0xff, 0xfe, b'{']);
    here.refused(&["check", "modeler.toml"], &["released.csv.ledger.json", "is not JSON"]);

    // A ledger without its released inputs: nothing tells whether they were given out.
    here.remove("released.csv");
    here.remove("released.csv.ledger.json");
    here.fine(&CURATE);
    here.remove("released.csv");
    here.refused(&CURATE, &["is there without its released inputs"]);
    // Unless another command is about to publish them: then nobody should delete the ledger.
    let living = PreparedFile::write(&here.join("released.csv"), b"x", "write", false).expect("written");
    here.ends(&CURATE, 5, &["`released.csv` is in use by another command", "hint: wait for it"]);
    here.ends(&curate_with(&[("--wait", "0.1")]), 5, &["`released.csv` is in use by another command"]);
    drop(living);

    here.write("...toml", SPEC);
    here.refused(&["run", "...toml"], &["has no name that a folder could have"]);
    assert!(!here.holds("manifest.json"));
    let deep = vec!["a"; 30_000].join(".");
    here.refused(&["check", "...toml", "--set", &format!("{deep}=1")], &["has 30000 segments", "at most 32"]);
    here.write("deep.toml", SPEC.replace("\"privacy.epsilon\"", &format!("\"{}\"", vec!["a"; 14_000].join("."))));
    here.refused(&["check", "deep.toml"], &["has 14000 segments"]);

    // As lines, and on one line: places and explanations cost no more for each of many mistakes.
    let started = Instant::now();
    let n = 60_000;
    let keys: Vec<String> = (0..n).map(|i| format!("k{i} = 1")).collect();
    let inline = SPEC.replace("[privacy]\nmechanism = \"laplace\"\n", "");
    for (name, text) in [
        ("lines.toml", format!("{}\n{SPEC}", keys.join("\n"))),
        ("line.toml", format!("privacy = {{ {} }}\n{inline}", keys.join(", "))),
    ] {
        here.write(name, text);
        let said = stderr(&here.ends(&["check", name], 2, &[]));
        assert!(said.contains("`k9`") && !said.contains("`k300`") && said.len() < 200_000, "{}", said.len());
        let more: usize =
            said.split("and ").last().and_then(|rest| rest.split(' ').next()).and_then(|n| n.parse().ok()).expect("a number");
        assert!(n - 20 <= more && said.matches("error: ").count() == 20, "{more}");
    }
    assert!(started.elapsed() < Duration::from_secs(20), "quadratic time took over a minute: {:?}", started.elapsed());
}

#[test]
fn control_characters_and_formulas_reach_nobody() {
    let here = &folder();
    let labelled = |label: &str| SPEC.replacen("kind = \"tgp-ucb\"", &format!("kind = \"tgp-ucb\"\nlabel = \"{label}\""), 1);
    here.write("escape.toml", labelled("\\u001b]0;owned\\u0007"));
    let escape = here.ends(&["check", "escape.toml"], 2, &["holds a control character", "\\u{1b}"]);
    assert!(!stderr(&escape).contains('\u{1b}'), "{}", stderr(&escape));
    // Quoted in a message, raw.
    here.write("raw.toml", "se\u{9b}ed = 1\n");
    assert!(!stderr(&here.run(&["check", "raw.toml"])).contains('\u{9b}'));

    here.write("spec.toml", labelled("=HYPERLINK(\\\"http://x\\\")"));
    here.fine(&RUN);
    for name in ["out/summary.csv", "out/plots/curves.csv"] {
        let text = here.text(name);
        let begins = |field: &str| field.starts_with('=') || field.starts_with("\"=");
        assert!(text.contains("'=HYPERLINK") && !text.lines().any(|line| line.split(',').any(begins)), "{text}");
    }
    here.write("data.csv", "=cmd,b\n1,2\n3,4\n");
    here.refused(&curate_with(&[("--columns", "=cmd,b")]), &["would take for a formula"]);

    // A folder from somebody else: its labels are shown as text.
    let out = here.join("out");
    let mut manifest = Manifest::load(&out).expect("a manifest");
    manifest.spec_name = "x\u{1b}[2J\u{0}<script>".to_owned();
    manifest.cells[0].policy = "p\u{1}q".into();
    manifest.save(&out).expect("saved");
    here.fine(&["report", "out"]);
    for entry in listed(&out.join("plots")).into_iter().chain([out.join("report.html")]) {
        let text = fs::read_to_string(&entry).expect("text");
        assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{}", entry.display());
        // The page has one script of its own.
        let text = text.replacen("<script>// Conveniences of the page", "", 1);
        assert!(!text.contains("<script"), "{}", entry.display());
    }
}

#[test]
fn a_spec_reads_its_own_folders_alone() {
    let here = &with_table();
    for name in ["data", "specs", "elsewhere"] {
        here.write(&format!("{name}/{name}.csv"), here.bytes("data.csv"));
    }
    let write = |file: &str| {
        let text = format!(
            "rounds = 4\n[environment]\nkind = \"points-table\"\nfile = \"{file}\"\ninputs = [\"x\", \"y\"]\nvalue = \"outcome\"\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\nnoise = {{ kind = \"gaussian\", sd = 0.05 }}\n\
             [[policy]]\nkind = \"igp-ucb\"\n"
        );
        here.write("specs/s.toml", text);
    };
    std::os::unix::fs::symlink("../elsewhere/elsewhere.csv", here.join("data/link.csv")).expect("a link");
    std::os::unix::fs::symlink("data.csv", here.join("data/inside.csv")).expect("a link");
    std::os::unix::fs::symlink("../elsewhere", here.join("data/folder")).expect("a link");
    let absolute = here.join("elsewhere/elsewhere.csv").display().to_string();
    for (file, allowed) in [
        ("data.csv", true),
        ("inside.csv", true),
        ("../specs/specs.csv", true),
        ("../elsewhere/elsewhere.csv", false),
        ("../../../../../../etc/passwd", false),
        (&absolute, false),
        ("/no/such/file.csv", false),
        // A link is followed before the rule is asked, wherever in the path it is and whether its file is there or not.
        ("link.csv", false),
        ("folder/elsewhere.csv", false),
        ("folder/absent.csv", false),
        ("folder/../elsewhere/elsewhere.csv", false),
    ] {
        write(file);
        let check = ["check", "specs/s.toml", "--data", "data"];
        if allowed {
            here.fine(&check);
        } else {
            here.refused(&check, &["outside of the data folder", "--allow-outside"]);
        }
        if ["../elsewhere/elsewhere.csv", &absolute].contains(&file) {
            here.fine(&[&check[..], &["--allow-outside"]].concat());
        }
    }
}

/// Files that lie beside a spec are taken in any folder, unless a folder is stated.
#[test]
fn data_beside_a_spec_is_found_from_any_folder() {
    let here = &with_table();
    let table = here.text("data.csv");
    here.write("specs/points.csv", &table);
    here.write("data/other.csv", &table);
    let spec = |mechanism: &str| {
        format!(
            "rounds = 4\ntrials = 1\n[environment]\nkind = \"points-table\"\nfile = \"points.csv\"\ninputs = [\"x\", \"y\"]\n\
             value = \"outcome\"\nkernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\n\
             noise = {{ kind = \"gaussian\", sd = 0.05 }}\n{mechanism}[[policy]]\nkind = \"tgp-ucb\"\n"
        )
    };
    here.write("specs/s.toml", spec("[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]\n"));
    for command in
        ["check specs/s.toml", "plan specs/s.toml", "run specs/s.toml --out out", "run specs/s.toml --out free --allow-outside"]
    {
        here.fine(&words(command));
    }
    let session = here.text("specs/s.toml").replace("value = \"outcome\"", "units = \"rewards\"\nbound = [-1.0, 1.0]");
    here.write("specs/session.toml", session);
    here.fine(&words("init state specs/session.toml"));
    here.fine(&words("ask state"));
    here.refused(&words("check specs/s.toml --data data"), &["data file `points.csv` is not in `data`\n"]);
    // Fewer rows, so that the card tells the two apart.
    let fewer: String = table.lines().take(5).map(|line| format!("{line}\n")).collect();
    here.write("points.csv", fewer);
    let card = |words: &[&str]| here.fine(words).lines().find(|line| line.contains("  table ")).map(str::to_owned);
    let (own, of_data) = (card(&words("check specs/s.toml")), card(&words("check specs/s.toml --data .")));
    assert!(own.is_some() && own != of_data, "{own:?} {of_data:?}");
    // Before the folder that the environment names, which is searched before the working folder.
    let with_variable = |folder: &str| {
        let mut command = privateer(here);
        command.env("PRIVATEER_DATA", here.join(folder)).args(["check", "specs/s.toml"]);
        let output = command.output().expect("it runs");
        let said = stdout(&output).lines().find(|line| line.contains("  table ")).map(str::to_owned);
        (code(&output), said)
    };
    here.write("data/points.csv", table.lines().take(7).map(|line| format!("{line}\n")).collect::<String>());
    let of_variable = card(&words("check specs/s.toml --data data"));
    assert!(of_variable.is_some() && of_variable != of_data);
    assert_eq!(with_variable("data"), (Some(0), own.clone()));
    // Of two specs each has its own, in either order; another spec's folder is not searched.
    for name in ["a", "b"] {
        here.write(&format!("{name}/s.toml"), here.text("specs/s.toml"));
    }
    here.write("a/points.csv", here.text("data/points.csv"));
    here.write("b/points.csv", &table);
    let cards = |specs: &str| -> Vec<String> {
        let said = here.fine(&words(&format!("check {specs}")));
        said.lines().filter(|line| line.contains("  table ")).map(str::to_owned).collect()
    };
    let (a, b) = (of_variable.clone().expect("a card"), own.clone().expect("a card"));
    assert_eq!(cards("a/s.toml b/s.toml"), [a.clone(), b.clone()]);
    assert_eq!(cards("b/s.toml a/s.toml"), [b, a]);
    fs::rename(here.join("a/s.toml"), here.join("a/t.toml")).expect("renamed");
    for order in ["run a/t.toml b/s.toml --out both", "run b/s.toml a/t.toml --out other"] {
        here.fine(&words(order));
    }
    for name in ["s", "t"] {
        let part = |out: &str| here.bytes(&format!("{out}/{name}/cells/c0000-b0000.parquet"));
        assert_eq!(part("both"), part("other"), "{name}");
    }
    assert_eq!(here.bytes("both/s/cells/c0000-b0000.parquet"), here.bytes("out/cells/c0000-b0000.parquet"));
    assert_ne!(here.text("both/s/manifest.json"), here.text("both/t/manifest.json"));
    assert_eq!(here.fine(&words("data a/t.toml b/s.toml")).matches("points.csv").count(), 2);
    // A link out of the spec's folder is refused, and no other file taken in its place.
    std::os::unix::fs::symlink("../data/points.csv", here.join("b/link.csv")).expect("a link");
    here.write("link.csv", &table);
    here.write("b/link.toml", here.text("b/s.toml").replace("points.csv", "link.csv"));
    here.fine(&words("check b/link.toml"));
    let elsewhere = tempfile::tempdir().expect("a folder");
    fs::write(elsewhere.path().join("points.csv"), &table).expect("written");
    fs::remove_file(here.join("b/link.csv")).expect("removed");
    std::os::unix::fs::symlink(elsewhere.path().join("points.csv"), here.join("b/link.csv")).expect("a link");
    here.refused(&words("check b/link.toml"), &["outside of the data folder", "--allow-outside"]);
    here.fine(&words("check b/link.toml --allow-outside"));
    // A question about a spec's problem takes the data of a run.
    let asked = here.fine(&words("new --spec specs/s.toml --out asked"));
    assert!(asked.contains("go on:  privateer run asked/spec.toml --data specs\n"), "{asked}");
    // So do the tasks of a job, which play a copy of the spec.
    here.fine(&words("slurm specs/s.toml --tasks 1 --out job"));
    ends(&script(&here.join("job"), 0).output().expect("a shell"), 0, &[]);
    assert_eq!(here.bytes("job/task-0/cells/c0000-b0000.parquet"), here.bytes("out/cells/c0000-b0000.parquet"));
    fs::remove_file(here.join("specs/points.csv")).expect("removed");
    assert_eq!(card(&words("check specs/s.toml")), of_data);
    assert_eq!(with_variable("data"), (Some(0), of_variable));
    fs::remove_file(here.join("points.csv")).expect("removed");
    here.refused(&words("check specs/s.toml"), &["is not in the working folder, nor beside the spec"]);
}

/// Starts a run, waits, asks it to end; returns how long it then took.
fn stopped_after(folder: &Folder, words: &[&str], wait: Duration) -> Duration {
    let mut child = folder.start(words);
    std::thread::sleep(wait);
    assert!(child.try_wait().expect("known").is_none(), "over too early for this test");
    let asked = Instant::now();
    signal(&child, "TERM");
    ends(&child.wait_with_output().expect("ended"), 4, &[]);
    asked.elapsed()
}

#[test]
fn a_run_stops_when_it_is_asked_to_wherever_it_is() {
    let here = &folder();
    // Preparation alone takes minutes: thousands of cells.
    let epsilons: Vec<String> = (1..10_001).map(|i| format!("{i}.0")).collect();
    let many = SPEC.replace("[0.5, 8.0]", &format!("[{}]", epsilons.join(", "))).replace("points = 20 ", "points = 900 ");
    here.write("many.toml", many);
    here.write("spec.toml", SPEC.replace("rounds = 20", "rounds = 60000").replace("trials = 4", "trials = 64"));
    // A second on an idle machine. Other tests share the cores; what this guards against takes minutes.
    let most = Duration::from_secs(30);
    for words in [&["run", "many.toml"][..], &["run", "spec.toml"], &["run", "spec.toml", "--out", "more", "--threads", "4096"]] {
        let took = stopped_after(here, words, Duration::from_millis(700));
        assert!(took < most, "{words:?} took {took:?}");
    }
}
