//! Results folders from outside: equal runs are equal file by file, and `verify` names every altered file that people read.

use crate::problems::sweep_with_parameters;
use crate::program::*;
use privateer::record::verify;
use privateer::report::compare_report;

/// Eight parts, those of references among them; four have released parameters.
fn spec() -> String {
    sweep_with_parameters("[sweep.product]\n\"privacy.epsilon\" = [1.0, 4.0]\n")
}

fn assert_equal(here: &Folder, left: &str, right: &str) {
    assert_same_files(&results(&here.join(left)), &results(&here.join(right)), &format!("{left} and {right}"));
}

#[test]
fn equal_runs_are_equal_file_by_file() {
    let here = &folder_with(&spec());
    let audited =
        |more: &[&str]| here.fine(&[&["run", "spec.toml", "--quiet", "--set", "audit.samples=200", "--out"], more].concat());
    for more in [["one", "--threads", "1"], ["two", "--threads", "2"], ["batched", "--batch", "1"], ["cpu", "--backend", "cpu"]] {
        audited(&more);
        assert_equal(here, "one", more[0]);
    }
    // In portions, the last of which completes the folder; resumed after the last part was lost; run once more.
    for units in ["3,5", "0-1", "2,4,6-7"] {
        audited(&["portions", "--units", units]);
    }
    assert_equal(here, "one", "portions");
    for name in ["cells/c0001-b0000.parquet", "run.json", "report.html"] {
        here.remove(&format!("portions/{name}"));
    }
    for _ in 0..2 {
        audited(&["portions"]);
        assert_equal(here, "one", "portions");
    }
    // Merged from shards: nothing but the audit, which no shard makes, tells them from one run.
    here.fine(&["run", "spec.toml", "--quiet", "--out", "plain"]);
    for which in ["2/3", "3/3", "1/3"] {
        here.fine(&["run", "spec.toml", "--quiet", "--shard", which, "--out", "shards"]);
    }
    here.fine(&["merge", "shards", "--out", "merged", "--quiet"]);
    assert_equal(here, "plain", "merged");
    let record = here.text("merged/run.json");
    assert!(["\"by_folder\"", "2/3", "differs between equal runs"].iter().all(|text| record.contains(text)), "{record}");
}

/// The whole page at a spread of places, everything else at every byte.
#[test]
fn every_altered_byte_is_named() {
    let folder = finished(&spec());
    let out = folder.join("out");
    assert!(compare_report(&out, &|_| ()).is_ok_and(|compared| 5 <= compared.n_intact && compared.altered.is_empty()));
    let mut n_flips = BTreeMap::new();
    for (name, whole) in results(&out) {
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
                let names_it = |line: &str| line.contains(&name);
                verify(&out, &|_| ()).map_or_else(
                    |error| names_it(&error.to_string()),
                    |found| found.problems.iter().any(|line| name == "SHA256SUMS" || names_it(line)),
                )
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
    let here = &finished(&spec());
    for name in ["summary.csv", "report.html", "plots/curves.svg"] {
        let path = format!("out/{name}");
        let whole = here.bytes(&path);
        here.write(&path, [whole.as_slice(), b"\n"].concat());
        here.ends(&["verify", "out"], 1, &[&format!("`{name}` is not what the parts give")]);
        here.remove(&path);
        here.ends(&["verify", "out"], 4, &[&format!("the report lacks `{name}`")]);
        here.fine(&["report", "out"]);
        assert_eq!(here.bytes(&path), whole);
    }
    // What the machine did is outside of it all.
    here.write("out/run.json", "anything");
    here.fine(&["verify", "out"]);
    here.fine(&RUN);
}
