//! Nothing lost, nothing altered unnoticed: user files, races, altered folders, sessions, hostile text.
#![cfg(unix)]

use crate::database::{content, one, open};
use crate::program::{Folder, code, ends, folder, folder_with, privateer, run, stderr, stdout};
use crate::two_parties::{CURATE, curated, fine, refused, session, spec, table};
use privateer::record::{Manifest, PartId, PreparedFile, Quantity, part_bytes, read_part, rewrite_listed};
use privateer_config::params::Scalar;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
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
const RUN: [&str; 5] = ["run", "spec.toml", "--out", "out", "--quiet"];

fn finished() -> Folder {
    let folder = folder_with(SPEC);
    fine(&folder, &RUN);
    folder
}

#[test]
fn files_of_the_user_are_never_removed() {
    let here = &folder_with(SPEC);
    for name in ["thesis.tmp", "spec.resolved.toml", "cells/c0000-b0000.parquet.9-9.tmp"] {
        let path = here.join("x").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        fs::write(&path, "precious").expect("written");
        ends(&run(here, &["run", "spec.toml", "--out", "x"]), 2, &["is not a results folder", name, "--out"]);
        assert_eq!(fs::read_to_string(&path).expect("still there"), "precious");
        fs::remove_dir_all(here.join("x")).expect("removed");
    }
    // In a results folder they are left alone.
    fine(here, &RUN);
    for name in ["thesis.tmp", "cells/thesis.tmp", "plots/thesis.tmp"] {
        fs::write(here.join("out").join(name), "precious").expect("written");
    }
    fine(here, &RUN);
    fine(here, &["report", "out"]);
    for name in ["thesis.tmp", "cells/thesis.tmp", "plots/thesis.tmp"] {
        assert_eq!(fs::read_to_string(here.join("out").join(name)).expect("still there"), "precious");
    }
}

/// Starts the same command four times at once; returns how many succeeded.
fn at_once(folder: &Path, words: &[&str]) -> usize {
    let start = || privateer(folder).args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
    let running: Vec<_> = (0..4).map(|_| start()).collect();
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
    let here = &folder();
    table(here);
    for _ in 0..10 {
        assert_eq!(at_once(here, &CURATE), 1);
        // A session begins only where the ledger is the one of the released inputs.
        spec(here, "[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
        assert_eq!(at_once(here, &["init", "state", "modeler.toml"]), 1);
        fine(here, &["ask", "state"]);
        for name in ["released.csv", "released.csv.ledger.json", "state"] {
            fs::remove_file(here.join(name)).expect("removed");
        }
    }
    assert_eq!(fs::read_dir(here).expect("folder").count(), 2, "the table and the spec alone are left");
}

/// Replaces a part by one with other texts or rows in it, as somebody could who knows the format.
fn forge(out: &Path, id: PartId, change: impl Fn(&mut privateer::record::CellInfo, &mut privateer::record::Trace)) -> Vec<u8> {
    let manifest = Manifest::load(out).expect("a manifest");
    let (_, mut rows) = read_part(&id.path(out), u64::MAX).expect("a part");
    let mut cell = manifest.cells[id.cell as usize].clone();
    change(&mut cell, &mut rows);
    let bytes = part_bytes(&manifest.spec_hash, id, &cell, &rows).expect("encoded");
    fs::write(id.path(out), &bytes).expect("written");
    bytes
}

#[test]
fn altered_parts_are_noticed_by_every_command() {
    let here = &finished();
    let out = here.join("out");
    let id = PartId { cell: 0, block: 1 };
    let whole = fs::read(id.path(&out)).expect("a part");
    ends(&run(here, &["verify", "out"]), 0, &[]);
    type Change = fn(&mut privateer::record::CellInfo, &mut privateer::record::Trace);
    let changes: [Change; 4] = [
        |cell, _| cell.policy = "igp-ucb".to_owned(),
        |cell, _| cell.environment = "other".to_owned(),
        |cell, _| cell.swept[0].1 = Scalar::Float(8.0),
        |_, rows| rows[Quantity::CumulativeRegret][3] += 1.0,
    ];
    for change in changes {
        forge(&out, id, change);
        let named = "c0000-b0001.parquet";
        ends(&run(here, &["report", "out"]), 2, &[named, "not the file that was written"]);
        ends(&run(here, &["merge", "out", "--out", "all"]), 2, &[named, "not the file that was written"]);
        assert!(!here.join("all").exists());
        ends(&run(here, &["verify", "out"]), 1, &[named, "not the file that was written"]);
        // Said even where only errors are asked for, and computed again.
        ends(&run(here, &RUN), 0, &["warning: ", named, "it will be computed again"]);
        assert!(fs::read(id.path(&out)).expect("a part") == whole);
    }
    for name in ["manifest.json", "spec.resolved.toml", "SHA256SUMS"] {
        let path = out.join(name);
        let bytes = fs::read(&path).expect("a file");
        for at in (0..bytes.len()).step_by(bytes.len() / 5) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            fs::write(&path, &flipped).expect("flipped");
            let verified = run(here, &["verify", "out"]);
            assert!([Some(1), Some(2), Some(4)].contains(&code(&verified)), "{name} byte {at}: {}", stderr(&verified));
        }
        fs::write(&path, &bytes).expect("restored");
    }
    ends(&run(here, &["verify", "out"]), 0, &[]);
    if let Ok(listed) = std::process::Command::new("sha256sum").args(["--quiet", "-c", "SHA256SUMS"]).current_dir(&out).output() {
        assert!(listed.status.success(), "{}", stderr(&listed));
    }
}

