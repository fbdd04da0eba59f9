//! `privateer best`: the policy that it names is that of a search over everything, and its margin comes from trials that chose nothing.

use crate::program::{code, ends, folder, run, stderr, stdout, words};
use crate::two_parties::fine;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A hill over 60 points of a line, as a spec.
const HILL: &str = "seed = 3\nrounds = 200\ntrials = 2\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", points = 60 }\n\
    kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\nnoise = { kind = \"uniform\", bound = 0.5 }\n\
    [privacy]\nepsilon = 1.0\n[[policy]]\nkind = \"uniform\"\n";

const SMALL: [&str; 8] = ["--rounds", "300", "--trials", "30", "--pilots", "64", "--epsilon", "8"];

fn asked(here: &Path, more: &[&str]) -> Value {
    let words = [&["best", "--json"][..], &SMALL, more].concat();
    serde_json::from_str(&fine(here, &words)).expect("JSON")
}

/// A row of a results folder: policy, mean regret, difference to the first policy and the low end of its interval.
type Row = (String, f64, Option<(f64, f64)>);

fn summary(folder: &Path) -> Vec<Row> {
    let mut summary = csv::Reader::from_path(folder.join("summary.csv")).expect("a summary");
    let names = summary.headers().expect("names").clone();
    let column = |name: &str| names.iter().position(|known| known == name).expect("a column");
    let (policy, regret) = (column("policy"), column("final_regret_mean"));
    let (difference, low) = (column("paired_difference_mean"), column("paired_difference_ci95_low"));
    summary
        .records()
        .map(|row| {
            let row = row.expect("a row");
            let gap = row[difference].parse().ok().zip(row[low].parse().ok());
            (row[policy].to_owned(), row[regret].parse().expect("a number"), gap)
        })
        .collect()
}

#[test]
fn the_best_is_that_of_a_search_over_everything() {
    let here = &folder();
    fs::write(here.join("hill.toml"), HILL).expect("written");
    for (trust, privacy) in [("local", "mechanism = \"auto\"\nepsilon = 8.0"), ("none", "mechanism = \"none\"")] {
        let answer = asked(here, &["--spec", "hill.toml", "--trust", trust, "--out", trust]);
        let rows = answer["policies"].as_array().expect("rows");
        assert!((3..=10).contains(&rows.len()), "{answer}");
        // Every policy that fits, at every factor, on the fresh trials themselves.
        let kinds: Vec<&str> = rows.iter().map(|row| row["policy"].as_str().expect("a name")).collect();
        let mut spec = HILL
            .split("[privacy]")
            .next()
            .expect("a head")
            .replace("trials = 2", "trials = 30")
            .replace("seed = 3", "seed = 1")
            .replace("rounds = 200", "rounds = 300");
        spec += &format!("[privacy]\n{privacy}\ncalibration = \"tight\"\n");
        for kind in kinds.iter().filter(|kind| !kind.contains("jdp")) {
            let keys = fine(here, &["list", kind]);
            let ridge = if keys.contains("or `mechanism`") { "ridge = \"mechanism\"\n" } else { "" };
            for factor in [0.05, 0.1, 0.2, 0.5, 1.0, 2.0] {
                spec += &format!("[[policy]]\nkind = \"{kind}\"\nlabel = \"{kind} {factor}\"\n{ridge}");
                if keys.contains("beta = one of") {
                    spec += &format!("beta = {{ kind = \"order\", factor = {factor} }}\n");
                } else {
                    break;
                }
            }
        }
        fs::write(here.join("all.toml"), format!("references = false\n{spec}")).expect("written");
        let out = format!("all-{trust}");
        fine(here, &["run", "all.toml", "--out", &out, "--quiet"]);
        let all = summary(&here.join(&out));
        let least = all.iter().map(|(_, regret, _)| *regret).fold(f64::INFINITY, f64::min);
        let named = rows.iter().find(|row| row["policy"] == answer["policy"]).expect("the best");
        let label = format!("{} {}", named["policy"].as_str().expect("a name"), named["factor"].as_f64().unwrap_or(0.05));
        let (_, regret, _) = all.iter().find(|(other, ..)| *other == label).expect("the best, played again");
        let regret = *regret;
        // The least of 50 is least by chance too: policies at one factor differ by that much here.
        assert!(regret <= 1.25 * least, "{trust}: {regret} and {least}: {answer}\n{all:?}");
    }
}

#[test]
fn the_margin_is_that_of_the_report() {
    let here = &folder();
    fs::write(here.join("hill.toml"), HILL).expect("written");
    let words = [&["best", "--spec", "hill.toml", "--out", "asked"][..], &SMALL].concat();
    let output = run(here, &words);
    let (said, noted) = (stdout(&output), stderr(&output));
    assert_eq!(code(&output), Some(0), "{noted}");
    for policy in ["batched-gp-ucb", "dp-bpe", "dp-se"] {
        assert!(noted.contains(&format!("left out: {policy}: needs a trusted server\n")), "{noted}");
    }
    let answer: Value = serde_json::from_str(&fine(here, &[&words[..], &["--json"]].concat())).expect("JSON");
    let sentence = answer["sentence"].as_str().expect("a sentence");
    assert!(said.contains(sentence) && sentence.matches(". ").count() == 0, "{said}");
    let rows = summary(&here.join("asked/results"));
    let fresh = answer["policies"].as_array().expect("rows").iter().filter(|row| row["is_fresh"] == true);
    let mut n_fresh = 0;
    for row in fresh {
        let (_, regret, gap) = rows.iter().find(|(policy, ..)| *policy == row["policy"]).expect("a row of the summary");
        let close = |said: &Value, right: f64| (said.as_f64().expect("a number") - right).abs() <= 1e-6 * right.abs().max(1.0);
        assert!(close(&row["regret"], *regret), "{row} {regret}");
        if let Some((mean, low)) = gap {
            assert!(close(&row["more"], *mean) && close(&row["interval"][0], *low), "{row} {mean} {low}");
        }
        n_fresh += 1;
    }
    assert!((2..=4).contains(&n_fresh), "{answer}");
    // Its spec holds factors, not a search, and the same question is answered from the folder.
    let spec = fs::read_to_string(here.join("asked/spec.toml")).expect("a spec");
    assert!(!spec.contains("tuned") && !spec.contains("[sweep"), "{spec}");
    assert_eq!(stdout(&run(here, &words)), said);
}

/// In six dimensions quadrature has too many nodes: that is said, not that other features are unknown to a policy.
#[test]
fn a_policy_is_left_out_for_its_own_reason() {
    let here = &folder();
    let few = ["--points", "20", "--rounds", "40", "--trials", "2", "--pilots", "2", "--epsilon", "1", "--out", "six"];
    let words = [&["best", "--json", "--function", "hartmann-6"][..], &few].concat();
    let answer: Value = serde_json::from_str(&fine(here, &words)).expect("JSON");
    let reasons = answer["left_out"].as_array().expect("rows").iter().filter_map(|row| row[1].as_str());
    let reasons: Vec<&str> = reasons.collect();
    assert!(!reasons.iter().any(|reason| reason.contains("unknown")), "{reasons:?}");
    assert!(reasons.iter().any(|reason| reason.contains("feature")), "{reasons:?}");
}

#[test]
fn trust_decides_who_takes_part_and_cost_can_ask() {
    let here = &folder();
    fs::write(here.join("hill.toml"), HILL).expect("written");
    let joint = asked(here, &["--spec", "hill.toml", "--trust", "joint", "--out", "joint"]);
    let names: Vec<&str> = joint["policies"].as_array().expect("rows").iter().filter_map(|row| row["policy"].as_str()).collect();
    assert!(names.contains(&"batched-gp-ucb") && names.len() <= 10, "{joint}");
    // Every other policy took part too: `dp-bpe`, `dp-se` and those that need no server.
    assert_eq!(joint["left_out"].as_array().map(Vec::len), Some(1), "{joint}");
    assert_eq!(joint["left_out"][0][0], "fixed-design", "{joint}");
    let shuffle = asked(here, &["--spec", "hill.toml", "--trust", "shuffle", "--out", "shuffle"]);
    let left_out = |answer: &Value| -> Vec<String> {
        let names = answer["left_out"].as_array().into_iter().flatten().filter_map(|row| row[0].as_str());
        names.map(str::to_owned).collect()
    };
    assert_eq!(left_out(&shuffle), ["fixed-design", "jdp-gp-ucb", "jdp-linucb"], "{shuffle}");
    let spec = fs::read_to_string(here.join("shuffle/spec.toml")).expect("a spec");
    assert_eq!(
        spec.matches("batch-shuffle").count(),
        spec.matches("kind = \"batched-gp-ucb\"").count() + spec.matches("kind = \"dp-").count(),
        "{spec}"
    );
    let none = asked(here, &["--spec", "hill.toml", "--trust", "none", "--out", "none"]);
    assert!(none["epsilon"].is_null(), "{none}");
    let row = joint["policies"].as_array().and_then(|rows| rows.iter().find(|row| row["policy"] == "batched-gp-ucb"));
    assert!(row.is_some_and(|row| row["delta"] == 0.0), "{joint}");
    let said = fine(here, &words("cost --spec hill.toml --best --rounds 150 --trials 5 --pilots 4 --epsilon 1,4 --out costs"));
    assert!(said.contains("At ε = 1 the best private policy, "), "{said}");
    let spec = fs::read_to_string(here.join("costs/spec.toml")).expect("a spec");
    assert_eq!(spec.matches("[[policy]]").count(), 2, "{spec}");
}

#[test]
fn what_has_no_answer_is_refused() {
    let here = &folder();
    fs::write(here.join("hill.toml"), HILL).expect("written");
    let with = |more: &[&str]| run(here, &[&["best", "--spec", "hill.toml"][..], more].concat());
    ends(&with(&["--epsilon", "0"]), 2, &["numbers > 0"]);
    ends(&with(&["--epsilon", "nan"]), 2, &["`--epsilon` holds NaN"]);
    ends(&with(&["--epsilon", "1,2"]), 2, &["invalid value"]);
    ends(&with(&["--rounds", "3"]), 2, &["10"]);
    ends(&with(&["--trust", "everyone"]), 2, &["none, local, shuffle, joint"]);
    let cost = ["cost", "--spec", "hill.toml", "--trust", "none"];
    ends(&run(here, &cost), 2, &["`--trust none` has no privacy", "privateer best --trust none"]);
    assert!(!here.join("out").exists(), "a refused question leaves no folder");
}
