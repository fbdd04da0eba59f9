//! Released inputs and the ledger beside them: what was released is what is read, whole or behind a public projection.

use crate::program::*;
use privateer::env::CuratedLedger;

#[test]
fn columns_whose_names_hold_commas_are_quoted() {
    let here = &folder();
    let rows: String = (0..9).map(|i| format!("0.{i},{i},1\n")).collect();
    here.write("table.csv", format!("\"height, cm\",age,\"a\"\"b\"\n{rows}"));
    let curate = |columns| {
        let changes = [("curate", "table.csv"), ("--columns", columns), ("--epsilon", "4"), ("--delta", "1e-3")];
        curate_with(&[&changes[..], &[("--radius", "1"), ("--bound", "10")]].concat())
    };
    here.refused(&curate("height, cm,age"), &["has no column `height`", "did you mean the one column \"height, cm\"?"]);
    here.refused(&curate("\"height, cm,age"), &["the quote before `height, cm,age` is not closed"]);
    here.fine(&curate("a\"b, \"height, cm\""));
    let released = here.text("released.csv");
    assert!(released.starts_with("\"a\"\"b\",\"height, cm\"\n"), "{released}");
    let ledger = CuratedLedger::read(&here.join("released.csv.ledger.json")).expect("a ledger");
    assert_eq!(ledger.columns, ["a\"b", "height, cm"]);
}

/// One byte, a column's name, a row: each is seen, in words that name both files, what is there and what should be.
#[test]
fn released_inputs_that_are_not_those_of_their_ledger_are_refused() {
    let here = &curated();
    spec(here, "", "kind = \"gp-ucb\"\nridge = 0.01");
    let released_inputs = here.text("released.csv");
    let init = ["init", "state", "modeler.toml"];
    // The last digit of the last number, so that it is a number still.
    let digit = released_inputs.trim_end().chars().last().expect("a digit");
    let other = if digit == '1' { '2' } else { '1' };
    let byte = format!("{}{other}\n", &released_inputs.trim_end()[..released_inputs.trim_end().len() - 1]);
    let of_lines = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let lines: Vec<&str> = released_inputs.lines().collect();
    let mut turned = lines.clone();
    turned[1..].reverse();
    for (planted, words) in [
        (byte, vec!["released.csv.ledger.json", "SHA-256", "expected"]),
        (released_inputs.replacen("x,y", "x,z", 1), vec!["columns `x`, `z`", "`x`, `y`"]),
        (released_inputs.replacen("x,y", "y,x", 1), vec!["columns `y`, `x`", "`x`, `y`"]),
        (of_lines(&lines[..60]), vec!["59 rows", "is of 60"]),
        (format!("{released_inputs}0.5,0.5\n"), vec!["61 rows", "is of 60"]),
        // Rows in another order are other rows.
        (of_lines(&turned), vec!["SHA-256"]),
    ] {
        here.write("released.csv", planted);
        here.refused(&init, &words);
        assert!(!here.holds("state"));
    }
    here.write("released.csv", &released_inputs);
    // A ledger that somebody changed.
    let path = "released.csv.ledger.json";
    let text = here.text(path);
    for (old, new, cause) in [
        ("\"rows\": 60", "\"rows\": 61", "is not the ledger that was written"),
        ("\"y\"", "\"z\"", "is not the ledger that was written"),
        ("\"epsilon\": 8", "\"epsilon\": 1", "is not the ledger that was written"),
        ("\"version\": 3", "\"version\": 4", "has version 4"),
    ] {
        let planted = text.replacen(old, new, 1);
        assert_ne!(planted, text);
        here.write(path, planted);
        here.refused(&init, &[cause]);
    }
    // One that was sealed again, which fits neither released inputs nor spec.
    here.write(path, &text);
    let ledger = CuratedLedger::read(&here.join(path)).expect("a ledger");
    for (planted, words) in [
        (CuratedLedger { rows: 61, ..ledger.clone() }, vec!["60 rows", "is of 61"]),
        (CuratedLedger { columns: vec!["x".to_owned(), "z".to_owned()], ..ledger.clone() }, vec!["`x`, `z`"]),
        (CuratedLedger { sha256: "0".to_owned(), ..ledger.clone() }, vec!["SHA-256"]),
        (CuratedLedger { sigma: -1.0, ..ledger.clone() }, vec!["noise of -"]),
        // Ledgers of earlier versions do not name the columns that were read.
        (CuratedLedger { version: 2, ..ledger }, vec!["no version that this program knows"]),
    ] {
        here.write(path, serde_json::json!(planted.sealed()).to_string());
        here.refused(&init, &words);
    }
    here.write(path, text);
    // Columns may be read in another order, and all must be read.
    let modeler = here.text("modeler.toml");
    here.write("half.toml", modeler.replace("[\"x\", \"y\"]", "[\"x\"]"));
    here.refused(&["init", "state", "half.toml"], &["every column of the released inputs"]);
    here.write("turned.toml", modeler.replace("[\"x\", \"y\"]", "[\"y\", \"x\"]"));
    here.fine(&["init", "turned", "turned.toml"]);
    here.fine(&init);
}

