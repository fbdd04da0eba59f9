//! What enters: every file that a command is given may be a pipe, a device, a link to itself, a folder, endless or missing, and every
//! stated size may be more than the machine has.
#![cfg(unix)]

use crate::program::*;
use crate::support::*;
use privateer::AskTell;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

/// A reward or a value far outside of the clip, of either sign and any size, spends nothing until `--yes` says that it is meant.
#[test]
fn values_far_outside_of_the_clip_are_asked_about() {
    let here = &curated();
    session(here, "[privacy]\nmechanism = \"hybrid\"\nepsilon = 2.0\nclip = [0.0, 1.0]\n", "kind = \"igp-ucb\"");
    let row = here.ask("state");
    let release = ["release", "--state", "rel", "--mechanism", "hybrid", "--epsilon", "2", "--clip", "0,1", "3"];
    here.fine(&[&release[..9], &["0", "0.5"]].concat());
    for far in ["1e308", "-1e308", "1e6", "-101", "1.7976931348623157e308"] {
        let states = || ["state", "rel"].map(|name| here.bytes(name));
        let before = states();
        here.refused(&["tell", "state", &row, far], &["not shown", "0 to 1", "--yes", "nothing was spent"]);
        here.refused(&[&release[..], &[far]].concat(), &["not shown", "--yes"]);
        assert_eq!(states(), before, "{far}");
    }
    here.fine(&[&release[..], &["1e308", "--yes"]].concat());
    here.fine(&["tell", "state", &row, "1e308", "--yes"]);
    here.answer("state", "-99");
}

/// Runs a command that must end soon; returns its exit code and what it said.
fn ends_soon(here: &Folder, words: &[&str]) -> (Option<i32>, String) {
    let mut child = here.start(words);
    let start = Instant::now();
    while child.try_wait().expect("known").is_none() {
        if Duration::from_secs(20) < start.elapsed() {
            child.kill().expect("killed");
            panic!("{words:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("ended");
    (code(&output), stderr(&output))
}

/// Every place at which a command takes a file from its user; `X` stands for the file.
const PLACES: [&str; 22] = [
    "check X",
    "check table.toml",
    "check ledger.toml",
    "run X",
    "plan X",
    "account X.toml",
    "data X",
    "audit X.toml",
    "init new X",
    "fit X --inputs x,y --value outcome",
    "curate X --columns x,y --epsilon 8 --delta 1e-6 --radius 1 --bound 2 -o o.csv",
    "curate data.csv --columns x,y --epsilon 8 --delta 1e-6 --radius 1 -o o.csv --public X",
    "predict X --points data.csv",
    "ask X",
    "undo X",
    "tell X 0 0.5",
    "tell state 0 X --released",
    "tell state 0 spec.toml --released --key X",
    "release --state X --mechanism hybrid --epsilon 2 --clip 0,1 0 0.5",
    "release --state new --mechanism hybrid --epsilon 2 --clip 0,1 --odometer X 0 0.5",
    "ledger X",
    "audit ledger.json X",
];

#[test]
fn whatever_stands_where_a_file_is_named_is_refused_at_once() {
    let here = &curated();
    session(here, "[privacy]\nmechanism = \"none\"\n", "kind = \"igp-ucb\"");
    here.copy("released.csv.ledger.json", "ledger.json");
    let text = here.text("modeler.toml");
    here.write("table.toml", text.replace("\"released.csv\"", "\"X\""));
    here.write("ledger.toml", text.replace("\"released.csv.ledger.json\"", "\"X\""));
    type Make = fn(&Path);
    let forms: [(&str, Make); 7] = [
        ("pipe", |x| rustix::fs::mknodat(rustix::fs::CWD, x, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe")),
        ("device", |x| symlink("/dev/zero", x).expect("a link")),
        ("loop", |x| symlink(x.file_name().expect("a name"), x).expect("a link")),
        ("folder", |x| fs::create_dir(x).expect("a folder")),
        ("endless", |x| fs::File::create(x).expect("a file").set_len(64 << 30).expect("a sparse file")),
        ("binary", |x| fs::write(x, [0x1f, 0x8b, 0xff, 0x00, 0xfe]).expect("written")),
        ("missing", |_| ()),
    ];
    let mut faults = Vec::new();
    for line in PLACES {
        let name = if line.ends_with("X.toml") { "X.toml" } else { "X" };
        for (form, make) in forms {
            let path = here.join(name);
            make(&path);
            let (code, said) = ends_soon(here, &words(line));
            // A state file that is missing is made, and the files of a folder are audited.
            let may_begin = form == "missing" && line.starts_with("release --state X")
                || form == "folder" && line.starts_with("audit ledger.json");
            let verdict = code == Some(2) && ["hint: ", "expected "].iter().any(|advice| said.contains(advice));
            let forbidden = ["--out DIR", "remove the folder", "panicked"];
            if !(verdict || may_begin) || forbidden.iter().any(|text| said.contains(text)) {
                faults.push(format!("{form}: {line}: {code:?}, {said}"));
            }
            drop(fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)));
            drop(fs::remove_file(here.join("new")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What would need more memory than the process may take is refused before it is made, also below `limits.memory_gib`.
#[test]
fn sizes_beyond_the_machine_are_refused_before_they_are_made() {
    let here = &folder();
    let wide = "trials = 1\nrounds = 10\naccepted_warnings = [\"delta\"]\n[problem]\nkind = \"linear-regression\"\ndimension = 65535\n\
                set = { kind = \"lp-ball\", p = 1.5, radius = 2.0 }\n[privacy]\nepsilon = 1.0\n[[learner]]\nkind = \"dp-tofw\"\n";
    here.write("wide.toml", wide);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/million-points.toml");
    // `growth` 1 lists each round as a release.
    let long = |growth: &str| {
        format!(
            "trials = 1\nrounds = 2147483648\naccepted_warnings = [\"delta\"]\n[environment]\nkind = \"generalized-linear\"\n\
             dimension = 8\narms = 2\nnoise = \"none\"\n[privacy]\nepsilon = 1.0\nclip = [-1.0, 1.0]\n[[policy]]\n\
             kind = \"dp-linucb\"\n{growth}"
        )
    };
    for (name, growth) in [("long.toml", "growth = 1.0"), ("slow.toml", "growth = 1.000000001"), ("short.toml", "growth = 1.1")] {
        here.write(name, long(growth));
    }
    here.fine(&["account", "short.toml"]);
    for (command, spec) in [("check", "wide.toml"), ("check", example), ("account", "long.toml"), ("account", "slow.toml")] {
        let output = here.shell(&format!("ulimit -v 2000000; exec privateer {command} '{spec}'"));
        ends(&output, 2, &["would need", "hint: lower"]);
        let said = stderr(&output);
        assert!(["ulimit -v", "limits.memory_gib"].iter().any(|text| said.contains(text)), "{spec}: {said}");
    }
    let text = "trials = 1\nrounds = 3\n[environment]\nkind = \"rkhs\"\nnoise = \"none\"\ndomain = { kind = \"grid\", points = 5 }\n\
                kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\n[[policy]]\nkind = \"igp-ucb\"\n";
    prepared(text, &DataFolder::default(), |sweep, preparation| {
        let start = |n| AskTell::new(preparation, &sweep.cells[0], 0..n).map(drop);
        start(3).expect("three trials");
        for n in [1_000_000_000, 1_000_000_000_000, u64::MAX] {
            assert!(start(n).expect_err("too many").to_string().contains("trials would need"), "{n}");
        }
    });
}
