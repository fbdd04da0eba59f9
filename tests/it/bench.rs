//! `privateer bench` from outside: lines of JSON, the table, refusals; and the paths that its jobs take.

use crate::program::*;
use privateer::bench::JOBS;
use privateer::record::RunRecord;

const TINY: [&str; 10] = ["--trials", "2", "--rounds", "8", "--threads", "1", "--repeat", "1", "--backend", "cpu"];

fn bench(words: &[&str], expected: i32, texts: &[&str]) -> Output {
    folder().ends(&[&["bench"], words].concat(), expected, texts)
}

fn lines(words: &[&str]) -> Vec<Value> {
    stdout(&bench(&[words, &["--json"]].concat(), 0, &[])).lines().map(json).collect()
}

fn example(name: &str) -> String {
    root().join(format!("examples/{name}.toml")).display().to_string()
}

#[test]
fn one_line_of_json_for_each_result() {
    let both = lines(&[&TINY[..], &["constant-factor", "private-sums", "--verify"]].concat());
    let jobs: Vec<&Value> = both.iter().map(|line| &line["job"]).collect();
    assert_eq!(jobs, ["constant-factor small", "private-sums small"]);
    for line in &both {
        assert_eq!((&line["trials"], &line["rounds"], &line["cells"]), (&2.into(), &8.into(), &1.into()));
        let counters = &line["counters"];
        // The first point is random, the others are decided by a screen.
        assert_eq!((&counters["choices_verified"], &counters["choices_beside_the_best"]), (&14.into(), &0.into()));
        assert!(line["ceiling_f64_flops_per_s"].as_f64().is_some_and(|rate| 0.0 < rate));
        assert!(line["run_s"].as_f64().is_some_and(|seconds| 0.0 < seconds));
        assert_eq!(line["run_s_all"].as_array().map(Vec::len), Some(1));
    }
    let digest = |more: &[&str]| lines(&[&TINY[..], &["constant-factor"], more].concat())[0]["results_crc"].clone();
    assert_eq!(digest(&[]), both[0]["results_crc"]);
    assert_eq!(digest(&["--dense"]), both[0]["results_crc"]);
    assert_ne!(digest(&["--seed", "2"]), both[0]["results_crc"]);
}

/// Every job runs; a spec of one's own is measured like them; both backends agree where there are two.
#[test]
fn every_job_and_any_spec() {
    // Two jobs have no domain.
    let refused = bench(&[&TINY[..], &["--set", "environment.domain.points=12"]].concat(), 2, &["environment"]);
    assert_eq!(stdout(&refused), "");
    for job in JOBS.iter().filter(|job| job.name != "many-points") {
        let tiny: &[&str] = if job.name == "many-cells" { &["--repeat", "1", "--threads", "1"] } else { &TINY };
        let said = stdout(&bench(&[&[job.name][..], tiny].concat(), 0, &[]));
        assert!(said.contains(&format!("{} small  cpu", job.name)), "{said}");
    }
    let spec = example("ldp-epsilon-sweep");
    let output = bench(&[&spec, "--trials", "1", "--rounds", "20", "--repeat", "1", "--backend", "both"], 0, &[]);
    let (said, notes) = (stdout(&output), stderr(&output));
    assert!(said.contains("  gpu") || notes.contains("no GPU rows: "), "{said}{notes}");
}

#[test]
fn refusals_say_what_to_do() {
    for (line, part) in [
        ("--trials 0", "trials"),
        ("--trials -1", "expected a whole number"),
        ("--repeat 0", "`--repeat 0` cannot be run"),
        ("--size huge", "expected small or large"),
        ("privat-sums", "did you mean `private-sums`?"),
        ("none.toml", "there is no spec `none.toml`"),
        ("--paths privat-sums", "no job of the grid holds privat-sums"),
        ("--dense --backend gpu", "means nothing to a GPU"),
    ] {
        assert_eq!(stdout(&bench(&words(line), 2, &[part])), "", "{line}");
    }
}

#[test]
fn an_adapter_that_is_not_there_is_named() {
    let here = &folder();
    let spec = example("ldp-epsilon-sweep");
    for words in [&["devices"][..], &["bench", "constant-factor"], &["run", &spec, "--backend", "gpu"]] {
        let output = here.ends(&[words, &["--adapter", "no such card"]].concat(), 3, &[]);
        let (said, notes) = (stdout(&output), stderr(&output));
        assert_eq!(said, "", "{words:?}: {notes}");
        let names_it = ["is `no such card`; found", "no graphics adapter was found", "without the feature `gpu`"];
        assert!(names_it.iter().any(|text| notes.contains(text)), "{notes}");
    }
    assert!(!here.holds("out"));
}

#[test]
fn without_a_gpu_it_says_so() {
    let output = run(&folder(), &words("bench constant-factor --trials 2 --rounds 4 --backend gpu"));
    let (said, notes) = (stdout(&output), stderr(&output));
    let names_it = ["no graphics adapter was found", "without the feature `gpu`"];
    match code(&output) {
        Some(0) => assert!(said.contains("gpu")),
        code => assert!(code == Some(3) && names_it.iter().any(|text| notes.contains(text)), "{notes}"),
    }
}

/// Every fast path is taken by a shipped spec, and its results are those without it.
#[test]
fn shipped_specs_take_the_fast_paths() {
    let here = &folder();
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
            let spec = example(&format!("speed/{name}"));
            let words = ["run", &spec, "--trials", "6", "--rounds", rounds, "--set", &points, "--threads", "1", "--out", out];
            here.fine(&[&words[..], more].concat());
            let counters = RunRecord::of(&here.join(out)).expect("what the machine did").counters;
            (counters, here.text(&format!("{out}/SHA256SUMS")))
        };
        let (fast, bytes) = made(name, &["--backend", "cpu"]);
        for counter in counters {
            assert!(0 < fast.of(counter), "{name}: {counter}: {fast:?}");
        }
        let (dense, same) = made(&format!("{name}-dense"), &["--backend", "cpu", "--dense"]);
        assert_eq!((dense.of("rounds_pruned"), dense.of("rounds_interpolated")), (0, 0), "{name}");
        assert_eq!(bytes, same, "{name}");
        // One trial at a time: nothing is interleaved.
        assert_eq!(made(&format!("{name}-alone"), &["--backend", "cpu", "--batch", "1"]).1, bytes, "{name}");
    }
}
