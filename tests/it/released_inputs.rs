//! Released inputs and the ledger beside them: what was released is what is read, whole or behind a public projection.

use crate::program::{code, folder, run, stderr};
use crate::two_parties::{CURATE, curated, fine, refused, spec, table};
use privateer::env::CuratedLedger;
use std::fs;

#[test]
fn columns_whose_names_hold_commas_are_quoted() {
    let here = &folder();
    let rows: String = (0..9).map(|i| format!("0.{i},{i},1\n")).collect();
    fs::write(here.join("table.csv"), format!("\"height, cm\",age,\"a\"\"b\"\n{rows}")).expect("written");
    let curate = |columns| {
        let mut words = ["curate", "table.csv", "--columns", columns, "--epsilon", "4", "--delta", "1e-3"].to_vec();
        words.extend(["--radius", "1", "--bound", "10", "--out", "released.csv"]);
        words
    };
    refused(here, &curate("height, cm,age"), &["has no column `height`", "did you mean the one column \"height, cm\"?"]);
    refused(here, &curate("\"height, cm,age"), &["the quote before `height, cm,age` is not closed"]);
    fine(here, &curate("a\"b, \"height, cm\""));
    let released = fs::read_to_string(here.join("released.csv")).expect("released inputs");
    assert!(released.starts_with("\"a\"\"b\",\"height, cm\"\n"), "{released}");
    let ledger = CuratedLedger::read(&here.join("released.csv.ledger.json")).expect("a ledger");
    assert_eq!(ledger.columns, ["a\"b", "height, cm"]);
}

/// One byte, a column's name, a row: each is seen, in words that name both files, what is there and what should be.
#[test]
fn released_inputs_that_are_not_those_of_their_ledger_are_refused() {
    let (here, _) = &curated();
    spec(here, "", "kind = \"gp-ucb\"\nridge = 0.01");
    let released_inputs = fs::read_to_string(here.join("released.csv")).expect("released inputs");
    let init = ["init", "state", "modeler.toml"];
    // The last digit of the last number, so that it is a number still.
    let digit = released_inputs.trim_end().chars().last().expect("a digit");
    let other = if digit == '1' { '2' } else { '1' };
    let byte = format!("{}{other}\n", &released_inputs.trim_end()[..released_inputs.trim_end().len() - 1]);
    let one_less = released_inputs.trim_end().rsplit_once('\n').expect("rows").0.to_owned() + "\n";
    for (planted, words) in [
        (byte, vec!["released.csv.ledger.json", "SHA-256", "expected"]),
        (released_inputs.replacen("x,y", "x,z", 1), vec!["columns `x`, `z`", "`x`, `y`"]),
        (released_inputs.replacen("x,y", "y,x", 1), vec!["columns `y`, `x`", "`x`, `y`"]),
        (one_less, vec!["59 rows", "is of 60"]),
        (format!("{released_inputs}0.5,0.5\n"), vec!["61 rows", "is of 60"]),
        // Rows in another order are other rows.
        (
            released_inputs
                .lines()
                .take(1)
                .chain(released_inputs.lines().skip(1).collect::<Vec<_>>().into_iter().rev())
                .fold(String::new(), |all, line| all + line + "\n"),
            vec!["SHA-256"],
        ),
    ] {
        fs::write(here.join("released.csv"), planted).expect("written");
        refused(here, &init, &words);
        assert!(!here.join("state").exists());
    }
    fs::write(here.join("released.csv"), &released_inputs).expect("written");
    // A ledger that somebody changed.
    let path = here.join("released.csv.ledger.json");
    let text = fs::read_to_string(&path).expect("a ledger");
    for (old, new) in [
        ("\"rows\": 60", "\"rows\": 61"),
        ("\"y\"", "\"z\""),
        ("\"epsilon\": 8", "\"epsilon\": 1"),
        ("\"version\": 3", "\"version\": 4"),
    ] {
        let planted = text.replacen(old, new, 1);
        assert_ne!(planted, text);
        fs::write(&path, planted).expect("written");
        refused(here, &init, &[if old.contains("version") { "has version 4" } else { "is not the ledger that was written" }]);
    }
    // One that was sealed again, which fits neither released inputs nor spec.
    fs::write(&path, &text).expect("written");
    let ledger = CuratedLedger::read(&path).expect("a ledger");
    for (planted, words) in [
        (CuratedLedger { rows: 61, ..ledger.clone() }, vec!["60 rows", "is of 61"]),
        (CuratedLedger { columns: vec!["x".to_owned(), "z".to_owned()], ..ledger.clone() }, vec!["`x`, `z`"]),
        (CuratedLedger { sha256: "0".to_owned(), ..ledger.clone() }, vec!["SHA-256"]),
        (CuratedLedger { sigma: -1.0, ..ledger.clone() }, vec!["noise of -"]),
    ] {
        fs::write(&path, serde_json::json!(planted.sealed()).to_string()).expect("written");
        refused(here, &init, &words);
    }
    // Ledgers of earlier versions do not name the columns that were read.
    let old = CuratedLedger { version: 2, ..ledger };
    fs::write(&path, serde_json::json!(old.sealed()).to_string()).expect("written");
    refused(here, &init, &["no version that this program knows"]);
    fs::write(&path, text).expect("written");
    // Columns may be read in another order, and all must be read.
    let modeler = fs::read_to_string(here.join("modeler.toml")).expect("a spec");
    fs::write(here.join("half.toml"), modeler.replace("[\"x\", \"y\"]", "[\"x\"]")).expect("written");
    refused(here, &["init", "state", "half.toml"], &["every column of the released inputs"]);
    fs::write(here.join("turned.toml"), modeler.replace("[\"x\", \"y\"]", "[\"y\", \"x\"]")).expect("written");
    fine(here, &["init", "turned", "turned.toml"]);
    fine(here, &init);
}

