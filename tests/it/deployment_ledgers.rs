//! Ledgers and prices of deployments: what adds up, what does not, and what another accountant finds.

use crate::deployments::{HYBRID, file, json, three_rows, until_stopped};
use crate::program::{code, ends, folder, run, stderr};
use crate::two_parties::{CURATE, fine, refused, table};
use privateer_privacy::accounting::Loss;
use privateer_privacy::odometer::{FilterKind, Odometer, ReleaseLoss, Spend, SpentRecords};
use privateer_privacy::{Adversary, Growth};
use std::fs;
use std::path::Path;

/// The exact loss of Gaussian releases whose `mu` are these, by the definition of the trade-off function.
fn exact(mus: &[f64], delta: f64) -> f64 {
    let mu = mus.iter().map(|mu| mu * mu).sum::<f64>().sqrt();
    let tail = |x: f64| 0.5 * libm::erfc(x / std::f64::consts::SQRT_2);
    let (mut no, mut yes) = (0.0, mu * mu + 40.0 * mu + 40.0);
    for _ in 0..200 {
        let middle = 0.5 * (no + yes);
        // e^epsilon phi(far) = phi(near): beyond 10 the tail is its asymptotic series.
        let (near, far) = (middle / mu - 0.5 * mu, middle / mu + 0.5 * mu);
        let series = 1.0 - 1.0 / far.powi(2) + 3.0 / far.powi(4) - 15.0 / far.powi(6);
        let second = if far < 10.0 {
            middle.exp() * tail(far)
        } else {
            (-0.5 * near * near).exp() / std::f64::consts::TAU.sqrt() / far * series
        };
        if tail(near) - second <= delta { yes = middle } else { no = middle }
    }
    yes
}

/// The lines of a ledger by the kind of their change, the first one first.
fn lines(folder: &Path, files: &[&str]) -> Vec<(String, f64)> {
    let words: Vec<&str> = ["ledger", "--json"].into_iter().chain(files.iter().copied()).collect();
    let said = json(&fine(folder, &words));
    let ledger = if files.len() == 1 { &said["files"][0]["ledger"] } else { &said["together"] };
    let all = std::iter::once(&ledger["total"]).chain(ledger["changes"].as_array().expect("lines"));
    all.map(|line| {
        let kind = line["change"]["kind"].as_str().expect("a kind");
        let radius = line["change"]["radius"].as_f64().map_or(String::new(), |radius| format!(" {radius}"));
        (format!("{kind}{radius}"), line["largest"]["epsilon"].as_f64().expect("a number"))
    })
    .collect()
}

fn agree(found: &[(String, f64)], expected: &[(&str, f64)]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((kind, epsilon), (expected_kind, exact)) in found.iter().zip(expected) {
        let close = exact * (1.0 - 1e-9) <= *epsilon && *epsilon <= exact * 1.001 + 1e-6;
        assert!(kind == expected_kind && close, "{found:?} {expected:?}");
    }
}

/// Every release counts for every change on which its law depends: radii that are named scale, whole records hold everything.
#[test]
fn every_release_counts_for_every_change() {
    let here = &folder();
    table(here);
    let curate = |radius: &str, name: &str| {
        let mut words = CURATE.to_vec();
        (words[9], words[13]) = (radius, name);
        fine(here, &words);
        file(here, &format!("{name}.ledger.json"))["sigma"].as_f64().expect("a number")
    };
    let far = curate("0.2", "released.csv");
    let spec = "rounds = 8\n[environment]\nkind = \"points-table\"\nfile = \"released.csv\"\nreleased = \"released.csv.ledger.json\"\n\
                inputs = [\"x\", \"y\"]\nkernel = { kind = \"squared-exponential\", lengthscale = 1.0 }\n\
                noise = { kind = \"gaussian\", sd = 0.05 }\nbound = 1.0\n";
    fs::write(here.join("modeler.toml"), format!("{spec}{HYBRID}\n[[policy]]\nkind = \"tgp-ucb\"\n")).expect("written");
    fine(here, &["init", "state", "modeler.toml"]);
    let row = fine(here, &["ask", "state"]);
    fine(here, &["tell", "state", row.trim(), "0.5"]);
    // Values and inputs within a radius: the sum is that of whole records, whose rows are five apart.
    let whole_of_far = exact(&[5.0 / far], 1e-6);
    agree(
        &lines(here, &["state", "released.csv.ledger.json", "--filter", "sum"]),
        &[("record", 2.0 + whole_of_far), ("inputs-within 0.2", exact(&[0.2 / far], 1e-6)), ("values", 2.0)],
    );
    let said = fine(here, &["ledger", "state", "released.csv.ledger.json"]);
    let first = said.split("together").nth(1).expect("both").lines().nth(2).expect("a line");
    assert!(first.contains("one record, replaced by any other"), "the largest change stands first: {said}");
    // A release at a smaller radius counts at the larger one by its noise, and the other way round.
    let near = curate("0.1", "near.csv");
    let both = ["released.csv.ledger.json", "near.csv.ledger.json"];
    let at = |distance: f64| exact(&[distance / far, distance / near], 1e-6);
    agree(&lines(here, &both), &[("record", at(5.0)), ("inputs-within 0.2", at(0.2)), ("inputs-within 0.1", at(0.1))]);
    let whole = curate("5", "whole.csv");
    agree(&lines(here, &["whole.csv.ledger.json"]), &[("record", exact(&[5.0 / whole], 1e-6))]);
    refused(here, &["ledger", "state", "state"], &["named twice"]);
    refused(here, &["ledger", "data.csv"], &["data.csv"]);
    // The same table under one budget: the second release would exceed it, and nothing of it is left.
    fine(here, &["odometer", "shared", "--budget", "epsilon=12,delta=1e-5", "--filter", "gaussian-dp", "--rows", "60"]);
    for (name, allowed) in [("a.csv", true), ("b.csv", true), ("c.csv", false)] {
        let mut again = CURATE.to_vec();
        again[13] = name;
        again.extend(["--odometer", "shared"]);
        let output = run(here, &again);
        assert_eq!(code(&output) == Some(0), allowed, "{name}: {}", stderr(&output));
        assert_eq!(here.join(name).exists(), allowed);
    }
}

