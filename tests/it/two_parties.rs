//! A curator and a modeler as two programs: what passes between them, what is refused, and a state file that a kill cannot harm.

use crate::program::*;
use privateer_privacy::mechanism::MECHANISMS;

#[test]
fn the_shell_session_of_the_readme() {
    if Command::new("sh").arg("-c").arg("awk 'BEGIN {}'").status().is_err() {
        println!("skipped: no shell");
        return;
    }
    // The noise is fresh every time, from the operating system. Of 16 sessions that were looked at 3 ended below 0.5; where 4 of 10 do, 24 in
    // a row do once in three thousand million runs. What is tested is that both forms run, stop at the budget and tell their best rows.
    let mut outcomes = Vec::new();
    while outcomes.len() < 24 && outcomes.last().is_none_or(|outcome| *outcome <= 0.5) {
        outcomes.push(readme_session());
    }
    assert!(outcomes.last().is_some_and(|outcome| 0.5 < *outcome), "{outcomes:?}");
}

/// The outcome of the row that the second form recommends.
fn readme_session() -> f64 {
    let mut command = Command::new("sh");
    command.arg(root().join("examples/two_parties.sh")).env("PRIVATEER", env!("CARGO_BIN_EXE_privateer"));
    let output = command.arg(&*folder()).output().expect("a shell");
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    for form in ["data-holder: best row", "trusted-curator: best row"] {
        assert_eq!(said.matches(form).count(), 1, "{said}");
    }
    // Both forms state what a patient has spent, and neither exceeds the budget.
    let spent: Vec<f64> =
        said.lines().filter_map(|line| line.split("most spent     epsilon = ").nth(1)?.split(',').next()?.parse().ok()).collect();
    assert!(spent.len() == 2 && spent.iter().all(|epsilon| *epsilon <= 8.0), "{spent:?}");
    let last = said.lines().last().expect("a line");
    last.split("outcome ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a number").parse().expect("a number")
}

#[test]
fn what_a_release_holds_and_what_it_refuses() {
    let here = &curated();
    let released_inputs = here.text("released.csv");
    assert!(released_inputs.starts_with("x,y\n") && released_inputs.lines().count() == 61, "{released_inputs}");
    let ledger = here.json("released.csv.ledger.json");
    assert_eq!((ledger["rows"].as_u64(), ledger["ledger"]["provenance"].as_str()), (Some(60), Some("released")));
    // sigma_AG(8, 1e-6) by bisection in Python, times the radius: the grid adds a few millionths.
    let sigma = ledger["sigma"].as_f64().expect("a number");
    assert!((1.0..1.0 + 1e-5).contains(&(sigma / (0.2 * 0.652_935_384))), "{sigma}");
    let rows = numbers(&released_inputs).into_iter().enumerate();
    let noise: f64 = rows.map(|(at, z)| (z - place(at / 2)[at % 2]).powi(2)).sum::<f64>() / 120.0;
    // 120 squares: six standard deviations of their mean.
    assert!((noise / (sigma * sigma) - 1.0).abs() < 6.0 * (2.0f64 / 120.0).sqrt(), "{noise} {sigma}");
    // Nothing is overwritten: a second release spends the budget again.
    here.refused(&CURATE, &["there already", "budget"]);
    here.write("gaps.csv", "x,y\n1,2\n3,\n");
    here.write("nan.csv", "x,y\n1,2\n3,NaN\n");
    for (word, value, texts) in [
        ("--epsilon", "0", &["--epsilon", "> 0"][..]),
        ("--delta", "1", &["--delta", "< 1"]),
        ("--radius", "0", &["--radius` is 0"]),
        ("--bound", "nan", &["--bound` is NaN"]),
        // Doubles of this size do not hold the released numbers.
        ("--bound", "1.12e14", &["--bound", "5.6e14 times `--radius`", "at most 1e8 times"]),
        ("--columns", "x,z", &["`z`"]),
        ("--columns", "x,x", &["named twice"]),
        ("--columns", "x,name", &["column `name` has text"]),
        ("curate", "none.csv", &["none.csv"]),
        ("curate", "gaps.csv", &["gaps.csv"]),
        ("curate", "nan.csv", &["nan.csv"]),
        ("--seed", "7", &["seed"]),
        ("--scales", "1,0", &["--scales` is 0"]),
        ("--centre", "1", &["1 numbers for 2 columns"]),
    ] {
        here.refused(&curate_with(&[("-o", "other.csv"), (word, value)]), texts);
        assert!(!here.holds("other.csv") && !here.holds("other.csv.ledger.json"));
    }
    // Beyond the bound: moved, counted and said; constant and repeated columns: said.
    let changes = [("-o", "other.csv"), ("--bound", "1"), ("--columns", "x,y,same")];
    here.ends(&curate_with(&changes), 0, &["60 of 60 rows were longer", "`same` is constant"]);
}

