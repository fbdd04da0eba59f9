//! `privateer bench` from outside: lines of JSON, the table, refusals; and the paths that its jobs take.

use crate::program::{code, ends, run, stderr, stdout};
use privateer::bench::JOBS;
use privateer::record::RunRecord;
use serde_json::Value;
use std::fs;
use std::path::Path;

const TINY: [&str; 10] = ["--trials", "2", "--rounds", "8", "--threads", "1", "--repeat", "1", "--backend", "cpu"];

fn bench(words: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &[&["bench"], words].concat());
    (code(&output), stdout(&output), stderr(&output))
}

fn line(words: &[&str]) -> Value {
    let (code, said, notes) = bench(&[words, &["--json"]].concat());
    assert_eq!(code, Some(0), "{notes}");
    serde_json::from_str(said.lines().next().expect("a line")).expect("JSON")
}

#[test]
fn one_line_of_json_for_each_result() {
    let (code, said, notes) = bench(&[&TINY[..], &["constant-factor", "private-sums", "--json", "--verify"]].concat());
    assert_eq!(code, Some(0), "{notes}");
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let jobs: Vec<&Value> = lines.iter().map(|line| &line["job"]).collect();
    assert_eq!(jobs, ["constant-factor small", "private-sums small"]);
    for line in &lines {
        assert_eq!((&line["trials"], &line["rounds"], &line["cells"]), (&2.into(), &8.into(), &1.into()));
        let counters = &line["counters"];
        // The first point is random, the others are decided by a screen.
        assert_eq!((&counters["choices_verified"], &counters["choices_beside_the_best"]), (&14.into(), &0.into()));
        assert!(line["ceiling_f64_flops_per_s"].as_f64().is_some_and(|rate| 0.0 < rate));
        assert!(line["run_s"].as_f64().is_some_and(|seconds| 0.0 < seconds));
        assert_eq!(line["run_s_all"].as_array().map(Vec::len), Some(1));
    }
    let job = [&TINY[..], &["constant-factor"]].concat();
    assert_eq!(line(&job)["results_crc"], lines[0]["results_crc"]);
    assert_eq!(line(&[&job[..], &["--dense"]].concat())["results_crc"], lines[0]["results_crc"]);
    assert_ne!(line(&[&job[..], &["--seed", "2"]].concat())["results_crc"], lines[0]["results_crc"]);
}

/// Every job runs; a spec of one's own is measured like them; both backends agree where there are two.
#[test]
fn every_job_and_any_spec() {
    let (code, said, notes) = bench(&[&TINY[..], &["--set", "environment.domain.points=12"]].concat());
    // Two jobs have no domain.
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert!(notes.contains("environment"), "{notes}");
    for job in JOBS.iter().filter(|job| job.name != "many-points") {
        let tiny: &[&str] = if job.name == "many-cells" { &["--repeat", "1", "--threads", "1"] } else { &TINY };
        let (code, said, notes) = bench(&[&[job.name][..], tiny].concat());
        assert_eq!(code, Some(0), "{notes}");
        assert!(said.contains(&format!("{} small  cpu", job.name)), "{said}");
    }
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ldp-epsilon-sweep.toml").display().to_string();
    let (code, said, notes) = bench(&[&spec, "--trials", "1", "--rounds", "20", "--repeat", "1", "--backend", "both"]);
    assert_eq!(code, Some(0), "{notes}");
    assert!(said.contains("  gpu") || notes.contains("no GPU rows: "), "{said}{notes}");
}

#[test]
fn refusals_say_what_to_do() {
    for (words, part) in [
        (vec!["--trials", "0"], "trials"),
        (vec!["--trials", "-1"], "expected a whole number"),
        (vec!["--repeat", "0"], "`--repeat 0` cannot be run"),
        (vec!["--threads", "0"], "`--threads 0` cannot be run"),
        (vec!["--size", "huge"], "expected small or large"),
        (vec!["privat-sums"], "did you mean `private-sums`?"),
        (vec!["none.toml"], "there is no spec `none.toml`"),
        (vec!["--dense", "--backend", "gpu"], "means nothing to a GPU"),
    ] {
        let (code, said, notes) = bench(&words);
        assert_eq!((code, said.as_str()), (Some(2), ""), "{words:?}: {notes}");
        assert!(notes.contains(part) && !notes.contains("panicked"), "{words:?}: {notes}");
    }
}

#[test]
fn an_adapter_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ldp-epsilon-sweep.toml").display().to_string();
    for words in [&["devices"][..], &["bench", "constant-factor"], &["run", &spec, "--backend", "gpu"]] {
        let output = run(folder.path(), &[words, &["--adapter", "no such card"]].concat());
        let (said, notes) = (stdout(&output), stderr(&output));
        assert_eq!((code(&output), said.as_str()), (Some(3), ""), "{words:?}: {notes}");
        let names_it = ["is `no such card`; found", "no graphics adapter was found", "without the feature `gpu`"];
        assert!(names_it.iter().any(|text| notes.contains(text)), "{notes}");
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn without_a_gpu_it_says_so() {
    let (code, said, notes) = bench(&["constant-factor", "--trials", "2", "--rounds", "4", "--backend", "gpu"]);
    match code {
        Some(0) => assert!(said.contains("gpu")),
        _ => {
            let names_it = ["no graphics adapter was found", "without the feature `gpu`"];
            assert!(code == Some(3) && names_it.iter().any(|text| notes.contains(text)), "{notes}");
        }
    }
}

/// Every fast path is taken by a shipped spec, and its results are those without it.
#[test]
fn shipped_specs_take_the_fast_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec =
        |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/speed/{name}.toml")).display().to_string();
    let digests = |out: &Path| fs::read_to_string(out.join("SHA256SUMS")).expect("digests");
    // An interpolation grid and the pruning of covariances begin at 4096 points.
    for (name, counters, rounds, points) in [
        ("constant-factor", &["rounds_pruned"][..], "60", "1024"),
        ("wide-factor", &["rounds_pruned", "blocks_bounded_by_interpolation"], "20", "5000"),
        ("exact-posterior", &["rounds_pruned"], "40", "5000"),
        ("outsourced", &["rounds_pruned"], "20", "70"),
        ("private-sums", &["rounds_interpolated", "factors_made_together"], "30", "1024"),
    ] {
        let points = format!("environment.domain.points={points}");
        let made = |out: &str, more: &[&str]| {
            let out = folder.path().join(out);
            let shown = out.display().to_string();
            let words =
                ["run", &spec(name), "--trials", "6", "--rounds", rounds, "--set", &points, "--threads", "1", "--out", &shown];
            ends(&run(folder.path(), &[&words[..], more].concat()), 0, &[]);
            (RunRecord::of(&out).expect("what the machine did").counters, digests(&out))
        };
        let (fast, bytes) = made(name, &["--backend", "cpu"]);
        for counter in counters {
            assert!(fast[counter].as_u64().is_some_and(|count| 0 < count), "{name}: {counter}: {fast}");
        }
        let (dense, same) = made(&format!("{name}-dense"), &["--backend", "cpu", "--dense"]);
        assert_eq!((&dense["rounds_pruned"], &dense["rounds_interpolated"]), (&0.into(), &0.into()), "{name}");
        assert_eq!(bytes, same, "{name}");
        // One trial at a time: nothing is interleaved.
        assert_eq!(made(&format!("{name}-alone"), &["--backend", "cpu", "--batch", "1"]).1, bytes, "{name}");
    }
}
