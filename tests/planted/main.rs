//! Planted faults: each is switched on in one build, and audits and tests must catch it.
//!
//! `cargo test --features planted-faults --test planted` runs every fault once, at a small size. The table of `docs/audit-faults.md`:
//! `cargo test --release --features planted-faults --test planted -- --ignored --nocapture the_whole_table`.

#[path = "../it/mechanisms/mod.rs"]
mod mechanisms;
mod table;

use privateer::audit::{AuditFile, Finding, Verdict, find};
use privateer_privacy::planted::{PlantedFault, VARIABLE};
use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::time::Instant;
use table::{ROWS, Row};

/// Runs the program, with a fault or without.
fn privateer(fault: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_privateer"));
    command.args(arguments).env_remove(VARIABLE);
    fault.map(|name| command.env(VARIABLE, name));
    command.output().expect("the program runs")
}

/// What an audit of these mechanisms finds, and its exit code.
fn audited(fault: Option<PlantedFault>, names: &[&str], samples: &str) -> (Vec<Finding>, Option<i32>) {
    let mut arguments = vec!["audit", "--json", "--confidence", "0.999999", "--samples", samples];
    arguments.extend(names);
    let output = privateer(fault.map(PlantedFault::name), &arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.contains("is planted"), fault.is_some(), "{said}");
    let file: AuditFile = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{fault:?}: {error}\n{text}\n{said}"));
    (file.findings, output.status.code())
}

fn refuted(findings: &[Finding]) -> Vec<&Finding> {
    findings.iter().filter(|found| found.verdict == Verdict::Refuted).collect()
}

