//! Whole runs of the real engine under attack.

use crate::program::{code, run, stdout};
use crate::support::sweep;
use privateer::audit::{Finding, Settings, Verdict, of_runs};
use privateer::backend::Cpu;
use privateer::env::DataFolder;
use std::fs;

fn spec(privacy: &str, noise: &str) -> String {
    format!(
        "rounds = 12\ntrials = 2\n\n[environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", dimension = 1, points = 24 }}\n\
         kernel = {{ kind = \"matern\", nu = 2.5, lengthscale = 0.2 }}\nnoise = {noise}\n\n[privacy]\n{privacy}\n\n\
         [[policy]]\nkind = \"tgp-ucb\"\nwidth = {{ kind = \"constant\", value = 1.0 }}\n"
    )
}

const BOUNDED: &str = "{ kind = \"uniform\", bound = 1.0 }";

fn audited(text: &str) -> Vec<Finding> {
    let settings = Settings { samples: 2000, ..Settings::default() };
    of_runs(&sweep(text), &DataFolder::default(), &Cpu::default(), settings).expect("replays")
}

#[test]
fn policies_survive() {
    for mechanism in ["laplace", "hybrid"] {
        let findings = audited(&spec(&format!("mechanism = \"{mechanism}\"\nepsilon = 2"), BOUNDED));
        let [white, black] = &findings[..] else { panic!("two looks: {findings:?}") };
        assert_eq!((white.verdict, black.verdict), (Verdict::Consistent, Verdict::Consistent), "{findings:?}");
        assert!(white.reached().is_some_and(|reached| 0.6 < reached), "the canary is seen: {white:?}");
        assert!(black.at_least <= white.at_least + 0.2, "{findings:?}");
        assert_eq!(findings, audited(&spec(&format!("mechanism = \"{mechanism}\"\nepsilon = 2"), BOUNDED)));
    }
}

/// The planted faults, under a policy that truncates nothing: a mechanism that does not clip (printed, unbounded noise), seen in what is released and in what is played.
#[test]
fn a_run_without_a_clip_is_refuted() {
    let text =
        spec("mechanism = \"laplace\"\nreading = \"printed\"\nepsilon = 1\nclip = [-1, 1]", "{ kind = \"gaussian\", sd = 0.3 }");
    let findings = audited(&text.replace("tgp-ucb", "igp-ucb"));
    assert!(findings.iter().all(|found| found.verdict == Verdict::Refuted), "{findings:?}");
}

/// A spec that asks for it has the audit on its page.
#[test]
fn the_report_shows_the_audit() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("{}\n[audit]\nsamples = 300\n", spec("epsilon = 1", BOUNDED));
    fs::write(folder.path().join("spec.toml"), text).expect("the spec");
    let output = run(folder.path(), &["run", "spec.toml", "--out", "out", "--quiet"]);
    assert_eq!(code(&output), Some(0), "{}", stdout(&output));
    let page = fs::read_to_string(folder.path().join("out/report.html")).expect("the page");
    assert!(page.contains("id=\"audit\"") && page.contains("white box") && page.contains("consistent"), "no audit on the page");
}
