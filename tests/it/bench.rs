//! `privateer bench` from outside: lines of JSON, the table, refusals.

use crate::program::{code, run, stderr, stdout};
use serde_json::Value;
use std::fs;

const TINY: [&str; 10] = ["--points", "60", "--features", "16", "--trials", "3", "--rounds", "8", "--threads", "1"];

fn bench(words: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &[&["bench"], words].concat());
    (code(&output), stdout(&output), stderr(&output))
}

#[test]
fn one_line_of_json_for_each_result() {
    let (code, said, _) = bench(&[&TINY[..], &["--json", "--backend", "cpu", "--repeat", "2", "--verify"]].concat());
    assert_eq!(code, Some(0));
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let variants: Vec<&Value> = lines.iter().map(|line| &line["variant"]).collect();
    assert_eq!(variants, ["incremental", "fullrank"]);
    for line in &lines {
        assert_eq!((&line["N"], &line["m"], &line["B"], &line["T"]), (&60.into(), &16.into(), &3.into(), &8.into()));
        assert_eq!((&line["wrong_choices"], &line["band_violations"]), (&0.into(), &0.into()));
        assert!(line["trial_rounds_per_s"].as_f64().is_some_and(|rate| 0.0 < rate));
        assert!(line["ceiling_f64_gflops_per_s"].as_f64().is_some_and(|rate| 0.0 < rate));
        assert_eq!(line["loop_s_all"].as_array().map(Vec::len), Some(2));
    }
    let (_, again, _) = bench(&[&TINY[..], &["--json", "--backend", "cpu", "incremental"]].concat());
    let again: Value = serde_json::from_str(&again).expect("one line");
    assert_eq!(again["actions_crc"], lines[0]["actions_crc"]);
    let (_, other, _) = bench(&[&TINY[..], &["--json", "--backend", "cpu", "incremental", "--seed", "1"]].concat());
    let other: Value = serde_json::from_str(&other).expect("one line");
    assert_ne!(other["actions_crc"], lines[0]["actions_crc"]);
}

/// Both backends: where there is no GPU it says why and measures the CPU.
#[test]
fn the_table_has_a_column_for_each_backend() {
    let (code, said, notes) = bench(&[&TINY[..], &["fullrank"]].concat());
    assert_eq!(code, Some(0), "{notes}");
    assert!(said.starts_with("fullrank  N=60 m=16 B=3 T=8, seed 0, 1 thread, 1 repetition\n"), "{said}");
    for part in ["trial-rounds a second, best", "candidates a round: median, p99", "checksum of the actions", "ceilings of"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains("  gpu") || notes.contains("no GPU column: "), "{said}{notes}");
}

/// The modeler's job: the same rows on every repetition and thread count, all of them the best in f64; other seeds choose others.
#[test]
fn the_modeler_has_a_job_of_its_own() {
    let tiny = ["modeler", "--points", "144", "--trials", "3", "--rounds", "6", "--json", "--verify"];
    let line = |words: &[&str]| -> Value {
        let (code, said, notes) = bench(&[&tiny[..], words].concat());
        assert_eq!(code, Some(0), "{notes}");
        serde_json::from_str(said.lines().next().expect("a line")).expect("JSON")
    };
    let first = line(&["--backend", "cpu", "--threads", "1", "--repeat", "2"]);
    assert_eq!((&first["N"], &first["T"], &first["B"]), (&144.into(), &6.into(), &3.into()));
    assert_eq!((&first["workload"], &first["wrong_choices"]), (&"modeler".into(), &0.into()));
    assert_eq!(first["loop_s_all"].as_array().map(Vec::len), Some(2));
    assert!(first["ms_per_run"].as_f64().is_some_and(|ms| 0.0 < ms));
    assert!(first["simple_regret_mean"].as_f64().is_some_and(|regret| 0.0 <= regret));
    // Both backends where there is a GPU: exit code 1 if they disagree.
    assert_eq!(line(&["--threads", "2"])["actions_crc"], first["actions_crc"]);
    assert_ne!(line(&["--backend", "cpu", "--seed", "1"])["actions_crc"], first["actions_crc"]);
    for (words, part) in [
        (vec!["--points", "145"], "the square of a whole number"),
        (vec!["--rounds", "0"], "`--rounds 0` cannot be run"),
        (vec!["--beta", "2"], "`--beta` means nothing to `modeler`"),
        (vec!["fullrank"], "`modeler` is measured alone"),
        (vec!["--points", "1000000", "--trials", "100000"], "more than the limit"),
    ] {
        let (code, said, notes) = bench(&[&["modeler"], &words[..]].concat());
        assert_eq!((code, said.as_str()), (Some(2), ""), "{words:?}: {notes}");
        assert!(notes.contains(part), "{words:?}: {notes}");
    }
}

