//! Results folders from outside: equal runs are equal file by file, and `verify` names every altered file that people read.

use crate::problems::sweep_with_parameters;
use crate::program::{Folder, code, ends, folder_with, run, stderr};
use crate::two_parties::fine;
use privateer::record::verify;
use privateer::report::compare_report;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Eight parts, those of references among them; four have released parameters.
fn folder_with_spec() -> Folder {
    folder_with(&sweep_with_parameters("[sweep.product]\n\"privacy.epsilon\" = [1.0, 4.0]\n"))
}

/// Returns every file below a folder but the two that hold what the machine did.
fn files(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![out.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(out).expect("below").to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !["run.json", "timings.csv"].contains(&name.as_str()) {
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

fn assert_equal(left: &Path, right: &Path) {
    let (left_files, right_files) = (files(left), files(right));
    assert!(left_files.keys().eq(right_files.keys()), "{:?} and {:?}", left_files.keys(), right_files.keys());
    let differing: Vec<_> =
        left_files.iter().filter(|(name, bytes)| right_files[*name] != **bytes).map(|(name, _)| name).collect();
    assert!(differing.is_empty(), "{} and {} differ in {differing:?}", left.display(), right.display());
}

#[test]
fn equal_runs_are_equal_file_by_file() {
    let here = &folder_with_spec();
    let audited = ["run", "spec.toml", "--quiet", "--set", "audit.samples=200"];
    let runs: [&[&str]; 4] = [
        &["--out", "one", "--threads", "1"],
        &["--out", "two", "--threads", "2"],
        &["--out", "batched", "--batch", "1"],
        &["--out", "cpu", "--backend", "cpu"],
    ];
    for more in runs {
        fine(here, &[&audited, more].concat());
        assert_equal(&here.join("one"), &here.join(more[1]));
    }
    // In portions, the last of which completes the folder; resumed after the last part was lost; run once more.
    for (out, units) in [("portions", "3,5"), ("portions", "0-1"), ("portions", "2,4,6-7")] {
        fine(here, &[&audited, ["--out", out, "--units", units].as_slice()].concat());
    }
    assert_equal(&here.join("one"), &here.join("portions"));
    fs::remove_file(here.join("portions/cells/c0001-b0000.parquet")).expect("removed");
    for name in ["run.json", "report.html"] {
        fs::remove_file(here.join("portions").join(name)).expect("removed");
    }
    for _ in 0..2 {
        fine(here, &[&audited, ["--out", "portions"].as_slice()].concat());
        assert_equal(&here.join("one"), &here.join("portions"));
    }
    // Merged from shards: nothing but the audit, which no shard makes, tells them from one run.
    fine(here, &["run", "spec.toml", "--quiet", "--out", "plain"]);
    for which in ["2/3", "3/3", "1/3"] {
        fine(here, &["run", "spec.toml", "--quiet", "--shard", which, "--out", "shards"]);
    }
    fine(here, &["merge", "shards", "--out", "merged", "--quiet"]);
    assert_equal(&here.join("plain"), &here.join("merged"));
    let record = fs::read_to_string(here.join("merged/run.json")).expect("what the machines did");
    assert!(
        record.contains("\"by_folder\"") && record.contains("2/3") && record.contains("differs between equal runs"),
        "{record}"
    );
}

/// The whole page at a spread of places, everything else at every byte.
#[test]
fn every_altered_byte_is_named() {
    let folder = folder_with_spec();
    let out = folder.join("out");
    fine(&folder, &["run", "spec.toml", "--out", "out", "--quiet"]);
    assert!(compare_report(&out, &|_| ()).is_ok_and(|compared| 5 <= compared.n_intact && compared.altered.is_empty()));
    let mut n_flips = BTreeMap::new();
    for (name, whole) in files(&out) {
        let path = out.join(&name);
        let is_report = name == "summary.csv" || name == "report.html" || name.starts_with("plots/");
        if whole.is_empty() || name.ends_with(".parquet") {
            continue;
        }
        // Verifying takes milliseconds: the long files by a step that is prime to every period in them.
        let step = (whole.len() / 120).max(1) | 1;
        for at in (0..whole.len()).step_by(step) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, bytes).expect("altered");
            let is_named = if is_report {
                compare_report(&out, &|_| ()).expect("readable").altered == [name.clone()]
            } else {
                match verify(&out, &|_| ()) {
                    Ok(found) => {
                        !found.problems.is_empty()
                            && (name == "SHA256SUMS" || found.problems.iter().any(|line| line.contains(&name)))
                    }
                    Err(error) => error.to_string().contains(&name),
                }
            };
            assert!(is_named, "{name} byte {at} is not named");
            *n_flips.entry(name.clone()).or_insert(0) += 1;
        }
        fs::write(&path, whole).expect("restored");
    }
    assert!(
        ["summary.csv", "report.html", "plots/curves.svg", "manifest.json", "parameters/c0000-b0000.json"]
            .iter()
            .all(|name| 60 < n_flips[*name]),
        "{n_flips:?}"
    );
}

#[test]
fn the_program_names_altered_and_missing_reports() {
    let here = &folder_with_spec();
    fine(here, &["run", "spec.toml", "--out", "out", "--quiet"]);
    for name in ["summary.csv", "report.html", "plots/curves.svg"] {
        let path = here.join("out").join(name);
        let whole = fs::read(&path).expect("a file");
        fs::write(&path, [whole.as_slice(), b"\n"].concat()).expect("altered");
        let altered = run(here, &["verify", "out"]);
        assert!(
            code(&altered) == Some(1) && stderr(&altered).contains(&format!("`{name}` is not what the parts give")),
            "{}",
            stderr(&altered)
        );
        fs::remove_file(&path).expect("removed");
        ends(&run(here, &["verify", "out"]), 4, &[&format!("the report lacks `{name}`")]);
        fine(here, &["report", "out"]);
        assert_eq!(fs::read(&path).expect("written again"), whole);
    }
    // What the machine did is outside of it all.
    fs::write(here.join("out/run.json"), "anything").expect("altered");
    fine(here, &["verify", "out"]);
    fine(here, &["run", "spec.toml", "--out", "out", "--quiet"]);
}