/// Released inputs behind a projection: named z1, …, with the matrix in the ledger, noise that pays for its stretch, and a modeler that may not give
/// each coordinate a length-scale.
#[test]
fn a_projection_is_public_and_paid_for() {
    let here = &folder();
    table(here);
    let with = |more: &[&'static str]| {
        let mut all = CURATE.to_vec();
        all[3] = "x,y,same";
        all[11] = "9";
        all.extend(more);
        all
    };
    refused(here, &with(&["--projection", "4"]), &["1 to 3"]);
    refused(here, &with(&["--projection", "0"]), &["1 to 3"]);
    assert_eq!(code(&run(here, &with(&["--projection-seed", "4"]))), Some(2));
    fine(here, &with(&["--projection", "2", "--projection-seed", "4"]));
    let text = fs::read_to_string(here.join("released.csv")).expect("released inputs");
    let ledger: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(here.join("released.csv.ledger.json")).expect("a ledger")).expect("JSON");
    assert!(text.starts_with("z1,z2\n") && text.lines().count() == 61, "{text}");
    let map = &ledger["projection"];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let matrix: Vec<f64> = map["matrix"].as_array().expect("a matrix").iter().map(number).collect();
    assert_eq!(
        (map["seed"].as_u64(), map["dimension"].as_u64(), map["columns"].as_u64(), matrix.len()),
        (Some(4), Some(3), Some(2), 6)
    );
    // The largest eigenvalue of the 2 x 2 matrix P^T P.
    let square = |a: usize, b: usize| (0..3).map(|i| matrix[2 * i + a] * matrix[2 * i + b]).sum::<f64>();
    let (trace, determinant) = (square(0, 0) + square(1, 1), square(0, 0) * square(1, 1) - square(0, 1).powi(2));
    let stretch = (0.5 * (trace + (trace * trace - 4.0 * determinant).sqrt())).sqrt();
    assert!((number(&map["stretch"]) / stretch - 1.0).abs() < 1e-9, "{map}");
    // Noise of the release without a projection, in a second release of the same data.
    let mut whole = with(&[]);
    whole[13] = "whole.csv";
    fine(here, &whole);
    let plain: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(here.join("whole.csv.ledger.json")).expect("a ledger")).expect("JSON");
    let (sigma, unit) = (number(&ledger["sigma"]), number(&plain["sigma"]));
    assert!((sigma / (unit * stretch) - 1.0).abs() < 1e-4, "{sigma} {unit} {stretch}");
    // What lies in the released inputs: rows times the matrix, and noise of that size. 120 squares: six standard deviations of their mean.
    let released_inputs: Vec<f64> =
        text.lines().skip(1).flat_map(|line| line.split(',').map(|x| x.parse::<f64>().expect("a number"))).collect();
    let row = |i: usize| [2.0 * libm::cos(i as f64 * 0.1), 2.0 * libm::sin(i as f64 * 0.1), 7.5];
    let image = |i: usize, j: usize| (0..3).map(|k| row(i)[k] * matrix[2 * k + j]).sum::<f64>();
    let noise: f64 = released_inputs.iter().enumerate().map(|(at, z)| (z - image(at / 2, at % 2)).powi(2)).sum::<f64>() / 120.0;
    assert!((noise / (sigma * sigma) - 1.0).abs() < 6.0 * (2.0f64 / 120.0).sqrt(), "{noise} {sigma}");
    spec(here, "", "kind = \"gp-ucb\"\nridge = 0.01");
    let modeler = fs::read_to_string(here.join("modeler.toml")).expect("a spec").replace("[\"x\", \"y\"]", "[\"z1\", \"z2\"]");
    fs::write(here.join("modeler.toml"), &modeler).expect("written");
    fine(here, &["init", "state", "modeler.toml"]);
    fine(here, &["ask", "state"]);
    fs::write(here.join("own.toml"), modeler.replace("lengthscale = 1.0", "lengthscales = [1.0, 2.0]")).expect("written");
    refused(here, &["init", "own", "own.toml"], &["mixes the coordinates"]);
    // A seed of the noise stays refused, beside that of the matrix too.
    let mut seeded = with(&["--projection", "2", "--seed", "7"]);
    seeded[13] = "seeded.csv";
    refused(here, &seeded, &["seed"]);
    assert!(!stderr(&run(here, &["ask", "state"])).contains("error"));
}