#[test]
fn forgery_with_its_digests_is_found_by_computing_again() {
    let here = &finished();
    let out = here.join("out");
    let again = run(here, &["verify", "out", "--rerun", "3"]);
    ends(&again, 0, &["computing 3 parts again"]);
    assert!(stdout(&again).contains("with the same bytes"), "{}", stdout(&again));
    let id = PartId { cell: 2, block: 0 };
    let bytes = forge(&out, id, |_, rows| rows[Quantity::Regret].iter_mut().for_each(|regret| *regret *= 0.5));
    rewrite_listed(&out, &id.listed_name(), &bytes, "write").expect("listed");
    ends(&run(here, &["verify", "out"]), 0, &[]);
    ends(&run(here, &["verify", "out", "--rerun", "99"]), 1, &["`cells/c0002-b0000.parquet` is not what its spec gives"]);
    // A ledger that claims more than the spec gives.
    let mut manifest = Manifest::load(&out).expect("a manifest");
    std::sync::Arc::make_mut(&mut manifest.cells[0].ledger).reward.epsilon = Some(0.1);
    manifest.save(&out).expect("saved");
    ends(&run(here, &["verify", "out", "--rerun", "1"]), 1, &["another ledger for cell 0"]);
}

#[test]
fn folders_of_an_older_version_are_refused_by_name() {
    let here = &finished();
    fs::write(here.join("out/manifest.json"), "{\"schema_version\": 1}").expect("written");
    for words in [&RUN[..], &["report", "out"], &["verify", "out"], &["merge", "out", "--out", "all"]] {
        ends(&run(here, words), 2, &["schema version 1; this program reads version 4", "hint: "]);
    }
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let here = &finished();
    let part = here.join("out/cells/c0001-b0000.parquet");
    fs::remove_file(&part).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&part).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no mkfifo");
        return;
    }
    let started = Instant::now();
    for words in [&RUN[..], &["report", "out"], &["merge", "out", "--out", "all"]] {
        ends(&run(here, words), 2, &["c0001-b0000.parquet", "is not a regular file"]);
    }
    ends(&run(here, &["verify", "out"]), 1, &["is not a regular file"]);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_reward_far_beyond_its_bound_is_refused_and_the_last_one_can_be_taken_back() {
    let (here, _) = &curated();
    session(here, "[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
    refused(here, &["undo", "state"], &["nothing is told so far"]);
    let row = fine(here, &["ask", "state"]);
    let row = row.trim();
    // The totals keep that there was an answer, and the list of commands who made it.
    let state = || {
        let lasting = |(name, _): &(String, _)| !["accounts", "commands"].contains(&name.as_str());
        content(here, "state").into_iter().filter(lasting).collect::<Vec<_>>()
    };
    let before = state();
    for reward in ["1e308", "-1000.1", "1001"] {
        refused(here, &["tell", "state", row, reward], &["more than 1000 times the declared bound of 1"]);
    }
    assert_eq!(state(), before);
    // A mistyped reward that passes is taken back: the file is what it was.
    for reward in ["999", "0.5"] {
        fine(here, &["tell", "state", row, reward]);
        assert_ne!(state(), before);
        if reward == "999" {
            fine(here, &["ask", "state"]);
        }
        ends(&run(here, &["undo", "state"]), 0, &["round 1 is taken back", &format!("row {row} is asked for again")]);
        assert_eq!(state(), before);
    }
    // After several rounds too.
    for reward in ["0.25", "-0.5", "0.125"] {
        let row = fine(here, &["ask", "state"]);
        fine(here, &["tell", "state", row.trim(), reward]);
    }
    let row = fine(here, &["ask", "state"]);
    let asked = state();
    fine(here, &["tell", "state", row.trim(), "7"]);
    fine(here, &["undo", "state"]);
    assert_eq!(state(), asked);

    // What was released is not taken back, and a mechanism clips what is told.
    spec(here, "[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]\n", "kind = \"igp-ucb\"");
    fine(here, &["init", "private", "modeler.toml"]);
    let row = fine(here, &["ask", "private"]);
    fine(here, &["tell", "private", row.trim(), "1e308", "--yes"]);
    refused(here, &["undo", "private"], &["was released with noise"]);
}

#[test]
fn of_releases_at_once_one_spends() {
    let here = &folder();
    table(here);
    for number in 0..10 {
        let (odometer, out) = (format!("od{number}"), format!("rel{number}.csv"));
        fine(here, &["odometer", &odometer, "--budget", "epsilon=1000,delta=1e-3", "--filter", "sum", "--rows", "60"]);
        let words: Vec<&str> = CURATE.iter().map(|word| if *word == "released.csv" { &out } else { *word }).collect();
        assert_eq!(at_once(here, &[&words[..], &["--odometer", &odometer]].concat()), 1);
        assert_eq!(one::<i64>(here, &odometer, "SELECT count(*) FROM spends"), 1);
    }
}

#[test]
fn files_in_use_are_waited_for() {
    let (here, _) = &curated();
    session(here, "[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
    let held = open(here, "state");
    held.execute_batch("BEGIN IMMEDIATE").expect("free");
    for words in [&["ask", "state"][..], &["tell", "state", "0", "0.5"], &["undo", "state"]] {
        ends(&run(here, words), 5, &["`state` is in use by another command", "`--wait SECONDS` waits"]);
    }
    let mut waiting = privateer(here);
    let mut waiting = waiting.args(["ask", "state", "--wait", "600"]).stderr(Stdio::piped()).spawn().expect("started");
    let mut said = String::new();
    BufReader::new(waiting.stderr.as_mut().expect("a pipe")).read_line(&mut said).expect("a line");
    assert_eq!(said, "waiting: `state` is in use by another command\n");
    drop(held);
    ends(&waiting.wait_with_output().expect("ended"), 0, &[]);
    for wrong in ["-1", "nan", "1e9", "soon"] {
        ends(&run(here, &["ask", "state", "--wait", wrong]), 2, &["--wait"]);
    }
}

#[test]
fn bad_ledgers_and_specs_are_bad_input() {
    let (here, _) = &curated();
    spec(here, "[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
    fs::write(here.join("released.csv.ledger.json"), [0xff, 0xfe, b'{']).expect("written");
    refused(here, &["check", "modeler.toml"], &["released.csv.ledger.json", "is not JSON"]);

    // A ledger without its released inputs: nothing tells whether they were given out.
    fs::remove_file(here.join("released.csv")).expect("removed");
    fs::remove_file(here.join("released.csv.ledger.json")).expect("removed");
    fine(here, &CURATE);
    fs::remove_file(here.join("released.csv")).expect("removed");
    refused(here, &CURATE, &["is there without its released inputs"]);
    // Unless another command is about to publish them: then nobody should delete the ledger.
    let living = PreparedFile::write(&here.join("released.csv"), b"x", "write", false).expect("written");
    ends(&run(here, &CURATE), 5, &["`released.csv` is in use by another command", "hint: wait for it"]);
    let waiting = [&CURATE[..], &["--wait", "0.1"]].concat();
    ends(&run(here, &waiting), 5, &["`released.csv` is in use by another command"]);
    drop(living);

    fs::write(here.join("...toml"), SPEC).expect("written");
    refused(here, &["run", "...toml"], &["has no name that a folder could have"]);
    assert!(!here.join("manifest.json").exists());
    let deep = vec!["a"; 30_000].join(".");
    refused(here, &["check", "...toml", "--set", &format!("{deep}=1")], &["has 30000 segments", "at most 32"]);
    let quoted = SPEC.replace("\"privacy.epsilon\"", &format!("\"{}\"", vec!["a"; 14_000].join(".")));
    fs::write(here.join("deep.toml"), quoted).expect("written");
    refused(here, &["check", "deep.toml"], &["has 14000 segments"]);

    // As lines, and on one line: places and explanations cost no more for each of many mistakes.
    let started = Instant::now();
    for (name, n, mistakes) in [
        ("lines.toml", 60_000, (0..60_000).map(|i| format!("k{i} = 1\n")).collect::<String>()),
        (
            "line.toml",
            60_000,
            format!("privacy = {{ {} }}\n", (0..60_000).map(|i| format!("k{i} = 1")).collect::<Vec<_>>().join(", ")),
        ),
    ] {
        let inline = SPEC.replace("[privacy]\nmechanism = \"laplace\"\n", "");
        let spec = if name == "line.toml" { inline } else { SPEC.to_owned() };
        fs::write(here.join(name), format!("{mistakes}{spec}")).expect("written");
        let many = run(here, &["check", name]);
        assert_eq!(code(&many), Some(2));
        let said = stderr(&many);
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
    fs::write(here.join("escape.toml"), labelled("\\u001b]0;owned\\u0007")).expect("written");
    let escape = run(here, &["check", "escape.toml"]);
    ends(&escape, 2, &["holds a control character", "\\u{1b}"]);
    assert!(!stderr(&escape).contains('\u{1b}'), "{}", stderr(&escape));
    // Quoted in a message, raw.
    fs::write(here.join("raw.toml"), "se\u{9b}ed = 1\n").expect("written");
    assert!(!stderr(&run(here, &["check", "raw.toml"])).contains('\u{9b}'));

    fs::write(here.join("spec.toml"), labelled("=HYPERLINK(\\\"http://x\\\")")).expect("written");
    fine(here, &RUN);
    for name in ["summary.csv", "plots/curves.csv"] {
        let text = fs::read_to_string(here.join("out").join(name)).expect("a table");
        let begins = |field: &str| field.starts_with('=') || field.starts_with("\"=");
        assert!(text.contains("'=HYPERLINK") && !text.lines().any(|line| line.split(',').any(begins)), "{text}");
    }
    fs::write(here.join("data.csv"), "=cmd,b\n1,2\n3,4\n").expect("written");
    let mut words = CURATE.to_vec();
    words[3] = "=cmd,b";
    refused(here, &words, &["would take for a formula"]);

    // A folder from somebody else: its labels are shown as text.
    let out = here.join("out");
    let mut manifest = Manifest::load(&out).expect("a manifest");
    manifest.spec_name = "x\u{1b}[2J\u{0}<script>".to_owned();
    manifest.cells[0].policy = "p\u{1}q".to_owned();
    manifest.save(&out).expect("saved");
    fine(here, &["report", "out"]);
    for entry in fs::read_dir(out.join("plots"))
        .expect("plots")
        .map(|entry| entry.expect("an entry").path())
        .chain([out.join("report.html")])
    {
        let text = fs::read_to_string(&entry).expect("text");
        assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{}", entry.display());
        // The page has one script of its own.
        let text = text.replacen("<script>// Conveniences of the page", "", 1);
        assert!(!text.contains("<script"), "{}", entry.display());
    }
}

#[test]
fn a_spec_reads_its_own_folders_alone() {
    let here = &folder();
    table(here);
    for name in ["data", "specs", "elsewhere"] {
        fs::create_dir(here.join(name)).expect("folder");
        fs::copy(here.join("data.csv"), here.join(name).join(format!("{name}.csv"))).expect("copied");
    }
    let write = |file: &str| {
        let text = format!(
            "rounds = 4\n[environment]\nkind = \"points-table\"\nfile = \"{file}\"\ninputs = [\"x\", \"y\"]\nvalue = \"outcome\"\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\nnoise = {{ kind = \"gaussian\", sd = 0.05 }}\n\
             [[policy]]\nkind = \"igp-ucb\"\n"
        );
        fs::write(here.join("specs/s.toml"), text).expect("written");
    };
    let absolute = here.join("elsewhere/elsewhere.csv").display().to_string();
    for (file, allowed) in [
        ("data.csv", true),
        ("../specs/specs.csv", true),
        ("../elsewhere/elsewhere.csv", false),
        ("../../../../../../etc/passwd", false),
        (&absolute, false),
        ("/no/such/file.csv", false),
    ] {
        write(file);
        let check = ["check", "specs/s.toml", "--data", "data"];
        if allowed {
            fine(here, &check);
        } else {
            refused(here, &check, &["outside of the data folder", "--allow-outside"]);
        }
        if file.contains("elsewhere") {
            fine(here, &["check", "specs/s.toml", "--data", "data", "--allow-outside"]);
        }
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../elsewhere/elsewhere.csv", here.join("data/link.csv")).expect("a link");
        std::os::unix::fs::symlink("data.csv", here.join("data/inside.csv")).expect("a link");
        std::os::unix::fs::symlink("../elsewhere", here.join("data/folder")).expect("a link");
        write("inside.csv");
        fine(here, &["check", "specs/s.toml", "--data", "data"]);
        // A link is followed before the rule is asked, wherever in the path it is and whether its file is there or not.
        for file in ["link.csv", "folder/elsewhere.csv", "folder/absent.csv", "folder/../elsewhere/elsewhere.csv"] {
            write(file);
            refused(here, &["check", "specs/s.toml", "--data", "data"], &["outside of the data folder", "--allow-outside"]);
        }
    }
}

/// Starts a run, waits, asks it to end; returns how long it then took.
fn stopped_after(folder: &Path, words: &[&str], wait: Duration) -> Duration {
    let mut child = privateer(folder).args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    std::thread::sleep(wait);
    assert!(child.try_wait().expect("known").is_none(), "over too early for this test");
    let asked = Instant::now();
    let killed = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    assert_eq!(child.wait().expect("ended").code(), Some(4));
    asked.elapsed()
}

#[test]
fn a_run_stops_when_it_is_asked_to_wherever_it_is() {
    let here = &folder();
    // Preparation alone takes minutes: thousands of cells.
    let epsilons: Vec<String> = (1..10_001).map(|i| format!("{i}.0")).collect();
    let many = SPEC.replace("[0.5, 8.0]", &format!("[{}]", epsilons.join(", "))).replace("points = 20 ", "points = 900 ");
    fs::write(here.join("many.toml"), many).expect("written");
    fs::write(here.join("spec.toml"), SPEC.replace("rounds = 20", "rounds = 60000").replace("trials = 4", "trials = 64"))
        .expect("written");
    // A second on an idle machine. Other tests share the cores, with thousands of threads here; what this guards against takes minutes.
    let most = Duration::from_secs(30);
    for words in [&["run", "many.toml"][..], &["run", "spec.toml"], &["run", "spec.toml", "--out", "more", "--threads", "4096"]] {
        let took = stopped_after(here, words, Duration::from_millis(700));
        assert!(took < most, "{words:?} took {took:?}");
    }
}
