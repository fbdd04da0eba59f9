//! Ledgers and prices of deployments: what adds up, what does not, and what other accountants find.

use crate::deployments::{HYBRID, ledger, three_rows, until_stopped, with_rows};
use crate::program::*;
use privateer_privacy::accounting::{Composition, Loss, zcdp};
use privateer_privacy::odometer::{FilterKind, Odometer, ReleaseLoss, Spend, SpentRecords};
use privateer_privacy::{Adversary, Delta, Growth};

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
fn lines(folder: &Folder, files: &[&str]) -> Vec<(String, f64)> {
    let ledger = ledger(folder, files);
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
    let here = &with_table();
    let curate = |radius: &str, name: &str| {
        here.fine(&curate_with(&[("--radius", radius), ("-o", name)]));
        here.json(&format!("{name}.ledger.json"))["sigma"].as_f64().expect("a number")
    };
    let far = curate("0.2", "released.csv");
    session(here, HYBRID, "kind = \"tgp-ucb\"");
    here.answer("state", "0.5");
    // Values and inputs within a radius: the sum is that of whole records, whose rows are five apart.
    let whole_of_far = exact(&[5.0 / far], 1e-6);
    agree(
        &lines(here, &["state", "released.csv.ledger.json", "--filter", "sum"]),
        &[("record", 2.0 + whole_of_far), ("inputs-within 0.2", exact(&[0.2 / far], 1e-6)), ("values", 2.0)],
    );
    let said = here.fine(&["ledger", "state", "released.csv.ledger.json"]);
    let first = said.split("together").nth(1).expect("both").lines().nth(2).expect("a line");
    assert!(first.contains("one record, replaced by any other"), "the largest change stands first: {said}");
    // A release at a smaller radius counts at the larger one by its noise, and the other way round.
    let near = curate("0.1", "near.csv");
    let both = ["released.csv.ledger.json", "near.csv.ledger.json"];
    let at = |distance: f64| exact(&[distance / far, distance / near], 1e-6);
    agree(&lines(here, &both), &[("record", at(5.0)), ("inputs-within 0.2", at(0.2)), ("inputs-within 0.1", at(0.1))]);
    let whole = curate("5", "whole.csv");
    agree(&lines(here, &["whole.csv.ledger.json"]), &[("record", exact(&[5.0 / whole], 1e-6))]);
    here.refused(&["ledger", "state", "state"], &["named twice"]);
    here.refused(&["ledger", "data.csv"], &["data.csv"]);
    // The same table under one budget: the second release would exceed it, and nothing of it is left.
    here.fine(&["odometer", "shared", "--budget", "epsilon=12,delta=1e-5", "--filter", "gaussian-dp", "--rows", "60"]);
    for (name, allowed) in [("a.csv", true), ("b.csv", true), ("c.csv", false)] {
        let output = here.run(&curate_with(&[("-o", name), ("--odometer", "shared")]));
        assert_eq!(code(&output) == Some(0), allowed, "{name}: {}", stderr(&output));
        assert_eq!(here.holds(name), allowed);
    }
}

/// An answer about one record that names a larger change first counts what every other record has spent before.
#[test]
fn a_budget_is_kept_for_all_records_once_a_release_names_a_larger_change() {
    let here = &with_table();
    here.fine(&["odometer", "od", "--budget", "epsilon=4,delta=1e-4", "--filter", "sum", "--change", "values", "--rows", "60"]);
    let whole = |name, odometer| curate_with(&[("--epsilon", "2.95"), ("--radius", "5"), ("-o", name), ("--odometer", odometer)]);
    here.fine(&whole("released.csv", "od"));
    let release = |state: &str, odometer: &str, more: &str| {
        format!("release --state {state} --mechanism duchi --epsilon 3.99 --clip 0,1 --odometer {odometer} {more}5 0.5")
    };
    here.fine(&words(&release("st", "od", "")));
    let privacy =
        "[privacy]\nmechanism = \"tree\"\nepsilon = 1.0\ndelta = 1e-5\nclip = [-1.0, 1.0]\nprotects = \"contexts and rewards\"";
    spec(here, privacy, "kind = \"jdp-linucb\"");
    here.fine(&["init", "sums", "modeler.toml", "--odometer", "od"]);
    here.ends(&["ask", "sums"], 1, &["record 5 has spent"]);
    here.fine(&["audit", "./od", "./st", "./released.csv.ledger.json"]);
    // What could never go on is refused at its start, and leaves nothing.
    here.fine(&["odometer", "unnamed", "--budget", "epsilon=9,delta=1e-4", "--filter", "sum", "--rows", "60"]);
    here.fine(&whole("again.csv", "unnamed"));
    here.refused(&["init", "never", "modeler.toml", "--odometer", "unnamed"], &["--change"]);
    here.refused(&words(&release("never", "unnamed", "--column X ")), &["as an input and as a value"]);
    assert!(!here.holds("never"));
}