/// An answer about one record that names a larger change first counts what every other record has spent before.
#[test]
fn a_budget_is_kept_for_all_records_once_a_release_names_a_larger_change() {
    let here = &folder();
    table(here);
    fine(here, &["odometer", "od", "--budget", "epsilon=4,delta=1e-4", "--filter", "sum", "--change", "values", "--rows", "60"]);
    let mut whole = CURATE.to_vec();
    (whole[5], whole[9]) = ("2.95", "5");
    whole.extend(["--odometer", "od"]);
    fine(here, &whole);
    let release = ["release", "--state", "st", "--mechanism", "duchi", "--epsilon", "3.99", "--clip", "0,1", "--odometer", "od"];
    fine(here, &[release.as_slice(), &["5", "0.5"]].concat());
    let privacy = "[privacy]\nmechanism = \"tree\"\nepsilon = 1.0\ndelta = 1e-5\nclip = [-1.0, 1.0]";
    crate::two_parties::spec(here, privacy, "kind = \"jdp-linucb\"");
    fine(here, &["init", "sums", "modeler.toml", "--odometer", "od"]);
    ends(&run(here, &["ask", "sums"]), 1, &["record 5 has spent"]);
    fine(here, &["audit", "./od", "./st", "./released.csv.ledger.json"]);
    // What could never go on is refused at its start, and leaves nothing.
    fine(here, &["odometer", "unnamed", "--budget", "epsilon=9,delta=1e-4", "--filter", "sum", "--rows", "60"]);
    (whole[13], whole[15]) = ("again.csv", "unnamed");
    fine(here, &whole);
    refused(here, &["init", "never", "modeler.toml", "--odometer", "unnamed"], &["--change"]);
    let mut other = release;
    (other[2], other[10]) = ("never", "unnamed");
    refused(here, &[other.as_slice(), &["--column", "X", "5", "0.5"]].concat(), &["as an input and as a value"]);
    assert!(!here.join("never").exists());
}

/// A spec of a session is priced before it starts, and a session while it runs.
#[test]
fn deployments_are_priced_before_and_while_they_run() {
    let here = &folder();
    three_rows(here, HYBRID);
    let said = fine(here, &["account", "modeler.toml", "--budget", "epsilon=4"]);
    assert!(
        said.contains("at most 2 answers about a record") && said.contains("one record can be asked for in each of 12 rounds"),
        "{said}"
    );
    let priced = json(&fine(here, &["account", "modeler.toml", "--json"]));
    let last = priced["deployment"]["answers"].as_array().expect("answers").last().expect("twelve").clone();
    assert_eq!((last["answers"].as_u64(), last["sum"]["epsilon"].as_f64()), (Some(12), Some(24.0)));
    fine(here, &["init", "state", "modeler.toml", "--budget", "epsilon=40"]);
    let (answers, _) = until_stopped(here, "state", 5);
    let most = answers.iter().max().copied().expect("three") as f64;
    let said = json(&fine(here, &["account", "state", "--json"]));
    assert_eq!(said["deployment"]["spent"]["total"]["largest"]["epsilon"], 2.0 * most);
    assert_eq!(said["deployment"]["most_answers"], 20);
    // A session asks for a record in each of its rounds at most.
    let last = said["deployment"]["answers"].as_array().expect("answers").last().expect("twelve").clone();
    assert_eq!(last["answers"].as_u64(), Some(12));
    three_rows(here, "");
    let said = fine(here, &["account", "modeler.toml"]);
    assert!(said.contains("every answer is in the open"), "{said}");
}

