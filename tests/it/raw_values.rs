//! No error message repeats a raw value that a command read from standard input or from a file of data.

use crate::program::{code, folder, privateer, stderr, stdout};
use crate::two_parties::{CURATE, curated, fine, session, table};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// Mistyped values, by the part that nobody else writes.
const MISTYPED: [(&str, &str); 6] = [
    ("0.8713 mg", "8713"),
    ("8713,5", "8713"),
    ("\"0.8713\"", "8713"),
    ("0.8713", "8713"),
    ("[0.8713]", "8713"),
    ("{\"format\": \"privateer released value\", \"version\": 1, \"row\": \"name-8713\"}", "8713"),
];

/// Runs a command that must refuse this standard input, and returns all that it says.
fn said(folder: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = privateer(folder);
    let piped = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("the program starts");
    // A command that refuses before it reads its input may end first.
    drop(child.stdin.take().expect("an input").write_all(format!("{input}\n").as_bytes()));
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(code(&output), Some(2), "{arguments:?} takes {input:?}: {}", stdout(&output));
    format!("{}{}", stdout(&output), stderr(&output))
}

const RELEASE: [&str; 9] = ["release", "--state", "releases", "--mechanism", "laplace", "--epsilon", "1", "--clip", "0,1"];

#[test]
fn mistyped_values_on_standard_input_are_not_repeated() {
    let (here, _) = &curated();
    session(here, "[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]", "kind = \"igp-ucb\"");
    fine(here, &["init", "holder", "modeler.toml", "--form", "data-holder"]);
    let row = |state: &str| fine(here, &["ask", state, "--json"]).split("\"row\":").nth(1).expect("a row").to_owned();
    let digits = |text: String| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let (asked, held) = (digits(row("state")), digits(row("holder")));
    let readers: [(&str, Vec<&str>); 3] = [
        ("release", [&RELEASE[..], &["3", "-"]].concat()),
        ("tell", vec!["tell", "state", &asked, "-"]),
        ("tell --released", vec!["tell", "holder", &held, "--released", "-"]),
    ];
    for (name, arguments) in &readers {
        for (input, secret) in MISTYPED {
            // A number is a mistake only where a released value is expected.
            if input.parse::<f64>().is_ok() && *name != "tell --released" {
                continue;
            }
            let said = said(here, arguments, input);
            assert!(!said.contains(secret) && said.contains("expected"), "{name}: {said}");
            if *name == "tell --released" {
                fs::write(here.join("answer.json"), input).expect("written");
                let arguments = ["tell", "holder", &held, "--released", "answer.json"];
                let said = self::said(here, &arguments, "");
                assert!(!said.contains(secret) && said.contains("answer.json"), "{said}");
            }
        }
    }
    // Of the caller's own command line a message may repeat everything.
    assert!(said(here, &[&RELEASE[..], &["3", "0.8713 mg"]].concat(), "").contains("`0.8713 mg` is not a number"));
    // Every command that reads standard input is one of these.
    let help = fine(here, &["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> =
        commands.filter(|line| !line.starts_with("     ")).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(20 < names.len(), "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let reads = fine(here, &[name, "--help"]).contains("standard input");
        assert_eq!(reads, readers.iter().any(|(reader, _)| *reader == name), "`{name}` reads standard input: add it here");
    }
}

/// Cells of a table of raw data.
#[test]
fn bad_cells_of_a_table_are_not_repeated() {
    let here = &folder();
    table(here);
    let whole = fs::read_to_string(here.join("data.csv")).expect("a table");
    let own = "rounds = 4\n[environment]\nkind = \"points-table\"\nfile = \"data.csv\"\ninputs = [\"x\", \"y\"]\nvalue = \"outcome\"\n\
               kernel = { kind = \"squared-exponential\", lengthscale = 1.0 }\nnoise = { kind = \"none\" }\n[[policy]]\nkind = \"igp-ucb\"\n";
    fs::write(here.join("own.toml"), own).expect("written");
    fs::write(here.join("log.toml"), own.replace("value =", "log = true\nvalue =")).expect("written");
    let fit = ["fit", "data.csv", "--inputs", "x,y", "--value", "outcome"];
    for (cell, secret) in [("0.8713 mg", "8713"), ("1e8713", "8713"), ("-0.8713", "8713")] {
        // The outcome of the first row, and the number x of the second.
        let row = format!("p0,1,1,7.5,{cell}\n");
        let text = whole.replacen("name,x,y,same,outcome\n", &format!("name,x,y,same,outcome\n{row}p1,{cell},1,7.5,1\n"), 1);
        fs::write(here.join("data.csv"), text).expect("written");
        let finite = cell.parse::<f64>().is_ok_and(f64::is_finite);
        let mut commands = vec![vec!["check", "log.toml", "--data", "."], [&fit[..], &["--log"]].concat()];
        if !finite {
            commands.extend([vec!["check", "own.toml", "--data", "."], fit.to_vec(), CURATE.to_vec()]);
        }
        for arguments in commands {
            let said = said(here, &arguments, "");
            assert!(!said.contains(secret) && said.contains("row") | said.contains("data.csv:"), "{arguments:?}: {said}");
        }
    }
}