#[test]
fn deployments_are_priced_before_and_while_they_run() {
    let here = &with_rows(HYBRID);
    let said = here.fine(&["account", "modeler.toml", "--budget", "epsilon=4"]);
    assert!(
        said.contains("at most 2 answers about a record") && said.contains("one record can be asked for in each of 12 rounds"),
        "{said}"
    );
    let priced = here.fine_json(&["account", "modeler.toml", "--json"]);
    let last = priced["deployment"]["answers"].as_array().expect("answers").last().expect("twelve").clone();
    assert_eq!((last["answers"].as_u64(), last["sum"]["epsilon"].as_f64()), (Some(12), Some(24.0)));
    here.fine(&["init", "state", "modeler.toml", "--budget", "epsilon=40"]);
    let (answers, _) = until_stopped(here, &["state"], 5);
    let most = answers.iter().max().copied().expect("three") as f64;
    let said = here.fine_json(&["account", "state", "--json"]);
    assert_eq!(said["deployment"]["spent"]["total"]["largest"]["epsilon"], 2.0 * most);
    assert_eq!(said["deployment"]["most_answers"], 20);
    // A session asks for a record in each of its rounds at most.
    let last = said["deployment"]["answers"].as_array().expect("answers").last().expect("twelve").clone();
    assert_eq!(last["answers"].as_u64(), Some(12));
    three_rows(here, "");
    let said = here.fine(&["account", "modeler.toml"]);
    assert!(said.contains("every answer is in the open"), "{said}");
}

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
    let here = &with_table();
    here.write("bare.csv", "1.5,2\n0.5,1\n0.25,1\n");
    here.refused(&curate_with(&[("curate", "bare.csv"), ("--columns", "1.5,2")]), &["first row", "`1.5`", "--numeric-header"]);
    let large = [("--delta", "0.02"), ("-o", "large.csv"), ("--allow-large-delta", "")];
    here.refused(&curate_with(&large[..1]), &["not below one over the number of rows (60)", "--allow-large-delta"]);
    assert!(!here.holds("released.csv"));
    here.ends(&curate_with(&large), 0, &["warning: delta"]);
    let few = here.ends(&CURATE, 0, &["0 of 60 rows were longer"]);
    assert!(!stderr(&few).contains("most rows"), "{}", stderr(&few));
    assert!(here.json("released.csv.ledger.json")["public"].as_str().is_some_and(|said| said.contains("command line")));
    here.ends(&curate_with(&[("--bound", "1"), ("-o", "many.csv")]), 0, &["60 of 60 rows", "most rows were moved"]);
    // Numbers from a file that is declared public.
    let public = [&CURATE[..10], &["--public", "public.json", "-o", "public.csv"]].concat();
    here.write("public.json", r#"{"bound": 2.5}"#);
    here.refused(&public, &["public.json", "source"]);
    here.write("public.json", r#"{"source": "a handbook", "bound": 2.5, "scales": [1, 2]}"#);
    here.fine(&public);
    let ledger = here.json("public.csv.ledger.json");
    assert_eq!(ledger["scales"], serde_json::json!([1.0, 2.0]));
    assert!(ledger["public"].as_str().is_some_and(|said| said.contains("a handbook")));
    // Fitted hyperparameters: refused until they are declared public.
    let fitted = here.fine(&["fit", "data.csv", "--inputs", "x,y", "--value", "outcome"]);
    assert!(!fitted.contains("public"), "{fitted}");
    let fitted_public = here.fine(&["fit", "data.csv", "--inputs", "x,y", "--value", "outcome", "--public"]);
    assert!(fitted_public.contains("public = [\"standardisation\", \"hyperparameters\", \"range\"]"), "{fitted_public}");
    three_rows(here, HYBRID);
    let spec = here.text("modeler.toml");
    let with_keys = |keys: &str| here.write("modeler.toml", spec.replace("bound = 1.0\n", &format!("bound = 1.0\n{keys}")));
    with_keys("hyperparameters = \"fitted\"\n");
    here.refused(&["init", "state", "modeler.toml"], &["no guarantee", "fitted"]);
    with_keys("hyperparameters = \"fitted\"\npublic = [\"hyperparameters\"]\n");
    here.fine(&["init", "state", "modeler.toml"]);
    // A Gaussian session whose delta is one over the rows.
    three_rows(here, "[privacy]\nmechanism = \"gaussian\"\nepsilon = 2.0\ndelta = 0.34\nclip = [-1.0, 1.0]\n");
    here.refused(&["init", "large", "modeler.toml"], &["--allow-large-delta"]);
    here.fine(&["init", "large", "modeler.toml", "--allow-large-delta"]);
}

/// Our bounds beside the Python package dp-accounting, where it is installed; a word where it is not.
const SCRIPT: &str = r#"
try:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting import rdp, dp_event
except ImportError:
    print("skipped"); raise SystemExit
laplace = pld.from_laplace_mechanism(10.0, value_discretization_interval=1e-4).self_compose(40)
gaussian = pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-4)
print(laplace.get_epsilon_for_delta(1e-5))
print(laplace.compose(gaussian).get_epsilon_for_delta(1e-5))
accountant = rdp.RdpAccountant([1 + 0.01 * i for i in range(1, 20000)])
accountant.compose(dp_event.GaussianDpEvent(3.0))
print(accountant.get_epsilon(1e-5))
"#;

#[test]
fn bounds_agree_with_another_accountant() {
    let Ok(output) = Command::new("python3").args(["-c", SCRIPT]).output() else {
        println!("skipped");
        return;
    };
    let said = stdout(&output);
    if said.trim() == "skipped" {
        println!("skipped");
        return;
    }
    let theirs: Vec<f64> = said.lines().map(|line| line.parse().expect("a number")).collect();
    let delta = Delta::try_from(1e-5).expect("a probability");
    let laplace = Composition::default().and(Loss::Laplace { epsilon: 0.1 }, 40);
    let mixed = laplace.clone().and(Loss::Gaussian { mu: 0.5 }, 1);
    // Both give upper bounds on grids: neither may be below the other's lower bound, and they are close.
    for (composition, theirs) in [(laplace, theirs[0]), (mixed, theirs[1])] {
        let ours = composition.epsilon(delta);
        assert!(ours.lower <= theirs && (ours.upper - theirs).abs() < 0.02 * theirs, "{ours:?} {theirs}");
    }
    let ours = zcdp::epsilon(zcdp::of_gaussian(1.0 / 3.0), delta);
    assert!((ours - theirs[2]).abs() < 1e-4 * theirs[2], "{ours} {}", theirs[2]);
}
