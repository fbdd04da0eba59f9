//! No error message repeats a raw value that a command read from standard input or from a file of data.

use crate::program::*;

/// The part of every raw value that nobody else writes.
const SECRET: &str = "8713";

const MISTYPED: [&str; 6] = [
    "0.8713 mg",
    "8713,5",
    "\"0.8713\"",
    "0.8713",
    "[0.8713]",
    "{\"format\": \"privateer released value\", \"version\": 1, \"row\": \"name-8713\"}",
];

/// Runs a command that must refuse this standard input, and returns all that it says.
fn said(folder: &Folder, arguments: &[&str], input: &str) -> String {
    let output = folder.run_with(arguments, &format!("{input}\n"));
    assert_eq!(code(&output), Some(2), "{arguments:?} takes {input:?}: {}", stdout(&output));
    format!("{}{}", stdout(&output), stderr(&output))
}

const RELEASE: [&str; 9] = ["release", "--state", "releases", "--mechanism", "laplace", "--epsilon", "1", "--clip", "0,1"];

#[test]
fn mistyped_values_on_standard_input_are_not_repeated() {
    let here = &curated();
    session(here, LAPLACE, "kind = \"igp-ucb\"");
    here.fine(&["init", "holder", "modeler.toml", "--form", "data-holder"]);
    let row = |state: &str| here.fine_json(&["ask", state, "--json"])["row"].to_string();
    let (asked, held) = (row("state"), row("holder"));
    let readers: [(&str, Vec<&str>); 3] = [
        ("release", [&RELEASE[..], &["3", "-"]].concat()),
        ("tell", vec!["tell", "state", &asked, "-"]),
        ("tell --released", vec!["tell", "holder", &held, "--released", "-"]),
    ];
    for (name, arguments) in &readers {
        for input in MISTYPED {
            // A number is a mistake only where a released value is expected.
            if input.parse::<f64>().is_ok() && *name != "tell --released" {
                continue;
            }
            let said = said(here, arguments, input);
            assert!(!said.contains(SECRET) && said.contains("expected"), "{name}: {said}");
            if *name == "tell --released" {
                here.write("answer.json", input);
                let arguments = ["tell", "holder", &held, "--released", "answer.json"];
                let said = self::said(here, &arguments, "");
                assert!(!said.contains(SECRET) && said.contains("answer.json"), "{said}");
            }
        }
    }
    // Of the caller's own command line a message may repeat everything.
    assert!(said(here, &[&RELEASE[..], &["3", "0.8713 mg"]].concat(), "").contains("`0.8713 mg` is not a number"));
    // Every command that reads standard input is one of these.
    let help = here.fine(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> =
        commands.filter(|line| !line.starts_with("     ")).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(20 < names.len(), "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let reads = here.fine(&[name, "--help"]).contains("standard input");
        assert_eq!(reads, readers.iter().any(|(reader, _)| *reader == name), "`{name}` reads standard input: add it here");
    }
}

#[test]
fn bad_cells_of_a_table_are_not_repeated() {
    let here = &with_table();
    let whole = here.text("data.csv");
    let own = "rounds = 4\n[environment]\nkind = \"points-table\"\nfile = \"data.csv\"\ninputs = [\"x\", \"y\"]\nvalue = \"outcome\"\n\
               kernel = { kind = \"squared-exponential\", lengthscale = 1.0 }\nnoise = { kind = \"none\" }\n[[policy]]\nkind = \"igp-ucb\"\n";
    here.write("own.toml", own);
    here.write("log.toml", own.replace("value =", "log = true\nvalue ="));
    let fit = ["fit", "data.csv", "--inputs", "x,y", "--value", "outcome"];
    for cell in ["0.8713 mg", "1e8713", "-0.8713"] {
        // The outcome of the first row, and the number x of the second.
        let row = format!("p0,1,1,7.5,{cell}\n");
        let text = whole.replacen("name,x,y,same,outcome\n", &format!("name,x,y,same,outcome\n{row}p1,{cell},1,7.5,1\n"), 1);
        here.write("data.csv", text);
        let finite = cell.parse::<f64>().is_ok_and(f64::is_finite);
        let mut commands = vec![vec!["check", "log.toml", "--data", "."], [&fit[..], &["--log"]].concat()];
        if !finite {
            commands.extend([vec!["check", "own.toml", "--data", "."], fit.to_vec(), CURATE.to_vec()]);
        }
        for arguments in commands {
            let said = said(here, &arguments, "");
            assert!(!said.contains(SECRET) && said.contains("row") | said.contains("data.csv:"), "{arguments:?}: {said}");
        }
    }
}
