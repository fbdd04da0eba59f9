//! Every example spec runs: with few trials and rounds here, and with the generated synthetic substitute where it names data files.

use privateer::engine::{Preparation, grouped_warnings};
use privateer::env::DataFolder;
use privateer::spec::{CellPlan, Sweep};
use privateer_backend::Cpu;
use std::path::{Path, PathBuf};
use std::process::Command;

fn specs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("examples").map(|entry| entry.expect("an entry").path()) {
        // A crate is a program, with a test of its own.
        if entry.is_dir() && !entry.join("Cargo.toml").exists() {
            found.extend(specs(&entry));
        } else if entry.is_file() && entry.extension().is_some_and(|extension| extension == "toml") {
            found.push(entry);
        }
    }
    found.sort();
    found
}

/// What makes an example fit for a test: no data files, no huge domain.
pub fn changes(text: &str) -> Vec<(&'static str, &'static str)> {
    let mut changes = Vec::new();
    if ["arms-table", "contexts-table", "logged-replay", "synthetic_rows"].iter().any(|kind| text.contains(kind)) {
        changes.push(("environment.synthetic", "true"));
    }
    if text.contains("synthetic_rows") {
        changes.push(("environment.synthetic_rows", "200"));
    }
    if text.contains("dimension = 2, points = 100,") {
        changes.push(("environment.domain.points", "20"));
    }
    if text.contains("[problem]") {
        changes.push(("problem.test_samples", "50"));
    }
    if text.contains("rounds = [1000") {
        changes.push(("sweep.product.rounds", "[20, 25]"));
    }
    if text.contains("points = 10000, radius") {
        changes.push(("environment.domain.points", "500"));
    }
    if text.contains("separation = 64") {
        changes.push(("privacy.separation", "1"));
    }
    if text.contains("points = 1000 }") {
        changes.push(("environment.domain.points", "30"));
    }
    changes
}

pub fn examples() -> Vec<PathBuf> {
    let all = specs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"));
    assert!(!all.is_empty());
    all
}

#[test]
fn every_example_is_sound_as_written() {
    for path in examples() {
        let text = std::fs::read_to_string(&path).expect("a spec");
        let overrides: Vec<_> = changes(&text)
            .into_iter()
            .map(|(path, value)| (format!("--set {path}="), path.to_owned(), value.to_owned()))
            .collect();
        let sweep = Sweep::parse(&path.display().to_string(), &text, &overrides).unwrap_or_else(|error| panic!("{error}"));
        assert!(text.starts_with("# "), "{} opens with what it shows", path.display());
        assert!(text.lines().count() <= 80, "{} is longer than 80 lines", path.display());
        let (data, backend) = (DataFolder::default(), Cpu::default());
        let preparation = Preparation::new(&sweep, &data, &backend);
        let facts_of = |cell: &CellPlan| {
            let facts = preparation.facts_in_short(cell).unwrap_or_else(|error| panic!("{}: {error}", cell.label()));
            (cell.label(), facts.warnings)
        };
        let warned: Vec<_> = sweep.cells.iter().map(facts_of).collect();
        // What misleads is meant and said to be; data that stand in for others may mislead in other ways.
        if overrides.is_empty() {
            let found = grouped_warnings(warned.iter().map(|(label, warnings)| (label.as_str(), warnings.as_slice())));
            found.refuse(&sweep.accepted).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

#[test]
fn every_example_runs_to_its_report() {
    let out = tempfile::tempdir().expect("a temporary folder");
    for (i, path) in examples().into_iter().enumerate() {
        // Papers may have specs of the same name.
        let folder = out.path().join(format!("{i}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_privateer"));
        let text = std::fs::read_to_string(&path).expect("a spec");
        // MoMA with the theorem's number of users needs as many rounds.
        let rounds = if text.contains("334]") { "340" } else { "25" };
        command.arg("run").arg(&path).args(["--trials", "2"]).arg("--out").arg(&folder);
        if !text.contains("rounds = [1000") {
            command.args(["--rounds", rounds]);
        }
        for (path, value) in changes(&text) {
            command.arg("--set").arg(format!("{path}={value}"));
        }
        let output = command.output().expect("the program runs");
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
        for file in ["report.html", "summary.csv", "manifest.json"] {
            assert!(folder.join(file).is_file(), "{} has no {file}", path.display());
        }
        let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
        let answer = page.split("<p class=\"answer\">").nth(1).and_then(|rest| rest.split("</p>").next()).expect("an answer");
        let n_words = answer.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
        assert!((5..=40).contains(&n_words), "{}: {answer}", path.display());
    }
}