/// Released inputs behind a projection: named z1, …, with the matrix in the ledger, noise that pays for its stretch, and a modeler that may not give
/// each coordinate a length-scale.
#[test]
fn a_projection_is_public_and_paid_for() {
    let here = &with_table();
    let with =
        |more: &[(&'static str, &'static str)]| curate_with(&[&[("--columns", "x,y,same"), ("--bound", "9")], more].concat());
    here.refused(&with(&[("--projection", "4")]), &["1 to 3"]);
    here.refused(&with(&[("--projection", "0")]), &["1 to 3"]);
    here.ends(&with(&[("--projection-seed", "4")]), 2, &[]);
    here.fine(&with(&[("--projection", "2"), ("--projection-seed", "4")]));
    let text = here.text("released.csv");
    let ledger = here.json("released.csv.ledger.json");
    assert!(text.starts_with("z1,z2\n") && text.lines().count() == 61, "{text}");
    let map = &ledger["projection"];
    let number = |value: &Value| value.as_f64().expect("a number");
    let matrix: Vec<f64> = map["matrix"].as_array().expect("a matrix").iter().map(number).collect();
    assert_eq!(
        (map["seed"].as_u64(), map["dimension"].as_u64(), map["columns"].as_u64(), matrix.len()),
        (Some(4), Some(3), Some(2), 6)
    );
    // The largest eigenvalue of the 2 x 2 matrix P^T P.
    let square = |a: usize, b: usize| (0..3).map(|i| matrix[2 * i + a] * matrix[2 * i + b]).sum::<f64>();
    let apart = (square(0, 0) - square(1, 1)).hypot(2.0 * square(0, 1));
    let stretch = (0.5 * (square(0, 0) + square(1, 1) + apart)).sqrt();
    assert!((number(&map["stretch"]) / stretch - 1.0).abs() < 1e-9, "{map}");
    // The least of any map that keeps squared distances on average.
    assert!((stretch / 1.5f64.sqrt() - 1.0).abs() < 1e-9, "{map}");
    // Noise of the release without a projection, in a second release of the same data.
    here.fine(&with(&[("-o", "whole.csv")]));
    let (sigma, unit) = (number(&ledger["sigma"]), number(&here.json("whole.csv.ledger.json")["sigma"]));
    assert!((sigma / (unit * stretch) - 1.0).abs() < 1e-4, "{sigma} {unit} {stretch}");
    // What lies in the released inputs: rows times the matrix, and noise of that size. 120 squares: six standard deviations of their mean.
    let row = |i: usize| [place(i)[0], place(i)[1], 7.5];
    let image = |i: usize, j: usize| (0..3).map(|k| row(i)[k] * matrix[2 * k + j]).sum::<f64>();
    let noise: f64 =
        numbers(&text).into_iter().enumerate().map(|(at, z)| (z - image(at / 2, at % 2)).powi(2)).sum::<f64>() / 120.0;
    assert!((noise / (sigma * sigma) - 1.0).abs() < 6.0 * (2.0f64 / 120.0).sqrt(), "{noise} {sigma}");
    spec(here, "", "kind = \"gp-ucb\"\nridge = 0.01");
    let modeler = here.text("modeler.toml").replace("[\"x\", \"y\"]", "[\"z1\", \"z2\"]");
    here.write("modeler.toml", &modeler);
    here.fine(&["init", "state", "modeler.toml"]);
    here.ask("state");
    here.write("own.toml", modeler.replace("lengthscale = 1.0", "lengthscales = [1.0, 2.0]"));
    here.refused(&["init", "own", "own.toml"], &["mixes the coordinates"]);
    // A seed of the noise stays refused, beside that of the matrix too.
    here.refused(&with(&[("--projection", "2"), ("--seed", "7"), ("-o", "seeded.csv")]), &["seed"]);
    assert!(!stderr(&here.run(&["ask", "state"])).contains("error"));
}