/// The job over a small domain: the same regret on every thread count, another on another seed.
#[test]
fn a_small_domain_has_a_job_of_its_own() {
    let line = |words: &[&str]| -> Value {
        let tiny = ["exact", "--points", "30", "--trials", "3", "--rounds", "200", "--json"];
        let (code, said, notes) = bench(&[&tiny[..], words].concat());
        assert_eq!(code, Some(0), "{notes}");
        serde_json::from_str(said.lines().next().expect("a line")).expect("JSON")
    };
    let first = line(&["--threads", "1", "--repeat", "2"]);
    assert_eq!((&first["workload"], &first["N"], &first["T"]), (&"exact".into(), &30.into(), &200.into()));
    assert_eq!(first["run_s_all"].as_array().map(Vec::len), Some(2));
    assert!(first["regret_mean"].as_f64().is_some_and(|regret| 0.0 < regret && regret < 200.0));
    assert_eq!(line(&["--threads", "2"])["regret_mean"], first["regret_mean"]);
    assert_ne!(line(&["--seed", "1"])["regret_mean"], first["regret_mean"]);
    for (words, part) in [
        (vec!["--points", "1"], "a whole number from 2 to 2048"),
        (vec!["--verify"], "`--verify` means nothing to `exact`"),
        (vec!["--backend", "gpu"], "scored in f64 on the CPU"),
        (vec!["--seed", "18446744073709551615"], "at most 9223372036854775807"),
        (vec!["oco"], "`exact` is measured alone"),
    ] {
        let (code, said, notes) = bench(&[&["exact"], &words[..]].concat());
        assert_eq!((code, said.as_str()), (Some(2), ""), "{words:?}: {notes}");
        assert!(notes.contains(part), "{words:?}: {notes}");
    }
}

#[test]
fn refusals_say_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    let empty = empty.display().to_string();
    for (words, part) in [
        (vec!["--features", "60"], "`--features 60` is not the square of an even number"),
        (vec!["--trials", "0"], "`--trials 0` cannot be run"),
        (vec!["--trials", "-1"], "invalid digit"),
        (vec!["--ridge", "-1"], "expected a number from 1e-9 to 1e9"),
        (vec!["--repeat", "0"], "`--repeat 0` cannot be run"),
        (vec!["--threads", "0"], "`--threads 0` cannot be run"),
        (vec!["--instance", "none"], "`none` is not a folder"),
        (vec!["--instance", &empty], "instance.json` cannot be read"),
        (vec!["--instance", &empty, "--size", "small"], "both name a size"),
        (vec!["--size", "huge"], "expected small or large"),
        (vec!["sideways"], "expected one of incremental, fullrank"),
        (vec!["--points", "1000000000", "--trials", "1000"], "more than the limit"),
    ] {
        let (code, said, notes) = bench(&words);
        assert_eq!((code, said.as_str()), (Some(2), ""), "{words:?}: {notes}");
        assert!(notes.contains(part) && !notes.contains("panicked"), "{words:?}: {notes}");
    }
}

#[test]
fn without_a_gpu_it_says_so() {
    let (code, said, notes) = bench(&[&TINY[..], &["incremental", "--backend", "gpu"]].concat());
    match code {
        Some(0) => assert!(said.contains("gpu")),
        _ => assert!(code == Some(3) && notes.contains("GPU"), "{notes}"),
    }
}
