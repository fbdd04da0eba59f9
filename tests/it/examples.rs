//! Every example spec runs: with few trials and rounds here, and with the generated synthetic substitute where it names data files.
//!
//! Their recorded numbers, in a small version, are stored as hashes: a change of names, words or structure must not move one of them. A hash
//! covers cell, block, trial, round, point and every measure of one cell, in the order of the rows, whatever columns and labels are called. Where
//! recorded bits change on purpose, they are listed under "Changed results" in the changelog, and `PRIVATEER_UPDATE=1 cargo test recorded` stores
//! the new ones.

use crate::program::*;
use crate::support::*;
use privateer::engine::grouped_warnings;
use privateer::spec::CellPlan;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// What makes an example fit for a test: no data files, no huge domain.
fn changes(text: &str) -> Vec<(&'static str, &'static str)> {
    let changes = [
        ("arms-table", "environment.synthetic", "true"),
        ("contexts-table", "environment.synthetic", "true"),
        ("logged-replay", "environment.synthetic", "true"),
        ("synthetic_rows", "environment.synthetic", "true"),
        ("synthetic_rows", "environment.synthetic_rows", "200"),
        ("dimension = 2, points = 100,", "environment.domain.points", "20"),
        ("[problem]", "problem.test_samples", "50"),
        ("rounds = [1000", "sweep.product.rounds", "[20, 25]"),
        ("points = 10000, radius", "environment.domain.points", "500"),
        ("separation = 64", "privacy.separation", "1"),
        ("points = 1000 }", "environment.domain.points", "30"),
    ];
    let mut needed: Vec<_> =
        changes.into_iter().filter(|(part, ..)| text.contains(part)).map(|(_, key, value)| (key, value)).collect();
    needed.dedup();
    needed
}

/// The same as overrides of a specification.
fn overrides(changes: &[(&str, &str)]) -> Vec<(String, String, String)> {
    changes.iter().map(|(key, value)| (format!("--set {key}="), (*key).to_owned(), (*value).to_owned())).collect()
}

fn examples() -> Vec<PathBuf> {
    // A crate is a program, with a test of its own.
    let mut all = walk(&root().join("examples"), &|folder| !folder.join("Cargo.toml").exists());
    all.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    assert!(!all.is_empty());
    all
}

#[test]
fn every_example_is_sound_as_written() {
    for path in examples() {
        let text = fs::read_to_string(&path).expect("a spec");
        let overrides = overrides(&changes(&text));
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
            let found = grouped_warnings(warned.iter().map(|(label, warnings)| (|| label.clone(), warnings.as_slice())));
            found.refuse(&sweep.accepted).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

#[test]
fn every_example_runs_to_its_report() {
    for path in examples() {
        let here = &folder();
        let text = fs::read_to_string(&path).expect("a spec");
        let (path, out) = (path.display().to_string(), here.join("out").display().to_string());
        let mut words = vec!["run", &path, "--trials", "2", "--out", &out];
        // MoMA with the theorem's number of users needs as many rounds.
        if !text.contains("rounds = [1000") {
            words.extend(["--rounds", if text.contains("334]") { "340" } else { "25" }]);
        }
        let sets: Vec<String> = changes(&text).iter().map(|(key, value)| format!("{key}={value}")).collect();
        words.extend(sets.iter().flat_map(|set| ["--set", set]));
        println!("{words:?}");
        ends(&run(root(), &words), 0, &[]);
        for file in ["report.html", "summary.csv", "manifest.json"] {
            assert!(here.join("out").join(file).is_file(), "{path} has no {file}");
        }
        let page = here.text("out/report.html");
        let answer = answer(&page);
        let n_words = answer.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
        assert!((5..=40).contains(&n_words), "{path}: {answer}");
    }
}

/// Sixteen hexadecimal digits a cell.
fn cells(ran: &Ran) -> BTreeMap<u32, String> {
    let mut by_cell: BTreeMap<u32, Sha256> = BTreeMap::new();
    for (unit, bits) in ran.bits_by_unit() {
        let hash = by_cell.entry(unit.cell).or_default();
        bits.iter().for_each(|word| hash.update(word.to_le_bytes()));
    }
    let short = |hash: Sha256| hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    by_cell.into_iter().map(|(cell, hash)| (cell, short(hash))).collect()
}

#[test]
fn recorded_numbers_of_shipped_specs_stay() {
    let mut text = String::new();
    for path in examples() {
        let spec = fs::read_to_string(&path).expect("a spec");
        let mut sets = changes(&spec);
        sets.push(("trials", "2"));
        if !spec.contains("rounds = [1000") {
            // MoMA with the theorem's number of users needs as many rounds.
            sets.push(("rounds", if spec.contains("334]") { "340" } else { "40" }));
        }
        let sweep = Sweep::parse(&path.display().to_string(), &spec, &overrides(&sets)).unwrap_or_else(|error| panic!("{error}"));
        let ran = ran_of(&sweep);
        let name = path.strip_prefix(root()).expect("an example").display().to_string();
        let _ = writeln!(text, "{name}");
        for (cell, hash) in cells(&ran) {
            let _ = writeln!(text, "  {cell} {hash}");
        }
    }
    assert_current(&data().join("recorded.txt"), &text);
}

#[test]
fn a_changed_number_changes_its_cell() {
    let spec = "rounds = 5\ntrials = 1\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", dimension = 1, points = 10 }\n\
                kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\nnoise = { kind = \"uniform\", bound = 1.0 }\n[[policy]]\nkind = \"uniform\"\n";
    let mut ran = ran(spec);
    let before = cells(&ran);
    let rows = ran.rows.values_mut().next().expect("rows");
    rows[Quantity::Regret][2] = f64::from_bits(rows[Quantity::Regret][2].to_bits() ^ 1);
    assert_ne!(cells(&ran), before);
}