#[test]
fn a_session_takes_each_reward_once() {
    let here = &curated();
    session(here, "", "kind = \"gp-ucb\"\nridge = 0.01");
    assert_private(&here.join("state"));
    here.refused(&["init", "state", "modeler.toml"], &["there already"]);
    here.refused(&["tell", "state", "0", "1.0"], &["no row is asked for"]);
    here.refused(&["ask", "state", "--best"], &["nothing is told"]);
    for round in 0..8 {
        let row = &here.ask("state");
        assert_eq!(here.ask("state"), *row, "asking twice is asking once");
        let index: usize = row.parse().expect("a row");
        let other = ((index + 1) % 60).to_string();
        here.refused(&["tell", "state", &other, "1.0"], &["was asked for"]);
        here.refused(&["tell", "state", row, "nan"], &["NaN"]);
        here.refused(&["tell", "state", row, "much"], &["`much` is not a number"]);
        let reward = outcome(index);
        here.fine(&["tell", "state", row, &reward]);
        here.refused(&["tell", "state", row, &reward], &["told already", &format!("round {}", round + 1)]);
    }
    here.refused(&["ask", "state"], &["over", "8 rounds"]);
    assert!(here.fine(&["ask", "state", "--best"]).trim().parse::<usize>().expect("a row") < 60);
    // Foreign, newer, altered and damaged files; changed points.
    let bytes = here.bytes("state");
    here.remove("state");
    for (name, change, cause) in [
        ("newer", "PRAGMA user_version = 99", "version 99"),
        ("far", "UPDATE sessions SET asked = 60", "was altered"),
        ("other", "PRAGMA application_id = 7", "not a deployment"),
    ] {
        here.write(name, &bytes);
        here.alter(name, change);
        here.refused(&["ask", name], &[cause]);
    }
    for (name, bytes) in
        [("foreign", &b"{\"schema_version\": 1}"[..]), ("cut", &bytes[..bytes.len() / 2]), ("head", &bytes[..80])]
    {
        here.write(name, bytes);
        for words in [&["ask", name][..], &["ledger", name], &["init", name, "modeler.toml", "--session", "second"]] {
            here.refused(words, &[if name == "foreign" { "not" } else { "damaged" }]);
        }
    }
    here.write("state", &bytes);
    assert_eq!(code(&here.run(&["ask", "absent"])), Some(2));
    here.remove("released.csv");
    here.remove("released.csv.ledger.json");
    here.fine(&CURATE);
    here.refused(&["ask", "state", "--best"], &["points changed"]);
}

/// With a mechanism on the learner's side only the released value is kept, and never drawn again.
#[test]
fn noise_on_the_learners_side_is_drawn_once() {
    let here = &curated();
    for (at, mechanism) in MECHANISMS.iter().map(|entry| entry.name).filter(|name| *name != "none").enumerate() {
        let privacy = format!("[privacy]\nmechanism = \"{mechanism}\"\nepsilon = 2.0\ndelta = 1e-6\nclip = [-1.5, 1.5]\n");
        spec(here, &privacy, ["kind = \"tgp-ucb\"", "kind = \"uniform\"", "kind = \"igp-ucb\""][at % 3]);
        let state = format!("state-{mechanism}");
        here.fine(&["init", &state, "modeler.toml"]);
        let told = here.fine_json(&["tell", &state, &here.ask(&state), "0.123456789", "--json"]);
        let released = told["released"].as_f64().expect("a number");
        assert!(released.is_finite() && released != 0.123456789, "{told}");
        let kept = || here.one::<f64>(&state, "SELECT released FROM releases");
        assert_eq!(kept(), released);
        assert!(!here.holds_number(&state, 0.123456789), "the raw reward is kept nowhere");
        assert!(here.holds_number(&state, released));
        let provenance: String = here.one(&state, "SELECT value FROM terms WHERE part = 'ledger' AND name = 'provenance'");
        assert_eq!(provenance, "released");
        here.fine(&["ask", &state]);
        assert_eq!(kept(), released, "never drawn anew");
    }
    // Without a clip range the claim would not hold for unbounded noise.
    spec(here, "[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0", "kind = \"tgp-ucb\"");
    here.refused(&["init", "unclipped", "modeler.toml"], &["clip"]);
}