/// The filters agree with an independent accountant to a millionth.
#[test]
fn filters_agree_with_another_accountant() {
    let reference = json(include_str!("data/accountants.json"));
    let cases = reference["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 4);
    for case in cases {
        let filter: FilterKind = case["filter"].as_str().expect("a filter").parse().expect("a filter");
        let delta = case["delta"].as_f64().expect("a number");
        let budget = format!("epsilon=100,delta={delta}").parse().expect("a budget");
        let mut odometer = Odometer::new(filter, Some(budget), Some(1)).expect("an odometer");
        for part in case["parts"].as_array().expect("parts") {
            let loss = match (part["mu"].as_f64(), part["pure"].as_f64()) {
                (Some(mu), _) => Loss::Gaussian { mu },
                (None, Some(epsilon)) => Loss::Response { epsilon },
                (None, None) => panic!("{part}"),
            };
            let spend = Spend {
                session: "s".to_owned(),
                mechanism: "m".to_owned(),
                records: SpentRecords::One { row: 0 },
                adversary: Adversary::Observer,
                loss: ReleaseLoss::Value { column: "c".to_owned(), loss, width: None },
                epsilon: 1.0,
                delta: 0.0,
                growth: Growth::SeparateReleases,
                count: 1,
            };
            for _ in 0..part["count"].as_u64().expect("a count") {
                odometer.spend(&spend).expect("within the budget");
            }
        }
        let found = odometer.ledger().total.expect("one change").largest.epsilon;
        let theirs = case["epsilon"].as_f64().expect("a number");
        assert!((found - theirs).abs() < 1e-6 * theirs, "{}: {found} {theirs}", case["name"]);
    }
}

/// Tables without a header, deltas that protect nobody, numbers taken from the data.
#[test]
fn public_numbers_and_privacy_levels_are_asked_for() {
    let here = &folder();
    table(here);
    let with = |changes: &[(usize, &'static str)], more: &[&'static str]| {
        let mut all = CURATE.to_vec();
        changes.iter().for_each(|&(at, word)| all[at] = word);
        all.extend(more);
        all
    };
    fs::write(here.join("bare.csv"), "1.5,2\n0.5,1\n0.25,1\n").expect("written");
    let bare = [(1, "bare.csv"), (3, "1.5,2")];
    refused(here, &with(&bare, &[]), &["first row", "`1.5`", "--numeric-header"]);
    refused(here, &with(&[(7, "0.02")], &[]), &["not below one over the number of rows (60)", "--allow-large-delta"]);
    assert!(!here.join("released.csv").exists());
    ends(&run(here, &with(&[(7, "0.02"), (13, "large.csv")], &["--allow-large-delta"])), 0, &["warning: delta"]);
    let few = run(here, &with(&[], &[]));
    assert!(stderr(&few).contains("0 of 60 rows were longer") && !stderr(&few).contains("most rows"), "{}", stderr(&few));
    assert!(file(here, "released.csv.ledger.json")["public"].as_str().is_some_and(|said| said.contains("command line")));
    let many = run(here, &with(&[(11, "1"), (13, "many.csv")], &[]));
    assert!(stderr(&many).contains("60 of 60 rows") && stderr(&many).contains("most rows were moved"), "{}", stderr(&many));
    // Numbers from a file that is declared public.
    let mut public: Vec<&str> = CURATE[..10].to_vec();
    public.extend(["--public", "public.json", "-o", "public.csv"]);
    fs::write(here.join("public.json"), r#"{"bound": 2.5}"#).expect("written");
    refused(here, &public, &["public.json", "source"]);
    fs::write(here.join("public.json"), r#"{"source": "a handbook", "bound": 2.5, "scales": [1, 2]}"#).expect("written");
    fine(here, &public);
    let ledger = file(here, "public.csv.ledger.json");
    assert_eq!(ledger["scales"], serde_json::json!([1.0, 2.0]));
    assert!(ledger["public"].as_str().is_some_and(|said| said.contains("a handbook")));
    // Fitted hyperparameters: refused until they are declared public.
    let fitted = fine(here, &["fit", "data.csv", "--inputs", "x,y", "--value", "outcome"]);
    assert!(!fitted.contains("public"), "{fitted}");
    let fitted_public = fine(here, &["fit", "data.csv", "--inputs", "x,y", "--value", "outcome", "--public"]);
    assert!(fitted_public.contains("public = [\"standardisation\", \"hyperparameters\", \"range\"]"), "{fitted_public}");
    three_rows(here, HYBRID);
    let spec = fs::read_to_string(here.join("modeler.toml")).expect("a spec");
    let with_keys = |keys: &str| {
        let text = spec.replace("bound = 1.0\n", &format!("bound = 1.0\n{keys}"));
        fs::write(here.join("modeler.toml"), text).expect("written");
    };
    with_keys("hyperparameters = \"fitted\"\n");
    refused(here, &["init", "state", "modeler.toml"], &["no guarantee", "fitted"]);
    with_keys("hyperparameters = \"fitted\"\npublic = [\"hyperparameters\"]\n");
    fine(here, &["init", "state", "modeler.toml"]);
    // A Gaussian session whose delta is one over the rows.
    three_rows(here, "[privacy]\nmechanism = \"gaussian\"\nepsilon = 2.0\ndelta = 0.34\nclip = [-1.0, 1.0]\n");
    refused(here, &["init", "large", "modeler.toml"], &["--allow-large-delta"]);
    fine(here, &["init", "large", "modeler.toml", "--allow-large-delta"]);
}