/// Runs one test of `mechanisms`, with a fault or without; whether it passed.
fn passes(fault: Option<PlantedFault>, test: &str) -> bool {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", &format!("mechanisms::{test}")]).env_remove(VARIABLE);
    fault.map(|fault| command.env(VARIABLE, fault.name()));
    let output = command.output().expect("this program runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("running 1 test"), "there is no test `{test}`: {said}");
    output.status.success()
}

#[test]
fn the_table_holds_every_fault() {
    let rows: Vec<PlantedFault> = ROWS.iter().map(|row| row.fault).collect();
    assert_eq!(rows, PlantedFault::ALL, "a row a fault, in the order of `PlantedFault`");
    assert!(34 <= rows.len());
    for row in ROWS {
        assert!(row.audits.iter().all(|name| !find(name).is_empty()), "{:?}: {:?}", row.fault, row.audits);
    }
}

#[test]
fn an_unknown_fault_is_refused() {
    let output = privateer(Some("no-such-fault"), &["list"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no-such-fault") && said.contains("laplace-clip"), "{said}");
}

/// Without a fault nothing is refuted, but for one run in a million.
#[test]
fn nothing_is_refuted_without_a_fault() {
    let names: BTreeSet<&str> = ROWS.iter().flat_map(|row| row.audits.iter().copied()).collect();
    let (findings, code) = audited(None, &names.into_iter().collect::<Vec<_>>(), "2000");
    assert_eq!((refuted(&findings), code), (Vec::new(), Some(0)));
}

/// The first audit of each row, at a size that shows it; the faults that no audit sees are listed with their reasons.
#[test]
fn audits_refute_every_planted_fault() {
    let mut missed = Vec::new();
    for Row { fault, audits, unseen, .. } in ROWS.iter().filter(|row| !row.audits.is_empty()) {
        let (findings, code) = audited(Some(*fault), &audits[..1], &samples());
        let found = !refuted(&findings).is_empty();
        assert_eq!(code, Some(i32::from(found)), "{fault:?}");
        if found == unseen.is_some() {
            missed.push(fault.name());
        }
    }
    assert!(missed.is_empty(), "not as expected: {missed:?}");
}

/// Whole runs whose noise covers one participation where three are stated.
#[test]
fn audits_of_runs_attack_every_round_of_a_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spec.toml").to_string_lossy().into_owned();
    let points = "[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", dimension = 1, points = 24 }\nnoise = \"bernoulli\"\n\
                  kernel = { kind = \"squared-exponential\", lengthscale = 0.3 }\noutput = \"unit\"\nbound = 1.0\n";
    let contexts = "[environment]\nkind = \"generalized-linear\"\ndimension = 3\narms = 2\nparameters = \"gaussian\"\nradius = 0.1\n\
                    noise = { kind = \"uniform\", bound = 1.0 }\n";
    let samples = "[problem]\nkind = \"linear-regression\"\ndimension = 3\nset = { kind = \"lp-ball\", p = 2 }\n";
    let (sums, rewards) = (PlantedFault::Participations, PlantedFault::ReturningRewards);
    for (fault, problem, player) in [
        (rewards, points, "[[policy]]\nkind = \"igp-ucb\""),
        (sums, points, "[[policy]]\nkind = \"jdp-gp-ucb\""),
        (sums, contexts, "[[policy]]\nkind = \"dp-linucb\""),
        (sums, samples, "[[learner]]\nkind = \"dp-ftrl\"\nlearning_rate = 0.01"),
    ] {
        let text = format!(
            "rounds = 16\ntrials = 1\n{problem}[privacy]\nepsilon = 2.0\ndelta = 1e-2\nparticipations = 3\nseparation = 5\n{player}\n"
        );
        std::fs::write(&path, text).expect("the spec");
        let audit = |fault: Option<PlantedFault>| audited(fault, &[&path], "20000");
        let (sound, code) = audit(None);
        assert_eq!((refuted(&sound).len(), code), (0, Some(0)), "{player}: {sound:?}");
        let (faulty, code) = audit(Some(fault));
        assert!(!refuted(&faulty).is_empty() && code == Some(1), "{player}: {faulty:?}");
    }
}

/// Each fault fails its test, and the test passes without it.
#[test]
fn tests_fail_under_every_planted_fault() {
    let tests: BTreeSet<&str> = ROWS.iter().map(|row| row.test).collect();
    tests.iter().for_each(|test| assert!(passes(None, test), "`{test}` fails without a fault"));
    let missed: Vec<&str> = ROWS.iter().filter(|row| passes(Some(row.fault), row.test)).map(|row| row.fault.name()).collect();
    assert!(missed.is_empty(), "their tests do not see {missed:?}");
}

/// At least 27 of 30 are seen by audits alone.
#[test]
fn few_faults_are_left_to_tests() {
    let unseen = ROWS.iter().filter(|row| row.unseen.is_some()).count();
    assert!(30 * unseen <= 3 * ROWS.len(), "{unseen} of {} faults are not seen by an audit", ROWS.len());
}

/// Replays of each side of a pair.
fn samples() -> String {
    std::env::var("PRIVATEER_AUDIT_SAMPLES").unwrap_or_else(|_| "20000".to_owned())
}

/// Every audit of every row, as the table of `docs/audit-faults.md`.
#[test]
#[ignore = "minutes: the long form of `audits_refute_every_planted_fault`"]
fn the_whole_table() {
    println!("| fault | what is wrong | audits | refuted claims | largest excess: claim, at least | s | test |");
    println!("|---|---|---|---|---|---|---|");
    let (mut seen, start) = (0, Instant::now());
    let mut missed = Vec::new();
    for Row { fault, audits, unseen, test } in ROWS {
        let (begun, mut blind) = (Instant::now(), Vec::new());
        let mut all = Vec::new();
        for name in *audits {
            let (findings, _) = audited(Some(*fault), &[name], &samples());
            if refuted(&findings).is_empty() {
                blind.push(*name);
            }
            all.extend(findings);
        }
        let refuted = refuted(&all);
        let excess = |found: &&Finding| found.reached().unwrap_or(0.0);
        let worst = refuted.iter().max_by(|a, b| excess(a).total_cmp(&excess(b)));
        let worst = worst.map_or_else(
            || "-".to_owned(),
            |found| format!("{}: {:.3}, {:.2}", found.name, found.epsilon.unwrap_or(f64::INFINITY), found.at_least),
        );
        let count = format!("{} of {}", refuted.len(), all.len());
        let count = match unseen {
            _ if audits.is_empty() => "- (seen by the audit of a deployment's files, in the test)".to_owned(),
            Some(why) => format!("{count} ({why})"),
            None => count,
        };
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "| `{}` | {} | {} | {count} | {worst} | {seconds:.1} | `{test}` |",
            fault.name(),
            fault.summary(),
            audits.join(", ")
        );
        seen += usize::from(!refuted.is_empty());
        if !blind.is_empty() && unseen.is_none() {
            missed.push(format!("{}: {blind:?}", fault.name()));
        }
    }
    println!("\nseen by audits: {seen} of {}, in {:.0} s", ROWS.len(), start.elapsed().as_secs_f64());
    assert!(missed.is_empty(), "{missed:?}");
}
